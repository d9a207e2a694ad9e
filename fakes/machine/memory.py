"""Memory of a fake machine: device, pinned host, registered host, and the rules by which an address may be used.

Sizes are bytes. A device block keeps the size that was asked for, not the page-rounded one, so that one byte too many
is an error. Between blocks lies an unused page for the same reason.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fakes.errors import MemoryFault, OutOfDeviceMemory, access
from fakes.machine.address_space import BackingFile, Extents, Reservation, addresses_limited
from fakes.machine.blocks import GIANT, HUGE, Allocation, Budget, Kind, PageKind, Usage
from fakes.machine.joined import Joined, beyond
from fakes.machine.lent import Lent
from fakes.machine.program_memory import tried
from fakes.machine.window import LARGE, Window
from npuhal import constants

if TYPE_CHECKING:
    from fakes.shim.caller import CallerMemory

DEVICE_WINDOW = 1 << 37
"""Address slice of one device, 128 GiB (the driver's plan: 64 slices above the SVM base). Where the addresses of the
process are limited (ulimit -v), slices are as small as the memory of a card allows."""
HOST_PAGE = mmap.PAGESIZE
"""The page of ordinary memory, which the driver maps by: what is registered begins on one."""
_HOST_WINDOW = 1 << 36
_VIRTUAL_WINDOW = 1 << 38
_FREED_KEPT = 256
_MODULE_SHIFT, _MODULE_MASK = constants.MEM_MODULE_ID_BIT, constants.MEM_MODULE_ID_MASK


def _slices(hbm: int) -> tuple[int, int, int]:
    """Return the addresses of a card's memory, of pinned host memory and of mappings, by the memory of a card."""
    if not addresses_limited():
        return DEVICE_WINDOW, _HOST_WINDOW, _VIRTUAL_WINDOW
    unit = GIANT if hbm >= GIANT else HUGE
    span = -(-hbm // unit) * unit
    return min(2 * span + unit, DEVICE_WINDOW), min(span + unit, _HOST_WINDOW), min(4 * span, _VIRTUAL_WINDOW)


def _nobody(_block: Allocation) -> bool:
    return False


class Watch(Protocol):
    """Who wants to know of every block."""

    def allocated(self, block: Allocation) -> None:
        """A block is there."""

    def freed(self, block: Allocation) -> None:
        """A block goes."""


class Memory:
    """All memory of one machine; every lookup by address goes through here."""

    def __init__(self, base: int, devices: int, hbm: int, page: int) -> None:
        window, host, virtual = _slices(hbm)
        size = devices * window + host + virtual
        self._reservation = Reservation(base, size, 1 << 41)
        start = self._reservation.base
        self.base, self.end = start, self._reservation.end
        self.page = page
        self._host = Window("npuhal-fake-host", self._reservation, start, host)
        self._devices = [
            Window(f"npuhal-fake-hbm{i}", self._reservation, start + host + i * window, window) for i in range(devices)
        ]
        self._mappings = self.end - virtual
        self._virtual = Extents(self._mappings, self.end)
        normal = hbm // 4 + hbm // 4 // GIANT * GIANT
        self.budgets = [{PageKind.NORMAL: Budget(normal), PageKind.HUGE: Budget(hbm - normal)} for _ in range(devices)]
        """Per card: normal pages, and the rest, of which huge and giant pages are made."""
        self.usage: list[defaultdict[int, Usage]] = [defaultdict(Usage) for _ in range(max(devices, 1))]
        """Per card: module id -> what was allocated for it."""
        self._files: dict[BackingFile, int | None] = {}
        """What `open_file` and `open_foreign` have opened, with the card whose bytes it holds; None: another's."""
        self.version = 0
        """Grows with each block that comes or goes: what an address led to before may be something else now."""
        self._bases: list[int] = []
        self._blocks: dict[int, Allocation] = {}
        self._freed: dict[int, str] = {}
        self._joined = Joined(self._blocks.get, self._file)
        self._lingering: list[Allocation] = []
        self.held_elsewhere: Callable[[Allocation], bool] = _nobody
        """Whether other processes have the bytes of a block open."""
        self.watch: Watch | None = None
        """Who wants to know when blocks come and go."""
        self.exact = False
        """Whether blocks end behind the last byte that was asked for (check=bounds), not with the page of it."""
        self.caller: CallerMemory | None = None
        """Memory of the program where that is another process; None: it is this one's."""

    def share(
        self, budget: Callable[[int, PageKind, int], Budget], held_elsewhere: Callable[[Allocation], bool]
    ) -> None:
        """Count bytes together with other processes, and keep those that they have open."""
        self.budgets = [
            {pool: budget(device, pool, own.total) for pool, own in budgets.items()}
            for device, budgets in enumerate(self.budgets)
        ]
        self.held_elsewhere = held_elsewhere

    def mirror(self, changed: Callable[[int, int, int, int], None]) -> None:
        """Let somebody know of each change of what the host may touch; see `Reservation.mirror`."""
        self._reservation.mirror = changed

    def close(self) -> None:
        """Give everything back to the system."""
        self._joined.close()
        for window in (self._host, *self._devices):
            window.close()
        for file in self._files:
            file.close()
        self._reservation.close()

    @property
    def blocks(self) -> tuple[Allocation, ...]:
        """Every live block, by address."""
        return tuple(self._blocks[base] for base in self._bases)

    def owns(self, address: int) -> bool:
        """Whether the address lies in a range of this machine."""
        return self.base <= address < self.end

    def device_base(self, device: int) -> int:
        """First address of a device's slice."""
        return self._devices[device].base

    # -- allocation ---------------------------------------------------------------------------------------------------

    def allocate_device(
        self, device: int, size: int, pool: PageKind = PageKind.NORMAL, *, flags: int = 0, host_access: bool = False
    ) -> Allocation:
        """Allocate device memory from one page pool; OutOfDeviceMemory when the pool or the addresses run out."""
        page = {PageKind.NORMAL: self.page, PageKind.HUGE: HUGE, PageKind.GIANT: GIANT}[pool]
        span = -(-size // page) * page
        budget = self.budget(device, pool)
        self._settle()
        if not budget.take(span):
            others = budget.total - budget.used - budget.free
            raise OutOfDeviceMemory(
                f"device {device} has {budget.free} of {budget.total} bytes of {pool.value} left, {span} were asked for"
                + (f"; other processes hold {others}" if others else "")
            )
        window = self._devices[device]
        base = window.take(span, page, self.page)
        if base is None:
            budget.give(span)
            raise OutOfDeviceMemory(f"the address slice of device {device} has no space for {span} bytes")
        block = Allocation(base, size, span, Kind.DEVICE, device, window.pointer(base), pool, page, flags, host_access)
        if host_access:
            window.expose(base, span, block.pointer)
        return self._add(block)

    def allocate_physical(self, device: int, size: int, pool: PageKind) -> Allocation:
        """Allocate device memory without an address of its own; `map_physical` gives it one."""
        block = self.allocate_device(device, size, pool)
        self._forget(block)
        return block

    def allocate_host_physical(self, size: int) -> Allocation:
        """Allocate host memory without an address of its own."""
        block = self.allocate_host(size)
        self._window(block).hide(block.base, block.span)
        self._forget(block)
        return block

    def free_physical(self, block: Allocation) -> None:
        """Free memory that `allocate_physical` made."""
        self._release(block)

    def map_physical(self, base: int, block: Allocation) -> Allocation:
        """Give physical memory an address in the range for virtual memory; `free` takes it away again."""
        made = self._add(Allocation(base, block.size, block.span, block.kind, block.device, block.pointer, block.pool,
                               block.page, alias=True))  # fmt: skip
        if made.kind is Kind.HOST:
            self.expose(made)
        return made

    def budget(self, device: int, pool: PageKind) -> Budget:
        """Return what pages of a kind are taken from."""
        return self.budgets[device][PageKind.NORMAL if pool is PageKind.NORMAL else PageKind.HUGE]

    def charge(self, device: int, pool: PageKind, size: int) -> bool:
        """Take `size` bytes of a page kind's budget, or give them back (negative); False when there are too few."""
        budget = self.budget(device, pool)
        if size >= 0:
            return budget.take(size)
        budget.give(-size)
        return True

    def source(self, block: Allocation) -> tuple[int, int] | None:
        """Return file and offset of a block's bytes; None where they are not this process's to share."""
        file = self._file(block)
        return None if file is None or not file.owned else (file.fd, block.pointer - file.address)

    def _file(self, block: Allocation) -> BackingFile | None:
        files = [self._window(block).file, *self._files]
        return next((file for file in files if file.holds(block.pointer)), None)

    def open_foreign(self, path: str, offset: int, size: int) -> BackingFile | None:
        """Open bytes of another process, closed like those of `open_file`; None: the process is gone."""
        made = BackingFile.open(path, offset, size)
        if made is None:
            return None
        self._files[made] = None
        return made

    def open_file(self, device: int, name: str, size: int) -> BackingFile:
        """Make bytes of a card for addresses that somebody else manages; closed with the machine at the latest."""
        made = BackingFile(name, size)
        self._files[made] = device
        return made

    def close_file(self, file: BackingFile) -> None:
        """Close what `open_file` made; nothing may be mapped to it any more."""
        del self._files[file]
        file.close()

    def map_file(self, device: int, base: int, size: int, file: BackingFile, offset: int) -> Allocation:
        """Give bytes of such a file an address in the range for virtual memory; `free` takes it away again."""
        return self._add(Allocation(base, size, size, Kind.DEVICE, device, file.address + offset, PageKind.HUGE, HUGE,
                               alias=True))  # fmt: skip

    def reserve(self, size: int, at: int | None = None) -> int | None:
        """Reserve addresses for mappings, anywhere or at a wanted address; None when that is not possible."""
        if at is not None:
            return at if self._mappings <= at and self._virtual.take_at(at, size) else None
        return self._virtual.take(size, GIANT if size >= GIANT else HUGE)

    def unreserve(self, base: int, size: int) -> None:
        """Give reserved addresses back."""
        self._virtual.give(base, size)

    def allocate_host(self, size: int, *, device: int = 0, flags: int = 0, label: str = "") -> Allocation:
        """Allocate pinned host memory: directly usable by the host and by every device."""
        span = -(-size // self.page) * self.page
        base = self._host.take(span, self.page, self.page)
        if base is None:
            raise OutOfDeviceMemory(f"the pinned host range has no space for {span} bytes")
        pointer = self._host.pointer(base)
        self._host.expose(base, span, pointer)
        return self._add(Allocation(
            base, size, span, Kind.HOST, device, pointer, flags=flags, host_access=True, label=label, page=self.page
        ))  # fmt: skip

    def lend(self, data: bytes, label: str = "lent") -> Lent:
        """Give the program a piece of memory with these contents."""
        if self.caller is None:
            return Lent.buffer(data)
        block = self.allocate_host(max(len(data), 1), label=label)
        ctypes.memmove(block.pointer, data, len(data))
        return Lent(block.base, lambda: self.free(block.base))

    def lend_space(self, size: int, label: str) -> Lent:
        """Give the program so many zero bytes of host memory."""
        if self.caller is None:
            return Lent.space(size)
        block = self.allocate_host(max(size, 1), label=label)
        return Lent(block.base, lambda: self.free(block.base))

    def register_host(self, pointer: int, size: int, device: int, at: int | None = None) -> Allocation:
        """Make plain host memory known to the devices; `at` is the device address, by default the host address."""
        span = -(-size // HOST_PAGE) * HOST_PAGE
        base = pointer if at is None else at
        return self._add(Allocation(base, size, span, Kind.REGISTERED, device, pointer, host_access=at is None,
                               page=HOST_PAGE))  # fmt: skip

    def free(self, address: int) -> Allocation | None:
        """Free the block that starts at `address`; None when there is none (never allocated, or freed before)."""
        block = self._blocks.get(address)
        if block is None:
            return None
        if self.watch is not None:
            self.watch.freed(block)
        self._forget(block)
        self._freed[address] = str(block)
        if len(self._freed) > _FREED_KEPT:
            del self._freed[next(iter(self._freed))]
        if block.host_access and block.kind is not Kind.REGISTERED:
            self._window(block).hide(block.base, block.span)
        if not block.alias and block.kind is not Kind.REGISTERED:
            self._release(block)
        return block

    def _window(self, block: Allocation) -> Window:
        return self._devices[block.device] if block.kind is Kind.DEVICE else self._host

    def _usage(self, block: Allocation) -> Usage:
        """Return where the bytes of a block are counted; where nobody looks, for memory that is not the machine's."""
        if block.alias or block.kind is Kind.REGISTERED:
            return Usage()
        return self.usage[block.device][block.flags >> _MODULE_SHIFT & _MODULE_MASK]

    def _forget(self, block: Allocation) -> None:
        usage, index = self._usage(block), bisect_right(self._bases, block.base) - 1
        # nothing from here on can be interrupted, as in `_add`
        self.version += 1
        self._joined.forget(block)
        usage.used -= block.span
        del self._bases[index]
        del self._blocks[block.base]

    def _release(self, block: Allocation) -> None:
        """Give bytes, addresses and budget of a block back; not before other processes have let go of its bytes."""
        if self.held_elsewhere(block):
            self._lingering.append(block)
            return
        window = self._window(block)
        window.drop(block.base, block.span)
        window.give(block.base, block.span + self.page)
        if block.kind is Kind.DEVICE:
            self.budget(block.device, block.pool).give(block.span)

    def _settle(self) -> None:
        """Release what had been freed while other processes still had it."""
        lingering, self._lingering = self._lingering, []
        for block in lingering:
            self._release(block)

    def release_device(self, device: int) -> None:
        """Free everything a process holds on a device, as when it closes it."""
        for block in self.blocks:
            if block.device == device and block.kind is not Kind.HOST:
                self.free(block.base)

    def blank(self, device: int) -> None:
        """Let all memory of a device read as zero, as that of a card nobody used yet."""
        self._devices[device].blank()
        for file, owner in self._files.items():
            if owner == device:
                file.drop(0, file.size)

    def expose(self, block: Allocation) -> None:
        """Map a block for the host at its own address (for device memory a BAR window)."""
        file = self._file(block)
        if not block.host_access and file is not None:
            offset = file.start + block.pointer - file.address
            self._reservation.map_file(block.base, block.span, file.fd, offset)
            block.host_access = True

    def hide(self, block: Allocation) -> None:
        """Undo `expose`."""
        if block.host_access and block.kind is Kind.DEVICE:
            self._devices[block.device].hide(block.base, block.span)
            block.host_access = False

    def _add(self, block: Allocation) -> Allocation:
        self._freed.pop(block.base, None)
        usage, index = self._usage(block), bisect_right(self._bases, block.base)
        self.version += 1
        used = usage.used + block.span
        usage.used = used
        if used > usage.peak:
            usage.peak = used
        self._bases[index:index] = [block.base]
        self._blocks[block.base] = block
        if self.watch is not None:
            self.watch.allocated(block)
        return block

    # -- access -------------------------------------------------------------------------------------------------------

    def find(self, address: int) -> Allocation | None:
        """Return the live block that holds the address, or None."""
        index = bisect_right(self._bases, address) - 1
        if index < 0:
            return None
        block = self._blocks[self._bases[index]]
        return block if address < block.base + block.span else None

    def pointer(self, address: int, size: int, use: str = "access", *, writes: bool = False) -> int:
        """Return where `size` bytes at `address` really are; plain host addresses are their own answer."""
        if (index := bisect_right(self._bases, address) - 1) >= 0:
            block = self._blocks[self._bases[index]]
            offset = address - block.base
            if offset < block.span:
                if offset + size > block.size and offset + size > self._limit(block):
                    joined = self._joined.pointer(block, offset + size) if block.alias else None
                    if joined is None:
                        raise beyond(use, address, size, block)
                    return joined + offset
                if block.kind is Kind.REGISTERED:
                    return self._of_program(block.pointer + offset, size, use, writes)
                return block.pointer + offset
        if self.base <= address < self.end:
            reason = self._describe_hole(address)
            raise MemoryFault(f"{access(use, size, address)}: {reason}", use, address, size)
        if address < 4096:
            raise MemoryFault(f"{access(use, size, address)}: null pointer")
        return self._of_program(address, size, use, writes)

    def _of_program(self, address: int, size: int, use: str, writes: bool) -> int:
        """Return where bytes are that the program has itself; it may have unmapped what it has registered."""
        return tried(address, size, use, writes) if self.caller is None else self.caller.pointer(address, size, use)

    def _limit(self, block: Allocation) -> int:
        """Return how many bytes of a block can be reached: as on a card, all of its last page."""
        return block.size if self.exact or block.kind is Kind.REGISTERED else block.span

    def device_pointer(self, address: int, size: int, use: str, *, writes: bool = False) -> int:
        """Like `pointer`, for an access by a core: plain host memory is not reachable and is refused by name."""
        if not self.owns(address):
            block = self.find(address)
            if block is None:
                raise MemoryFault(
                    f"{access(use, size, address)}: not device memory and not registered or pinned host memory"
                )
        return self.pointer(address, size, use, writes=writes)

    def _describe_hole(self, address: int) -> str:
        if address in self._freed:
            return f"freed before ({self._freed[address]})"
        index = bisect_right(self._bases, address) - 1
        below = f", the block below is {self._blocks[self._bases[index]]}" if index >= 0 else ""
        return f"no block there{below}"

    def copy(self, dst: int, src: int, size: int, what: str) -> None:
        """Copy at once, from and to any address that `pointer` takes; nothing is written where one is wrong."""
        caller = self.caller
        if caller is not None and self._foreign(src) != self._foreign(dst):
            if self._foreign(src):
                caller.fetch(self.pointer(dst, size, f"{what} to", writes=True), src, size, f"{what} from")
            else:
                caller.store(dst, self.pointer(src, size, f"{what} from"), size, f"{what} to")
            return
        target, source = self.pointer(dst, size, f"{what} to", writes=True), self.pointer(src, size, f"{what} from")
        block = self.find(dst) if size >= LARGE else None
        zeros = 0 if block is None else self._window(block).leave_zeros(target, source, size)
        ctypes.memmove(target + zeros, source + zeros, size - zeros)

    def _foreign(self, address: int) -> bool:
        """Whether an address is the program's own, and nothing that the machine knows."""
        return address >= 4096 and not self.owns(address) and self.find(address) is None

    def read(self, address: int, size: int, use: str = "read") -> bytes:
        """Return a copy of `size` bytes."""
        return ctypes.string_at(self.pointer(address, size, use), size)

    def write(self, address: int, data: bytes, use: str = "write") -> None:
        """Write `data` at `address`."""
        ctypes.memmove(self.pointer(address, len(data), use, writes=True), data, len(data))
