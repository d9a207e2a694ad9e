"""The memory of a device as users see it: buffers, the pool, copies, virtual and shared memory."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from npuhal import constants as c
from runtime import errors
from runtime.api.pool import Pool
from runtime.core.device import device as core
from runtime.core.diagnostics.resource_report import creation_site
from runtime.driver.ipc import ShareDriver
from runtime.driver.p2p import PeerDriver
from runtime.driver.vmm import PhysicalKind, VirtualDriver
from runtime.errors.arguments import BUFFERS, check_instance, check_same_runtime, octets, whole, wholes
from runtime.errors.closing import Once, each
from runtime.launch.copy.copy import copy_now, size_of
from runtime.launch.copy.endpoints import End
from runtime.launch.copy.fill import check_fill, fill_now
from runtime.memory import ipc, registered
from runtime.memory.allocator import HUGE_FIRST, Allocator
from runtime.memory.array import DeviceArray, shape_of
from runtime.memory.buffer import Buffer
from runtime.memory.deferred_free import DeferredFrees
from runtime.memory.device import DeviceBuffer
from runtime.memory.elements import contents_of, dtype_of
from runtime.memory.fences import Fence, fence
from runtime.memory.host import HostBuffer, ManagedBuffer, RegisteredBuffer
from runtime.memory.ledger import InUse, Ledger
from runtime.memory.location import Location
from runtime.memory.report import MemoryReport
from runtime.memory.virtual import AddressRange, PhysicalMemory, PhysicalPart

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import DTypeLike

    from runtime.memory.ordered import OrderedPool

AnyBuffer = TypeVar("AnyBuffer", bound=Buffer)

_COMPONENTS = 128
"""More than a driver counts apart."""


class DeviceMemory(core.Device):
    """The part of a device that is about memory; users get the whole, `runtime.api.Device`."""

    def __init__(self, runtime: Any, user_id: int, device_id: int) -> None:
        """Open the device; see `Runtime.device`."""
        self.deferred_frees = DeferredFrees(self._fence)
        self.ledger = Ledger(creation_site, traces=runtime.trace_creation, device=user_id)
        """Every block that users hold, and where they asked for it when that is traced (NPUHAL_TRACE_CREATION=1)."""
        super().__init__(runtime, user_id, device_id, dropped=self.deferred_frees.dropped)
        self.allocator = Allocator(self.memory, self.chip, self.ledger, self._free_space)
        self.pool = Pool(self)
        self.ordered_pools: list[OrderedPool] = []
        """Pools of the C API that are open."""
        self.shared = ShareDriver(self.hal, device_id, self.resource_table)
        self.virtual = VirtualDriver(self.hal, device_id, self.resource_table.virtual)
        self.ledger.parts.append(PhysicalPart(self.ledger, self.resource_table.virtual, device_id))
        runtime.memory_watchers.adopt(self.ledger)

    # -- buffers ---------------------------------------------------------------------------------------------------

    def alloc(self, size: int, policy: int = HUGE_FIRST) -> DeviceBuffer:
        """Return `size` bytes of device memory from the driver; its contents are undefined.

        What reaches the driver is larger by the chip's padding (`chips.memory_rules.explain_allocation` says why).
        `device.pool.alloc` is much faster where memory comes and goes.

        Raises:
            InvalidArgument 100000: the size is not positive.
            NotSupported 207000: the chip has no such pages.
            OutOfMemory 207001: the device has not that much left; the message has the numbers and who holds what.
        """
        self.check_open()
        if type(size) is not int or type(policy) is not int:
            size, policy = wholes("alloc", size=size, policy=policy)
        self.deferred_frees.sweep()
        return self._own(DeviceBuffer(self, self.allocator.device(size, policy), size, self._give))

    def alloc_host(self, size: int) -> HostBuffer:
        """Return `size` bytes of pinned host memory, which copies in a stream need."""
        self.check_open()
        size = whole("alloc_host", "size", size)
        self.deferred_frees.sweep()
        return self._own(HostBuffer(self, self.allocator.host(size), size, self._give))

    def alloc_managed(self, size: int) -> ManagedBuffer:
        """Return `size` bytes that host and device share under one address; what is allocated is in units of 2 MiB.

        Raises:
            NotSupported 207000: only some chips have it (Ascend 910B).
        """
        self.check_open()
        size = whole("alloc_managed", "size", size)
        self.deferred_frees.sweep()
        if size < 1:
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", f"alloc_managed({size!r}): the size must be at least 1 byte",
                hint="pass a positive number of bytes",
            )
        return self._own(ManagedBuffer(self, self.allocator.managed(size), size, self._give))

    def _own(self, buffer: AnyBuffer) -> AnyBuffer:
        self.deferred_frees.adopt(buffer, self._free, self.resource_table.memory)
        return buffer

    @property
    def buffers(self) -> dict[int, Buffer]:
        """Buffers that are alive and were not closed, by address."""
        return self.deferred_frees.buffers()

    def _give(self, address: int) -> None:
        """Free a block, at once if no stream has work that may use it, else when that is done."""
        if self.closed:
            return
        done = self._fence()
        if done():
            self.deferred_frees.sweep()
            self.allocator.free(address)
        else:
            self.deferred_frees.wait(done, Once(self.resource_table.memory, address, partial(self._free, address)))

    def behind_work(self, release: Callable[[], None]) -> None:
        """Call a function at once if no stream has work, else when what is queued now is done; in order of the calls.

        Raises:
            RuntimeFault: what the function raises, where it is called at once.
        """
        done = self._fence()
        if done():
            self.deferred_frees.sweep()
            release()
        else:
            self.deferred_frees.wait(done, release)

    def _free(self, address: int) -> None:
        if not self.closed:
            self.allocator.free(address)

    def give_back_dropped(self) -> None:
        """Give back what was dropped without `close`, as far as work that may use it is done; never waits."""
        self.deferred_frees.sweep()
        self.signals.bury()

    def _free_space(self) -> None:
        """Give back to the driver what is only kept for later."""
        self.deferred_frees.sweep()
        self.pool.trim()

    def _fence(self) -> Fence:
        """Return a question: is everything that is submitted now done?"""
        return fence(self.streams())

    @overload
    def upload(self, data: np.ndarray[Any, Any]) -> DeviceArray: ...

    @overload
    def upload(self, data: Any) -> DeviceBuffer: ...

    def upload(self, data: Any) -> DeviceBuffer:
        """Return a new device buffer with the contents of an array, bytes or a DLPack tensor; waits for the copy.

        What has a type of elements and a shape (arrays, tensors) becomes a `DeviceArray`, which knows them too.
        """
        size, held = size_of(data, "data"), contents_of(data)
        buffer = self.alloc(size) if held is None else self._array(*held)
        try:
            copy_now(self, buffer, data)
        except BaseException:
            buffer.close()
            raise
        return buffer

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike = "f4", policy: int = HUGE_FIRST) -> DeviceArray:
        """Return a new array of device memory; its contents are undefined.

        Args:
            dtype: a NumPy type or its name; "bfloat16", "float8_e4m3fn" and the like need the package ml_dtypes.

        Raises:
            InvalidArgument 107000, 100000: an unknown type, a negative length, or no element at all.
            OutOfMemory 207001: the device has not that much left.
        """
        return self._array(dtype_of(dtype), shape_of(shape), policy)

    def _array(self, dtype: np.dtype[Any], shape: tuple[int, ...], policy: int = HUGE_FIRST) -> DeviceArray:
        self.check_open()
        policy = whole("empty", "policy", policy)
        self.deferred_frees.sweep()
        size = math.prod(shape) * dtype.itemsize
        address = self.allocator.device(size, policy)
        return self._own(DeviceArray(self, address, size, self._give, dtype=dtype, shape=shape))

    def download(
        self, buffer: DeviceBuffer, dtype: DTypeLike = "u1", shape: tuple[int, ...] | None = None
    ) -> np.ndarray[Any, Any]:
        """Return a device buffer's contents as a new array, without regard to streams: synchronise first.

        Args:
            shape: of the array, -1 for one length that follows from the others; by default it has one dimension.
        """
        import numpy as np

        check_instance("download", "buffer", buffer, Buffer, BUFFERS)
        kind = dtype_of(dtype)
        if buffer.size % kind.itemsize:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"download: a buffer of {buffer.size} bytes holds no whole number of "
                f"{kind} items of {kind.itemsize} bytes", hint="download a view of the part: buffer.view(0, size)",
            )
        items = buffer.size // kind.itemsize
        array = np.empty(items if shape is None else shape_of(shape, items), kind)
        copy_now(self, array, buffer, array.nbytes)
        return array

    def copy(self, dst: Any, src: Any, size: int | None = None) -> None:
        """Copy between buffers and host memory now, whatever the streams do."""
        copy_now(self, dst, src, size)

    def fill(self, buffer: DeviceBuffer, value: int, size: int | None = None) -> None:
        """Set bytes of a device buffer now."""
        value, count = check_fill("Device.fill", self, buffer, value, size, "buffer")
        if count:
            fill_now(self.context, buffer.address, buffer.size, value, count, "fill")

    def memory_info(self) -> tuple[int, int]:
        """Return (free, total) bytes of device memory as the driver counts them, for all processes together."""
        self.check_open()
        self.deferred_frees.sweep()
        return self.memory.space()

    mem_get_info = memory_info
    """The same under the name that users of torch.npu know."""

    def _memory_counts(self) -> dict[str, int]:
        kept = self.pool.statistics
        requests = kept.blocks + kept.freed_blocks
        return {
            "allocations": self.ledger.entered, "pool_requests": requests,
            "pool_hits": requests - kept.num_driver_allocs, "pool_retries": kept.num_alloc_retries,
        }

    def memory_report(self) -> MemoryReport:
        """Return whom the device's memory belongs to: this process's buffers, pools and graphs, and the rest."""
        free, total = self.memory_info()
        graphs = self.pool.graph_bytes()
        try:
            components = tuple(self.memory.usage(_COMPONENTS))
        except errors.NotSupported:
            components = ()
        return MemoryReport(
            total, free, self.ledger.total(Location.DEVICE, Location.MANAGED),
            self.pool.memory_reserved() - sum(graphs.values()), graphs,
            sum(pool.reserved() for pool in self.ordered_pools), components, self.allocator.physical(),
        )

    def memory_snapshot(self) -> list[InUse]:
        """Return every block in use, those of pools and the pool's segments too: owner, address, bytes, call site."""
        self.check_open()
        return list(self.ledger.in_use())

    def memory_summary(self) -> str:
        """Return the device's memory as text for people: by owner, the pool's counters, who has asked for most."""
        return "\n\n".join([
            f"memory of device {self.user_id}, {self.chip.soc}", str(self.memory_report()),
            self.pool.memory_summary(), "\n".join(self.held_memory()) or "no buffers are open",
        ])  # fmt: skip

    # -- peers -----------------------------------------------------------------------------------------------------

    def enable_peer_access(self, other: DeviceMemory) -> None:
        """Let this device reach another one's memory; the other way needs a call of its own.

        Raises:
            NotSupported 207000: the two are not linked so that they could.
        """
        check_instance("enable_peer_access", "other", other, DeviceMemory, "pass a device from runtime.device(index)")
        check_same_runtime("enable_peer_access", self, other)
        driver, peer = PeerDriver(self.hal, self.device_id), other.driver.info.physical_id()
        if not driver.can_access(peer):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"device {self.user_id} cannot reach the memory of device "
                f"{other.user_id}: their link is of kind {driver.link(other.device_id)}",
                hint="copy through pinned host memory",
            )
        driver.enable(peer)

    # -- virtual memory --------------------------------------------------------------------------------------------

    def reserve(self, size: int, wanted: int = 0) -> AddressRange:
        """Return a range of addresses without memory; `size` and `wanted` are multiples of 2 MiB."""
        self.check_open()
        size, wanted = wholes("reserve", size=size, wanted=wanted)
        return AddressRange(self, self.virtual, size, wanted)

    def create_physical(self, size: int, *, huge: bool = True) -> PhysicalMemory:
        """Return memory without an address, on 2 MiB pages or on normal ones; map it with `AddressRange.map`.

        Raises:
            InvalidArgument 107000: the size is no multiple of the granularity.
            OutOfMemory 207001: there is not that much.
        """
        self.check_open()
        self.deferred_frees.sweep()
        kind = self._physical_kind(huge)
        unit, size = self.virtual.granularity(kind), whole("create_physical", "size", size)
        if size < 1 or size % unit:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"create_physical({size}): sizes are multiples of {unit} bytes",
                hint=f"round the size up to {-(-size // unit) * unit}",
            )
        return PhysicalMemory(self, self.virtual, self.new_physical(size, kind), size, kind)

    def new_physical(self, size: int, kind: PhysicalKind) -> int:
        """Return the handle of new physical memory; what is only kept for later is given up for it.

        Raises:
            OutOfMemory 207001: there is not that much; the message says what is free, and who holds the rest.
        """
        try:
            return self.virtual.create(size, kind)
        except errors.OutOfMemory:
            self._free_space()
        try:
            return self.virtual.create(size, kind)
        except errors.OutOfMemory as empty:
            raise self.allocator.no_physical(size, empty) from empty

    def import_physical(self, shared: int | bytes, size: int) -> PhysicalMemory:
        """Return memory that another process has exported.

        Args:
            shared: the number that `PhysicalMemory.export` gave it, or the bytes of `export_fabric`.
            size: what the memory has there, bytes.
        """
        self.check_open()
        size = whole("import_physical", "size", size)
        if isinstance(shared, (bytes, bytearray)):
            handle = self.virtual.import_fabric(bytes(shared))
        else:
            handle = self.virtual.import_(whole("import_physical", "shared", shared))
        return PhysicalMemory(self, self.virtual, handle, size, self._physical_kind(True))

    def granularity(self, *, huge: bool = True, recommended: bool = False) -> int:
        """Return what sizes of physical memory must be a multiple of."""
        option = c.MEM_ALLOC_GRANULARITY_RECOMMENDED if recommended else c.MEM_ALLOC_GRANULARITY_MINIMUM
        return self.virtual.granularity(self._physical_kind(huge), option)

    def _physical_kind(self, huge: bool) -> PhysicalKind:
        page = c.MEM_HUGE_PAGE_TYPE if huge else c.MEM_NORMAL_PAGE_TYPE
        return PhysicalKind(c.MEM_DEV_SIDE, self.device_id, page)

    # -- sharing ---------------------------------------------------------------------------------------------------

    def share(self, buffer: DeviceBuffer, pids: Iterable[int] | None = ()) -> ipc.ExportedMemory:
        """Give a whole buffer a key that other processes open with `open_shared`.

        Args:
            pids: who may (bare tgids, see `bare_pid`); None: every process of the machine.

        Raises:
            InvalidArgument 107000: the buffer is a part of a block, or not aligned to its pages.
        """
        check_instance("share", "buffer", buffer, DeviceBuffer, BUFFERS)
        buffer.check_open()
        return ipc.ExportedMemory(self.shared, buffer, pids)

    def open_shared(self, key: bytes) -> DeviceBuffer:
        """Return the memory that another process has shared under a key; close it when done."""
        self.check_open()
        key = octets("open_shared", "key", key, "pass the `key` of what Device.share returned in the other process")
        return ipc.open_shared(self, self.memory, self.shared, self.runtime.open_keys, key)

    def bare_pid(self) -> int:
        """Return this process's id as the driver knows it, outside of any container."""
        return self.shared.bare_pid()

    def register_host(self, array: Any, *, read_only: bool = False) -> RegisteredBuffer:
        """Let the device use host memory that the caller has allocated (page-aligned); close the buffer to end it.

        Raises:
            InvalidArgument 107000: not writable memory, or not aligned to pages.
            InvalidState 507910: it overlaps memory that is registered already.
            NotSupported 207000: the chip cannot.
        """
        self.check_open()
        end = End.of(array, "array")
        if not isinstance(end.keep, memoryview) or not end.writable or not end.size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"register_host: array is {array!r:.80}; it must be writable "
                "memory of the caller's own", hint="pass a NumPy array, a bytearray or an mmap",
            )
        view, address = end.keep.cast("B"), end.address
        registered.check_page("register_host", "array", address)
        flags = registered.MAPPED | (registered.READ_ONLY if read_only else 0)
        table = self.runtime.host_memory
        made = table.register(self.shared, self.chip, address, view.nbytes, flags, "register_host")

        def unregister(at: int, _kept: memoryview = view) -> None:
            if not self.closed:
                table.unregister(at, "register_host")

        def release(at: int) -> None:
            self.behind_work(partial(unregister, at))

        buffer = RegisteredBuffer(self, address, view.nbytes, release, view=view, device_address=made.device_address)
        self.deferred_frees.adopt(buffer, unregister)
        return buffer

    def held_memory(self) -> list[str]:
        """Say in lines who holds memory, by where it lies."""
        return self.ledger.lines()

    def blocks_in_use(self) -> list[tuple[str, int, int, str]]:
        """Return (owner, address, bytes, call site) of the memory that users hold."""
        return self.ledger.of_users()

    def pooled_memory(self) -> list[tuple[int, int]]:
        """Return (address, bytes) of the blocks in use of the pools of the C API."""
        return [block for pool in self.ordered_pools for block in pool.busy()]

    def _release_memory(self) -> None:
        pools = list(reversed(self.ordered_pools))
        self.ordered_pools.clear()
        self.runtime.open_keys.release(self.device_id)  # the driver frees no memory that is open under its key
        buffers = list(self.buffers.values())
        try:
            each([
                *(buffer.close for buffer in buffers), self.deferred_frees.close, self.pool.close,
                *(pool.close for pool in pools), self.virtual.take_back,
            ])  # fmt: skip
        finally:
            self._forget_shared()
            self.ledger.close()

    def _forget_shared(self) -> None:
        self.runtime.host_memory.release(self.device_id)
        for key in list(self.resource_table.keys):
            with contextlib.suppress(errors.RuntimeFault):  # the driver takes it back with the memory
                self.shared.forget(key)
        self.runtime.left_behind.update(self.ledger.addresses())
