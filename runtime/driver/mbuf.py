"""Buffers that processes share, through the HAL (mbuf chapter). A host without the buffer service has none: 207000."""

from __future__ import annotations

import ctypes
import os

from npuhal import constants as c
from npuhal import structs as s
from runtime import errors
from runtime.driver.calls import HalCalls

_ATTACH_MS = 10_000
"""How long a process may wait for its group; the longest that the driver takes."""


class BufferDriver(HalCalls):
    """Shared buffers by the driver's own addresses, opaque to everybody else."""

    __slots__ = ()

    def join(self) -> None:
        """Let this process take part in a group with shared memory: its own, or one that was made before.

        Raises:
            NotSupported 207000: the driver has no buffer service.
        """
        if not self.hal.has("halGrpCreate"):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "the driver's library has no shared buffers",
                hint="use a driver that has halGrpCreate and halMbufAlloc",
            )
        own = self._group()
        name = ctypes.create_string_buffer(own or f"npuhal{os.getpid()}".encode())
        address = ctypes.addressof(name)
        if not own:
            rights = s.GroupShareAttr(admin=1, read=1, write=1, alloc=1)
            rc = self.hal.halGrpCreate(address, ctypes.byref(s.GroupCfg()))
            if rc != c.DRV_ERROR_REPEATED_INIT:
                self.check(rc, "halGrpCreate", "the process's group")
            self.check(self.hal.halGrpAddProc(address, os.getpid(), rights), "halGrpAddProc", f"process {os.getpid()}")
        rc = self.hal.halGrpAttach(address, _ATTACH_MS)
        if not (own and rc == c.DRV_ERROR_INVALID_VALUE):  # whoever has made the group has attached as well
            self.check(rc, "halGrpAttach", f"{_ATTACH_MS} ms")
        self.check(self.hal.halBuffInit(ctypes.byref(s.BuffCfg())), "halBuffInit", "with the driver's zones")

    def _group(self) -> bytes:
        """Return the name of the process's group, or nothing."""
        asked, told = ctypes.c_int32(os.getpid()), s.GroupQueryOutput()
        size = ctypes.c_uint32(ctypes.sizeof(told))
        rc = self.hal.halGrpQuery(
            c.GRP_QUERY_GROUPS_OF_PROCESS, ctypes.addressof(asked), ctypes.sizeof(asked), ctypes.addressof(told),
            ctypes.byref(size),
        )  # fmt: skip
        self.check(rc, "halGrpQuery", f"process {os.getpid()}")
        return bytes(told.grpQueryGroupsOfProcInfo[0].groupName) if size.value else b""

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
