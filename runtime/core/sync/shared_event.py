"""Events that processes share: words of device memory under a name (IPC events, core_spec 10.7).

The first word counts the records that were submitted; the host writes it when it submits one. Behind it lies a ring of
words: the device stores the number of a record in the word that the number falls on. A wait reads the count and waits
for the word of that record, so a record that comes later does not disturb it. One process at a time may record.
"""

from __future__ import annotations

import struct
import threading
from functools import partial
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.tasks import MemWaitValue, MemWriteValue, WaitFor
from npuhal import constants as c
from runtime import errors
from runtime.core.sync import value
from runtime.core.sync.signals import Finished, Report, Signal
from runtime.driver.ipc import KEY_BYTES, ShareDriver
from runtime.errors.closing import each

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, StreamPort

BLOCK_BYTES = 4096
_WORD = struct.Struct("<Q")
RECORDS = BLOCK_BYTES // _WORD.size - 1
"""Records that may be pending at once before the oldest one's word is used again."""


class SharedWords(Signal):
    """The words of one event, in the process that made them or in one that has opened them."""

    __slots__ = ("_driver", "_imported", "_key", "_order", "address")

    def __init__(self, device: DevicePort, key: bytes = b"") -> None:
        """Make the words, or open those behind a key.

        Raises:
            RuntimeFault: the driver does not have such events, there is no such key, or this process may not open it.
        """
        super().__init__(device, 0)
        self._order = threading.Lock()
        """Held while a record is counted and sent, so that the device sees the numbers grow."""
        self._driver = ShareDriver(device.hal, device.device_id, device.memory.resource_table)
        if not self._driver.supports("FEATURE_SVM_VMM_NORMAL_GRANULARITY"):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "the driver has no memory for events that processes share",
                hint="use a newer driver",
            )
        self._imported, self._key = bool(key), key
        if key:
            self.address = self._driver.open(key)
            return
        with device.memory.new(BLOCK_BYTES, internal_flags()) as self.address:
            device.memory.fill(self.address, BLOCK_BYTES, 0, BLOCK_BYTES)

    @property
    def submitted(self) -> int:
        """How many records were submitted, by all processes."""
        return self._read(self.address)

    def _submitted_or(self, finished: Finished) -> int:
        try:
            return self.submitted
        except BaseException:
            finished()
            raise

    def done(self) -> bool:
        """Whether the newest record is done; True when there was none."""
        number = self.submitted
        return self._read(self._word(number)) >= number if number else True

    def _read(self, address: int) -> int:
        return int(_WORD.unpack(self.device.memory.read(address, _WORD.size))[0])

    def _word(self, number: int) -> int:
        return self.address + (1 + number % RECORDS) * _WORD.size

    def record(self, stream: StreamPort, finished: Finished, *, timeline: bool, reported: Report | None) -> None:
        """Count the record and queue the write of its number."""
        with self._order:
            number = self._submitted_or(finished) + 1
            stream.submit(MemWriteValue(addr=self._word(number), value=number), owner="event record", finished=finished)
            self.device.memory.write(self.address, _WORD.pack(number))

    def wait(self, stream: StreamPort, finished: Finished, timeout_s: int) -> None:
        """Queue the wait for the newest record of any process; it has no time limit."""
        number = self._submitted_or(finished)
        if not number:
            finished()
            return
        task = MemWaitValue(addr=self._word(number), value=number, flag=WaitFor.GREATER_OR_EQUAL)
        value.submit_wait(stream, task, owner="event wait", finished=finished)

    def share(self) -> bytes:
        """Return the key by which any process opens the words; the first call makes it."""
        if not self._key:
            key = self._driver.export(self.address, BLOCK_BYTES, KEY_BYTES)
            try:
                self._driver.set_attribute(key, c.SHMEM_ATTR_TYPE_NO_WLIST_IN_SERVER, c.SHMEM_NO_WLIST_ENABLE)
            except BaseException:
                self._driver.forget(key)
                raise
            self._key = key
        return self._key

    def _give_back(self) -> None:
        if self._imported:
            self._driver.close(self.address)
            return
        withdrawn = [partial(self._driver.forget, self._key)] if self._key else []
        each([*withdrawn, partial(self.device.memory.free, self.address)])
