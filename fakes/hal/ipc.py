"""HAL chapter "ipc": memory under names that other processes can open (hal_semantics 7.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.checkers.names import at, call_site
from fakes.hal.exports import NAME_BYTES, NamedChapter, is_name, text_at
from fakes.machine.blocks import HUGE, Allocation, Kind
from fakes.machine.memory import HOST_PAGE
from fakes.shared import Export
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.ports import Machine


class IpcCalls(NamedChapter):
    """Functions of ascend_hal_base.h that share memory between processes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._views: dict[int, Allocation] = {}
        self._sites: dict[str, Any] = {}
        """Where names were made, while somebody watches."""
        self._with_scheduler: set[tuple[int, ...]] = set()
        """Host memory that the task scheduler of a card may write to: card, address, bytes, protection."""
        machine.in_use.append(self._in_use)
        machine.on_close.append(self._forget)

    def _in_use(self, devid: int) -> dict[str, list[str]]:
        """Say which names the process has given to memory of a card."""
        return {"keys of shared memory": [
            f"'{export.name}' of {export.size} bytes{at(self._sites.get(export.name), 'made at')}"
            for export in self.machine.names.of_card(devid) if export.size and export.block is not None
        ]}  # fmt: skip

    def _forget(self, devid: int) -> None:
        """Undo what the process has open of a card, and take its names away."""
        for address in [address for address, block in self._views.items() if block.device == devid]:
            self.halShmemCloseHandle(address)
        self.machine.names.forget_card(devid)
        self._with_scheduler = {shared for shared in self._with_scheduler if shared[0] != devid}

    def halShmemCreateHandle(self, address: int, size: int, name: int, length: int) -> int:
        """Name a block of device memory; `name` has space for at least 65 bytes."""
        block = self.machine.memory.find(address)
        if not name or length < NAME_BYTES or block is None or block.kind is not Kind.DEVICE or block.base != address:
            return c.DRV_ERROR_INVALID_VALUE
        source = self.machine.source(block)
        if source is None and self.machine.shared is not None:
            return c.DRV_ERROR_INVALID_VALUE
        export = Export(self.new_name(block.device, 0), block.device, source=source, size=block.size, page=block.page,
                        block=block)  # fmt: skip
        if self.machine.checks is not None:
            self._sites[export.name] = call_site()
        return self.publish(export, name)

    def halShmemDestroyHandle(self, name: int) -> int:
        """Forget a name; who has it open keeps the memory."""
        self._sites.pop(text_at(name), None)
        return 0 if self.machine.names.withdraw(text_at(name)) else c.DRV_ERROR_INVALID_VALUE

    def halShmemSetPidHandle(self, name: int, pids: Any, count: int) -> int:
        """Allow up to 31 processes."""
        return self.allow(self.own(name, memory=True), pids, count)

    def halShmemSetAttribute(self, name: int, kind: int, attribute: int) -> int:
        """Do without a white list."""
        if kind != c.SHMEM_ATTR_TYPE_NO_WLIST_IN_SERVER:
            return c.DRV_ERROR_NOT_SUPPORT
        export = self.own(name, memory=True)
        if export is None:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.names.open_to(export, attribute == c.SHMEM_NO_WLIST_ENABLE)
        return 0

    def halShmemOpenHandle(self, name: int, address: Any) -> int:
        """Map named memory at an address of this process; later drivers want to be told for which card."""
        if not self.machine.driver.first:
            return c.DRV_ERROR_NOT_SUPPORT
        return self._open(name, address)

    def _open(self, name: int, address: Any) -> int:
        if address is None or not text_at(name):
            return c.DRV_ERROR_INVALID_VALUE
        with self.machine.names.still():
            export = self.find(name, memory=True)
            if export is None:
                return c.DRV_ERROR_IOCRL_FAIL
            if not export.allows(self.machine.pid):
                return c.DRV_ERROR_OPER_NOT_PERMITTED
            block = self.machine.imports.open(export)
        if block is None:
            return c.DRV_ERROR_IOCRL_FAIL
        base = self.machine.memory.reserve(_reserved_bytes(block))
        if base is None:
            self.machine.imports.close(block)
            return c.DRV_ERROR_OUT_OF_MEMORY
        self.machine.memory.map_physical(base, block)
        self._views[base] = block
        address.value = base
        return 0

    def halShmemOpenHandleByDevId(self, devid: int, name: int, address: Any) -> int:
        """Map named memory for one card; cards that PCIe joins have only their own."""
        if address is None or not is_name(name):
            return c.DRV_ERROR_INVALID_VALUE
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        export = self.find(name, memory=True)
        if export is not None and export.device != devid and self.machine.options.topology == "pcie":
            return c.DRV_ERROR_IOCRL_FAIL
        return self._open(name, address)

    def halShmemCloseHandle(self, address: int) -> int:
        """Undo the mapping."""
        block = self._views.pop(address, None)
        if block is None:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.memory.free(address)
        self.machine.memory.unreserve(address, _reserved_bytes(block))
        self.machine.imports.close(block)
        return 0

    def halSetMemSharing(self, para: Any) -> int:
        """Let the task scheduler of a card write to a page of pinned host memory, or no longer (`enable_flag` 1).

        Host runtimes ask for it where operators are timed in steps below 100 ms. The scheduler of the fake tells of
        failures in the error ring alone, which is complete.
        """
        if para is None or not para.ptr or not para.size:
            return c.DRV_ERROR_INVALID_VALUE
        if para.accessor != c.TS_ACCESSOR or para.side != c.MEM_HOST_SIDE:
            return c.DRV_ERROR_NOT_SUPPORT
        if para.enable_flag not in (0, 1):
            return c.DRV_ERROR_INVALID_VALUE
        if self.device(para.id) is None or para.size > HOST_PAGE or para.ptr % HOST_PAGE:
            return c.DRV_ERROR_IOCRL_FAIL
        shared = (para.id, para.ptr, para.size, para.pg_prot)
        if para.enable_flag:
            if shared not in self._with_scheduler:
                return c.DRV_ERROR_IOCRL_FAIL
            self._with_scheduler.remove(shared)
            return 0
        block = self.machine.memory.find(para.ptr)
        if block is None or block.kind is not Kind.HOST or para.ptr + para.size > block.base + block.span:
            return c.DRV_ERROR_IOCRL_FAIL
        if shared in self._with_scheduler:
            return c.DRV_ERROR_IOCRL_FAIL
        self._with_scheduler.add(shared)
        return 0

    def halShmemInfoGet(self, name: int, info: Any) -> int:
        """Return the physical id of the card that has the memory."""
        return self.owner(self.find(name, memory=True), info)


def _reserved_bytes(block: Allocation) -> int:
    """Return how many addresses the view of a block takes."""
    return -(-block.span // HUGE) * HUGE
