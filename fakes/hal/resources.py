"""HAL chapter "resources": ids of streams, events, models, notifies; binding; register windows (hal_semantics 5)."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.driver import QUEUE_NUMBERS, SCHEDULERS
from fakes.machine.identity import window
from npuhal import constants as c
from npuhal import structs as s

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine

_KINDS = {
    c.DRV_STREAM_ID: "stream", c.DRV_EVENT_ID: "event", c.DRV_MODEL_ID: "model", c.DRV_NOTIFY_ID: "notify",
    c.DRV_CMO_ID: "cmo", c.DRV_CNT_NOTIFY_ID: "cnt_notify", c.DRV_SQ_ID: "sq", c.DRV_CQ_ID: "cq",
}  # fmt: skip
"""drvIdType_t."""
_CAPACITY = {
    c.DRV_RESOURCE_STREAM_ID: "stream", c.DRV_RESOURCE_EVENT_ID: "event", c.DRV_RESOURCE_MODEL_ID: "model",
    c.DRV_RESOURCE_NOTIFY_ID: "notify", c.DRV_RESOURCE_CMO_ID: "cmo", c.DRV_RESOURCE_SQ_ID: "sq",
    c.DRV_RESOURCE_CQ_ID: "cq", c.DRV_RESOURCE_CNT_NOTIFY_ID: "cnt_notify",
}  # fmt: skip
"""drvResourceType_t, which numbers the last three differently."""
_EXHAUSTED = {
    "stream": c.DRV_ERROR_NO_STREAM_RESOURCES, "event": c.DRV_ERROR_NO_EVENT_RESOURCES,
    "model": c.DRV_ERROR_NO_MODEL_RESOURCES, "notify": c.DRV_ERROR_NO_NOTIFY_RESOURCES,
}  # fmt: skip
_SPECIFIED = 2
_INPUT, _OUTPUT = struct.Struct("<5I"), struct.Struct("<3I")
"""halResourceIdInputInfo: type, tsId, resourceId and the first two words of `res`; halResourceIdOutputInfo: resourceId,
and these."""
_ALL = 0xFFFFFFFF
_MANY_IDS_SINCE = 0x072418
_FEW_IDS = 2048
_NOTIFY_WINDOW = 0x20_0000


class ResourceCalls(Chapter):
    """Functions of ascend_hal_base.h and trs_pkg.h about ids."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._windows: set[tuple[int, int, int]] = set()
        """What is mapped: card, kind, id."""
        machine.on_close.append(self._forget)

    def _forget(self, devid: int) -> None:
        self._windows = {mapped for mapped in self._windows if mapped[0] != devid}

    def _ceiling(self, kind: str) -> int | None:
        """Clients that never told a recent version get no stream or model id from 2048 on."""
        return _FEW_IDS if kind in ("stream", "model") and self.machine.client_version < _MANY_IDS_SINCE else None

    def halResourceIdAlloc(self, devid: int, in_: Any, out: Any) -> int:
        """Hand out an id, any or a given one."""
        device = self.device(devid)
        if not 0 <= devid < QUEUE_NUMBERS or in_ is None or out is None:
            return c.DRV_ERROR_INVALID_VALUE
        number_of_kind, scheduler, wanted, _, flags = _INPUT.unpack_from(in_)
        kind = _KINDS.get(number_of_kind)
        if kind is None:
            return c.DRV_ERROR_INVALID_VALUE
        if device is None or not device.opened:
            return c.DRV_ERROR_OPEN_FAILED
        if scheduler and scheduler >= self.schedulers(device):
            return c.DRV_ERROR_IOCRL_FAIL
        pool = device.ids[kind]
        if flags & _SPECIFIED:
            if not pool.take_this(wanted):
                return _EXHAUSTED.get(kind, c.DRV_ERROR_NO_RESOURCES)
            number: int | None = wanted
        else:
            number = pool.take(self._ceiling(kind))
        if number is None:
            return _EXHAUSTED.get(kind, c.DRV_ERROR_NO_RESOURCES)
        device.forget_signal(kind, number)
        _OUTPUT.pack_into(out, 0, number, 0, 0)
        return 0

    def halResourceIdFree(self, devid: int, in_: Any) -> int:
        """Take an id back; a stream with a queue is refused."""
        device = self.device(devid)
        if not 0 <= devid < QUEUE_NUMBERS or in_ is None:
            return c.DRV_ERROR_INVALID_VALUE
        number_of_kind, scheduler, number, _, _ = _INPUT.unpack_from(in_)
        kind = _KINDS.get(number_of_kind)
        if kind is None or scheduler >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        if device is None or not device.opened:
            return c.DRV_ERROR_OPEN_FAILED
        if scheduler and scheduler >= self.schedulers(device):
            return c.DRV_ERROR_IOCRL_FAIL
        if kind == "stream" and number in device.by_stream:
            return c.DRV_ERROR_IOCRL_FAIL
        pool = device.ids[kind]
        if number not in pool.used:
            return c.DRV_ERROR_IOCRL_FAIL
        if kind == "stream":
            device.stream_memory.pop(number, None)
            device.bound.pop(number, None)
        device.forget_signal(kind, number)
        pool.give(number)  # last: until then an interrupt leaves it to be freed again
        return 0

    def halResourceConfig(self, devid: int, in_: Any, para: Any) -> int:
        """Bind a stream to a logic CQ or unbind it; fire or reset a notify or event from the host."""
        device = self.device(devid)
        if device is None or in_ is None or para is None or in_.type not in _KINDS:
            return c.DRV_ERROR_INVALID_VALUE
        number, kind = in_.resourceId, _KINDS[in_.type]
        if para.prop == c.DRV_STREAM_BIND_LOGIC_CQ:
            logic = device.logic.get(para.value[0])
            if kind != "stream" or number not in device.ids["stream"].used or logic is None:
                return c.DRV_ERROR_INVALID_VALUE
            device.bound[number] = logic
            if number in device.by_stream:
                device.by_stream[number].logic = logic
            return 0
        if para.prop == c.DRV_STREAM_UNBIND_LOGIC_CQ:
            if kind != "stream":
                return c.DRV_ERROR_INVALID_VALUE
            device.bound.pop(number, None)
            if number in device.by_stream:
                device.by_stream[number].logic = None
            return 0
        if para.prop == c.DRV_STREAM_ENABLE_EVENT:
            return 0 if kind == "stream" else c.DRV_ERROR_INVALID_VALUE
        if kind not in device.signals:
            return c.DRV_ERROR_INVALID_VALUE
        if para.prop == c.DRV_ID_RECORD:
            self.fire(device, kind, number)
            return 0
        if para.prop == c.DRV_ID_RESET:
            if number == _ALL:
                device.signals[kind].clear()
            else:
                self.fire(device, kind, number, 0)
            return 0
        return c.DRV_ERROR_INVALID_VALUE

    def halResourceInfoQuery(self, devid: int, ts: int, kind: int, info: Any) -> int:
        """Return how many ids of a kind there are and how many are used."""
        device = self.device(devid)
        if not 0 <= devid < QUEUE_NUMBERS or info is None or not 0 <= kind < c.DRV_RESOURCE_INVALID_ID:
            return c.DRV_ERROR_INVALID_VALUE
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if ts >= self.schedulers(device) or kind not in _CAPACITY:
            return c.DRV_ERROR_IOCRL_FAIL
        name = _CAPACITY[kind]
        ceiling = self._ceiling(name)
        limit = device.ids[name].limit
        info.capacity = limit if ceiling is None else min(limit, ceiling)
        info.usedNum = device.ids[name].in_use
        return 0

    def halResourceDetailQuery(self, devid: int, in_: Any, info: Any) -> int:
        """Return the queue ids of a stream."""
        device = self.device(devid)
        if device is None or in_ is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        sq = device.by_stream.get(in_.resourceId) if in_.type == c.DRV_STREAM_ID else None
        if sq is None:
            return c.DRV_ERROR_INVALID_VALUE
        answers = {
            c.DRV_RES_QUERY_SQID: sq.sq_id,
            c.DRV_RES_QUERY_CQID: sq.cq_id,
            c.DRV_RES_QUERY_LOGIC_CQID: sq.logic.cq_id if sq.logic is not None else 0xFFFFFFFF,
        }
        if info.type not in answers:
            return c.DRV_ERROR_NOT_SUPPORT
        info.value0 = answers[info.type]
        return 0

    def halResourceEnable(self, devid: int, in_: Any) -> int:
        """Enable a stream."""
        return self._switch(devid, in_, True)

    def halResourceDisable(self, devid: int, in_: Any) -> int:
        """Disable a stream."""
        return self._switch(devid, in_, False)

    def _switch(self, devid: int, in_: Any, on: bool) -> int:
        if not 0 <= devid < QUEUE_NUMBERS or in_ is None or in_.tsId >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(devid)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if in_.type != c.DRV_STREAM_ID:
            return c.DRV_ERROR_INVALID_VALUE
        sq = device.by_stream.get(in_.resourceId)
        if sq is None:
            return c.DRV_ERROR_INVALID_VALUE
        sq.enabled = on
        return 0

    def halResAddrMap(self, devid: int, info: Any, va: Any, length: Any) -> int:
        """Return where the registers of an id are mapped: an address for SQEs, not for the host."""
        if info is None or va is None or length is None:
            return c.DRV_ERROR_PARA_ERROR
        device = self.device(devid)
        code = self._refused(info, device)
        return code if code or device is None else self._map(device, info, va, length)

    @staticmethod
    def _refused(info: Any, device: Device | None) -> int:
        """Return what the library, then the kernel, refuses of a window; 0: nothing."""
        unified = info.flag & c.RES_MAP_USE_UNIFIED_VA and info.res_type != c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD
        if unified or any(info.rsv):
            return c.DRV_ERROR_NOT_SUPPORT
        if device is None:
            return c.DRV_ERROR_NO_DEVICE
        known = 0 <= info.res_type < c.RES_ADDR_TYPE_MAX and 0 <= info.target_proc_type < c.PROCESS_CPTYPE_MAX
        return 0 if known else c.DRV_ERROR_PARA_ERROR

    def _map(self, card: Device, info: Any, va: Any, length: Any) -> int:
        found = window(card, info.res_type, info.res_id)
        if found is None:
            return c.DRV_ERROR_NOT_SUPPORT
        va.value, length.value = found
        self._windows.add((card.index, info.res_type, info.res_id))
        return 0

    def halResAddrUnmap(self, devid: int, info: Any) -> int:
        """Undo halResAddrMap."""
        if info is None:
            return c.DRV_ERROR_PARA_ERROR
        device = self.device(devid)
        code = self._refused(info, device)
        return code if code or device is None else self._unmap(device, info)

    def _unmap(self, card: Device, info: Any) -> int:
        mapped = (card.index, info.res_type, info.res_id)
        if mapped not in self._windows:
            return c.DRV_ERROR_NOT_EXIST
        self._windows.remove(mapped)
        return 0

    def halResAddrMapV2(self, devid: int, in_: Any, out: Any) -> int:
        """Like halResAddrMap; `priv` may name another card, by its physical id, whose notify it is."""
        if in_ is None or out is None:
            return c.DRV_ERROR_PARA_ERROR
        device = self.device(devid)
        code = c.DRV_ERROR_NOT_SUPPORT if any(out.rsv) else self._refused(in_, device)
        if code or device is None:
            return code
        code, card = self._owner(device, in_)
        if code:
            return code
        address, length = ctypes.c_uint64(), ctypes.c_uint32()
        code = self._map(card, in_, address, length)
        if code == 0:
            out.va, out.len = address.value, length.value
        return code

    def _owner(self, device: Device, info: Any) -> tuple[int, Device]:
        """Return the code of what is wrong with `priv`, and the card whose id is meant."""
        if not info.priv:
            return 0, device
        if info.res_type != c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD:
            return c.DRV_ERROR_NOT_SUPPORT, device
        if info.priv_len < ctypes.sizeof(s.trs_res_map_priv):
            return c.DRV_ERROR_IOCRL_FAIL, device
        private = s.trs_res_map_priv.from_address(info.priv)
        if not private.flag & c.TSDRV_RES_REMOTE_ID:
            return 0, device
        card = self.physical_card(private.remote_devid)
        return (c.DRV_ERROR_IOCRL_FAIL, device) if card is None else (0, card)

    def halResAddrUnmapV2(self, devid: int, in_: Any) -> int:
        """Undo halResAddrMapV2."""
        if in_ is None:
            return c.DRV_ERROR_PARA_ERROR
        device = self.device(devid)
        code = self._refused(in_, device)
        if code or device is None:
            return code
        code, card = self._owner(device, in_)
        return code or self._unmap(card, in_)

    def halGetMaxResMapType(self) -> int:
        """Return the number of kinds of windows that halResAddrMap knows names of."""
        return c.RES_MAP_TYPE_MAX
