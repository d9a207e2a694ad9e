"""The hot path: what it sends, what it looks at, what it does when the driver or the caller says no."""

from __future__ import annotations

import ctypes
import dis
import gc
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from chips.env import TaskIds
from npuhal import constants as c
from runtime import errors
from runtime.api import Device, Kernel, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.sink import OwnSink, Target
from tests.unit.runtime.machines import V100, V200, MakeKernel, OpenMachine, holdings

BYREF = type(ctypes.byref(ctypes.c_int()))
WAYS = {"dma": f"fake://{V100}?args=dma", "bar": f"fake://{V100}?args=bar", "copy": f"fake://{V200}",
        "ub": f"fake://{V200}?args=ub"}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Device:
    """A device whose arguments travel in one of the ways."""
    device = open_machine(WAYS[request.param]).device(0)
    assert device.arguments.way == request.param
    return device


def words_kernel(device: Device, name: str, count: int, seen: list[tuple[int, ...]]) -> Kernel:
    """Return a kernel that notes its arguments as 64-bit words."""
    kernel = device.load(minimal_kernel(name, count), name=name).only
    form = struct.Struct(f"<{count}Q")

    def note(context: Any) -> None:
        seen.append(form.unpack(context.args.bytes(0, form.size)))

    device.hal.fake.attach(kernel.code, note, name=name, grid=True)
    return kernel


# -- what arrives -------------------------------------------------------------------------------------------------


def test_an_empty_window_pool_lends_from_the_next_one_before_a_block_is_made(open_machine: OpenMachine) -> None:
    device = open_machine(WAYS["bar"]).device(0)
    seen: list[tuple[int, ...]] = []
    kernel, stream = words_kernel(device, "words", 2, seen), device.create_stream()
    window, chains = device.arguments.pools[:2]
    taken = [window.take() for _ in range(window.count)]
    free, held = len(chains.free), device.memory.space()
    bound = kernel.bind(stream, 1, count=2)
    bound(1, 2)
    assert len(chains.free) == free - 1
    kernel[1](3, 4, stream=stream)
    assert len(chains.free) < free
    assert device.memory.space() == held
    stream.synchronize()
    window.free.extend(block for block in taken if block is not None)
    bound(7, 8)
    stream.synchronize()
    assert seen == [(1, 2), (3, 4), (7, 8)]
    assert len(chains.free) == free


def test_arguments_arrive_in_order(way: Device) -> None:
    seen: list[tuple[int, ...]] = []
    kernel = words_kernel(way, "words", 9, seen)
    buffer = way.alloc(64)
    with way.create_stream() as stream:
        launch = kernel.bind(stream, 4)
        launch(buffer, buffer + 8, -1, 0, 1 << 63, True, np.int8(-1), np.float32(1.0), b"\x07")
        stream.synchronize()
    assert seen == [(buffer.address, buffer.address + 8, (1 << 64) - 1, 0, 1 << 63, 1, 0xFF, 0x3F800000, 7)]


def test_many_launches_with_arguments_of_their_own(way: Device) -> None:
    seen: list[tuple[int, ...]] = []
    kernel = words_kernel(way, "pairs", 2, seen)
    with way.create_stream() as stream:
        launch = kernel.bind(stream, 1)
        for number in range(5000):  # more than a ring, more than a pool
            launch(number, ~number)
        stream.synchronize()
    assert seen == [(number, ~number & (1 << 64) - 1) for number in range(5000)]


def test_threads_that_share_a_launcher_do_not_mix_their_arguments(way: Device) -> None:
    seen: list[tuple[int, ...]] = []
    kernel = words_kernel(way, "shared", 3, seen)
    interval = sys.getswitchinterval()
    with way.create_stream() as stream:
        launch = kernel.bind(stream, 1)

        def work(first: int) -> None:
            for number in range(first, first + 400):
                launch(number, number, number)

        threads = [threading.Thread(target=work, args=(1000 * index,)) for index in range(4)]
        sys.setswitchinterval(1e-6)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        stream.synchronize()
    assert all(len(set(words)) == 1 for words in seen)
    assert sorted(words[0] for words in seen) == [1000 * index + number for index in range(4) for number in range(400)]


def test_more_launches_wait_than_the_pool_has_blocks(way: Device, open_machine: OpenMachine) -> None:
    seen: list[tuple[int, ...]] = []
    kernel = words_kernel(way, "waiting", 1, seen)
    for pool in way.arguments.pools:  # from here on all blocks are there, and held until the device is closed
        way.arguments.release(list(iter(pool.take, None)))
    before = holdings(way.runtime)
    fake = way.hal.fake.device(0)
    stream = way.create_stream()
    fake.hold(stream.stream_id)
    for number in range(1500):
        kernel[1](number, stream=stream)
    assert not way.arguments.pools[0].unused
    fake.release(stream.stream_id)
    stream.synchronize()
    stream.close()
    assert seen == [(number,) for number in range(1500)]
    assert way.arguments.pools[0].unused == 1024
    assert holdings(way.runtime) == before


# -- what is sent -------------------------------------------------------------------------------------------------


@pytest.fixture
def sent(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every SQE that leaves by the stream's sender of one."""
    entries: list[bytes] = []
    sender = stream.senders[1]
    inner = sender.send

    def send(*arguments: Any) -> int:
        entries.append(bytes(sender.buffer))
        return int(inner(*arguments))

    monkeypatch.setattr(sender, "send", send)
    return entries


@pytest.mark.parametrize("blocks", [1, 24, 65535])
def test_a_patched_template_is_what_the_builder_makes(
    device: Device, stream: Stream, make_kernel: MakeKernel, sent: list[bytes], blocks: int
) -> None:
    kernel = make_kernel("same")
    launch = kernel.bind_device_arguments(stream, blocks)
    address = device.alloc(64).address
    for number in range(3):
        launch(address + 8 * number)
    task = kernel.task(blocks)
    for number, entry in enumerate(sent):
        position = stream.ring.position_of(number) if device.chip.generation == "v200" else number
        assert position == number
        serial = struct.unpack_from("<I", entry, 4)[0]
        ids = TaskIds(number, serial, number)
        assert entry == stream.plugin.encode(replace(task, args=address + 8 * number), stream.env, ids)
    stream.synchronize()


def test_the_untyped_send_gets_small_ints_and_prepared_references_only(
    device: Device, make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[tuple[str, tuple[Any, ...]]] = []
    inner = device.hal.raw

    def raw(name: str) -> Callable[..., int]:
        function = inner(name)

        def call(*arguments: Any) -> int:
            passed.append((name, arguments))
            return int(function(*arguments))

        return call

    monkeypatch.setattr(device.hal, "raw", raw)
    kernel = make_kernel("raw", arguments=2)
    with device.create_stream() as stream:
        launch, with_device_arguments = kernel.bind(stream, 1), kernel.bind_device_arguments(stream, 1)
        for number in range(100):
            launch(device.alloc(8), 1 << 63)
            with_device_arguments((1 << 47) + 64 * number)
        stream.synchronize()
    assert {name for name, _ in passed} >= {"halSqTaskSend", "halSqCqQuery"}
    for name, arguments in passed:
        for argument in arguments:
            small = type(argument) is int and 0 <= argument < 1 << 31
            assert small or isinstance(argument, (BYREF, ctypes._SimpleCData)), (name, argument)


def test_prepared_references_stay_alive(device: Device, make_kernel: MakeKernel) -> None:
    seen: list[int] = []
    kernel = make_kernel("alive", lambda context: seen.append(context.args[0]))
    stream = device.create_stream()
    launch = kernel.bind(stream, 1)
    sender = stream.senders[1]
    assert sender.reference._obj is sender.info
    assert ctypes.addressof(sender._keep) == ctypes.addressof(ctypes.c_char.from_buffer(sender.buffer))
    block = device.arguments.pools[0].free[-1]
    assert block.reference is None or block.reference._obj is block.descriptor
    del kernel, sender, block
    for number in range(50):
        gc.collect(0)
        launch(number)
    stream.synchronize()
    assert seen == list(range(50))


def functions_of(function: Callable[..., Any], seen: set[int] | None = None) -> Iterator[FunctionType]:
    """Yield a launcher and the functions it closes over."""
    seen = set() if seen is None else seen
    if isinstance(function, FunctionType) and id(function) not in seen:
        seen.add(id(function))
        yield function
        for cell in function.__closure__ or ():
            if isinstance(cell.cell_contents, FunctionType):
                yield from functions_of(cell.cell_contents, seen)


HOT = ("launch", "try_send", "by_dma", "by_copy")
HEAVY = ("trac", "log", "tenacity", "retry", "contextlib", "dataclass", "warn", "perf_counter", "enum")


@pytest.mark.usefixtures("python_sends")
def test_the_plain_launcher_has_no_sight_of_tools(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("lean")
    for launcher in (kernel.bind(stream, 1), kernel.bind_device_arguments(stream, 1)):
        names = {
            str(step.argval)
            for function in functions_of(launcher) if function.__name__ in HOT
            for step in dis.get_instructions(function)
            if step.opname in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_DEREF", "IMPORT_NAME")
        }
        assert "send" in names
        assert [name for name in names if any(word in name.lower() for word in HEAVY)] == []


def test_launchers_say_what_they_launch(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("lean")
    assert repr(kernel[2]).startswith("<function lean[2] at ")
    for launcher in (kernel.bind(stream, 3), kernel.bind_device_arguments(stream, 3)):
        assert repr(launcher).startswith(f"<function lean[3] on {stream!r} at ")


# -- when somebody says no ----------------------------------------------------------------------------------------


def blocks_of(device: Device) -> Counter[int]:
    return Counter(block.address for pool in device.arguments.pools for block in pool.free)


def test_missing_credit_is_waited_for(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    ran: list[int] = []
    launch = make_kernel("credit", lambda context: ran.append(context.args[0])).bind(stream, 1)
    device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_NO_RESOURCES", times=1500)
    launch(5)
    stream.synchronize()
    assert ran == [5]


def test_other_codes_are_final_on_v2_and_repeated_on_v1(device: Device, stream: Stream, make_kernel: MakeKernel,
                                                        ) -> None:
    ran: list[int] = []
    launch = make_kernel("refused", lambda context: ran.append(context.args[0])).bind(stream, 1)
    before = blocks_of(device)
    device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_INNER_ERR", times=3)
    if device.chip.generation == "v100":
        launch(1)
    else:
        for _ in range(3):
            with pytest.raises(errors.RuntimeFault) as caught:
                launch(1)
            assert (caught.value.hal_call, caught.value.hal_code) == ("halSqTaskSend", c.DRV_ERROR_INNER_ERR)
            assert stream.ring.pending == 0
        launch(1)
    stream.synchronize()
    assert ran == [1]
    assert blocks_of(device) == before


def test_credit_that_only_a_failed_task_holds_back_comes(
    device: Device, stream: Stream, make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue stands still behind a failed task; the sender that waits for room is the one who must resume it."""
    from fakes import kernels as ready

    ran: list[int] = []

    def fail(_context: Any) -> None:
        raise ready.Fail("on purpose")

    bad = make_kernel("bad", fail)
    good = make_kernel("good", lambda context: ran.append(context.args[0]))
    sender = stream.senders[1]
    inner, queue = sender.send, device.hal.fake.device(0).queues[stream.queues.sq_id]

    def no_credit_while_halted(*arguments: Any) -> int:
        device.hal.fake.device(0).run_until_idle()
        return int(inner(*arguments)) if queue.enabled else c.DRV_ERROR_NO_RESOURCES

    monkeypatch.setattr(sender, "send", no_credit_while_halted)
    bad.bind(stream, 1)(0)
    good.bind(stream, 1)(7)
    with pytest.raises(errors.KernelFault, match="kernel bad failed"):
        stream.synchronize()
    assert ran == [7]


def test_arguments_that_cannot_be_moved_leave_nothing(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    launch = make_kernel("moved").bind(stream, 1)
    before = blocks_of(device)
    for failing in ("drvMemcpy",) if device.arguments.way == "copy" else ("halMemcpySumbit",):
        device.hal.fake.faults.on_call(failing, "DRV_ERROR_INNER_ERR")
        with pytest.raises(errors.RuntimeFault, match="arguments of 8 bytes"):
            launch(1)
        assert blocks_of(device) == before
        assert stream.ring.pending == 0
    launch(1)
    stream.synchronize()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_around_the_send(device: Device, stream: Stream, make_kernel: MakeKernel,
                                monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    ran: list[int] = []
    kernel = make_kernel("pressed", lambda context: ran.append(context.args[0]))
    before = blocks_of(device)
    sender = stream.senders[1]
    inner, presses = sender.send, [True]

    def send(*arguments: Any) -> int:
        rc = 0
        if moment == "after" or not presses:
            rc = inner(*arguments)
        if presses:
            presses.pop()
            raise KeyboardInterrupt
        return int(rc)

    monkeypatch.setattr(sender, "send", send)
    launch = kernel.bind(stream, 1)
    with pytest.raises(KeyboardInterrupt):
        launch(1)
    launch(2)
    stream.synchronize(10_000)
    assert ran == ([1, 2] if moment == "after" else [2])
    assert blocks_of(device) == before


def test_wrong_counts_and_arguments_are_refused_before_anything_is_taken(device: Device, stream: Stream,
                                                                         make_kernel: MakeKernel) -> None:
    launch = make_kernel("strict", arguments=2).bind(stream, 1)
    before = blocks_of(device)
    for arguments, message in (
        ((1,), "takes 2 arguments, 1 was given"), ((1, 2, 3), "takes 2 arguments, 3 were given"),
        ((1, 2.5), "no fixed size"), ((1, None), "cannot be a kernel argument"), ((1 << 65, 0), "does not fit 64 bits"),
        ((np.zeros(4), 0), "host memory"), (("x", 0), "cannot be a kernel argument"),
    ):
        with pytest.raises(errors.InvalidArgument, match=message):
            launch(*arguments)
    assert blocks_of(device) == before
    assert stream.ring.pending == 0


def test_freed_buffers_and_their_views_are_refused(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    launch = make_kernel("freed").bind(stream, 1)
    buffer = device.alloc(64)
    view = buffer.view(8)
    launch(view)
    stream.synchronize()
    buffer.close()
    for dead in (buffer, view):
        with pytest.raises(errors.InvalidArgument, match="was freed"):
            launch(dead)


def test_an_unloaded_program_is_not_launched(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    ran: list[int] = []
    kernel = make_kernel("unloaded", lambda context: ran.append(1))
    bound, with_device_arguments = kernel.bind(stream, 1), kernel.bind_device_arguments(stream, 1)
    kernel[1](0, stream=stream)
    stream.synchronize()
    kernel.program.close()
    for use in (
        lambda: bound(0), lambda: with_device_arguments(64), lambda: kernel[1](0, stream=stream),
        lambda: kernel.bind(stream, 1), lambda: bound(b"sixteen bytes ok"), lambda: kernel[2](b"0" * 16, stream=stream),
    ):
        with pytest.raises(errors.InvalidHandle, match="unloaded"):
            use()
    stream.synchronize()
    assert ran == [1]


def test_a_closed_stream_is_not_launched_into(machine: Runtime, device: Device, make_kernel: MakeKernel) -> None:
    stream = device.create_stream()
    kernel = make_kernel("closed")
    bound, with_device_arguments = kernel.bind(stream, 1), kernel.bind_device_arguments(stream, 1)
    stream.close()
    before = blocks_of(device)
    for use in (lambda: bound(0), lambda: with_device_arguments(64), lambda: bound(b"0" * 16)):
        with pytest.raises(errors.RuntimeFault) as caught:
            use()
        assert caught.value.code in (107017, 107000)
    assert blocks_of(device) == before


def test_a_sink_that_records_gets_what_prepared_launchers_send(device: Device, stream: Stream,
                                                               make_kernel: MakeKernel) -> None:
    """A launcher that was bound before the sink came must not pass it by, and is itself again when the sink goes."""
    ran: list[int] = []
    kernel = make_kernel("led", lambda context: ran.append(context.args[0]))
    bound, with_device_arguments = kernel.bind(stream, 1), kernel.bind_device_arguments(stream, 1)
    recorded: list[bytes] = []

    class Recording(OwnSink):
        name, immediate = "a recording", False

        def admit(self, of: Stream, _task: Any, _info: Any, _count: int) -> Target:
            return Target(of, self)

        def alloc(self, of: Stream, count: int, _owner: Any) -> TaskIds:
            return TaskIds(0, 0, of.ring.tail)

        def commit(self, _stream: Stream, sqes: bytes) -> None:
            recorded.append(sqes)

        def rollback(self, _stream: Stream, _count: int) -> bool:
            return True

    block = device.upload(struct.pack("<Q", 9))
    sink = Recording()
    stream.sinks.lay(sink)
    bound(7)
    with_device_arguments(block.address)
    assert len(recorded) == 2
    assert device.queues.tail(stream.queues.sq_id) == 0
    stream.sinks.lift(sink)
    assert not stream.blocked
    bound(8)
    with_device_arguments(block.address)
    stream.synchronize()
    assert ran == [8, 9]


@pytest.mark.parametrize("way", ["bar", "ub"], indirect=True)
def test_fast_streams_take_their_own_blocks_first(way: Device) -> None:
    seen: list[tuple[int, ...]] = []
    kernel = words_kernel(way, "own", 2, seen)
    before = holdings(way.runtime)
    shared = [len(pool.free) for pool in way.arguments.pools]
    with way.create_stream(flags=StreamFlag.FAST_LAUNCH) as stream:
        own = way.arguments.pool_for(16, stream)
        assert own is not None
        assert own not in way.arguments.pools
        way.hal.fake.device(0).hold()
        for number in range(3):
            kernel[1](number, number + 1, stream=stream)
        assert own.unused == stream.ring.depth - 3
        assert [len(pool.free) for pool in way.arguments.pools] == shared
        way.hal.fake.device(0).release()
        stream.synchronize()
        assert seen == [(0, 1), (1, 2), (2, 3)]
        assert own.unused == stream.ring.depth
    assert holdings(way.runtime) == before


@pytest.mark.parametrize("way", ["ub"], indirect=True)
def test_over_ub_arguments_go_ahead_on_the_queue_of_their_stream(way: Device) -> None:
    seen: list[tuple[int, ...]] = []
    kernel, pool = words_kernel(way, "queued", 1, seen), way.arguments.pools[0]
    with way.create_stream() as stream:
        block = pool.free[-1]
        kernel[1](7, stream=stream)
        assert (block.descriptor.sqId, block.descriptor.size) == (stream.queues.sq_id, 8)
        assert (block.descriptor.dst, block.descriptor.src) == (block.target.value, block.source.value)
        way.hal.fake.faults.on_call("halSqTaskArgsAsyncCopy", "DRV_ERROR_INNER_ERR")
        with pytest.raises(errors.RuntimeFault, match="arguments of 8 bytes"):
            kernel[1](8, stream=stream)
        stream.synchronize()
    assert seen == [(7,)]
    assert pool.unused == 1024


def test_launchers_that_the_user_holds_follow_what_changes_in_their_stream(
    device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    """What builders know of a stream is in the template; a launcher that was bound before must not send the old one."""
    kernel, block = make_kernel("held"), device.upload(bytes(8))
    held, by_address = kernel.bind(stream, 1), kernel.bind_device_arguments(stream, 1)
    stack = stream.env.stack_base_32k

    def names_stack(launch: Callable[[int], None], base: int) -> bool:
        launch(block.address)
        return struct.pack("<Q", base)[:6] in stream.senders[1].buffer

    assert names_stack(held, stack)
    assert names_stack(by_address, stack)
    for count in range(1, 100):  # more changes than launches that could call each other
        stream.change_environment(stack_base_32k=stack + (count << 20))
        assert names_stack(held, stack + (count << 20))
    assert names_stack(by_address, stack + (99 << 20))
    assert not names_stack(by_address, stack)
    stream.synchronize()


def test_other_prepared_sends_that_were_dropped_send_nothing(stream: Stream, device: Device) -> None:
    event = device.create_event()
    event.record(stream)
    put = next(iter(stream.sends.values()))
    stream.drop_prepared()
    assert put(0) == 0
    event.record(stream)
    event.synchronize()


@pytest.mark.parametrize("sends", ["as they are", "python"])
def test_launches_with_arguments_on_the_device_take_their_address_alone(
    sends: str, request: pytest.FixtureRequest, stream: Stream, make_kernel: MakeKernel
) -> None:
    if sends == "python":
        request.getfixturevalue("python_sends")
    ran: list[int] = []
    kernel = make_kernel("note", lambda context: ran.append(context.args[0]))
    block = stream.device.upload(np.array([7], np.uint64))
    launch = kernel.bind_device_arguments(stream, 1)
    for arguments in ((), (block.address, block.address), (block.address, None)):
        with pytest.raises(TypeError, match="positional argument"):
            launch(*arguments)
    launch(block.address)
    stream.synchronize(10_000)
    assert ran == [7]
    assert set(stream.ring.arguments) == {None}
