"""What the vendor's own runtime does with the driver's library, call by call, on every chip and both tiers."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

import pytest

from chips.programs.wait import KnownQueue, MemoryWait, WaitFor
from fakes.executor.condition import event_tables
from npuhal import constants as c
from npuhal import structs as s
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


def test_the_priority_of_a_queue_is_kept(rig: Rig) -> None:
    stream = rig.stream()
    assert ask(rig, 15, stream.sq_id, 0, stream.stream_id, 9)[:4] == (stream.sq_id, 0, stream.stream_id, 0)
    assert ask(rig, 14, stream.sq_id, 0, stream.stream_id, 5)[3] == 5
    assert ask(rig, 15, stream.sq_id, 0, stream.stream_id)[3] == 5


def test_an_operation_that_no_scheduler_knows(rig: Rig) -> None:
    body, size = ctypes.create_string_buffer(struct.pack("<I", 99), 44), ctypes.c_size_t(44)
    message = s.tsdrv_ctrl_msg(tsid=0, msg_len=44, msg=ctypes.addressof(body))
    answer = ctypes.create_string_buffer(44)
    rc = rig.hal.halTsdrvCtl(0, c.TSDRV_CTL_CMD_CTRL_MSG, ctypes.byref(message), 16, answer, ctypes.byref(size))
    assert rc == c.DRV_ERROR_NOT_SUPPORT


# -- blocking callbacks ------------------------------------------------------------------------------------------------


def command_area(rig: Rig, group: int) -> tuple[int, int]:
    wanted, got = s.halSqMemGetInput(type=c.DRV_CALLBACK_TYPE, sqId=group, cmdCount=1), s.halSqMemGetOutput()
    return int(rig.hal.halSqMemGet(0, ctypes.byref(wanted), ctypes.byref(got))), got.cmdPtr or 0


def test_a_command_lets_a_stream_go_on_behind_a_blocking_callback(rig: Rig) -> None:
    in_ = s.halSqCqInputInfo(type=c.DRV_CALLBACK_TYPE, cqeSize=32, sqeSize=64, sqeDepth=8, cqeDepth=1024, grpId=3)
    assert rig.hal.halSqCqAllocate(0, ctypes.byref(in_), ctypes.byref(s.halSqCqOutputInfo())) == 0
    stream, event = rig.stream(), rig.take_event()
    assert stream.send(rig.wait(stream, event)) == 0
    assert stream.head == 0
    assert command_area(rig, 99)[0] == c.DRV_ERROR_INVALID_VALUE
    code, area = command_area(rig, 3)
    assert code == 0
    message = s.halSqMsgInfo(type=c.DRV_CALLBACK_TYPE, sqId=3, cmdCount=1)
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


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_card_reads_the_events_of_another(open_rig: Callable[..., Rig], scheme: str, wide: bool) -> None:
    rig = open_rig(scheme=scheme, seed=11, devices=2)
    there, here = other_stream(rig), rig.stream()
    rig.dev = 1
    event = rig.take_event()
    rig.dev = 0
    build, card = Builder(rig), rig.fake.device(1)
    ((base, found),) = [row for row in event_tables(rig.fake.device(0)) if row[1] is card]
    assert found is card
    wait = MemoryWait(
        address=base + event // 4096 * 0x10000 + event % 4096 * 4, value=1, test=WaitFor.EQUAL, size=3 if wide else 0,
        position=0, depth=here.depth, profiling=rig.alloc(8),
        queue=KnownQueue(sq_id=here.sq_id, tail=build.page(here) + build.facts.tail_offset, paused=rig.alloc(8)),
    )  # fmt: skip
    entry = build.call("memory_wait", here, lambda _address: wait.assemble(build.generation), 1)
    end, flag = rig.sqe("memory_wait_end", here, 1), rig.alloc(8)
    here.send(rig.nop(here), rig.sqe("write_value", here, 1, addr=flag, awsize=3, va=1), entry, end)
    for _ in range(5):
        assert here.head in (0, 1, 2)
    rig.dev = 1
    assert there.send(rig.record(there, event)) == 0
    rig.dev = 0
    here.drain()
    assert not [place for place in rig.fake.problems if "failed" in place]


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
    failed = rig.stream()
    assert failed.send(rig.copy(failed, 0x10, 0x20, 64, task=5)) == 0
    assert failed.head == 0
    head, tail = struct.unpack("<II", rig.get(memory + 4, 8))
    assert (head, tail) == (0, 1)
    pid, length, kind = struct.unpack_from("<QII", rig.get(memory + 32, 32))
    assert (pid, length, kind) == (rig.fake.pid, 20, 2)
    number, task = struct.unpack_from("<HH", rig.get(memory + 64 + 16, 4))
    assert (number, task) == ((failed.stream_id, 5) if rig.v1 else (5, 0))


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
