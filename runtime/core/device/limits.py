"""What users may set before and while a device runs: saturation mode, stack and print sizes, cores that may be used.

core_spec 2.8, 4.3 and 22; acl_rt.h, aclrtDeviceLimit and aclrtDevResLimitType.
"""

from __future__ import annotations

import threading
import weakref
from enum import IntEnum
from typing import TYPE_CHECKING

from npuhal.records import dataclass
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.core.modes import SaturationMode as SaturationMode

if TYPE_CHECKING:
    from chips import Chip
    from runtime.core.ports import StreamPort


def default_saturation(chip: Chip) -> SaturationMode:
    """Return the mode that a process starts in."""
    return SaturationMode.INF_NAN if chip.has("OVERFLOW_MODE") else SaturationMode.SATURATION


def check_saturation(chip: Chip, mode: int) -> SaturationMode:
    """Return a mode that the chip has.

    Raises:
        InvalidArgument 107000: there is no such mode.
        NotSupported 207000: the chip does not have it.
    """
    if mode not in tuple(SaturationMode):
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"saturation mode {mode}: there are 0 (saturation) and 1 (INF and NAN)",
            ee="EE1003", params=("set saturation mode", mode, "mode", "0 or 1"),
        )
    if not int(chip.prop("supportOverflowMode")) >> mode & 1:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{chip.soc} has no saturation mode {mode}",
            hint=f"use mode {1 - mode}, the only one of this chip",
        )
    return SaturationMode(mode)


class DeviceLimit(IntEnum):
    """Sizes that a process sets for all its devices, best before the first is opened (aclrtDeviceLimit)."""

    SIMT_STACK = 0
    SIMT_DIVERGENCE_STACK = 1
    SIMD_STACK = 2
    SIMD_PRINT_BUFFER = 3
    SIMT_PRINT_BUFFER = 4


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a size that is asked for becomes the one in force.

    Attributes:
        default: bytes in force where nothing was set.
        unit: what is asked for is raised to a multiple of this.
        times: and multiplied by this: the threads of a warp.
        smallest, largest: outside of these a size is refused.
        ignored: sizes up to this one change nothing.
    """

    default: int
    unit: int = 1
    times: int = 1
    smallest: int = 0
    largest: int = (1 << 32) - 1
    ignored: int = -1


_RULES = {
    DeviceLimit.SIMT_STACK: _Rule(32 * 1152, unit=128, times=32),
    DeviceLimit.SIMT_DIVERGENCE_STACK: _Rule(1 << 10, unit=128),
    DeviceLimit.SIMD_STACK: _Rule(32 << 10, unit=16 << 10, ignored=32 << 10),
    DeviceLimit.SIMD_PRINT_BUFFER: _Rule(32 << 10, unit=8, smallest=1 << 10, largest=64 << 20),
    DeviceLimit.SIMT_PRINT_BUFFER: _Rule(2 << 20, unit=8, smallest=1 << 20, largest=64 << 20),
}
_SIMT = frozenset({DeviceLimit.SIMT_STACK, DeviceLimit.SIMT_DIVERGENCE_STACK, DeviceLimit.SIMT_PRINT_BUFFER})
_SIMT_STACKS = (DeviceLimit.SIMT_STACK, DeviceLimit.SIMT_DIVERGENCE_STACK)


class DeviceLimits:
    """The process's sizes by `DeviceLimit`, in bytes; those of SIMT kernels exist only on chips that have them.

    Stack sizes are per core, per warp for SIMT_STACK, which is set per thread. They are taken when a device is opened.
    """

    def __init__(self) -> None:
        self._values: dict[DeviceLimit, int] = {}

    def get(self, kind: int, chip: Chip) -> int:
        """Return the size in force: as it was set and rounded, or its default."""
        known = self._known(kind, chip)
        return self._values.get(known, _RULES[known].default)

    def set(self, kind: int, value: int, chip: Chip) -> None:
        """Set a size.

        Raises:
            NotSupported 207000: the chip has no such size.
            InvalidArgument 107000: the size is out of range (EE1003), or both stacks of SIMT would be 0 (EE1011).
        """
        known = self._known(kind, chip)
        rule = _RULES[known]
        if not rule.smallest <= value <= rule.largest:
            allowed = f"[{rule.smallest}, {rule.largest}]"
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"{known.name} of {value} bytes: it must be in {allowed}",
                ee="EE1003", params=("set device limit", value, known.name, allowed),
                hint="pass a size in that range",
            )
        if value <= rule.ignored:
            return
        rounded = -(-value // rule.unit) * rule.unit * rule.times
        if known in _SIMT_STACKS and not rounded and not self.get(_SIMT_STACKS[1 - _SIMT_STACKS.index(known)], chip):
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"{known.name} of 0 bytes: the other stack of SIMT kernels is 0 already",
                ee="EE1011", params=("set device limit", value, known.name, "not both stacks of SIMT may be 0"),
                hint="leave one of SIMT_STACK and SIMT_DIVERGENCE_STACK above 0",
            )
        self._values[known] = rounded

    @staticmethod
    def known(kind: int, chip: Chip) -> bool:
        """Whether a chip has a size of this kind."""
        return kind in tuple(DeviceLimit) and (kind not in _SIMT or chip.has("DEVICE_SIMT"))

    def _known(self, kind: int, chip: Chip) -> DeviceLimit:
        if not self.known(kind, chip):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{chip.soc} has no device limit of kind {kind}",
                hint="kinds 2 and 3 exist on every chip, 0, 1 and 4 on those with SIMT kernels",
            )
        return DeviceLimit(kind)


class CoreKind(IntEnum):
    """Cores whose number can be limited (aclrtDevResLimitType)."""

    CUBE = 0
    VECTOR = 1


class Cores(NamedTuple):
    """Numbers of cores of each kind."""

    cube: int
    vector: int


class CoreLimits:
    """How many cores of a device its kernels may use: of the device, and of single streams.

    A stream's limit goes before the device's, and the device's before what there is.
    """

    def __init__(self, counts: tuple[int, int]) -> None:
        """Start without limits on a device with so many cube and vector cores."""
        self._counts = counts
        self._device: dict[CoreKind, int] = {}
        self._streams: weakref.WeakKeyDictionary[StreamPort, dict[CoreKind, int]] = weakref.WeakKeyDictionary()

    def of_device(self, kind: int) -> int:
        """Return the device's limit, or the number of its cores."""
        known = self._known(kind)
        return self._device.get(known, self._counts[known])

    def limit_device(self, kind: int, value: int) -> None:
        """Set the device's limit; InvalidArgument 107000 beyond the cores that there are."""
        known = self._known(kind)
        self._device[known] = self._within(known, value)

    def free_device(self) -> None:
        """Take the device's limits away."""
        self._device.clear()

    def of_stream(self, stream: StreamPort) -> dict[CoreKind, int]:
        """Return a stream's own limits; the same object for as long as anybody holds the stream or the limits."""
        return self._streams.setdefault(stream, {})

    def limit_stream(self, stream: StreamPort, kind: int, value: int) -> None:
        """Set a stream's limit; InvalidArgument 107000 beyond the cores that there are."""
        known = self._known(kind)
        self.of_stream(stream)[known] = self._within(known, value)

    def limit(self, stream: StreamPort | None, cube: int | None, vector: int | None) -> None:
        """Set all limits of a stream, or with None of the device, at once; a kind that is None has none."""
        asked = ((CoreKind.CUBE, cube), (CoreKind.VECTOR, vector))
        checked = {kind: self._within(kind, value) for kind, value in asked if value is not None}
        held = self._device if stream is None else self.of_stream(stream)
        held.clear()
        held.update(checked)

    def in_force(self, kind: int, own: dict[CoreKind, int] | None) -> int:
        """Return what holds where a stream's limits `own` are in use, or none are."""
        known = self._known(kind)
        return own[known] if own is not None and known in own else self.of_device(known)

    def _within(self, kind: CoreKind, value: int) -> int:
        most = self._counts[kind]
        if not 0 <= value <= most:
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"a limit of {value} {kind.name.lower()} cores: the device has {most}",
                ee="EE1003", params=("set core limit", value, "value", f"[0, {most}]"),
            )
        return value

    @staticmethod
    def _known(kind: int) -> CoreKind:
        if kind not in tuple(CoreKind):
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"core kind {kind}: there are 0 (cube) and 1 (vector)",
                ee="EE1003", params=("core limit", kind, "type", "0 or 1"),
            )
        return CoreKind(kind)


class ThreadLimits(threading.local):
    """The stream limits that a thread has chosen to work under, if any; they hold on when the stream is gone."""

    own: dict[CoreKind, int] | None = None
