"""Virtual memory as objects: address ranges, physical memory, and the mappings between them (core_spec 13.11)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from npuhal import constants as c
from npuhal.words import count
from runtime import errors
from runtime.driver.vmm import PhysicalKind, VirtualDriver
from runtime.errors.arguments import check_instance, check_same_runtime, whole
from runtime.errors.closing import closing
from runtime.errors.not_copied import NotCopied
from runtime.memory.buffer import Buffer
from runtime.memory.device import DeviceBuffer
from runtime.memory.ipc import process_ids
from runtime.memory.ledger import PHYSICAL, InUse, Ledger

if TYPE_CHECKING:
    from runtime.driver.memory import MemoryDriver
    from runtime.driver.resource_table import Physical, VirtualMemory

HUGE_PAGES = 0x1
"""Flag of a reservation: for huge pages."""


def map_again(driver: VirtualDriver, memory: MemoryDriver, target: int, size: int, source: int, link: int) -> None:
    """Map what is mapped from `source` on, block by block, from `target` on as well, reached over another link.

    Raises:
        InvalidArgument 107000: a block does not begin where the one before it ends, or nothing is mapped there.
    """
    done = 0
    while done < size:
        base, length = memory.address_range(source + done)
        if base != source + done:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"no mapped block begins at {source + done:#x}; one begins at {base:#x}",
                hint="pass the first address of a mapping, and a size that ends with one",
            )
        handle = driver.retain(base)
        try:
            before = driver.link(handle)
            driver.set_link(handle, link)
            try:
                driver.map(target + done, length, handle)
            finally:
                driver.set_link(handle, before)
        finally:
            driver.destroy(handle)
        done += length


class PhysicalMemory(NotCopied):
    """Memory without an address. Made by `device.create_physical(size)` or imported; `size` in bytes.

    Closing it gives the handle up; the memory itself stays while it is mapped somewhere, and its device is open.
    """

    __slots__ = ("_driver", "closed", "device", "handle", "kind", "size")

    def __init__(self, device: Any, driver: VirtualDriver, handle: int, size: int, kind: PhysicalKind) -> None:
        self.device, self._driver, self.handle, self.size, self.kind = device, driver, handle, size, kind
        self.closed = False

    def export(self, pids: Iterable[int] | None = ()) -> int:
        """Return the number under which other processes import it.

        Args:
            pids: who may (bare tgids); None: every process of the machine.
        """
        self.check_open()
        allowed = () if pids is None else process_ids("PhysicalMemory.export", pids)
        shared = self._driver.export(self.handle, anybody=pids is None)
        self._allow(shared, allowed)
        return shared

    def export_fabric(self, pids: Iterable[int] | None = ()) -> bytes:
        """Return the fabric handle, 128 bytes, under which processes of other servers import it as well.

        Args:
            pids: which processes of this server may; None: every process on the fabric.

        Raises:
            NotSupported 207000: the device is on no fabric.
        """
        self.check_open()
        allowed = () if pids is None else process_ids("PhysicalMemory.export_fabric", pids)
        block = self._driver.export_fabric(self.handle, anybody=pids is None)
        self._allow(self._driver.fabric_number(block)[1], allowed)
        return block

    def _allow(self, shared: int, pids: tuple[int, ...]) -> None:
        if pids:
            self._driver.allow(shared, list(pids))

    def check_open(self) -> None:
        """Raise where the handle was given up, or went with its device."""
        if self.closed or self.device.closed:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"physical memory {self.handle:#x} of {self.size} bytes was closed",
                hint="map it before it is closed",
            )

    def close(self) -> None:
        """Give the handle up; twice does nothing."""
        if not self.closed:
            with closing(self):
                if not self.device.closed:  # another handle may have the same number since
                    self._driver.destroy(self.handle)

    def __enter__(self) -> PhysicalMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.size} bytes of physical memory {self.handle:#x}{', closed' if self.closed else ''}>"


class Mapping(DeviceBuffer):
    """Physical memory at an address of a range. Made by `AddressRange.map`; `close` unmaps it."""

    __slots__ = ("physical",)

    def __init__(self, device: Any, address: int, size: int, release: Any = None, *,
                 owner: Buffer | None = None, physical: PhysicalMemory | None = None) -> None:
        super().__init__(device, address, size, release, owner=owner)
        self.physical = physical


class AddressRange(NotCopied):
    """Addresses without memory. Made by `device.reserve(size)`; `close` unmaps what is mapped and gives them back."""

    __slots__ = ("_driver", "_mappings", "_mark", "address", "closed", "device", "size")

    def __init__(self, device: Any, driver: VirtualDriver, size: int, wanted: int = 0) -> None:
        self.device, self._driver, self.size = device, driver, size
        self.address = driver.reserve(size, wanted, HUGE_PAGES)
        self._mark = driver.mark_of(self.address)
        self._mappings: dict[int, Mapping] = {}
        self.closed = False

    def map(self, physical: PhysicalMemory, offset: int = 0) -> Mapping:
        """Map physical memory as a whole, `offset` bytes into the range.

        Raises:
            InvalidArgument 107000: it does not fit there, or the driver refuses the address.
        """
        check_instance("AddressRange.map", "physical", physical, PhysicalMemory,
                       "pass memory from device.create_physical()")
        physical.check_open()
        check_same_runtime("AddressRange.map", self.device, physical)
        offset = whole("AddressRange.map", "offset", offset)
        if self.closed or offset < 0 or offset + physical.size > self.size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{physical!r} does not fit {offset} bytes into "
                f"{'a closed' if self.closed else 'a'} range of {self.size} bytes",
                hint="reserve a larger range, or map at a smaller offset",
            )
        address = self.address + offset
        self.device.give_back_dropped()  # what was mapped there before may be done with
        self._driver.map(address, physical.size, physical.handle)
        mapping = Mapping(self.device, address, physical.size, self._give, physical=physical)
        self._mappings[address] = mapping
        return mapping

    def _give(self, address: int) -> None:
        self.device.behind_work(partial(self._unmap, address))

    def _unmap(self, address: int) -> None:
        mapping = self._mappings.get(address)
        source = mapping.physical if mapping is not None else None
        if source is None or not source.device.closed:  # what is mapped goes with the device that has it
            self._driver.unmap(address)
        self._mappings.pop(address, None)

    def set_access(self, mapping: Mapping, *, device: int | None = None, host: bool = False) -> None:
        """Let a device (the driver's number) or the host read and write a mapping."""
        check_instance("AddressRange.set_access", "mapping", mapping, Mapping, "pass what AddressRange.map returned")
        number = 0 if host or device is None else whole("AddressRange.set_access", "device", device)
        side = c.MEM_HOST_SIDE if host else c.MEM_DEV_SIDE
        self._driver.set_access(mapping.address, mapping.size, [(c.MEM_ACCESS_TYPE_READWRITE, side, number)])

    def close(self) -> None:
        """Unmap everything and give the addresses back, behind queued work; twice does nothing."""
        if self.closed:
            return
        with closing(self):
            for mapping in list(self._mappings.values()):
                mapping.close()
            self.device.behind_work(self._release)

    def _release(self) -> None:
        if self._driver.mark_of(self.address) is self._mark:  # the last device that was closed took all ranges along
            self._driver.release(self.address)

    def __enter__(self) -> AddressRange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else count(len(self._mappings), "mapping")
        return f"<{self.size} addresses at {self.address:#x}, {state}>"


class PhysicalPart:
    """The physical memory of one device, as its ledger's journals have it; handles stand for addresses."""

    def __init__(self, ledger: Ledger, table: VirtualMemory, device_id: int) -> None:
        """Args: device_id: the driver's number of the device."""
        self._ledger, self._table, self._device_id = ledger, table, device_id
        self._sites: dict[int, str] = {}
        """Call sites of what was made while somebody looked."""

    def listen(self, wanted: bool) -> None:
        """Tell the journals from now on, or no more."""
        if wanted:
            self._table.observers[self._device_id] = self._note
        else:
            self._table.observers.pop(self._device_id, None)
            self._sites.clear()

    def in_use(self) -> list[InUse]:
        """Return what this process has made."""
        return [self._of(one) for one in self._table.of(self._device_id) if not one.foreign]

    def _of(self, memory: Physical) -> InUse:
        return InUse(PHYSICAL, memory.handle, memory.size, memory.size, self._sites.get(memory.handle, ""))

    def _note(self, made: bool, memory: Physical) -> None:
        if made:
            self._sites[memory.handle] = self._ledger.call_site()
        self._ledger.note(made, self._of(memory))
        if not made:
            self._sites.pop(memory.handle, None)
