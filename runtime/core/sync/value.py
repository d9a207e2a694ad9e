"""Values in device memory: written by a stream, and waited for (MEM_WRITE_VALUE, MEM_WAIT_VALUE).

A wait is a small program that the task scheduler runs; its code, its flag and the mark that it has paused its queue
lie in a slot of device memory that belongs to the task until it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.blocks import FLAG_BYTES, blocks
from chips.env import EncodeEnv, TaskIds
from chips.memory_rules import internal_flags
from chips.tasks import MemWaitValue, MemWriteValue, WaitFor
from npuhal.records import replace
from runtime import errors
from runtime.core.submission.submit import operations_of
from runtime.driver.memory import MemoryDriver
from runtime.driver.p2p import PeerDriver
from runtime.errors.closing import each

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort

SLOT_BYTES = 1024
"""Bytes of a slot."""
_CODE_BYTES = 768  # a program has 500 at most; blocks are called at multiples of 256
_FLAG = _CODE_BYTES
_PAUSED = _FLAG + FLAG_BYTES
_SLAB = 64 * 1024
_WORD_BYTES = 8


class WaitSlots:
    """Device memory for the programs of waits, in slots that are used again; also the profiling switch they read."""

    __slots__ = ("_free", "_lock", "_memory", "_sizes", "_slabs", "profiling_switch")

    def __init__(self, memory: MemoryDriver) -> None:
        self._memory = memory
        self._slabs: list[int] = []
        self._free: list[int] = []
        self._sizes: dict[tuple[bool, bool], int] = {}
        self.profiling_switch = 0
        """Address of a word that is 0 while profiling is off; it exists once there was a wait."""
        self._lock = threading.Lock()

    def take(self) -> int:
        """Return the address of a slot."""
        with self._lock:
            if not self._free:
                with self._memory.new(_SLAB, internal_flags()) as slab:
                    self._memory.fill(slab, _SLAB, 0, _SLAB)
                self._slabs.append(slab)
                slots = list(range(slab + _SLAB - SLOT_BYTES, slab - 1, -SLOT_BYTES))
                if not self.profiling_switch:
                    self.profiling_switch = slots.pop()
                self._free = slots
            return self._free.pop()

    def give_back(self, slot: int) -> None:
        """Take a slot back from a wait that is over."""
        with self._lock:
            self._free.append(slot)

    def code_bytes(self, task: MemWaitValue, env: EncodeEnv) -> int:
        """Return how long the program of a wait is; it depends on how the queue is found, not on the values."""
        form = (bool(task.sq_id_addr), env.bound)
        if form not in self._sizes:
            self._sizes[form] = len(blocks(task, env, TaskIds(0))[1].data)
        return self._sizes[form]

    def close(self) -> None:
        """Free the memory."""
        slabs, self._slabs = self._slabs, []
        each(map(self._memory.freeing, reversed(slabs)))


def submit_write(stream: StreamPort, address: int, value: int, **options: Any) -> None:
    """Queue the write of a 64-bit value; see runtime.core.submission.submit.submit for the options."""
    stream.submit(MemWriteValue(addr=address, value=value), **{"owner": "value write", **options})


def submit_wait(
    stream: StreamPort, task: MemWaitValue, *, owner: str = "value wait", finished: Callable[[], None] | None = None
) -> None:
    """Queue a wait for a value, after giving it a slot for its program.

    Args:
        task: what to wait for; its addresses are filled in here.
        finished: called exactly once, also when the wait could not be queued.
    """
    stream = stream.target  # the program names the queue that it runs in
    slots = stream.device.signals.wait_slots
    try:
        operations_of(stream, task)
        slot = slots.take()
    except BaseException:
        if finished is not None:
            finished()
        raise
    if not stream.env.profiling_switch:
        stream.env = replace(stream.env, profiling_switch=slots.profiling_switch)
    memory = stream.device.memory
    placed = replace(
        task, function=slot, flag_addr=slot + _FLAG, pause_addr=slot + _PAUSED, sq_id_addr=stream.sq_word
    )
    placed = replace(placed, function_bytes=slots.code_bytes(placed, stream.env))

    def write(ids: TaskIds) -> None:
        for block in blocks(placed, stream.env, ids):
            memory.write(block.address, block.data)

    def done() -> None:
        slots.give_back(slot)
        if finished is not None:
            finished()

    stream.submit(placed, owner=owner, finished=done, prepare=write)


def wait_value(stream: StreamPort, address: int, value: int, test: WaitFor = WaitFor.GREATER_OR_EQUAL) -> None:
    """Queue a wait until 64 bits of device memory meet a condition with a value."""
    submit_wait(stream, MemWaitValue(addr=address, value=value, flag=test))


def bridge(source: StreamPort, target: StreamPort, finished: Callable[[], None]) -> None:
    """Let a stream wait for all that is queued in a stream of another device, through a word of memory of its own.

    Raises:
        NotSupported 207000: the source's device may not reach the target's memory; `finished` has been called.
    """
    device = target.device
    peer = device.driver.info.physical_id()
    if not PeerDriver(source.device.hal, source.device.device_id).enabled(peer):
        finished()
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
            f"stream {target.stream_id} of device {device.user_id} cannot wait for an event of device "
            f"{source.device.user_id}: that device may not reach this one's memory",
            hint=f"enable peer access between devices {source.device.user_id} and {device.user_id}, in both directions",
        )
    slots = device.signals.wait_slots
    try:
        word = slots.take()
    except BaseException:
        finished()
        raise
    try:
        device.memory.fill(word, _WORD_BYTES, 0, _WORD_BYTES)
    except BaseException:
        slots.give_back(word)
        finished()
        raise
    is_last = iter((False, True)).__next__  # whichever of write and wait ends last gives the word back

    def over() -> None:
        if is_last():
            slots.give_back(word)

    def waited() -> None:
        over()
        finished()

    try:
        submit_write(source, word, 1, owner="event record for another device", finished=over)
    except BaseException:
        waited()
        raise
    submit_wait(target, MemWaitValue(addr=word, value=1), owner="event wait", finished=waited)
