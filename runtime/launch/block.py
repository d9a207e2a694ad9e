"""Argument blocks as bytes: what a launch takes when the caller has laid its arguments out already (core_spec 8.4)."""

from __future__ import annotations

import struct

from npuhal.records import dataclass
from runtime import errors

POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class HostBlock:
    """An argument block in host memory.

    ``pointers`` are the words that will point into the block itself: (offset of the pointer, offset of its data), in
    bytes. Tiling data and host inputs are reached by such words. Checked by `check`.
    """

    data: bytes
    pointers: tuple[tuple[int, int], ...] = ()

    def check(self, call: str) -> HostBlock:
        """Return the block itself, if it can be launched with.

        Raises:
            InvalidArgument 107000: it is empty (EE1003), or a pointer lies outside of it (EE1017).
        """
        size = len(self.data)
        if not size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: argsSize is 0", ee="EE1003",
                params=(call, 0, "argsSize", "at least 1"), hint="an argument block has at least one byte",
            )
        for number, (slot, data) in enumerate(self.pointers):
            for name, offset, last in (("addrOffset", slot, size - POINTER_BYTES), ("dataOffset", data, size - 1)):
                if not 0 <= offset <= last:
                    raise errors.fault(
                        "ACL_ERROR_RT_PARAM_INVALID",
                        f"{call}: {name} of placeholder {number} is {offset}; a block of {size} bytes takes at most "
                        f"{last}", ee="EE1017", params=(call, name, f"{offset} lies outside of {size} bytes"),
                        hint="offsets count from the start of the argument block",
                    )
        return self

    def placed(self, address: int) -> bytes:
        """Return the bytes with every pointer filled in, for a block that will lie at a device address."""
        if not self.pointers:
            return self.data
        image = bytearray(self.data)
        for slot, data in self.pointers:
            struct.pack_into("<Q", image, slot, address + data)
        return bytes(image)
