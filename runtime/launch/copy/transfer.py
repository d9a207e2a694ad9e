"""Copies as tasks: the engine, the pieces, and what has to be freed when a piece is done (core_spec 13.7).

Over PCIe the DMA engine takes addresses (STARS v1) or a chain of descriptors (v200); over UB the driver prepares a
work entry per piece; inside a device, and everywhere on generations without host engines, SDMA takes addresses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from chips.tasks import CopyConfig, CopyKind, MemcpyAsync, UbJob
from npuhal import constants as c
from runtime.core.submission.prepared import KEPT, prepare
from runtime.core.submission.ring import run_callbacks
from runtime.driver.dma import CopyDriver, Prepared

if TYPE_CHECKING:
    from collections.abc import Hashable

    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.driver.memory import MemoryDriver

INSIDE_BYTES = (4 << 30) - (64 << 10)
"""Largest piece inside a device: the length field has 32 bits, and pieces should start aligned."""
PCIE_BYTES = 64 << 20
"""Largest piece between host and device, or between devices, over PCIe."""
UB_BYTES = 256 << 20
"""Largest piece over UB."""

_UB_LINK = 7
_WAY_PCIE = 1  # drvDeviceGetTransWay: 0 SDMA, 1 PCIe
_DIRECTIONS = {
    CopyKind.HOST_TO_DEVICE: c.TRS_ASYNC_HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST: c.TRS_ASYNC_DEVICE_TO_HOST,
    CopyKind.UB: c.TRS_ASYNC_DEVICE_TO_DEVICE,
}  # fmt: skip
_LABELS = {CopyKind.HOST_TO_DEVICE: "copy to the device", CopyKind.DEVICE_TO_HOST: "copy to the host"}


class Keeper:
    """What a copy needs until all its pieces are done: freed with the last one, whether it was sent or not."""

    __slots__ = ("_free", "_held", "_left", "_lock")

    def __init__(self, *held: object, free: Callable[[], None] | None = None) -> None:
        """Hold objects; `free` is called in the end."""
        self._held = list(held)
        self._free = free
        self._left = 1
        self._lock = threading.Lock()

    def piece(self, after: Callable[[], None] | None = None) -> Callable[[], None]:
        """Return the callback of one more piece; `after` frees what only that piece needs."""
        with self._lock:
            self._left += 1
        return partial(self._done, after)

    def _done(self, after: Callable[[], None] | None) -> None:
        if after is not None:
            after()
        self.release()

    def release(self) -> None:
        """Let go; the caller does so once after the last piece was queued."""
        with self._lock:
            self._left -= 1
            last = not self._left
        if last:
            self._held.clear()
            if self._free is not None:
                self._free()


def across_host(stream: Stream, kind: CopyKind, dst: int, src: int, count: int, keeper: Keeper) -> None:
    """Queue a copy between host and device (HOST_TO_DEVICE or DEVICE_TO_HOST)."""
    if prepares_chains(stream):
        if stream.env.ub_connected:
            _over_ub(stream, kind, dst, src, count, keeper)
        else:
            _by_chain(stream, kind, dst, src, count, keeper)
        return
    # The task scheduler's host side turns the addresses into a DMA chain itself, or SDMA reaches the host.
    _by_address(stream, kind, dst, src, count, PCIE_BYTES, keeper)


def prepares_chains(stream: Stream) -> bool:
    """Whether copies between host and device are prepared by the driver, one by one, and not by their addresses."""
    return stream.env.chip.traits.prepares_chains and stream.env.online


def inside(stream: Stream, dst: int, src: int, count: int, keeper: Keeper) -> None:
    """Queue a copy inside the stream's device."""
    stream.device.memory.transfer_way(src, dst)
    _by_address(stream, CopyKind.SDMA, dst, src, count, INSIDE_BYTES, keeper)


def across_devices(stream: Stream, dst: int, src: int, count: int, keeper: Keeper, *, link: int) -> None:
    """Queue a copy between two devices; `link` is how they are joined (see PeerDriver.link)."""
    way = stream.device.memory.transfer_way(src, dst)
    if link == _UB_LINK and stream.env.ub_connected:
        _over_ub(stream, CopyKind.UB, dst, src, count, keeper)
    elif way == _WAY_PCIE and stream.env.chip.traits.prepares_chains:
        _by_chain(stream, CopyKind.PCIE, dst, src, count, keeper)
    else:
        kind = CopyKind.PCIE if way == _WAY_PCIE else CopyKind.SDMA
        _by_address(stream, kind, dst, src, count, PCIE_BYTES, keeper, CopyConfig(cross_device=True))


def _by_address(
    stream: Stream, kind: CopyKind, dst: int, src: int, count: int, largest: int, keeper: Keeper,
    config: CopyConfig | None = None,
) -> None:
    label = _LABELS.get(kind, "copy between devices" if config else "copy on the device")
    for start in range(0, count, largest):
        task = MemcpyAsync(
            src=src + start, dst=dst + start, size=min(largest, count - start), kind=kind, config=config
        )
        stream.submit(task, owner=label, finished=keeper.piece())


def _by_chain(stream: Stream, kind: CopyKind, dst: int, src: int, count: int, keeper: Keeper) -> None:
    memory, start = stream.device.memory, 0
    while start < count:
        size = min(PCIE_BYTES, count - start)
        dma = memory.convert(src + start, dst + start, size)
        done = dma.fixed_size or size  # the driver may have had descriptors for a part only
        send_chain(stream, kind, dma, keeper.piece(partial(memory.destroy_dma, dma)), size=done)
        start += done


def prepare_chain(stream: Stream, key: Hashable, kind: CopyKind) -> None:
    """Keep in `Stream.sends` what copies between host and device by a chain of the driver, kept where it can be.

    It is called with both addresses, the bytes, and what has to live until the copy is done; it returns the count
    behind the task, 0 where nothing was sent. Over UB the driver prepares work entries, of which nothing is kept, and
    commands name more of a chain than two words.
    """
    if stream.env.ub_connected or stream.plugin.commands is not None:
        return
    from runtime.launch.copy.kept_chains import KeptChains

    label, memory = _LABELS[kind], stream.device.memory
    task = MemcpyAsync(src=0, dst=0, size=1, kind=kind, kernel_convert=False)
    prepare(stream, label, task, label, "dma_queue", "dma_count")
    send = stream.sends.get(label)
    if send is None:
        return
    kept_label = f"{label}, kept chain"
    prepare(stream, kept_label, task, label, "dma_queue", "dma_count", carries=KEPT)
    if (send_kept := stream.sends.get(kept_label)) is None:  # something has changed just now
        return
    find, lock = KeptChains.of(stream).find, stream.lock

    def by_kept_chain(src: int, dst: int, count: int, keep: object) -> int:
        with lock:
            chain = find((src, dst, count))
            if chain is not None:
                return send_kept(chain[0], chain[1], keep)
        return copy(src, dst, count, keep)

    def copy(src: int, dst: int, count: int, keep: object) -> int:
        dma = memory.convert(src, dst, count)
        chain, end = dma.phyAddr, 0
        if dma.fixed_size in (0, count):  # else the driver had descriptors for a part only
            try:
                end = send(chain.src or 0, chain.len, partial(_end_chain, memory, dma, keep))
            except BaseException:
                run_callbacks(stream.ring.pending_callbacks)  # with the one of this copy, unless it has left
                raise
        if not end:
            memory.destroy_dma(dma)
        return end

    stream.sends[key] = by_kept_chain


def _end_chain(memory: MemoryDriver, dma: object, _keep: object) -> None:
    """The copy is done, or was not sent."""
    memory.destroy_dma(dma)


def send_chain(stream: Stream, kind: CopyKind, dma: object, finished: Callable[[], None], *, size: int) -> None:
    """Queue the copy that a DMA chain describes."""
    chain = dma.phyAddr  # type: ignore[attr-defined]
    copy = MemcpyAsync(
        src=0, dst=0, size=size, kind=kind, kernel_convert=False, dma_queue=chain.src or 0, dma_count=chain.len
    )
    commands = stream.plugin.commands
    task: Task = copy if commands is None else commands.transfer(copy, dma)
    stream.submit(task, owner=_LABELS.get(kind, "copy between devices"), finished=finished)


def _over_ub(stream: Stream, kind: CopyKind, dst: int, src: int, count: int, keeper: Keeper) -> None:
    driver, sq_id, start = copy_driver(stream), stream.queues.sq_id, 0
    while start < count:
        size = min(UB_BYTES, count - start)
        prepared = driver.prepare(sq_id, _DIRECTIONS[kind], dst + start, src + start, size)
        done = prepared.size or size
        send_prepared(stream, kind, prepared, keeper.piece(partial(driver.free, sq_id, prepared)), size=done)
        start += done


def send_prepared(
    stream: Stream, kind: CopyKind, prepared: Prepared, finished: Callable[[], None], *, size: int,
    doorbell: bool = False,
) -> None:
    """Queue a copy that the driver prepared for UB, as a direct send or by its doorbell."""
    job = UbJob(
        die_id=prepared.die_id, function_id=prepared.function_id, jetty_id=prepared.jetty_id, pi=prepared.pi,
        wqe=prepared.wqe,
    )
    task = MemcpyAsync(src=0, dst=0, size=size, kind=kind, ub=job, doorbell=doorbell)
    stream.submit(task, owner=_LABELS.get(kind, "copy between devices"), finished=finished)


def copy_driver(stream: Stream) -> CopyDriver:
    """Return the driver calls for copies of a stream's device."""
    return CopyDriver(stream.device.hal, stream.device.device_id)


def ub_direction(kind: CopyKind) -> int:
    """Return the driver's number of a direction over UB (TRS_ASYNC_*)."""
    return _DIRECTIONS[kind]
