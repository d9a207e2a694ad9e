"""Many launches with one call, and the sends that are prepared for other tasks."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fakes import kernels as ready
from runtime import errors
from runtime.api import Device, Kernel, Stream
from tests.contract.holdings import tasks_sent

COMMANDS = True

MakeKernel = Callable[..., Kernel]


@pytest.fixture
def log(device: Device, make_kernel: MakeKernel) -> tuple[Kernel, list[tuple[int, int]]]:
    """A kernel that notes its two arguments."""
    seen: list[tuple[int, int]] = []

    def note(context: ready.Context) -> None:
        words = np.frombuffer(context.args.bytes(0, 16), np.uint64)
        seen.append((int(words[0]), int(words[1])))

    return make_kernel("note", note, 2, grid=True), seen


@pytest.mark.parametrize("count", [1, 3, 64, 300, 5000])
def test_every_row_is_one_launch_in_order(device: Device, log: tuple[Kernel, list[Any]], count: int) -> None:
    kernel, seen = log
    rows = np.arange(2 * count, dtype=np.uint64).reshape(count, 2)
    with device.create_stream() as stream:
        kernel[1](7, 7, stream=stream)
        stream.launch_many(kernel, 1, rows)
        kernel[1](8, 8, stream=stream)
        stream.synchronize()
    assert seen == [(7, 7), *map(tuple, rows.tolist()), (8, 8)]


def test_rows_of_buffers_and_scalars(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log
    buffer = device.alloc(64)
    with device.create_stream() as stream:
        stream.launch_many(kernel, 1, [(buffer, -1), (buffer + 8, np.int16(3))])
        stream.synchronize()
    assert seen == [(buffer.address, (1 << 64) - 1), (buffer.address + 8, 3)]


def test_blocks_of_arguments_come_back(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, _ = log
    before = [pool.unused for pool in device.arguments.pools]
    with device.create_stream() as stream:
        stream.launch_many(kernel, 1, np.zeros((3000, 2), np.uint64))
        stream.synchronize()
        assert [pool.unused for pool in device.arguments.pools] == before
        assert stream.ring.pending == 0


def test_blocking_launches_wait_for_each(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log
    with device.create_stream() as stream:
        stream.set_launch_blocking(2)
        stream.launch_many(kernel, 1, np.arange(6, dtype=np.uint64).reshape(3, 2))
        assert len(seen) == 3


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (np.zeros((4, 3), np.uint64), "takes 2 arguments, 3 were given"),
        (np.zeros((4, 2), np.uint32), "an array of uint32"),
        (np.zeros(4, np.uint64), "shape .4,."),
        ([(1, 2), (1,)], "different numbers"),
        ([(1, "text")], "cannot be a kernel argument"),
    ],
)
def test_rows_that_fit_no_kernel_send_nothing(device: Device, log: tuple[Kernel, list[Any]], rows: Any, says: str,
                                              ) -> None:
    kernel, _ = log
    with device.create_stream() as stream:
        sent = stream.ring.submitted
        with pytest.raises(errors.InvalidArgument, match=says):
            stream.launch_many(kernel, 1, rows)
        assert stream.ring.submitted == sent


def test_a_failed_launch_of_many_is_reported_and_the_others_run(device: Device, make_kernel: MakeKernel) -> None:
    ran: list[int] = []

    def run(context: ready.Context) -> None:
        number = int.from_bytes(context.args.bytes(0, 8), "little")
        if number == 2:
            context.args.array(1, "u8", 1)[0] += 1  # at an address that is no memory
        ran.append(number)

    kernel = make_kernel("second", run, 2, grid=True)
    rows = [(number, device.alloc(8) if number != 2 else 0) for number in range(5)]
    with device.create_stream() as stream:
        stream.launch_many(kernel, 1, rows)
        with pytest.raises(errors.DeviceFault, match="kernel second failed"):
            stream.synchronize()
        stream.synchronize()
    assert ran == [0, 1, 3, 4]


def test_prepared_copies_and_notifies_do_what_the_first_did(device: Device) -> None:
    first = device.upload(np.arange(64, dtype=np.uint8))
    parts = [device.alloc(64) for _ in range(20)]
    notify = device.create_notify()
    with device.create_stream() as stream, device.create_stream() as other:
        source = first
        for part in parts:
            stream.copy(part, source)
            source = part
            stream.copy(part, part)  # of nothing new: no task
            notify.record(stream)
            other.wait(notify)
            other.synchronize()  # a notify does not count: recorded again before that, it would end one wait only
        assert device.download(parts[-1]).tolist() == list(range(64))
        stream.copy(parts[0], parts[-1] + 32, 16)
        stream.synchronize()
        assert device.download(parts[0]).tolist()[:17] == [*range(32, 48), 16]


def test_a_copy_keeps_both_ends(device: Device) -> None:
    with device.create_stream() as stream:
        source, target = device.upload(b"abcd" * 16), device.alloc(64)
        stream.copy(target, source)
        stream.synchronize()
        device.hal.fake.device(0).hold()
        stream.copy(target, source)
        address, held = source.address, device.hal.fake.memory
        del source
        assert held.owns(address)
        device.hal.fake.device(0).release()
        stream.synchronize()
        assert device.download(target).tobytes() == b"abcd" * 16


def test_closed_ends_and_notifies_are_refused_after_preparation(device: Device) -> None:
    with device.create_stream() as stream:
        a, b, notify = device.alloc(64), device.alloc(64), device.create_notify()
        view = a + 8
        for _ in range(2):
            stream.copy(b, view, 8)
            notify.record(stream)
        stream.synchronize()
        a.close()
        notify.close()
        with pytest.raises(errors.InvalidArgument, match="was freed"):
            stream.copy(b, view, 8)
        with pytest.raises(errors.InvalidHandle):
            notify.record(stream)


# -- tasks of several kinds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 70, 400])
def test_a_batch_does_what_single_calls_do_in_the_same_order(device: Device, log: tuple[Kernel, list[Any]], count: int,
                                                             ) -> None:
    kernel, seen = log
    ends = [device.alloc(64) for _ in range(3)]
    pinned, back = device.alloc_host(64), device.alloc_host(64)
    np.asarray(pinned)[:] = np.arange(64, dtype=np.uint8)
    event = device.create_event()
    with device.create_stream() as stream, device.create_stream() as other:
        with stream.batch() as batch:
            batch.copy(ends[0], pinned)
            for number in range(count):
                batch.launch(kernel, 1, ends[0], number)
                batch.launch(kernel, 1, np.int16(-2), -1)
            batch.fill(ends[2], 7)
            batch.copy(ends[1], ends[0])
            batch.record(event)
            batch.launch(kernel, 1, 5, 6)
            assert seen == []
            assert tasks_sent(stream) == 0
        other.wait(event)
        other.copy(back, ends[1])
        other.synchronize()
        stream.synchronize()
        assert (np.asarray(back) == np.arange(64)).all()
        stream.copy(back, ends[2])
        stream.synchronize()
        assert (np.asarray(back) == 7).all()
    rows = [pair for number in range(count) for pair in ((ends[0].address, number), (0xFFFE, (1 << 64) - 1))]
    assert seen == [*rows, (5, 6)]


def test_a_batch_is_sent_again_and_takes_what_is_added(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log
    with device.create_stream() as stream:
        batch = stream.batch()
        batch.launch_many(kernel, 1, [(1, 2), (3, 4)])
        for _ in range(3):
            batch.send()
        batch.launch(kernel, 1, b"\x05", 6)
        batch.send()
        stream.synchronize()
    assert seen == [(1, 2), (3, 4)] * 4 + [(5, 6)]
    assert len(batch) == 3


def test_a_batch_longer_than_the_ring(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log
    before = [pool.unused for pool in device.arguments.pools]
    with device.create_stream() as stream:
        count = 2 * stream.ring.depth + 3
        with stream.batch() as batch:
            batch.launch_many(kernel, 1, np.arange(2 * count, dtype=np.uint64).reshape(count, 2))
        stream.synchronize()
        assert stream.ring.pending == 0
        assert [pool.unused for pool in device.arguments.pools] == before
    assert seen == [(2 * number, 2 * number + 1) for number in range(count)]


def _in_a_batch(stream: Stream, *calls: Callable[[Any], None]) -> None:
    with stream.batch() as batch:
        for call in calls:
            call(batch)


def test_bad_input_leaves_a_batch_unsent(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log
    buffer, gone = device.alloc(64), device.alloc(64)
    gone.close()
    wrong: list[tuple[Callable[[Any], None], str]] = [
        (lambda batch: batch.launch(kernel, 1, 1), "takes 2 arguments, 1 was given"),
        (lambda batch: batch.launch(kernel, 0, 1, 2), "0 blocks"),
        (lambda batch: batch.launch(kernel, 1, 1, "text"), "cannot be a kernel argument"),
        (lambda batch: batch.launch(kernel, 1, 1, gone), "was freed"),
        (lambda batch: batch.launch_many(kernel, 1, [(1, 2, 3)]), "takes 2 arguments, 3 were given"),
        (lambda batch: batch.copy(buffer, gone), "was freed"),
        (lambda batch: batch.copy(buffer, bytes(65)), "65"),
        (lambda batch: batch.fill(buffer, 256), "one byte"),
    ]
    with device.create_stream() as stream:
        for call, says in wrong:
            with pytest.raises(errors.InvalidArgument, match=says):
                _in_a_batch(stream, lambda batch: batch.launch(kernel, 1, 1, 2), call)
        closed = stream.batch()
        closed.launch(kernel, 1, buffer, 2)
        closed.launch(kernel, 1, 3, 4)
        buffer.close()
        with pytest.raises(errors.InvalidArgument, match="was freed"):
            closed.send()
        stream.synchronize()
        assert tasks_sent(stream) == 0
    assert seen == []


def test_a_failed_launch_of_a_batch_is_reported_and_the_others_run(device: Device, make_kernel: MakeKernel,
                                                                   log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log

    def fail(_context: ready.Context) -> None:
        raise ready.Fail("on purpose")

    bad = make_kernel("bad", fail, 1, grid=True)
    before = [pool.unused for pool in device.arguments.pools]
    with device.create_stream() as stream:
        with stream.batch() as batch:
            batch.launch(kernel, 1, 1, 2)
            batch.launch(bad, 1, 0)
            batch.launch(kernel, 1, 3, 4)
        with pytest.raises(errors.KernelFault, match="kernel bad failed"):
            stream.synchronize()
        stream.synchronize()
        assert seen == [(1, 2), (3, 4)]
        assert [pool.unused for pool in device.arguments.pools] == before


@pytest.mark.stars
def test_a_batch_in_a_capture_becomes_part_of_the_graph(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log
    if not device.chip.has("MODEL_ACL_GRAPH"):
        pytest.skip(f"{device.chip.soc} cannot capture streams")
    buffers = [device.alloc(64) for _ in range(2)]
    with device.create_stream() as stream:
        batch = stream.batch()
        batch.launch(kernel, 1, 1, 2)
        batch.copy(buffers[0], buffers[1])
        batch.launch(kernel, 1, 3, 4)
        batch.send()
        with stream.capture() as graph:
            batch.send()
        stream.synchronize()
        assert seen == [(1, 2), (3, 4)]
        for _ in range(2):
            graph.launch(stream)
        batch.send()
        stream.synchronize()
        graph.close()
    assert seen == [(1, 2), (3, 4)] * 4


def test_launches_of_a_batch_wait_where_launches_block(device: Device, log: tuple[Kernel, list[Any]]) -> None:
    kernel, seen = log
    with device.create_stream() as stream:
        stream.set_launch_blocking(2)
        with stream.batch() as batch:
            batch.launch(kernel, 1, 1, 2)
            batch.launch(kernel, 1, 3, 4)
        assert seen == [(1, 2), (3, 4)]


def test_a_batch_keeps_the_ends_of_its_copies(device: Device) -> None:
    target, back = device.alloc(64), device.alloc_host(64)
    with device.create_stream() as stream:
        with stream.batch() as batch:
            pinned = device.alloc_host(64)
            np.asarray(pinned)[:] = 9
            batch.copy(target, pinned)
        del batch, pinned
        gc.collect()
        stream.copy(back, target)
        stream.synchronize()
    assert (np.asarray(back) == 9).all()
