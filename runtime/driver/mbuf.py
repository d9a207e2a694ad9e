"""Buffers that processes share, through the HAL (mbuf chapter). A host without the buffer service has none: 207000."""

from __future__ import annotations

import ctypes

from runtime.driver.calls import HalCalls


class BufferDriver(HalCalls):
    """Shared buffers by the driver's own addresses, opaque to everybody else."""

    def alloc(self, size: int) -> int:
        """Return a buffer of a size."""
        made = ctypes.c_void_p(0)
        self.check(self.hal.halMbufAlloc(size, ctypes.byref(made)), "halMbufAlloc", f"{size} bytes")
        return made.value or 0

    def free(self, buffer: int) -> None:
        """Give a buffer back."""
        self.check(self.hal.halMbufFree(buffer), "halMbufFree", f"buffer {buffer:#x}")

    def copy_reference(self, buffer: int) -> int:
        """Return another buffer on the same data."""
        made = ctypes.c_void_p(0)
        self.check(self.hal.halMbufCopyRef(buffer, ctypes.byref(made)), "halMbufCopyRef", f"buffer {buffer:#x}")
        return made.value or 0

    def address(self, buffer: int) -> int:
        """Return where a buffer's data lies."""
        found = ctypes.c_void_p(0)
        self.check(self.hal.halMbufGetBuffAddr(buffer, ctypes.byref(found)), "halMbufGetBuffAddr", f"{buffer:#x}")
        return found.value or 0

    def capacity(self, buffer: int) -> int:
        """Return the bytes that a buffer has space for."""
        size = ctypes.c_uint64(0)
        self.check(self.hal.halMbufGetBuffSize(buffer, ctypes.byref(size)), "halMbufGetBuffSize", f"{buffer:#x}")
        return int(size.value)

    def length(self, buffer: int) -> int:
        """Return the bytes of a buffer that are valid."""
        size = ctypes.c_uint64(0)
        self.check(self.hal.halMbufGetDataLen(buffer, ctypes.byref(size)), "halMbufGetDataLen", f"{buffer:#x}")
        return int(size.value)

    def set_length(self, buffer: int, length: int) -> None:
        """Say how many bytes of a buffer are valid."""
        self.check(self.hal.halMbufSetDataLen(buffer, length), "halMbufSetDataLen", f"{buffer:#x}, {length} bytes")

    def private_area(self, buffer: int) -> tuple[int, int]:
        """Return address and bytes of the area beside a buffer's data."""
        where, size = ctypes.c_void_p(0), ctypes.c_uint32(0)
        rc = self.hal.halMbufGetPrivInfo(buffer, ctypes.byref(where), ctypes.byref(size))
        self.check(rc, "halMbufGetPrivInfo", f"{buffer:#x}")
        return where.value or 0, int(size.value)

    def append(self, chain: int, buffer: int) -> None:
        """Put a buffer at the end of a chain."""
        self.check(self.hal.halMbufChainAppend(chain, buffer), "halMbufChainAppend", f"{buffer:#x} to {chain:#x}")

    def count(self, chain: int) -> int:
        """Return how many buffers a chain has."""
        number = ctypes.c_uint32(0)
        rc = self.hal.halMbufChainGetMbufNum(chain, ctypes.byref(number))
        self.check(rc, "halMbufChainGetMbufNum", f"{chain:#x}")
        return int(number.value)

    def member(self, chain: int, index: int) -> int:
        """Return a buffer of a chain by its index."""
        found = ctypes.c_void_p(0)
        rc = self.hal.halMbufChainGetMbuf(chain, index, ctypes.byref(found))
        self.check(rc, "halMbufChainGetMbuf", f"{chain:#x}, number {index}")
        return found.value or 0
