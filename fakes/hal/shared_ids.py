"""HAL chapter "shared_ids": notifies and events under names that other processes can open (hal_semantics 5)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fakes.hal.exports import NAME_BYTES, NamedChapter, is_name, text_at
from fakes.machine.driver import QUEUE_NUMBERS, SCHEDULERS
from fakes.shared import Export
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.ports import Machine


class SharedIdCalls(NamedChapter):
    """Functions of ascend_hal_base.h that share ids between processes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._open_ids: Counter[str] = Counter()

    def halShrIdCreate(self, info: Any, name: int, length: int) -> int:
        """Name an id."""
        if info is None or info.devid >= QUEUE_NUMBERS or info.tsid >= SCHEDULERS or not name or length < NAME_BYTES:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(info.devid)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        kind = {c.SHR_ID_NOTIFY_TYPE: "notify", c.SHR_ID_EVENT_TYPE: "event"}.get(info.id_type)
        if kind is None:
            return c.DRV_ERROR_NOT_SUPPORT
        if info.shrid not in device.ids[kind].used:
            return c.DRV_ERROR_INVALID_VALUE
        export = Export(self.new_name(device.index, info.id_type), device.index, kind=info.id_type, number=info.shrid)
        return self.publish(export, name)

    def halShrIdDestroy(self, name: int) -> int:
        """Forget a name."""
        if not is_name(name):
            return c.DRV_ERROR_INVALID_VALUE
        return 0 if self.machine.names.withdraw(text_at(name)) else c.DRV_ERROR_IOCRL_FAIL

    def halShrIdSetPid(self, name: int, pids: Any, count: int) -> int:
        """Allow exactly one process per call."""
        return c.DRV_ERROR_INVALID_VALUE if count != 1 else self.allow(self.own(name, memory=False), pids, count)

    def halShrIdSetAttribute(self, name: int, kind: int, attribute: Any) -> int:
        """Do without a white list."""
        if not name:
            return c.DRV_ERROR_INVALID_VALUE
        if kind != c.SHR_ID_ATTR_NO_WLIST_IN_SERVER or attribute.enableFlag != c.SHRID_NO_WLIST_ENABLE:
            return c.DRV_ERROR_NOT_SUPPORT
        export = self.own(name, memory=False)
        if export is None:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.names.open_to(export, True)
        return 0

    def halShrIdOpen(self, name: int, info: Any) -> int:
        """Return the id behind a name, and the physical id of its card."""
        if info is None or not is_name(name):
            return c.DRV_ERROR_INVALID_VALUE
        export = self.find(name, memory=False)
        if export is None:
            return c.DRV_ERROR_IOCRL_FAIL
        if not export.allows(self.machine.pid):
            return c.DRV_ERROR_OPER_NOT_PERMITTED
        self._open_ids[export.name] += 1
        info.devid = self.machine.devices[export.device].identity.physical
        info.tsid, info.id_type, info.shrid = 0, export.kind, export.number
        return 0

    def halShrIdClose(self, name: int) -> int:
        """Undo halShrIdOpen; also when the process that had made the name is gone."""
        if not is_name(name):
            return c.DRV_ERROR_INVALID_VALUE
        text = text_at(name)
        if not self._open_ids[text]:
            return c.DRV_ERROR_IOCRL_FAIL
        self._open_ids[text] -= 1
        return 0

    def drvCloseIpcNotify(self, name: int, _info: Any) -> int:
        """Undo halShrIdOpen under its older name."""
        return self.halShrIdClose(name)

    def halShrIdRecord(self, name: int) -> int:
        """Fire a named notify or event."""
        if not is_name(name):
            return c.DRV_ERROR_INVALID_VALUE
        export = self.find(name, memory=False)
        if export is None or not self._open_ids[export.name]:
            return c.DRV_ERROR_IOCRL_FAIL
        device = self.machine.devices[export.device]
        self.fire(device, "notify" if export.kind == c.SHR_ID_NOTIFY_TYPE else "event", export.number)
        return 0

    def halShrIdInfoGet(self, name: int, info: Any) -> int:
        """Return the physical id of the card that has the id."""
        return self.owner(self.find(name, memory=False), info)
