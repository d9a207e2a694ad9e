"""Buffers in memory that processes share, by the driver's handles: what aclrtAllocBuf and its kin work on."""

from __future__ import annotations

import os
import threading

import npuhal
from runtime import errors
from runtime.driver.mbuf import BufferDriver


class SharedBuffers:
    """The buffers of one process. The first one makes a group for the process, where nobody has made one."""

    def __init__(self, hal: npuhal.HalApi) -> None:
        self._driver = BufferDriver(hal, 0)
        self._live: set[int] = set()
        self._lock = threading.Lock()
        self._ready = 0
        """The process that takes part in a group."""

    def alloc(self, size: int) -> int:
        """Return a buffer of so many bytes, none of them valid.

        Raises:
            NotSupported 207000: the driver has no buffer service.
            ResourceExhausted 207001, 207005: the group has no memory left.
        """
        with self._lock:
            if self._ready != os.getpid():
                self._driver.join()
                self._ready = os.getpid()
        return self._know(self._driver.alloc(size))

    def free(self, call: str, buffer: int) -> None:
        """Give a buffer back with those behind it in its chain; the first one of a chain alone can be."""
        driver = self.driver(call, buffer)
        members = [driver.member(buffer, index) for index in range(driver.count(buffer))]
        driver.free(buffer)
        with self._lock:
            self._live.difference_update(members)

    def copy_reference(self, call: str, buffer: int) -> int:
        """Return another buffer on the same data, with as many behind it as the first one has."""
        driver = self.driver(call, buffer)
        made = self._know(driver.copy_reference(buffer))
        for index in range(1, driver.count(made)):
            self._know(driver.member(made, index))
        return made

    def driver(self, call: str, *buffers: int) -> BufferDriver:
        """Return the driver, for use of buffers that exist.

        Raises:
            InvalidHandle 107017: one was given back, or never was.
        """
        for buffer in buffers:
            if buffer not in self._live:
                raise errors.fault(
                    "ACL_ERROR_RT_INVALID_HANDLE", f"{call}: {buffer:#x} is no buffer, or was given back", ee="EE1017",
                    params=(call, "buf", "it was given back, or never was a buffer"),
                    hint="pass what aclrtAllocBuf or aclrtCopyBufRef gave, once",
                )
        return self._driver

    def _know(self, buffer: int) -> int:
        with self._lock:
            self._live.add(buffer)
        return buffer
