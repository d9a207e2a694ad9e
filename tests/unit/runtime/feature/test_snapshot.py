"""Snapshots beyond the contract: another process goes on, threads that do not stop, and what a report holds."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.process.process_lock import ProcessLock, ProcessState
from runtime.feature import graph
from runtime.feature.snapshot import Stage
from runtime.memory.buffer import Buffer
from runtime.memory.device import DeviceBuffer
from runtime.memory.ordered import OrderedPool
from tests.tools.processes import Line, processes, shared_name

_BYTES = 128
_STEPS = 5


class Work:
    """The same objects in every process that makes them: contexts, streams, events, memory of each kind, a graph."""

    def __init__(self, url: str, *, before: int = 0) -> None:
        """Make them, after `before` other buffers, so that addresses differ."""
        self.runtime = Runtime(url)
        self.device = device = self.runtime.device(0)
        self.others = [device.alloc(4096) for _ in range(before)]
        self.kernel = device.load(minimal_kernel("step", arguments=2)).only
        device.hal.fake.attach(self.kernel.code, self._step, grid=True)
        self.values = device.upload(np.arange(_BYTES // 8, dtype="i8"))
        self.range, self.physical = device.reserve(4 << 20), device.create_physical(2 << 20)
        self.mapped = self.range.map(self.physical)
        self.pool = OrderedPool(device.memory, device.device_id, 8 << 20, "test")
        device.ordered_pools.append(self.pool)
        self.pooled, _ = self.pool.alloc(_BYTES, 1)
        self.context = device.create_context()
        self.stream, self.side = self.context.create_stream(), self.context.create_stream()
        self.event, self.back = (device.create_event() for _ in range(2))
        graph.begin(self.stream)
        self._record(self.stream)
        self.graph = graph.end(self.stream)

    def buffers(self) -> dict[str, Buffer]:
        """Return what holds the state, by names."""
        return {"values": self.values, "mapped": self.mapped.view(0, _BYTES),
                "pooled": DeviceBuffer(self.device, self.pooled, _BYTES)}  # fmt: skip

    @staticmethod
    def _step(context: Any) -> None:
        target, source = (context.args.array(number, "i8", _BYTES // 8) for number in range(2))
        target[:] = target * 3 + source + 1

    def _record(self, stream: Any) -> None:
        """Let each kind of memory depend on the one before it, over two streams."""
        launch = self.kernel[1]
        launch(self.values, self.mapped, stream=stream)
        stream.record(self.event)
        self.side.wait(self.event)
        launch(self.mapped, self.pooled, stream=self.side)
        self.side.record(self.back)
        stream.wait(self.back)
        launch(self.pooled, self.values, stream=stream)

    def run(self, steps: int) -> bytes:
        """Make steps, by the graph and by hand in turn, and return what is in memory."""
        for step in range(steps):
            if step % 2:
                self.graph.execute(self.stream)
            else:
                self._record(self.stream)
        self.stream.synchronize(30_000)
        read = self.device.memory.read
        return b"".join(read(int(where), _BYTES) for where in (self.values.address, self.mapped.address, self.pooled))


def save(_: Line, url: str) -> bytes:
    """Make some steps in a process of its own, and return what a snapshot holds then."""
    work = Work(url)
    work.run(2)
    with work.runtime.snapshot.locked() as snapshot:
        snapshot.backup()
        saved = pickle.dumps(snapshot.images)
    work.runtime.close(force=True)
    return saved


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950pr_9599"])
def test_a_new_process_on_the_same_card_goes_on(soc: str) -> None:
    url = f"fake://{soc}?seed=3&shared={shared_name('snapshot')}"
    alone = Work(f"fake://{soc}?seed=3")
    whole = alone.run(_STEPS)
    alone.runtime.close(force=True)
    with processes((save, url)) as (first,):
        saved = first.end()
    work = Work(url)
    with work.runtime.snapshot.locked() as snapshot:
        snapshot.continue_from(pickle.loads(saved))
    assert work.run(_STEPS - 2) == whole
    work.runtime.close(force=True)


def test_the_same_process_goes_on_with_everything() -> None:
    alone, work = Work("fake://ascend910b3?seed=3"), Work("fake://ascend910b3?seed=3")
    whole = alone.run(_STEPS)
    work.run(2)
    with work.runtime.snapshot.locked() as snapshot:
        snapshot.backup()
        work.device.hal.fake.device(0).exchange()
        snapshot.restore()
    assert work.run(_STEPS - 2) == whole
    for each in (alone, work):
        each.runtime.close(force=True)


def test_another_process_must_have_the_same_memory_or_names_for_it() -> None:
    url = "fake://ascend910b3?seed=3"
    first, second = Work(url), Work(url, before=3)
    snapshot = second.runtime.snapshot
    before = second.run(1)
    saved = first.run(1)
    with first.runtime.snapshot.locked() as other:
        other.names.update(first.buffers())
        other.backup()
    snapshot.lock()
    with pytest.raises(errors.SnapshotError, match=f"3 are not in .* at {first.values.address:#x};") as no:
        snapshot.continue_from(other.images)
    assert no.value.code == 507909
    snapshot.names.update(second.buffers(), values=second.values.view(8))
    with pytest.raises(errors.SnapshotError, match=f"'values' has {_BYTES - 8} bytes here, {_BYTES} in the other"):
        snapshot.continue_from(other.images)
    snapshot.names["values"] = second.values
    second.device.hal.fake.faults.on_call("drvMemcpy", "DRV_ERROR_INNER_ERR", nth=20)
    with pytest.raises(errors.RuntimeFault, match="drvMemcpy"):
        snapshot.continue_from(other.images)
    snapshot.unlock()
    assert second.run(0) == before
    with snapshot.locked():
        snapshot.continue_from(other.images)
    assert second.run(0) == saved
    with pytest.raises(errors.SnapshotError, match="the process is RUNNING"):
        snapshot.continue_from(())
    for work in (first, second):
        work.runtime.close(force=True)


def test_devices_reach_each_other_after_a_restore() -> None:
    runtime = Runtime("fake://ascend910b3?devices=2")
    one, other = runtime.device(0), runtime.device(1)
    one.enable_peer_access(other)
    source, target = one.upload(b"over the link"), other.alloc(13)
    with runtime.snapshot.locked() as snapshot:
        snapshot.backup()
        for number in (0, 1):
            runtime.hal.fake.device(number).exchange()
        snapshot.restore()
    with one.create_stream() as stream:
        stream.copy(target, source)
        stream.synchronize(30_000)
    assert other.download(target).tobytes() == b"over the link"
    runtime.close()


def test_a_lock_waits_for_the_runtimes_own_threads_and_gives_up() -> None:
    lock, inside, leave = ProcessLock(), threading.Event(), threading.Event()

    def work() -> None:
        with lock.round():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    with pytest.raises(errors.SnapshotError) as raised:
        lock.lock(0.01)
    assert (raised.value.code, lock.state) == (507905, ProcessState.RUNNING)
    leave.set()
    lock.lock(10)
    thread.join(60)
    again = threading.Thread(target=work)
    again.start()
    again.join(0.02)
    assert again.is_alive()
    lock.force()
    again.join(60)
    assert not again.is_alive()


def test_two_steps_at_once_follow_each_other() -> None:
    work = Work("fake://ascend910b3")
    snapshot, order = work.runtime.snapshot, []
    entered, leave = threading.Event(), threading.Event()

    def slow(_: int, __: object) -> None:
        order.append(threading.current_thread().name)
        entered.set()
        leave.wait(60)

    snapshot.callbacks.register(Stage.BACKUP_PRE, slow)
    snapshot.lock()
    first = threading.Thread(target=snapshot.backup, name="first")
    first.start()
    assert entered.wait(60)
    with pytest.raises(errors.SnapshotError) as raised:
        snapshot.unlock()
    assert raised.value.code == 507907
    restore = threading.Thread(target=snapshot.restore, name="restore")
    restore.start()
    restore.join(0.02)
    assert restore.is_alive()
    leave.set()
    first.join(60)
    restore.join(60)
    assert (order, snapshot.state) == (["first"], ProcessState.LOCKED)
    snapshot.unlock()
    work.runtime.close()


def test_chips_without_snapshots_say_so() -> None:
    runtime = Runtime("fake://ascend310b1")
    for call in (runtime.snapshot.lock, runtime.snapshot.unlock, runtime.snapshot.backup, runtime.snapshot.restore):
        with pytest.raises(errors.NotSupported, match="Ascend310B1 has no snapshots"):
            call()
    runtime.close()


def test_a_process_ends_while_it_is_locked() -> None:
    work = Work("fake://ascend910b3")
    waiting = threading.Thread(target=work.runtime.wait_unlocked)
    work.runtime.snapshot.lock()
    waiting.start()
    work.runtime.close(force=True)
    waiting.join(60)
    assert not waiting.is_alive()
