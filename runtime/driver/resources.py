"""Ids that the task scheduler hands out: streams, events, notifies, count-notifies, models."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from runtime import errors
from runtime.driver.calls import HalCalls, answer
from runtime.driver.resource_table import ResourceTable
from runtime.errors.closing import Once

STREAM, EVENT, MODEL, NOTIFY, COUNT_NOTIFY = "STREAM", "EVENT", "MODEL", "NOTIFY", "CNT_NOTIFY"
CACHE = "CMO"
"""Of cache operations that can be waited for (cache maintenance operations)."""
SQ = "SQ"
"""Queues: not handed out here, but counted (`usage`)."""
_KIND_NAMES = {STREAM: "streams", EVENT: "events", MODEL: "models", NOTIFY: "notifies", COUNT_NOTIFY: "count-notifies",
           CACHE: "cache operations"}
_INPUT = struct.Struct("<5I")
"""Type, tsId, resourceId and the first two words of `res` in halResourceIdInputInfo."""


@cache
def _type_of(kind: str) -> int:
    """Return the driver's number of a kind of ids."""
    number: int = getattr(c, f"DRV_{kind}_ID")
    return number


def _new_blocks() -> tuple[bytearray, memoryview, Any, Any]:
    """Return zero structures: memory of the input, words of the output, and references to both."""
    asked, answer = (bytearray(ctypes.sizeof(kind)) for kind in (s.halResourceIdInputInfo, s.halResourceIdOutputInfo))
    info, out = s.halResourceIdInputInfo.from_buffer(asked), s.halResourceIdOutputInfo.from_buffer(answer)
    return asked, memoryview(answer).cast("I"), ctypes.byref(info), ctypes.byref(out)


class IdDriver(HalCalls):
    """halResourceIdAlloc and friends of one device (ascend_hal_base.h)."""

    __slots__ = ("_spare", "resource_table", "ts_id")

    def __init__(self, calls: HalCalls, ts_id: int = 0, resource_table: ResourceTable | None = None) -> None:
        super().__init__(calls.hal, calls.device_id)
        self.ts_id = ts_id
        self.resource_table = resource_table or ResourceTable()
        self._spare: list[tuple[bytearray, memoryview, Any, Any]] = []
        """What calls about ids are made with, while no call uses it: input, words of the output, references to both."""

    def _input(self, kind: str, resource_id: int = 0) -> Any:
        info = s.halResourceIdInputInfo()
        info.type, info.tsId, info.resourceId = _type_of(kind), self.ts_id, resource_id
        return info

    def alloc(self, kind: str, *, priority: int = 0, flags: int = 0) -> int:
        """Return a new id; an exhausted kind raises ResourceExhausted with message EE1023."""
        self.resource_table.enter()
        with self.resource_table.changing:
            number = self._take(kind, 0, priority, flags)
            self.resource_table.ids[kind, number] = priority, flags
        return number

    def _take(self, kind: str, wanted: int, priority: int, flags: int) -> int:
        _, words, asked, answer = blocks = self._blocks(kind, wanted, priority, flags)
        rc = self.hal.halResourceIdAlloc(self.device_id, asked, answer)
        number: int = words[0]
        self._spare.append(blocks)
        if rc:
            raise self._exhausted(rc, kind)
        return number

    def _blocks(
        self, kind: str, resource_id: int, priority: int, flags: int
    ) -> tuple[bytearray, memoryview, Any, Any]:
        """Return filled structures for one call, which gives them to `_spare` when it has read the answer."""
        try:
            blocks = self._spare.pop()
        except IndexError:
            blocks = _new_blocks()
        _INPUT.pack_into(blocks[0], 0, _type_of(kind), self.ts_id, resource_id, priority, flags)
        return blocks

    def take_again(self) -> None:
        """Take every held id again, under its number, after the device was opened again."""
        for (kind, number), (priority, flags) in list(self.resource_table.ids.items()):
            self._take(kind, number, priority, flags | c.TSDRV_RES_SPECIFIED_ID)

    def bind_again(self) -> None:
        """Let completions of all streams arrive again where they did."""
        for stream_id, cq_id in list(self.resource_table.bound.items()):
            self.bind_logic_cq(stream_id, cq_id)

    def free(self, kind: str, resource_id: int, *, flags: int = 0) -> None:
        """Give an id back, with the flags it was taken with; the driver refuses one that this process does not own."""
        blocks, table = self._blocks(kind, resource_id, 0, flags), self.resource_table
        ask = partial(self.hal.halResourceIdFree, self.device_id, blocks[2])
        with table.changing:
            rc = answer(ask, partial(table.ids.pop, (kind, resource_id), None))
        if rc or table.refused:
            again = partial(self.free, kind, resource_id, flags=flags)
            self.answered(table, rc, again, "halResourceIdFree", f"{kind.lower()} id {resource_id}")
        self._spare.append(blocks)

    def freeing(self, kind: str, resource_id: int, free: Callable[[], object] | None = None) -> Once:
        """Return what frees an id that is held, once; by `free`, where that is more than the driver's call."""
        return Once(self.resource_table.ids, (kind, resource_id), free or partial(self.free, kind, resource_id))

    def usage(self, kind: str) -> tuple[int, int]:
        """Return (how many ids of a kind the device has, how many all processes use): halResourceInfoQuery."""
        info = s.halResourceInfo()
        rc = self.hal.halResourceInfoQuery(
            self.device_id, self.ts_id, getattr(c, f"DRV_RESOURCE_{kind}_ID"), ctypes.byref(info)
        )
        self.check(rc, "halResourceInfoQuery", kind.lower())
        return int(info.capacity), int(info.usedNum)

    def fire(self, kind: str, resource_id: int) -> None:
        """Set an event or a notify from the host (DRV_ID_RECORD)."""
        self._configure(resource_id, "DRV_ID_RECORD", 0, kind)

    def unsetter(self, kind: str) -> Callable[[int], None]:
        """Return what takes the setting of an event or a notify back from the host (DRV_ID_RESET).

        It is fast, because it fills the same structures every time: one thread at a time may call it.
        """
        info, para = self._input(kind), s.halResourceConfigInfo()
        para.prop = c.DRV_ID_RESET
        configure, device_id, asked, wanted = (
            self.hal.raw("halResourceConfig"), self.device_id, ctypes.byref(info), ctypes.byref(para)
        )

        def unset(number: int) -> None:
            info.resourceId = number
            if rc := configure(device_id, asked, wanted):
                raise self.fault(rc, "halResourceConfig", f"DRV_ID_RESET, {kind.lower()} id {number}")

        return unset

    def bind_logic_cq(self, stream_id: int, cq_id: int) -> None:
        """Let a stream's completions arrive in a logic CQ."""
        self._configure(stream_id, "DRV_STREAM_BIND_LOGIC_CQ", cq_id)
        self.resource_table.bound[stream_id] = cq_id

    def unbind_logic_cq(self, stream_id: int) -> None:
        """Undo `bind_logic_cq`."""
        self.give_back(
            self.resource_table, partial(self._configured, stream_id, "DRV_STREAM_UNBIND_LOGIC_CQ", 0, STREAM),
            partial(self.unbind_logic_cq, stream_id), "halResourceConfig", f"unbinding of stream id {stream_id}",
            partial(self.resource_table.bound.pop, stream_id, None),
        )

    def unbinding(self, stream_id: int) -> Once:
        """Return what undoes `bind_logic_cq` once, where that was done."""
        return Once(self.resource_table.bound, stream_id, partial(self.unbind_logic_cq, stream_id))

    def _configure(self, resource_id: int, prop: str, value: int, kind: str = STREAM) -> None:
        rc = self._configured(resource_id, prop, value, kind)
        self.check(rc, "halResourceConfig", f"{prop}, {kind.lower()} id {resource_id}")

    def _configured(self, resource_id: int, prop: str, value: int, kind: str) -> int:
        info = self._input(kind, resource_id)
        para = s.halResourceConfigInfo()
        para.prop = getattr(c, prop)
        para.value[0] = value
        return int(self.hal.halResourceConfig(self.device_id, ctypes.byref(info), ctypes.byref(para)))

    def _exhausted(self, rc: int, kind: str) -> errors.RuntimeFault:
        fault = self.fault(rc, "halResourceIdAlloc", f"{kind.lower()} on device {self.device_id}")
        if isinstance(fault, errors.ResourceExhausted):
            fault.hint = (
                f"too many {_KIND_NAMES[kind]} are alive on device {self.device_id}: pair each create with a close, "
                "and look for other processes on the device"
            )
        return fault
