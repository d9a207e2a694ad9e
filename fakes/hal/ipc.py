"""HAL chapter "ipc": memory and notifies under names that other processes can open (hal_semantics 5 and 7.6).

The fake machine lives in one process, so an opener is the same process; white lists are kept all the same.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.memory import Block, Kind
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine import Machine

_NAME_BYTES = 65
_MAX_PIDS = 31
_TABLES = {"event": "events", "notify": "notifies", "cnt_notify": "counters"}


@dataclass(slots=True, eq=False)
class Named:
    """Something with a name, who may open it, and how often it is open."""

    name: bytes
    pids: set[int] = field(default_factory=set)
    open_to_all: bool = False
    opened: int = 0
    gone: bool = False

    def allows(self, pid: int) -> bool:
        """Whether a process may open it."""
        return self.open_to_all or pid in self.pids


@dataclass(slots=True, eq=False)
class SharedMemory(Named):
    """A block under a name."""

    block: Block | None = None


@dataclass(slots=True, eq=False)
class SharedId(Named):
    """An id of one card under a name."""

    device: int = 0
    kind: int = 0
    number: int = 0


class IpcCalls(Chapter):
    """Functions of ascend_hal_base.h that share memory and ids between processes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._memory: dict[bytes, SharedMemory] = {}
        self._ids: dict[bytes, SharedId] = {}
        self._views: dict[int, SharedMemory] = {}
        self._count = 0

    def _name(self, device: int, kind: int) -> bytes:
        self._count += 1
        return f"{os.getpid():08x} {device:08x} {kind:08x} {self._count:08x}".encode()

    @staticmethod
    def _text(address: int) -> bytes:
        return ctypes.string_at(address) if address else b""

    # -- memory -------------------------------------------------------------------------------------------------------

    def halShmemCreateHandle(self, address: int, size: int, name: int, length: int) -> int:
        """Name a block of device memory; `name` has room for at least 65 bytes."""
        block = self.machine.memory.find(address)
        if not name or length < _NAME_BYTES or block is None or block.kind is not Kind.DEVICE or block.base != address:
            return c.DRV_ERROR_INVALID_VALUE
        shared = SharedMemory(self._name(block.device, 0), block=block)
        self._memory[shared.name] = shared
        ctypes.memmove(name, shared.name + b"\0", len(shared.name) + 1)
        return 0

    def halShmemDestroyHandle(self, name: int) -> int:
        """Forget a name; who has it open keeps the memory."""
        return 0 if self._memory.pop(self._text(name), None) is not None else c.DRV_ERROR_INVALID_VALUE

    def halShmemSetPidHandle(self, name: int, pids: Any, count: int) -> int:
        """Allow up to 31 processes."""
        return self._allow(self._memory.get(self._text(name)), pids, count)

    @staticmethod
    def _allow(shared: Named | None, pids: Any, count: int) -> int:
        if shared is None or pids is None or not 1 <= count <= _MAX_PIDS:
            return c.DRV_ERROR_INVALID_VALUE
        shared.pids.update((ctypes.c_int32 * count).from_address(ctypes.addressof(pids)))
        return 0

    def halShmemSetAttribute(self, name: int, kind: int, attribute: int) -> int:
        """Do without a white list."""
        shared = self._memory.get(self._text(name))
        if shared is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind != c.SHMEM_ATTR_TYPE_NO_WLIST_IN_SERVER:
            return c.DRV_ERROR_NOT_SUPPORT
        shared.open_to_all = attribute == c.SHMEM_NO_WLIST_ENABLE
        return 0

    def halShmemOpenHandle(self, name: int, address: Any) -> int:
        """Map named memory at an address of this process."""
        shared = self._memory.get(self._text(name))
        if address is None:
            return c.DRV_ERROR_INVALID_VALUE
        if shared is None or shared.block is None:
            return c.DRV_ERROR_IOCRL_FAIL
        if not shared.allows(os.getpid()):
            return c.DRV_ERROR_OPER_NOT_PERMITTED
        memory = self.machine.memory
        base = memory.reserve(-(-shared.block.span // (2 << 20)) * (2 << 20))
        if base is None:
            return c.DRV_ERROR_OUT_OF_MEMORY
        memory.map_physical(base, shared.block)
        shared.block.users += 1
        self._views[base] = shared
        address.value = base
        return 0

    def halShmemOpenHandleByDevId(self, devid: int, name: int, address: Any) -> int:
        """Map named memory for one card; cards that PCIe joins have only their own."""
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        shared = self._memory.get(self._text(name))
        elsewhere = shared is not None and shared.block is not None and shared.block.device != devid
        if elsewhere and self.machine.options.topology == "pcie":
            return c.DRV_ERROR_IOCRL_FAIL
        return self.halShmemOpenHandle(name, address)

    def halShmemCloseHandle(self, address: int) -> int:
        """Undo the mapping."""
        shared = self._views.pop(address, None)
        if shared is None or shared.block is None:
            return c.DRV_ERROR_INVALID_VALUE
        memory = self.machine.memory
        memory.free(address)
        memory.unreserve(address, -(-shared.block.span // (2 << 20)) * (2 << 20))
        shared.block.users -= 1
        return 0

    def halShmemInfoGet(self, name: int, info: Any) -> int:
        """Return the physical id of the card that has the memory."""
        shared = self._memory.get(self._text(name))
        if shared is None or shared.block is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        info.phyDevid = self.machine.devices[shared.block.device].identity.physical
        return 0

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
        shared = SharedId(self._name(device.index, info.id_type), device=device.index, kind=info.id_type,
                          number=info.shrid)  # fmt: skip
        self._ids[shared.name] = shared
        ctypes.memmove(name, shared.name + b"\0", len(shared.name) + 1)
        return 0

    def halShrIdDestroy(self, name: int) -> int:
        """Forget a name."""
        return 0 if self._ids.pop(self._text(name), None) is not None else c.DRV_ERROR_IOCRL_FAIL

    def halShrIdSetPid(self, name: int, pids: Any, count: int) -> int:
        """Allow exactly one process per call."""
        return c.DRV_ERROR_INVALID_VALUE if count != 1 else self._allow(self._ids.get(self._text(name)), pids, count)

    def halShrIdSetAttribute(self, name: int, kind: int, attribute: Any) -> int:
        """Do without a white list."""
        shared = self._ids.get(self._text(name))
        if shared is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind != c.SHR_ID_ATTR_NO_WLIST_IN_SERVER:
            return c.DRV_ERROR_NOT_SUPPORT
        shared.open_to_all = attribute.enableFlag == c.SHRID_NO_WLIST_ENABLE
        return 0

    def halShrIdOpen(self, name: int, info: Any) -> int:
        """Return the id behind a name."""
        shared = self._ids.get(self._text(name))
        if info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if shared is None:
            return c.DRV_ERROR_IOCRL_FAIL
        if not shared.allows(os.getpid()):
            return c.DRV_ERROR_OPER_NOT_PERMITTED
        shared.opened += 1
        info.devid, info.tsid, info.id_type, info.shrid = shared.device, 0, shared.kind, shared.number
        return 0

    def halShrIdClose(self, name: int) -> int:
        """Undo halShrIdOpen."""
        shared = self._ids.get(self._text(name))
        if shared is None or not shared.opened:
            return c.DRV_ERROR_IOCRL_FAIL
        shared.opened -= 1
        return 0

    def halShrIdRecord(self, name: int) -> int:
        """Fire a named notify or event."""
        shared = self._ids.get(self._text(name))
        if shared is None or not shared.opened:
            return c.DRV_ERROR_IOCRL_FAIL
        device = self.machine.devices[shared.device]
        table = device.notifies if shared.kind == c.SHR_ID_NOTIFY_TYPE else device.events
        device.signal(table, shared.number).value = 1
        device.wake()
        return 0

    def halShrIdInfoGet(self, name: int, info: Any) -> int:
        """Return the physical id of the card that has the id."""
        shared = self._ids.get(self._text(name))
        if shared is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        info.phyDevid = self.machine.devices[shared.device].identity.physical
        return 0
