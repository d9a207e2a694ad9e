"""Device memory under a key that other processes open (core_spec 13.12)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.driver.ipc import KEY_BYTES, ShareDriver
from runtime.errors.arguments import several, whole
from runtime.errors.closing import closing
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from runtime.driver.memory import MemoryDriver

OPEN_TO_ALL = 0x1
"""Export flag: no list of processes (ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION)."""
ENABLE_PEER = 0x1
"""Import flag: let the device reach the exporting one first (ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS)."""


def export(driver: ShareDriver, address: int, size: int, capacity: int, flags: int, call: str) -> bytes:
    """Give a block a key of at most `capacity` bytes.

    Raises:
        InvalidArgument 107000: size 0 or unknown flags (EE1003); less space than a key needs, or an address that is not
            the start of a page-aligned block of device memory (the driver's answer).
    """
    if not size:
        raise _out_of_range(call, size, "size", "more than 0")
    if flags & ~OPEN_TO_ALL:
        raise _out_of_range(call, flags, "flags", "0 or 1")
    try:
        key = driver.export(address, size, capacity)
    except errors.InvalidArgument as fault:
        fault.hint = (
            f"pass the first address of a block of device memory, which is aligned to its pages (4 KiB, 2 MiB or "
            f"1 GiB), and {KEY_BYTES} bytes for the key"
        )
        raise
    if flags & OPEN_TO_ALL:
        try:
            driver.allow_all(key)
        except BaseException:
            driver.forget(key)
            raise
    return key


def process_ids(call: str, pids: Iterable[int]) -> tuple[int, ...]:
    """Return the argument `pids` as plain ints."""
    given = several(call, "pids", pids, object, "pass the ids of processes: what `bare_pid()` returns there")
    return tuple(whole(call, "an item of pids", each) for each in given)


def _out_of_range(call: str, value: int, name: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, name, expected),
    )


class OpenKeys:
    """The keys that this process has opened: by key its addresses, and the attribute that was set for it last."""

    def __init__(self, site: Callable[[], str]) -> None:
        """Start empty; `site` names the line of the user's program that is running now."""
        self._site = site
        self._sites: dict[int, str] = {}
        self._addresses: dict[bytes, dict[int, ShareDriver]] = {}
        self._attributes: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def set_attribute(self, driver: ShareDriver, key: bytes, value: int) -> None:
        """Set how accesses to a key travel (SHMEM_ATTR_TYPE_MEM_MAP); kept for later openings."""
        driver.set_attribute(key, 0, value)
        with self._lock:
            self._attributes[key] = value

    def open(self, driver: ShareDriver, key: bytes) -> int:
        """Map the memory of a key and return its address; a fault says which link the driver would not map over."""
        try:
            address = driver.open(key)
        except errors.PermissionDenied:
            raise  # the owner's list is why, whatever joins the devices
        except errors.RuntimeFault as fault:
            raise _explained(driver, key, fault) from fault.__cause__
        with self._lock:
            self._addresses.setdefault(key, {})[address] = driver
            self._sites[address] = self._site()
        return address

    def close(self, driver: ShareDriver, address: int) -> None:
        """Undo one `open`; the last address of a key makes it be forgotten."""
        driver.close(address)
        with self._lock:
            self._sites.pop(address, None)
            self._forget(address)

    def _forget(self, address: int) -> None:
        for key, addresses in list(self._addresses.items()):
            if address in addresses:
                del addresses[address]
                if not addresses:
                    del self._addresses[key]
                    self._attributes.pop(key, None)
                return

    def of_device(self, device_id: int) -> list[tuple[int, str]]:
        """Return (address, call site) of what a device has open."""
        with self._lock:
            return [(address, self._sites.get(address, "")) for _, address in self._of(device_id)]

    def _of(self, device_id: int) -> list[tuple[ShareDriver, int]]:
        return [
            (driver, address) for addresses in self._addresses.values()
            for address, driver in addresses.items() if driver.device_id == device_id
        ]

    def release(self, device_id: int) -> None:
        """Undo what a device has opened; it is about to be closed."""
        with self._lock:
            found = self._of(device_id)
        for driver, address in found:
            with contextlib.suppress(errors.RuntimeFault):  # the driver takes it back with the device
                self.close(driver, address)

    def addresses(self, key: bytes) -> tuple[int, ...]:
        """Return where a key is open in this process."""
        with self._lock:
            return tuple(self._addresses.get(key, ()))

    def open_ones(self) -> list[bytes]:
        """Return the keys that are open."""
        with self._lock:
            return sorted(self._addresses)


_LINKS = ("HCCS", "PIX", "PIB", "PHB", "SYS", "SIO", "HCCS through a switch", "UB")
"""Kinds of links by the driver's number (see `PeerDriver.link`)."""


def _explained(driver: ShareDriver, key: bytes, fault: errors.RuntimeFault) -> errors.RuntimeFault:
    """Say of a fault that the link between importer and exporter may be why, where they are two devices."""
    try:
        link = driver.link_of(key)
    except errors.RuntimeFault:
        return fault
    if link is not None:
        name = _LINKS[link] if link < len(_LINKS) else f"of kind {link}"
        fault.message = f"{fault.message}; the memory is another device's, joined by {name}"
        fault.args = (fault.message,)
        fault.hint = (
            "mapping memory under a key across devices needs HCCS, SIO or UB between them: share physical memory "
            "instead (PhysicalMemory.export, aclrtMemExportToShareableHandle), or copy through pinned host memory"
        )
    return fault


class ExportedMemory:
    """A key for a device buffer. Made by `device.share(buffer)`; `key` is what other processes open.

    The buffer stays alive as long as this object is open.
    """

    __slots__ = ("_driver", "buffer", "closed", "key")

    def __init__(self, driver: ShareDriver, buffer: DeviceBuffer, pids: Iterable[int] | None) -> None:
        self._driver, self.buffer = driver, buffer
        allowed = () if pids is None else process_ids("share", pids)
        anybody = OPEN_TO_ALL if pids is None else 0
        self.key = export(driver, buffer.address, buffer.size, KEY_BYTES, anybody, "share")
        self.closed = False
        self.allow(*allowed)

    def allow(self, *pids: int) -> None:
        """Let further processes open the key; pids are bare tgids: `device.bare_pid()` in those processes."""
        if allowed := process_ids("ExportedMemory.allow", pids):
            self._driver.allow(self.key, allowed)

    def close(self) -> None:
        """Take the key away; who has it open keeps the memory. Twice does nothing."""
        if not self.closed:
            with closing(self):
                if not self.buffer.device.closed:  # with the device the key is gone
                    self._driver.forget(self.key)

    def __enter__(self) -> ExportedMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_shared(device: Any, memory: MemoryDriver, driver: ShareDriver, keys: OpenKeys, key: bytes) -> DeviceBuffer:
    """Return the memory behind a key as a buffer; closing it undoes the mapping."""
    address = keys.open(driver, key)
    _, size = memory.address_range(address)
    return DeviceBuffer(device, address, size, lambda where: None if device.closed else keys.close(driver, where))
