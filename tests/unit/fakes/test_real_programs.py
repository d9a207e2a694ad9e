"""What the vendor's own runtime does with the driver's library, call by call, on every chip and both tiers."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable

import pytest

from chips.generations.v100 import ffts
from chips.programs.body import float_status
from chips.programs.wait import KnownQueue, MemoryWait, WaitFor
from fakes.executor.condition import event_tables
from npuhal import constants as c
from npuhal import structs as s
from tests.tools.processes import shared_name
from tests.unit.fakes.rig import SQE, Rig, Stream
from tests.unit.fakes.test_conditions import Builder

MiB = 1 << 20
NO_ID = 0xFFFFFFFF


def write_value(rig: Rig, stream: Stream, address: int, value: int) -> bytes:
    fields = {"value": value} if rig.v1 else {"value[0]": value}
    return rig.sqe("write_value", stream, 1, addr=address, awsize=3, va=1, **fields)


def fill(rig: Rig, stream: int, memory: int | None, data: bytes) -> int:
    tasks = ctypes.create_string_buffer(data, len(data))
    return int(rig.hal.halStreamTaskFill(0, stream, memory, tasks, len(data) // SQE))


def switch(rig: Rig, sq_id: int, stream: int, memory: int, depth: int = 64) -> int:
    info = (s.sq_switch_stream_info * 1)()
    info[0].sq_id, info[0].stream_id, info[0].sq_depth, info[0].stream_mem = sq_id, stream, depth, memory
    return int(rig.hal.halSqSwitchStreamBatch(0, info, 1))


# -- memory of streams -------------------------------------------------------------------------------------------------


def test_a_stream_is_filled_before_it_has_a_queue(rig: Rig) -> None:
    stream, captured = rig.stream(), rig.take_id(c.DRV_STREAM_ID)
    memory, data = rig.alloc(2 * MiB, c.MEM_PAGE_HUGE), rig.alloc(16)
    assert fill(rig, captured, memory, write_value(rig, stream, data, 5)) == 0
    behind = memory if rig.v1 else memory + SQE
    assert fill(rig, captured, behind, write_value(rig, stream, data + 8, 6)) == 0
    assert switch(rig, stream.sq_id, captured, memory) == 0
    assert stream.config(c.DRV_SQCQ_PROP_SQ_TAIL, 2) == 0
    stream.drain()
    assert struct.unpack("<QQ", rig.get(data, 16)) == (5, 6)


@pytest.mark.parametrize("count", [0, 1 << 20, 0xFFFFFFFF])
def test_no_more_queues_are_switched_than_there_are_streams(rig: Rig, count: int) -> None:
    one = s.sq_switch_stream_info()
    assert rig.hal.halSqSwitchStreamBatch(0, ctypes.byref(one), count) == c.DRV_ERROR_IOCRL_FAIL


def test_v1_may_leave_the_memory_of_a_stream_out(rig: Rig) -> None:
    stream, captured = rig.stream(), rig.take_id(c.DRV_STREAM_ID)
    memory, task = rig.alloc(2 * MiB, c.MEM_PAGE_HUGE), rig.nop(stream)
    assert fill(rig, captured, None, task) == c.DRV_ERROR_INVALID_VALUE
    assert fill(rig, captured, memory, task) == 0
    assert fill(rig, captured, None, task) == (0 if rig.v1 else c.DRV_ERROR_INVALID_VALUE)
    gap = memory + 8 * SQE
    assert fill(rig, captured, gap, task) == c.DRV_ERROR_INVALID_VALUE


def test_memory_of_a_stream_ends_with_its_page_and_with_the_stream(rig: Rig) -> None:
    stream, captured = rig.stream(), rig.take_id(c.DRV_STREAM_ID)
    memory = rig.alloc(4 * MiB, c.MEM_PAGE_HUGE)
    assert fill(rig, captured, memory + 2 * MiB - SQE, rig.nop(stream) * 2) == c.DRV_ERROR_INVALID_VALUE
    assert fill(rig, captured, memory + 2 * MiB - SQE, rig.nop(stream)) == 0
    more = None if rig.v1 else memory + 2 * MiB
    assert fill(rig, captured, more, rig.nop(stream)) == c.DRV_ERROR_NO_RESOURCES
    free = s.halResourceIdInputInfo(type=c.DRV_STREAM_ID, resourceId=captured)
    assert rig.hal.halResourceIdFree(0, ctypes.byref(free)) == 0
    assert fill(rig, captured, memory, rig.nop(stream)) == c.DRV_ERROR_INVALID_VALUE
    assert rig.try_id(c.DRV_STREAM_ID, captured)[0] == 0
    assert fill(rig, captured, memory, rig.nop(stream)) == 0


# -- messages to the task scheduler ------------------------------------------------------------------------------------


def ask(rig: Rig, operation: int, *words: int, size: int = 44) -> tuple[int, ...]:
    """Send a message; return the words of the answer behind the operation."""
    body = ctypes.create_string_buffer(struct.pack(f"<{1 + len(words)}I", operation, *words), size)
    answer, length = ctypes.create_string_buffer(b"\xff" * size, size), ctypes.c_size_t(size)
    message = s.tsdrv_ctrl_msg(tsid=0, msg_len=size, msg=ctypes.addressof(body))
    rc = rig.hal.halTsdrvCtl(0, c.TSDRV_CTL_CMD_CTRL_MSG, ctypes.byref(message), 16, answer, ctypes.byref(length))
    assert (rc, length.value) == (0, size)
    number, *rest = struct.unpack(f"<{size // 4}I", answer.raw)
    assert number == operation
    return tuple(rest)


@pytest.mark.parametrize("operation", [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
def test_a_message_is_answered_whole(rig: Rig, operation: int) -> None:
    stream = rig.stream()
    assert ask(rig, operation, stream.sq_id)[6:] == (0,) * 4
    assert ask(rig, operation, stream.sq_id, size=60)[9:] == (0,) * 5


def test_tasks_of_the_process_are_ended_and_the_queues_come_back(rig: Rig) -> None:
    stream, event = rig.stream(), rig.take_event()
    assert stream.send(rig.wait(stream, event), rig.nop(stream)) == 0
    assert stream.head == 0
    assert ask(rig, 0)[0] == 0
    assert ask(rig, 1, 1, NO_ID)[0] == (3 if rig.v1 else 6)
    assert stream.head == 2
    assert ask(rig, 9)[0] == 0
    assert ask(rig, 10, 1, NO_ID)[0] == 6
    assert ask(rig, 8, stream.sq_id)[:2] == (stream.sq_id, 0)
    assert ask(rig, 10, 0, stream.sq_id)[0] == 1
    assert stream.send(rig.nop(stream)) == 0
    stream.drain()


@pytest.mark.parametrize("operation", [2, 7, 8, 12])
def test_what_there_is_not_is_refused(rig: Rig, operation: int) -> None:
    assert ask(rig, operation, 1999)[:2] == (1999, 4)


def test_a_priority_is_taken_and_not_told(rig: Rig) -> None:
    stream = rig.stream()
    assert ask(rig, 14, stream.sq_id, 0, stream.stream_id, 5)[:4] == (stream.sq_id, 0, stream.stream_id, 0)
    assert ask(rig, 15, stream.sq_id, 0, stream.stream_id, 9)[:4] == (stream.sq_id, 0, stream.stream_id, 0)


def test_an_operation_that_no_scheduler_knows(rig: Rig) -> None:
    body, size = ctypes.create_string_buffer(struct.pack("<I", 99), 44), ctypes.c_size_t(44)
    message = s.tsdrv_ctrl_msg(tsid=0, msg_len=44, msg=ctypes.addressof(body))
    answer = ctypes.create_string_buffer(44)
    rc = rig.hal.halTsdrvCtl(0, c.TSDRV_CTL_CMD_CTRL_MSG, ctypes.byref(message), 16, answer, ctypes.byref(size))
    assert rc == c.DRV_ERROR_NOT_SUPPORT


# -- blocking callbacks ------------------------------------------------------------------------------------------------


def command_area(rig: Rig, queue: int) -> tuple[int, int]:
    wanted, got = s.halSqMemGetInput(type=c.DRV_CALLBACK_TYPE, sqId=queue, cmdCount=1), s.halSqMemGetOutput()
    return int(rig.hal.halSqMemGet(0, ctypes.byref(wanted), ctypes.byref(got))), got.cmdPtr or 0


def test_a_command_lets_a_stream_go_on_behind_a_blocking_callback(rig: Rig) -> None:
    in_ = s.halSqCqInputInfo(type=c.DRV_CALLBACK_TYPE, cqeSize=32, sqeSize=64, sqeDepth=8, cqeDepth=1024, grpId=3)
    made = s.halSqCqOutputInfo()
    assert rig.hal.halSqCqAllocate(0, ctypes.byref(in_), ctypes.byref(made)) == 0
    stream, event = rig.stream(), rig.take_event()
    assert stream.send(rig.wait(stream, event)) == 0
    assert stream.head == 0
    assert command_area(rig, 99)[0] == c.DRV_ERROR_INVALID_VALUE
    assert command_area(rig, 3)[0] == c.DRV_ERROR_INVALID_VALUE  # the group, and no queue
    code, area = command_area(rig, made.sqId)
    assert code == 0
    message = s.halSqMsgInfo(type=c.DRV_CALLBACK_TYPE, sqId=made.sqId, cmdCount=1)
    ctypes.memmove(area, struct.pack("<IB3xHHH", 1, 14, stream.stream_id, event, 1).ljust(SQE, b"\0"), SQE)
    assert rig.hal.halSqMsgSend(0, ctypes.byref(message)) == c.DRV_ERROR_NOT_SUPPORT
    ctypes.memmove(area, struct.pack("<IB3xHHH", 1, 15, stream.stream_id, event, 1).ljust(SQE, b"\0"), SQE)
    assert rig.hal.halSqMsgSend(0, ctypes.byref(message)) == 0
    stream.drain()


# -- several cards -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=[(soc, tier) for soc in ("Ascend910B3", "Ascend950PR_9599") for tier in ("fake", "fake-abi")],
                ids="-".join)  # fmt: skip
def pair(request: pytest.FixtureRequest, open_rig: Callable[..., Rig]) -> Rig:
    """Two cards, of which card 0 is open."""
    soc, scheme = request.param
    return open_rig(soc, scheme, seed=11, devices=2)


def open_card(rig: Rig, number: int) -> None:
    assert rig.hal.halDeviceOpen(number, ctypes.byref(s.hal_dev_open_in()), ctypes.byref(s.hal_dev_open_out())) == 0


def other_stream(rig: Rig) -> Stream:
    """Make a stream on card 1."""
    open_card(rig, 1)
    rig.dev = 1
    try:
        return rig.stream()
    finally:
        rig.dev = 0


def test_cards_work_while_one_is_polled_that_waits(pair: Rig) -> None:
    here, event = pair.stream(), pair.take_event()
    there = other_stream(pair)
    assert here.send(pair.wait(here, event)) == 0
    done = pair.alloc(8)
    assert pair.hal.halDeviceEnableP2P(1, pair.fake.device(0).identity.physical, 0) == 0
    pair.dev = 1
    assert there.send(write_value(pair, there, done, 7)) == 0
    pair.dev = 0
    for _ in range(100):
        assert here.head == 0
    assert pair.get(done, 1) == b"\x07"


def test_notifies_of_linked_cards_are_enabled_by_physical_ids(pair: Rig) -> None:
    one, two = (card.identity.physical for card in pair.fake.devices)
    assert pair.hal.halDeviceEnableP2PNotify(one, two, 0) == 0
    assert pair.hal.halDeviceDisableP2PNotify(one, two, 0) == 0
    assert pair.hal.halDeviceEnableP2PNotify(one, 77, 0) == c.DRV_ERROR_INVALID_DEVICE
    assert pair.hal.halDeviceEnableP2PNotify(one, one, 0) == c.DRV_ERROR_INVALID_DEVICE


def test_a_shared_notify_is_closed_under_the_older_name(rig: Rig) -> None:
    name = ctypes.create_string_buffer(65)
    info = s.drvShrIdInfo(devid=0, id_type=c.SHR_ID_NOTIFY_TYPE, shrid=rig.take_id(c.DRV_NOTIFY_ID))
    assert rig.hal.halShrIdCreate(ctypes.byref(info), name, 65) == 0
    pid = (ctypes.c_int * 1)(rig.fake.pid)
    assert rig.hal.halShrIdSetPid(name, pid, 1) == 0
    assert rig.hal.halShrIdOpen(name, ctypes.byref(info)) == 0
    assert rig.hal.drvCloseIpcNotify(name, ctypes.byref(s.drvIpcNotifyInfo())) == 0
    assert rig.hal.drvCloseIpcNotify(name, ctypes.byref(s.drvIpcNotifyInfo())) == c.DRV_ERROR_IOCRL_FAIL


def test_memory_of_a_super_pod_is_no_function_at_all(rig: Rig) -> None:
    assert not rig.hal.has("halShmemOpenHandleV2")


@pytest.mark.parametrize(("soc", "count"), [("Ascend910B3", 8), ("Ascend910_9391", 16), ("Ascend950PR_9599", 8)])
def test_no_two_cards_have_the_same_die(open_rig: Callable[..., Rig], soc: str, count: int) -> None:
    for seed in range(4):
        cards = open_rig(soc, devices=count, seed=seed, open_card=False).fake.devices
        assert len({(card.identity.chip_id, card.identity.die_id) for card in cards}) == count


def event_wait_from(rig: Rig, here: Stream, event: int, *, wide: bool) -> list[bytes]:
    """Return the entries by which a stream of card 0 waits for an event of card 1."""
    build, card = Builder(rig), rig.fake.device(1)
    ((base, _),) = [row for row in event_tables(rig.fake.device(0)) if row[1] is card]
    wait = MemoryWait(
        address=base + event // 4096 * 0x10000 + event % 4096 * 4, value=1, test=WaitFor.EQUAL, size=3 if wide else 0,
        position=0, depth=here.depth, profiling=rig.alloc(8),
        queue=KnownQueue(sq_id=here.sq_id, tail=build.page(here) + build.facts.tail_offset, paused=rig.alloc(8)),
    )  # fmt: skip
    entry = build.call("memory_wait", here, lambda _address: wait.assemble(build.generation), 1)
    end, flag = rig.sqe("memory_wait_end", here, 1), rig.alloc(8)
    return [rig.nop(here), rig.sqe("write_value", here, 1, addr=flag, awsize=3, va=1), entry, end]


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_card_reads_the_events_of_another(open_rig: Callable[..., Rig], scheme: str, wide: bool) -> None:
    rig = open_rig(scheme=scheme, seed=11, devices=2)
    there, here = other_stream(rig), rig.stream()
    rig.dev = 1
    event = rig.take_event()
    rig.dev = 0
    here.send(*event_wait_from(rig, here, event, wide=wide))
    for _ in range(5):
        assert here.head in (0, 1, 2)
    rig.dev = 1
    assert there.send(rig.record(there, event)) == 0
    rig.dev = 0
    here.drain()
    assert not [place for place in rig.fake.problems if "failed" in place]


@pytest.mark.parametrize("ordered", [False, True])
def test_reading_an_event_of_another_card_orders_what_comes_behind(
    open_rig: Callable[..., Rig], ordered: bool
) -> None:
    rig = open_rig(seed=11, devices=2, check="race")
    there, here = other_stream(rig), rig.stream()
    assert rig.hal.halDeviceEnableP2P(0, rig.fake.device(1).identity.physical, 0) == 0
    rig.dev = 1
    event, source = rig.take_event(), rig.alloc(64)
    filled = rig.alloc(64)
    rig.dev = 0
    target = rig.alloc(64)
    entries = event_wait_from(rig, here, event, wide=False) if ordered else []
    rig.dev = 1
    assert there.send(rig.copy(there, source, filled, 64), rig.record(there, event)) == 0
    rig.dev = 0
    assert here.send(*entries, rig.copy(here, target, source, 64)) == 0
    rig.fake.run_until_idle()
    assert len(rig.fake.reports.take()) == (0 if ordered else 1)


# -- the error ring ----------------------------------------------------------------------------------------------------


def hand_over(rig: Rig, stream: Stream, memory: int) -> None:
    fields = {"offset": rig.fake.physical(memory, 0), "length": 10} if rig.v1 else {"addr": memory, "total_length": 30}
    assert stream.send(rig.sqe("ring_buffer", stream, 1, **fields)) == 0
    stream.drain()


def test_failures_are_told_in_the_error_ring(rig: Rig) -> None:
    stream, memory = rig.stream(), rig.alloc(4 * MiB, c.MEM_PAGE_HUGE)
    count, size = (10, 12288) if rig.v1 else (30, 48128)
    hand_over(rig, stream, memory)
    assert struct.unpack("<4IQII", rig.get(memory, 32)) == (0xA55A2020, 0, 0, count, rig.fake.pid, size, 0)
    failed, source, target = rig.stream(), rig.alloc(64), rig.alloc(64)
    assert failed.send(rig.copy(failed, target, source, 64, task=4)) == 0
    failed.drain()
    assert failed.send(rig.copy(failed, 0x10, 0x20, 64, task=5)) == 0
    assert failed.head == 1
    head, tail = struct.unpack("<II", rig.get(memory + 4, 8))
    assert (head, tail) == (0, 1)
    pid, length, kind = struct.unpack_from("<QII", rig.get(memory + 32, 32))
    assert (pid, length, kind) == (rig.fake.pid, 20, 2)
    # the host finds the task by stream and task id, or, where descriptors name no stream, by its position in the queue
    number, task = struct.unpack_from("<HH", rig.get(memory + 64 + 16, 4))
    assert (number, task) == (failed.stream_id, 5 if rig.v1 else 1)


def test_a_failed_kernel_is_told_with_its_core(rig: Rig) -> None:
    stream, memory = rig.stream(), rig.alloc(4 * MiB, c.MEM_PAGE_HUGE)
    hand_over(rig, stream, memory)
    code, arguments = rig.load(bytes(range(64))), rig.arguments(7)
    mixed = {"block_dim": 4, "aic_pc": code, "aiv_pc": code, "aic_param": arguments, "aiv_param": arguments}
    entries: list[tuple[int, Callable[[Stream], bytes]]] = [
        (0, lambda queue: rig.kernel(queue, code, arguments)),
        (1, lambda queue: rig.kernel(queue, code, arguments, core="aiv")),
    ]
    if rig.v1:
        context = rig.alloc(128)
        rig.put(context, ffts.encode(ffts.ContextType.MIX_AIC, **mixed))
        entries.append((0, lambda queue: rig.sqe("kernel_mix", queue, 1, contexts=context)))
    for number, (kind, entry) in enumerate(entries):
        failed = rig.stream()
        assert failed.send(entry(failed)) == 0
        assert failed.head == 0
        element = memory + 32 + number * (12288 if rig.v1 else 48128)
        length, told = struct.unpack_from("<8xII", rig.get(element, 16))
        assert (length, told) == (176 if rig.v1 else 336, kind)
        assert struct.unpack_from("<HH", rig.get(element + 32, 4)) == (kind, 1)
        core = rig.get(element + 32 + 24, length - 24)
        begins, arguments_at = (32, 112) if rig.v1 else (8, 136)
        assert struct.unpack_from("<2Q", core, begins) == (code, code)
        assert struct.unpack_from("<Q", core, arguments_at) == (arguments,)
    if rig.v1:  # the context is what is wrong: the element says so much
        failed = rig.stream()
        assert failed.send(rig.sqe("kernel_mix", failed, 1, contexts=0x10)) == 0
        assert failed.head == 0
        assert struct.unpack("<II", rig.get(memory + 4, 8)) == (0, 4)


def test_a_wait_that_ran_out_of_time_is_told_in_the_error_ring(rig: Rig) -> None:
    stream, memory = rig.stream(), rig.alloc(4 * MiB, c.MEM_PAGE_HUGE)
    hand_over(rig, stream, memory)
    late, number = rig.stream(), rig.take_id(c.DRV_NOTIFY_ID)
    counted = {} if rig.v1 else {"cnt_flag": 0, "clr_flag": 1, "sub_type": 3, "cnt_value": 9, "wait_mode": 2}
    assert late.send(rig.nop(late, 6), rig.sqe("notify_wait", late, 7, notify_id=number, timeout=3, **counted)) == 0
    assert late.head == 1
    rig.fake.device().pass_time(3 * 10**9)
    assert late.head == 1
    assert struct.unpack_from("<I", rig.get(memory + 32 + 12, 4)) == (10,)
    identity = rig.fake.device().identity
    told = struct.unpack("<BxHHHIIIII", rig.get(memory + 64, 28))
    assert told[:6] == (7, late.stream_id, late.sq_id, 7 if rig.v1 else 1, identity.chip_id, identity.die_id)
    assert told[6:] == ((number, 3, 0) if rig.v1 else (number | 1 << 18 | 2 << 19 | 3 << 22, 9, 3))


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_a_wait_for_an_event_that_a_fault_ends_is_told_with_its_type(open_rig: Callable[..., Rig], soc: str) -> None:
    rig = open_rig(soc, fault="task:2:TIMEOUT")
    stream, memory = rig.stream(), rig.alloc(4 * MiB, c.MEM_PAGE_HUGE)
    hand_over(rig, stream, memory)
    waits, event = rig.stream(), rig.take_event()
    assert waits.send(rig.wait(waits, event, 7)) == 0
    rig.fake.run_until_idle()
    assert waits.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 0
    kind, number = struct.unpack("<B11xI", rig.get(memory + 64, 16)[:12] + rig.get(memory + 64 + 16, 4))
    assert (kind, number & 0x1FFFF) == (5 if rig.v1 else 7, event)


def test_a_full_error_ring_takes_no_more_until_the_host_reads(rig: Rig) -> None:
    stream, memory, card = rig.stream(), rig.alloc(4 * MiB, c.MEM_PAGE_HUGE), rig.fake.device()
    hand_over(rig, stream, memory)
    failed = rig.stream()
    count = 10 if rig.v1 else 30
    for _ in range(count + 2):
        assert failed.send(rig.copy(failed, 0x10, 0x20, 64)) == 0
        assert failed.head != failed.query(c.DRV_SQCQ_PROP_SQ_TAIL)
        assert failed.config(c.DRV_SQCQ_PROP_SQ_HEAD, failed.query(c.DRV_SQCQ_PROP_SQ_TAIL)) == 0
        assert failed.config(c.DRV_SQCQ_PROP_SQ_STATUS, 1) == 0
    assert struct.unpack("<II", rig.get(memory + 4, 8)) == (0, count - 1)
    rig.put(memory + 4, (3).to_bytes(4, "little"))
    assert failed.send(rig.copy(failed, 0x10, 0x20, 64)) == 0
    assert failed.head >= 0
    assert struct.unpack("<II", rig.get(memory + 4, 8)) == (3, 0)
    assert stream.send(rig.sqe("ring_buffer", stream, 1, delete=1)) == 0
    stream.drain()
    assert not card.error_ring


# -- memory ------------------------------------------------------------------------------------------------------------


def register(rig: Rig, address: int, size: int, kind: int) -> tuple[int, int]:
    out = ctypes.c_void_p()
    return int(rig.hal.halHostRegister(address, size, kind, 0, ctypes.byref(out))), out.value or 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_host_memory_is_registered_by_the_hosts_pages(
    open_rig: Callable[..., Rig], soc: str, scheme: str, seed: int
) -> None:
    rig = open_rig(soc, scheme, seed=seed)
    with mmap.mmap(-1, 8 * 4096) as area:
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        code, _ = register(rig, start + 4096, 3 * 4096, c.HOST_MEM_MAP_DEV_PCIE_TH)
        assert code == 0
        assert rig.hal.halHostUnregisterEx(start + 4096, 0, c.HOST_MEM_MAP_DEV_PCIE_TH) == 0


def test_pinned_memory_can_be_registered_too(rig: Rig) -> None:
    pinned, kind = rig.alloc_host(3 * 4096), c.HOST_MEM_MAP_DEV if rig.v1 else c.HOST_MEM_MAP_DEV_PCIE_TH
    code, seen = register(rig, pinned, 3 * 4096, kind)
    assert (code, bool(seen)) == (0, True)


def test_a_page_of_pinned_memory_can_be_shared_with_the_task_scheduler(rig: Rig) -> None:
    page, page_2 = rig.alloc_host(4096), rig.alloc_host(8192)

    def share(**changed: int | None) -> int:
        asked = {"ptr": page, "size": 4096, "id": 0, "side": c.MEM_HOST_SIDE, "accessor": c.TS_ACCESSOR, **changed}
        return int(rig.hal.halSetMemSharing(ctypes.byref(s.drvMemSharingPara(**asked))))

    assert rig.hal.halSetMemSharing(None) == c.DRV_ERROR_INVALID_VALUE
    assert share(ptr=None) == share(size=0) == share(enable_flag=2) == c.DRV_ERROR_INVALID_VALUE
    assert share(accessor=1) == share(side=c.MEM_DEV_SIDE) == c.DRV_ERROR_NOT_SUPPORT
    refused = c.DRV_ERROR_IOCRL_FAIL  # by the kernel, whatever the reason
    assert share(id=9) == share(size=4097) == share(ptr=page + 8) == share(ptr=rig.alloc(4096)) == refused
    assert share(ptr=page_2, size=8192) == share(enable_flag=1) == refused
    assert share() == 0
    assert share() == refused
    assert share(size=64, enable_flag=1) == refused
    assert share(enable_flag=1) == 0
    assert share(enable_flag=1) == refused
    assert share() == share(ptr=page_2) == share(ptr=page_2 + 4096) == 0


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_host_memory_needs_any_open_card(open_rig: Callable[..., Rig], soc: str, scheme: str) -> None:
    rig = open_rig(soc, scheme, devices=4, open_card=False)
    open_card(rig, 3)
    address = rig.alloc_host(100)
    ctypes.memset(address, 7, 100)
    assert rig.get(address, 100) == b"\x07" * 100


def small(side: int) -> s.drv_mem_prop:
    return s.drv_mem_prop(side=side, module_id=c.RUNTIME_MODULE_ID, pg_type=c.MEM_NORMAL_PAGE_TYPE,
                          mem_type=c.MEM_P2P_HBM_TYPE)  # fmt: skip


def piece(rig: Rig, side: int) -> tuple[int, int]:
    """Make 4 KiB of physical memory as shared events do; return its handle and address."""
    prop, size, address = small(side), ctypes.c_size_t(), ctypes.c_void_p()
    prop.devid = 65
    prop.side = c.MEM_HOST_SIDE
    granularity = rig.hal.halMemGetAllocationGranularity
    assert granularity(ctypes.byref(prop), c.MEM_ALLOC_GRANULARITY_MINIMUM, ctypes.byref(size)) == 0
    assert size.value == 4096
    assert rig.hal.halSupportFeature(0, c.FEATURE_SVM_VMM_NORMAL_GRANULARITY)
    assert rig.hal.halMemAddressReserve(ctypes.byref(address), size.value, 0, None, 0) == 0
    handle, prop = ctypes.c_void_p(), small(side)
    assert rig.hal.halMemCreate(ctypes.byref(handle), size.value, ctypes.byref(prop), 0) == 0
    assert address.value
    assert handle.value
    assert rig.hal.halMemMap(address.value, size.value, 0, handle.value, 0) == 0
    assert rig.hal.drvMemsetD8(address.value, size.value, 0, size.value) == 0
    return handle.value, address.value


def exported(rig: Rig, handle: int) -> int:
    number, open_to_all = ctypes.c_uint64(), s.ShareHandleAttr(enableFlag=c.SHMEM_NO_WLIST_ENABLE)
    assert rig.hal.halMemExportToShareableHandle(handle, c.MEM_HANDLE_TYPE_NONE, 0, ctypes.byref(number)) == 0
    attribute = rig.hal.halMemShareHandleSetAttribute
    assert attribute(number.value, c.SHR_HANDLE_ATTR_NO_WLIST_IN_SERVER, open_to_all) == 0
    return number.value


def host_access(rig: Rig, address: int) -> None:
    desc = s.drv_mem_access_desc(type=c.MEM_ACCESS_TYPE_READWRITE)
    desc.location.side = c.MEM_HOST_SIDE
    assert rig.hal.halMemSetAccess(address, 4096, ctypes.byref(desc), 1) == 0


def imported(rig: Rig, number: int, device: int) -> int:
    handle, address = ctypes.c_void_p(), ctypes.c_void_p()
    assert rig.hal.halMemImportFromShareableHandle(number, device, ctypes.byref(handle)) == 0
    assert rig.hal.halMemAddressReserve(ctypes.byref(address), 4096, 0, None, 0) == 0
    assert address.value
    assert rig.hal.halMemMap(address.value, 4096, 0, handle.value, 0) == 0
    return address.value


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_events_of_several_processes_have_their_memory(open_rig: Callable[..., Rig], soc: str, scheme: str) -> None:
    name = shared_name(f"ipc-{soc}-{scheme}")
    one, two = (open_rig(soc, scheme, shared=name) for _ in range(2))
    words, word = piece(one, c.MEM_DEV_SIDE)
    host_access(one, word)
    lock, page = piece(one, c.MEM_HOST_SIDE)
    ctypes.memmove(page, b"lock", 4)  # the host's own memory: no access has to be given
    ctypes.memmove(word, b"word", 4)
    there = imported(two, exported(one, lock), 65)
    assert ctypes.string_at(there, 4) == b"lock"
    for device in (0, 65):
        seen = imported(two, exported(one, words), device)
        assert two.get(seen, 4) == b"word"
        host_access(two, seen)
        assert ctypes.string_at(seen, 4) == b"word"
    ctypes.memmove(there, b"mine", 4)
    assert ctypes.string_at(page, 4) == b"mine"
    assert one.hal.halMemUnmap(page) == 0
    assert one.hal.halMemRelease(lock) == 0


def test_host_memory_is_not_made_by_a_number_of_a_card(rig: Rig) -> None:
    prop, handle = small(c.MEM_HOST_SIDE), ctypes.c_void_p()
    prop.devid = 1
    assert rig.hal.halMemCreate(ctypes.byref(handle), 4096, ctypes.byref(prop), 0) == c.DRV_ERROR_NOT_SUPPORT
    prop.devid, prop.module_id = 0, c.HCCL_HAL_MODULE_ID
    assert rig.hal.halMemCreate(ctypes.byref(handle), 4096, ctypes.byref(prop), 0) == c.DRV_ERROR_PARA_ERROR


# -- facts about cards -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_facts_that_a_runtime_asks_for(open_rig: Callable[..., Rig], soc: str, scheme: str) -> None:
    rig = open_rig(soc, scheme, devices=2, seed=3)
    value = ctypes.c_int64(-1)

    def ask_for(number: int, module: int, info: int) -> int:
        return int(rig.hal.halGetDeviceInfo(number, module, info, ctypes.byref(value)))

    for card in rig.fake.devices:
        assert ask_for(card.identity.physical, c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_MASTERID) == 0
    assert ask_for(0, c.MODULE_TYPE_SYSTEM, 27) == 0
    assert ask_for(0, c.MODULE_TYPE_AICPU, c.INFO_TYPE_UTILIZATION) == 0
    assert ask_for(0, c.MODULE_TYPE_VECTOR_CORE, c.INFO_TYPE_UTILIZATION) == 0
    place, size = s.HAL_PCIE_INFO(), ctypes.c_int32(ctypes.sizeof(s.HAL_PCIE_INFO))
    block = rig.hal.halGetDeviceInfoByBuff
    where = (ctypes.addressof(place), ctypes.byref(size))
    assert block(1, c.MODULE_TYPE_PCIE, c.INFO_TYPE_PCIE_ID_INFO, *where) == 0
    assert place.bus
    assert block(1, c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_PCIE_ID_INFO, *where) == c.DRV_ERROR_NOT_SUPPORT


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
def test_what_is_shown_as_total_is_what_the_card_is_sold_with(open_rig: Callable[..., Rig], scheme: str) -> None:
    rig = open_rig("Ascend910B3", scheme)

    def shown() -> tuple[int, int, int]:
        info = s.MemInfo()
        assert rig.hal.halMemGetInfo(0, c.MEM_INFO_TYPE_HBM_SIZE, ctypes.byref(info)) == 0
        pages = info.phy_info
        return pages.total + pages.huge_total, pages.free + pages.huge_free, pages.giant_free

    total, free, giant = shown()
    assert (total, free, giant) == (64 << 30, 64 << 30, 32 << 30)
    address = rig.alloc(1 << 30, c.MEM_PAGE_GIANT)
    assert shown() == (total, free - (1 << 30), giant - (1 << 30))
    assert rig.hal.halMemFree(address) == 0
    assert shown() == (total, free, giant)


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_a_send_fails_as_the_url_says(open_rig: Callable[..., Rig], soc: str, scheme: str) -> None:
    rig = open_rig(soc, scheme, fault="halSqTaskSend:4:7")
    stream = rig.stream()
    assert [stream.send(rig.nop(stream)) for _ in range(6)] == [0, 0, 0, 7, 0, 0]
    stream.drain()
    assert len(rig.fake.log) == 5


# -- small tasks of the runtime's own ----------------------------------------------------------------------------------


def message(rig: Rig, stream: Stream, memory: int, kind: int) -> bytes:
    layout, name = ("device_message", "kind") if rig.v1 else ("get_device_message", "message_type")
    return rig.sqe(layout, stream, 1, addr=memory, length=4096, **{name: kind})


def test_the_scheduler_says_which_streams_run(rig: Rig) -> None:
    asker, waiter, event, memory = rig.stream(), rig.stream(), rig.take_event(), rig.alloc(4096)
    assert waiter.send(rig.wait(waiter, event, 7)) == 0
    assert asker.send(message(rig, asker, memory, 1)) == 0
    asker.drain()
    assert struct.unpack("<4I", rig.get(memory, 16)) == (0xA55A2021, rig.fake.pid, 24, 0)
    stream, task, queue, _ = struct.unpack("<4H", rig.get(memory + 16, 8))
    assert (stream, task, queue) == (waiter.stream_id, 7, waiter.sq_id)


def test_the_scheduler_has_no_message_about_errors(rig: Rig) -> None:
    stream, memory = rig.stream(), rig.alloc(4096)
    assert stream.send(message(rig, stream, memory, 0)) == 0
    stream.drain()
    assert struct.unpack("<4I", rig.get(memory, 16)) == (0xA55A2021, rig.fake.pid, 16, 0)


def test_float_status_goes_where_the_contents_of_its_address_say(rig: Rig) -> None:
    stream, place, output = rig.stream(), rig.alloc(8), rig.alloc(64)
    rig.put(output, b"\xff" * 64)
    rig.put(place, struct.pack("<Q", output))
    row = bytearray(rig.sqe("float_status", stream, 1))
    row[16:64] = float_status(place)
    assert stream.send(bytes(row)) == 0
    stream.drain()
    assert rig.get(output, 64) == bytes(64)
    assert not [text for text in rig.fake.problems if "failed" in text]
