"""HAL chapter "ipc": memory and notifies under names that other processes can open (hal_semantics 5 and 7.6)."""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.blocks import HUGE, Block, Kind
from fakes.shared import Export
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.machine import Machine

_NAME_BYTES = 65
_MAX_PIDS = 31


class IpcCalls(Chapter):
    """Functions of ascend_hal_base.h that share memory and ids between processes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._views: dict[int, Block] = {}
        self._open_ids: Counter[str] = Counter()
        machine.on_close.append(self._forget)

    def _forget(self, devid: int) -> None:
        """Undo what the process has open of a card, and take its names away."""
        for address in [address for address, block in self._views.items() if block.device == devid]:
            self.halShmemCloseHandle(address)
        self.machine.names.forget_card(devid)

    def _name(self, device: int, kind: int) -> str:
        return f"{self.machine.pid:08x} {device:08x} {kind:08x} {self.machine.names.next_number():08x}"

    def _publish(self, export: Export, name: int) -> int:
        self.machine.names.publish(export)
        ctypes.memmove(name, export.name.encode() + b"\0", len(export.name) + 1)
        return 0

    def _find(self, name: int, *, memory: bool) -> Export | None:
        return self._only(self.machine.names.find(_text(name)), memory=memory)

    def _own(self, name: int, *, memory: bool) -> Export | None:
        return self._only(self.machine.names.own(_text(name)), memory=memory)

    @staticmethod
    def _only(export: Export | None, *, memory: bool) -> Export | None:
        return export if export is not None and bool(export.size) is memory else None

    def _allow(self, export: Export | None, pids: Any, count: int) -> int:
        if export is None or pids is None or not 1 <= count <= _MAX_PIDS:
            return c.DRV_ERROR_INVALID_VALUE
        export.pids.update((ctypes.c_int32 * count).from_address(ctypes.addressof(pids)))
        self.machine.names.changed()
        return 0

    def _owner(self, export: Export | None, info: Any) -> int:
        if export is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        info.phyDevid = self.machine.devices[export.device].identity.physical
        return 0

    # -- memory -------------------------------------------------------------------------------------------------------

    def halShmemCreateHandle(self, address: int, size: int, name: int, length: int) -> int:
        """Name a block of device memory; `name` has room for at least 65 bytes."""
        block = self.machine.memory.find(address)
        if not name or length < _NAME_BYTES or block is None or block.kind is not Kind.DEVICE or block.base != address:
            return c.DRV_ERROR_INVALID_VALUE
        source = self.machine.source(block)
        if source is None and self.machine.shared is not None:
            return c.DRV_ERROR_INVALID_VALUE
        export = Export(self._name(block.device, 0), block.device, source=source, size=block.size, page=block.page,
                        block=block)  # fmt: skip
        return self._publish(export, name)

    def halShmemDestroyHandle(self, name: int) -> int:
        """Forget a name; who has it open keeps the memory."""
        return 0 if self.machine.names.withdraw(_text(name)) else c.DRV_ERROR_INVALID_VALUE

    def halShmemSetPidHandle(self, name: int, pids: Any, count: int) -> int:
        """Allow up to 31 processes."""
        return self._allow(self._own(name, memory=True), pids, count)

    def halShmemSetAttribute(self, name: int, kind: int, attribute: int) -> int:
        """Do without a white list."""
        export = self._own(name, memory=True)
        if export is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind != c.SHMEM_ATTR_TYPE_NO_WLIST_IN_SERVER:
            return c.DRV_ERROR_NOT_SUPPORT
        export.open_to_all = attribute == c.SHMEM_NO_WLIST_ENABLE
        self.machine.names.changed()
        return 0

    def halShmemOpenHandle(self, name: int, address: Any) -> int:
        """Map named memory at an address of this process."""
        if address is None:
            return c.DRV_ERROR_INVALID_VALUE
        with self.machine.names.still():
            export = self._find(name, memory=True)
            if export is None:
                return c.DRV_ERROR_IOCRL_FAIL
            if not export.allows(self.machine.pid):
                return c.DRV_ERROR_OPER_NOT_PERMITTED
            block = self.machine.imports.open(export)
        if block is None:
            return c.DRV_ERROR_IOCRL_FAIL
        base = self.machine.memory.reserve(_room(block))
        if base is None:
            self.machine.imports.close(block)
            return c.DRV_ERROR_OUT_OF_MEMORY
        self.machine.memory.map_physical(base, block)
        self._views[base] = block
        address.value = base
        return 0

    def halShmemOpenHandleByDevId(self, devid: int, name: int, address: Any) -> int:
        """Map named memory for one card; cards that PCIe joins have only their own."""
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        export = self._find(name, memory=True)
        if export is not None and export.device != devid and self.machine.options.topology == "pcie":
            return c.DRV_ERROR_IOCRL_FAIL
        return self.halShmemOpenHandle(name, address)

    def halShmemCloseHandle(self, address: int) -> int:
        """Undo the mapping."""
        block = self._views.pop(address, None)
        if block is None:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.memory.free(address)
        self.machine.memory.unreserve(address, _room(block))
        self.machine.imports.close(block)
        return 0

    def halShmemInfoGet(self, name: int, info: Any) -> int:
        """Return the physical id of the card that has the memory."""
        return self._owner(self._find(name, memory=True), info)

    # -- notifies and events ------------------------------------------------------------------------------------------

    def halShrIdCreate(self, info: Any, name: int, length: int) -> int:
        """Name an id."""
        device = None if info is None else self.device(info.devid)
        if device is None or not name or length < _NAME_BYTES:
            return c.DRV_ERROR_INVALID_VALUE
        kind = {c.SHR_ID_NOTIFY_TYPE: "notify", c.SHR_ID_EVENT_TYPE: "event"}.get(info.id_type)
        if kind is None:
            return c.DRV_ERROR_NOT_SUPPORT
        if info.shrid not in device.ids[kind].used:
            return c.DRV_ERROR_INVALID_VALUE
        export = Export(self._name(device.index, info.id_type), device.index, kind=info.id_type, number=info.shrid)
        return self._publish(export, name)

    def halShrIdDestroy(self, name: int) -> int:
        """Forget a name."""
        return 0 if self.machine.names.withdraw(_text(name)) else c.DRV_ERROR_IOCRL_FAIL

    def halShrIdSetPid(self, name: int, pids: Any, count: int) -> int:
        """Allow exactly one process per call."""
        return c.DRV_ERROR_INVALID_VALUE if count != 1 else self._allow(self._own(name, memory=False), pids, count)

    def halShrIdSetAttribute(self, name: int, kind: int, attribute: Any) -> int:
        """Do without a white list."""
        export = self._own(name, memory=False)
        if export is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind != c.SHR_ID_ATTR_NO_WLIST_IN_SERVER:
            return c.DRV_ERROR_NOT_SUPPORT
        export.open_to_all = attribute.enableFlag == c.SHRID_NO_WLIST_ENABLE
        self.machine.names.changed()
        return 0

    def halShrIdOpen(self, name: int, info: Any) -> int:
        """Return the id behind a name."""
        export = self._find(name, memory=False)
        if info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if export is None:
            return c.DRV_ERROR_IOCRL_FAIL
        if not export.allows(self.machine.pid):
            return c.DRV_ERROR_OPER_NOT_PERMITTED
        self._open_ids[export.name] += 1
        info.devid, info.tsid, info.id_type, info.shrid = export.device, 0, export.kind, export.number
        return 0

    def halShrIdClose(self, name: int) -> int:
        """Undo halShrIdOpen; also when the process that had made the name is gone."""
        text = _text(name)
        if not self._open_ids[text]:
            return c.DRV_ERROR_IOCRL_FAIL
        self._open_ids[text] -= 1
        return 0

    def halShrIdRecord(self, name: int) -> int:
        """Fire a named notify or event."""
        export = self._find(name, memory=False)
        if export is None or not self._open_ids[export.name]:
            return c.DRV_ERROR_IOCRL_FAIL
        device = self.machine.devices[export.device]
        table = device.notifies if export.kind == c.SHR_ID_NOTIFY_TYPE else device.events
        device.signal(table, export.number).value = 1
        device.wake()
        return 0

    def halShrIdInfoGet(self, name: int, info: Any) -> int:
        """Return the physical id of the card that has the id."""
        return self._owner(self._find(name, memory=False), info)


def _text(address: int) -> str:
    return ctypes.string_at(address).decode("ascii", "replace") if address else ""


def _room(block: Block) -> int:
    """Return how many addresses the view of a block takes."""
    return -(-block.span // HUGE) * HUGE
