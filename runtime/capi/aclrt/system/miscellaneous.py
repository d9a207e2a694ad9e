"""What fits no chapter: half-precision numbers, data type sizes, where cores synchronise."""

from __future__ import annotations

import struct

from runtime.capi.aclrt.checks import context, null_rt, refuse
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import F32, U16, Address, Enum, Size
from runtime.capi.aclrt.state import Acl

_HALF_LARGEST = 0x7BFF
_SIZES = {
    1: (2, 4, 12, 29, 30, 34, 35, 36, 37), 2: (1, 6, 7, 27), 4: (0, 3, 8, 33), 16: (17,), 0: (-1, 13),
}  # fmt: skip
_BYTES = {kind: size for size, kinds in _SIZES.items() for kind in kinds}
_OTHER_BYTES = 8  # what every remaining number gives, those outside the enumeration included


@entry()
def aclFloat16ToFloat(acl: Acl, value: U16) -> F32:
    """Return the number of a half-precision pattern; infinities and NaN count as further exponents."""
    pattern = int(value)
    sign, exponent, fraction = pattern >> 15 & 1, pattern >> 10 & 0x1F, pattern & 0x3FF
    size = fraction * 2.0**-24 if exponent == 0 else (1 + fraction / 1024) * 2.0 ** (exponent - 15)
    return -size if sign else size


@entry()
def aclFloatToFloat16(acl: Acl, value: F32) -> U16:
    """Return the half-precision pattern of a number; what is too large, infinite or NaN becomes the largest."""
    number = float(value)
    sign = 0x8000 if struct.pack(">d", number)[0] & 0x80 else 0
    if not abs(number) <= 65504.0:  # NaN compares false
        return sign | _HALF_LARGEST if number == number else _HALF_LARGEST
    pattern: int = struct.unpack("<H", struct.pack("<e", abs(number)))[0]
    return sign | min(pattern, _HALF_LARGEST)


@entry()
def aclDataTypeSize(acl: Acl, dataType: Enum) -> Size:
    """Return the bytes of a data type (aclDataType); 0 for undefined and for strings."""
    return _BYTES.get(0 if dataType is None else dataType, _OTHER_BYTES)


@entry(
    null_rt("addr"),
    refuse("not chip_has(acl, 'DEVICE_C2C_SYNC')", "addr", "a core synchronisation address", "EE1005"), context(),
)  # fmt: skip
def aclrtGetHardwareSyncAddr(acl: Acl, addr: Out[Address]) -> None:
    """Tell where the cores of a mix kernel synchronise (A2, A3)."""
    addr.value = acl.runtime.current_context().device.core_sync_address
