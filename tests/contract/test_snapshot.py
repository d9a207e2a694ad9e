"""Snapshots: what was saved comes back on another card, and everything goes on as if nothing had happened."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.core.stream.stream import StreamFlag
from runtime.feature import graph
from runtime.feature.graph import Model
from runtime.feature.snapshot import ProcessState, Stage
from runtime.memory.ordered import OrderedPool

MakeKernel = Callable[..., Kernel]
pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def device(device: Device) -> Device:
    """A device of a chip that has snapshots."""
    if not device.chip.has("DFX_PROCESS_SNAPSHOT"):
        pytest.skip(f"{device.chip.soc} has no snapshots")
    return device


def exchange(machine: Runtime) -> None:
    """Save, put an empty card in the place of the first one, and bring everything back."""
    with machine.snapshot.locked():
        machine.snapshot.backup()
        card = machine.hal.fake.device(0)
        card.exchange()
        machine.snapshot.restore()


def test_memory_and_streams_go_on_where_they_were(machine: Runtime, device: Device, make_kernel: MakeKernel) -> None:
    def add(context: Any) -> None:
        context.args.array(1, "i4", 16)[:] = context.args.array(0, "i4", 16) + 1

    step = make_kernel("add", add, 2, grid=True)
    first, second = device.upload(np.arange(16, dtype="i4")), device.alloc(64)
    with device.create_stream() as stream, device.create_stream() as other, device.create_event() as event:
        step[1](first, second, stream=stream)
        stream.record(event)
        stream.synchronize(30_000)
        ids = stream.stream_id, stream.queues.sq_id, other.stream_id
        exchange(machine)
        assert ids == (stream.stream_id, stream.queues.sq_id, other.stream_id)
        assert device.download(second, "i4").tolist() == list(range(1, 17))
        other.wait(event)
        for _ in range(3):
            step[1](second, second, stream=other)
        other.record(event)
        stream.wait(event)
        step[1](second, first, stream=stream)
        stream.synchronize(30_000)
        assert device.download(first, "i4").tolist() == list(range(5, 21))
        with device.create_stream() as late:
            assert late.stream_id not in ids
            step[1](first, first, stream=late)
            late.synchronize(30_000)


def test_graphs_replay_after_a_restore(machine: Runtime, device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as first, device.create_stream() as second, device.create_event() as fork:
        with device.create_event() as join:
            graph.begin(first)
            note[1](1, stream=first)
            first.record(fork)
            second.wait(fork)
            note[1](2, stream=second)
            second.record(join)
            first.wait(join)
            note[1](3, stream=first)
            made = graph.end(first)
        for _ in range(2):
            made.execute(first)
            first.synchronize(30_000)
            exchange(machine)
            made.execute(second)
            second.synchronize(30_000)
        assert log == [1, 2, 3] * 4
        made.close()


def test_copies_go_on_and_captured_ones_do_or_are_refused(machine: Runtime, device: Device) -> None:
    pinned, target = device.alloc_host(64), device.upload(np.zeros(16, "i4"))
    source = pinned.numpy("i4")
    with device.create_stream() as stream:
        for number in range(4):
            source[:] = number
            stream.copy(target, pinned)
            stream.synchronize(30_000)
            assert device.download(target, "i4").tolist() == [number] * 16
            if number % 2:
                exchange(machine)
        graph.begin(stream)
        stream.copy(target, pinned)
        made = graph.end(stream)
        if device.chip.generation == "v100":
            exchange(machine)
            source[:] = 7
            made.execute(stream)
            stream.synchronize(30_000)
            assert device.download(target, "i4").tolist() == [7] * 16
        else:
            with machine.snapshot.locked(), pytest.raises(errors.NotSupported, match="prepared for this card"):
                machine.snapshot.backup()
        made.close()


def test_models_made_by_hand_run_after_a_restore(machine: Runtime, device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream(flags=StreamFlag.PERSISTENT) as kept, device.create_stream() as runner:
        model = Model(device.context)
        model.bind(kept)
        note[1](7, stream=kept)
        model.end(kept)
        model.load()
        exchange(machine)
        for _ in range(2):
            model.execute(runner)
        runner.synchronize(30_000)
        exchange(machine)
        model.execute(runner)
        runner.synchronize(30_000)
        assert log == [7] * 3
        model.close()


def test_host_functions_and_notifies_work_after_a_restore(machine: Runtime, device: Device) -> None:
    called: list[int] = []
    with device.create_stream() as stream, device.create_stream() as other, device.create_notify() as notify:
        machine.callbacks.host_function(stream, lambda _: called.append(1))
        stream.synchronize(30_000)
        exchange(machine)
        machine.callbacks.host_function(stream, lambda _: called.append(2))
        stream.synchronize(30_000)
        notify.wait(other)
        notify.record(stream)
        other.synchronize(30_000)
    assert called == [1, 2]


def test_calls_wait_while_the_process_is_locked(machine: Runtime, device: Device, make_kernel: MakeKernel) -> None:
    log: list[int] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as stream:
        note[1](1, stream=stream)
        stream.synchronize(30_000)
        machine.snapshot.lock()
        made: list[object] = []
        workers = [
            threading.Thread(target=lambda: made.append(device.alloc(64))),
            threading.Thread(target=lambda: made.append(note[1](2, stream=stream))),
            threading.Thread(target=lambda: made.append(device.create_stream())),
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(0.05)
        assert all(worker.is_alive() for worker in workers)
        assert made == []
        stream.synchronize(30_000)
        for call in (lambda: device.alloc(64), lambda: note[1](3, stream=stream)):
            with pytest.raises(errors.SnapshotError) as raised:
                call()
            assert raised.value.code == 507906
        machine.snapshot.unlock()
        for worker in workers:
            worker.join(60)
        stream.synchronize(30_000)
        assert len(made) == 3
        assert log == [1, 2]


def test_the_steps_have_an_order(machine: Runtime, device: Device) -> None:
    snapshot, refused = machine.snapshot, []
    for call in (snapshot.unlock, snapshot.backup, snapshot.restore):
        with pytest.raises(errors.SnapshotError) as raised:
            call()
        refused.append(raised.value.code)
    assert refused == [507907, 507908, 507909]
    snapshot.lock()
    with pytest.raises(errors.SnapshotError) as raised:
        snapshot.lock()
    assert raised.value.code == 507906
    with pytest.raises(errors.SnapshotError) as raised:
        snapshot.restore()
    assert raised.value.code == 507909
    snapshot.backup()
    assert snapshot.state is ProcessState.BACKED_UP
    snapshot.restore()
    assert snapshot.state is ProcessState.LOCKED
    with pytest.raises(errors.SnapshotError) as raised:
        snapshot.restore()
    assert raised.value.code == 507909
    snapshot.unlock()
    assert snapshot.state is ProcessState.RUNNING


def test_a_callback_that_fails_stops_its_step(machine: Runtime, device: Device) -> None:
    calls: list[tuple[str, int]] = []

    def fails(number: int, data: object) -> None:
        calls.append(("fails", number))
        raise ValueError(data)

    snapshot = machine.snapshot
    for stage in Stage:
        snapshot.callbacks.register(stage, lambda number, name: calls.append((name, number)), stage.name)
    snapshot.callbacks.register(Stage.RESTORE_PRE, fails, "not today")
    with snapshot.locked():
        snapshot.backup()
        with pytest.raises(errors.SnapshotError, match=r"RESTORE_PRE.*not today") as raised:
            snapshot.restore()
        assert raised.value.code == 507912
        assert isinstance(raised.value.__cause__, ValueError)
        assert snapshot.state is ProcessState.BACKED_UP
        snapshot.callbacks.unregister(Stage.RESTORE_PRE, fails)
        snapshot.restore()
    names = [name for name, _ in calls]
    assert names == [
        "LOCK_PRE", "BACKUP_PRE", "BACKUP_POST", "RESTORE_PRE", "fails", "RESTORE_PRE", "RESTORE_POST", "UNLOCK_POST",
    ]  # fmt: skip
    assert {number for _, number in calls} == {0}


def test_what_cannot_be_saved_is_named(machine: Runtime, device: Device) -> None:
    with device.create_stream() as stream, machine.snapshot.locked() as snapshot:
        machine.snapshot.unlock()
        model = Model(device.context)
        machine.snapshot.lock()
        with pytest.raises(errors.NotSupported, match="under construction"):
            snapshot.backup()
        assert snapshot.state is ProcessState.LOCKED
        machine.snapshot.unlock()
        model.close()
        graph.begin(stream)
        machine.snapshot.lock()
        with pytest.raises(errors.CaptureError) as raised:
            snapshot.backup()
        assert raised.value.code == 107027
        machine.snapshot.unlock()
        graph.end(stream).close()
        machine.snapshot.lock()
        report = snapshot.backup()
        assert report.devices == (0,)
        assert report.ids["STREAM"] >= 2
        assert report.memory_bytes > 0
        assert "communicators" in str(report)


def test_mapped_memory_comes_back(machine: Runtime, device: Device) -> None:
    size = 2 << 20
    read, write = device.memory.read, device.memory.write
    with device.reserve(4 * size) as addresses, device.create_physical(size) as twice, \
            device.create_physical(size) as loose:  # fmt: skip
        first, again = addresses.map(twice), addresses.map(twice, size)
        late = addresses.map(loose, 2 * size)
        write(first.address, b"first")
        write(late.address + size - 4, b"last")
        late.close()
        for _ in range(2):
            exchange(machine)
        late = addresses.map(loose, 3 * size)
        assert (read(first.address, 5), read(again.address, 5)) == (b"first", b"first")
        assert read(late.address + size - 4, 4) == b"last"
        assert sum(bool(block.handle) for block in machine.snapshot.images[0].blocks) == 2


def test_blocks_of_ordered_pools_come_back(machine: Runtime, device: Device) -> None:
    pool = OrderedPool(device.memory, device.device_id, 64 << 20, "test")
    device.ordered_pools.append(pool)
    kept, given = (pool.alloc(4096, 1)[0] for _ in range(2))
    device.memory.write(kept, b"kept")
    pool.free(given, 1)
    exchange(machine)
    assert device.memory.read(kept, 4) == b"kept"
    assert pool.alloc(4096, 1) == (given, True)


def test_memory_that_others_can_open_is_named(machine: Runtime, device: Device) -> None:
    with machine.snapshot.locked() as snapshot:
        machine.snapshot.unlock()
        buffer = device.alloc(2 << 20)
        with device.share(buffer) as shared:
            machine.snapshot.lock()
            with pytest.raises(errors.NotSupported, match=shared.key.decode()):
                snapshot.backup()
            machine.snapshot.unlock()
        with device.create_physical(2 << 20) as physical:
            physical.export(None)
            machine.snapshot.lock()
            with pytest.raises(errors.NotSupported, match=f"{physical.handle:#x} .* exported"):
                snapshot.backup()
            machine.snapshot.unlock()
        machine.snapshot.lock()
        snapshot.backup()


@pytest.mark.parametrize("call", ["halDeviceOpen", "halProcessResRestore", "drvMemcpy", "halResourceIdAlloc"])
def test_a_restore_that_fails_half_way_can_be_made_again(
    machine: Runtime, device: Device, make_kernel: MakeKernel, call: str
) -> None:
    def add(context: Any) -> None:
        context.args.array(0, "i4", 16)[:] += 1

    step, values = make_kernel("add", add, 1, grid=True), device.upload(np.zeros(16, "i4"))
    with device.create_stream() as stream:
        graph.begin(stream)
        step[1](values, stream=stream)
        made = graph.end(stream)
        made.execute(stream)
        stream.synchronize(30_000)
        with machine.snapshot.locked() as snapshot:
            snapshot.backup()
            machine.hal.fake.device(0).exchange()
            rule = machine.hal.fake.faults.on_call(call, "DRV_ERROR_INNER_ERR")
            with pytest.raises(errors.RuntimeFault, match=call):
                snapshot.restore()
            assert rule.seen
            assert snapshot.state is ProcessState.BACKED_UP
            machine.hal.fake.faults.clear()
            snapshot.restore()
        made.execute(stream)
        step[1](values, stream=stream)
        stream.synchronize(30_000)
        assert device.download(values, "i4").tolist() == [3] * 16
        made.close()
