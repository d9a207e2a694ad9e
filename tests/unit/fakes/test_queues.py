"""Queues: credit, pointers, states, completions, and what may go wrong with them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import pytest

from chips.completion import Cqe, parse_logic_cqe
from fakes import kernels
from fakes.machine.queues import LogicQueue, completion, hardware_entry
from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import SQE, Rig

CODE = b"never ending code" * 4
HEAD, TAIL, STATUS = c.DRV_SQCQ_PROP_SQ_HEAD, c.DRV_SQCQ_PROP_SQ_TAIL, c.DRV_SQCQ_PROP_SQ_STATUS


def test_a_ring_keeps_one_slot_empty_and_wraps(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(policy="host_ahead")
    stream = rig.stream(depth=4)
    rig.fake.device().hold()
    assert [stream.send(rig.nop(stream)) for _ in range(4)] == [0, 0, 0, c.DRV_ERROR_NO_RESOURCES]
    assert stream.query(TAIL) == 3
    rig.fake.device().release()
    stream.drain()
    assert stream.send(rig.nop(stream), rig.nop(stream), rig.nop(stream)) == 0
    assert (stream.last_pos, stream.query(TAIL)) == (3, 2)
    stream.drain()
    assert [entry.position for entry in rig.fake.log] == [0, 1, 2, 3, 0, 1]


def test_more_than_the_ring_never_fits(rig: Rig) -> None:
    stream = rig.stream(depth=4)
    assert stream.send(*[rig.nop(stream)] * 4) == c.DRV_ERROR_NO_RESOURCES


def test_no_entries_are_sent_and_say_where_the_next_one_goes(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(*[rig.nop(stream)] * 3)
    for address in (64, None):
        info = s.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=stream.sq_id, sqe_addr=address)
        assert (rig.hal.halSqTaskSend(0, ctypes.byref(info)), info.pos) == (0, 3)
    stream.drain()
    assert stream.head == 3


def test_without_an_address_the_entry_is_zero(rig: Rig) -> None:
    stream = rig.stream(depth=4)
    stream.send(*[rig.nop(stream)] * 3)
    stream.drain()
    rig.fake.device().hold()
    info = s.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=stream.sq_id, sqe_num=2)
    assert (rig.hal.halSqTaskSend(0, ctypes.byref(info)), info.pos) == (0, 3)
    ring = rig.fake.device().queues[stream.sq_id].ring
    assert ctypes.string_at(ring.pointer + 3 * SQE, SQE) + ctypes.string_at(ring.pointer, SQE) == bytes(2 * SQE)


def test_unknown_queues_and_devices_are_invalid(rig: Rig) -> None:
    stream = rig.stream()
    assert rig.send(stream.sq_id + 100, rig.nop(stream))[0] == c.DRV_ERROR_INVALID_VALUE
    info = s.halSqCqQueryInfo(type=c.DRV_NORMAL_TYPE, sqId=9999, prop=HEAD)
    assert rig.hal.halSqCqQuery(0, ctypes.byref(info)) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halSqCqQuery(7, ctypes.byref(info)) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halSqTaskSend(0, None) == c.DRV_ERROR_INVALID_VALUE
    info = s.halSqCqQueryInfo(type=c.DRV_CTRL_TYPE, sqId=stream.sq_id, prop=HEAD)
    assert rig.hal.halSqCqQuery(0, ctypes.byref(info)) == c.DRV_ERROR_IOCRL_FAIL


def test_a_success_gives_a_completion_only_when_asked(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(rig.nop(stream, 1), rig.nop(stream, 2, wr_cqe=1), rig.nop(stream, 3))
    stream.drain()
    assert stream.query(c.DRV_SQCQ_PROP_SQ_CQE_STATUS) == 1
    assert stream.query(c.DRV_SQCQ_PROP_SQ_CQE_STATUS) == 0
    rc, cqes = stream.receive()
    assert rc == 0
    assert [(cqe.sq_id, cqe.sq_head, cqe.error_type) for cqe in cqes] == [(stream.sq_id, 1, 0)]
    wanted = (stream.stream_id, 2) if rig.v1 else (2, 0)
    assert (cqes[0].stream_id, cqes[0].task_id) == wanted
    assert cqes[0].timestamp > 0


def test_an_error_stops_the_queue_until_the_host_moves_on(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(rig.nop(stream), bytes([0x3E]) + bytes(63), rig.nop(stream))
    assert [stream.head for _ in range(3)] == [1, 1, 1]
    assert stream.query(STATUS) == 0
    _, [cqe] = stream.receive()
    assert (cqe.error, cqe.sq_head) == (True, 1)
    assert stream.config(HEAD, cqe.sq_head + 1) == 0
    assert stream.head == 2
    assert stream.config(STATUS, 1) == 0
    stream.drain()


def test_polling_and_waiting_for_completions(rig: Rig) -> None:
    stream = rig.stream()
    assert stream.receive(timeout=0) == (0, [])
    assert stream.receive(timeout=1)[0] == c.DRV_ERROR_WAIT_TIMEOUT
    assert stream.receive(count=0, timeout=1)[0] == c.DRV_ERROR_IOCRL_FAIL
    assert stream.receive(timeout=-2)[0] == c.DRV_ERROR_IOCRL_FAIL


def test_a_waiter_wakes_when_another_thread_sends(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    stream = rig.stream()
    answers: list[tuple[int, list[Cqe]]] = []
    waiter = threading.Thread(target=lambda: answers.append(stream.receive(timeout=20_000)))
    waiter.start()
    stream.send(rig.nop(stream, 5, wr_cqe=1))
    rig.fake.device().run_until_idle()
    waiter.join(20)
    assert answers[0][1][0].sq_head == 0


def test_freeing_a_logic_queue_wakes_its_waiter(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    stream = rig.stream()
    answers: list[int] = []
    waiter = threading.Thread(target=lambda: answers.append(stream.receive(timeout=-1)[0]))
    waiter.start()
    info = s.halSqCqFreeInfo(type=c.DRV_LOGIC_TYPE, cqId=stream.logic_id)
    while rig.hal.halSqCqFree(0, ctypes.byref(info)) != 0:
        pass
    waiter.join(20)
    assert answers[0] in (c.DRV_ERROR_IOCRL_FAIL, c.DRV_ERROR_INVALID_VALUE)


def test_a_full_logic_queue_loses_completions(rig: Rig) -> None:
    stream = rig.stream(logic_depth=2)
    stream.send(*[rig.nop(stream, task, wr_cqe=1) for task in range(5)])
    stream.drain()
    assert [cqe.sq_head for cqe in stream.receive()[1]] == [0, 1]
    assert rig.fake.device().logic[stream.logic_id].lost == 3


def test_matched_completions_go_only_to_their_caller() -> None:
    queue = LogicQueue(1, 16, 32, 7)
    for task, match in ((1, False), (2, True), (3, True), (4, False)):
        queue.put(completion(7, task, 0, 0, 4, match=match))

    def take(task: int) -> list[int]:
        return [parse_logic_cqe(raw).task_id for raw in queue.take(8, 7, task)]

    assert take(3) == [1]
    assert take(3) == [3]
    assert take(9) == [4]
    assert take(2) == [2]


def test_completions_of_an_unbound_stream_are_read_raw(rig: Rig) -> None:
    stream = rig.stream()
    who = s.halResourceIdInputInfo(type=c.DRV_STREAM_ID, resourceId=stream.stream_id)
    what = s.halResourceConfigInfo(prop=c.DRV_STREAM_UNBIND_LOGIC_CQ)
    assert rig.hal.halResourceConfig(0, ctypes.byref(who), ctypes.byref(what)) == 0
    stream.send(rig.nop(stream, 3, wr_cqe=1))
    stream.drain()
    raw = ctypes.create_string_buffer(16)
    info = s.halReportRecvInfo(type=c.DRV_NORMAL_TYPE, cqId=stream.cq_id, cqe_addr=ctypes.addressof(raw), cqe_num=1)
    assert rig.hal.halCqReportRecv(0, ctypes.byref(info)) == 0
    assert info.report_cqe_num == 1
    head = int.from_bytes(raw.raw[:2], "little")
    assert (head & 1, head >> 3 & 1, head >> 4 & 0x7FF, head >> 15) == (1, 1, stream.sq_id & 0x7FF, 0)


def test_the_hardware_entry_of_an_error_carries_type_and_code() -> None:
    raw = hardware_entry(completion(5, 6, 3, 9, 11, error_type=4, error_code=0x77), 16, 0)
    assert raw.hex() == "3080090005000600042c000077000000"


def test_pause_refuses_sends_and_resume_allows_them(rig: Rig) -> None:
    stream = rig.stream()
    assert stream.config(c.DRV_SQCQ_PROP_SQ_PAUSE) == 0
    assert stream.send(rig.nop(stream)) == c.DRV_ERROR_STATUS_FAIL
    assert stream.config(c.DRV_SQCQ_PROP_SQ_RESUME) == 0
    assert stream.send(rig.nop(stream)) == 0
    stream.drain()


def test_register_base_has_its_high_word_first_and_the_ring_base_its_low_word(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    stream = rig.stream()
    sq = rig.fake.device().queues[stream.sq_id]
    words = [rig.query(stream.sq_id, c.DRV_SQCQ_PROP_SQ_REG_BASE, i) for i in (0, 1)]
    assert words[0] << 32 | words[1] == sq.registers
    words = [rig.query(stream.sq_id, c.DRV_SQCQ_PROP_SQ_BASE, i) for i in (0, 1)]
    assert words[1] << 32 | words[0] == sq.ring.base


def test_entries_built_in_place_are_sent_without_a_copy(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    stream = rig.stream()
    low, high = (rig.query(stream.sq_id, c.DRV_SQCQ_PROP_SQ_BASE, i) for i in (0, 1))
    base = high << 32 | low
    ctypes.memmove(base, rig.nop(stream), 64)
    info = s.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=stream.sq_id, sqe_addr=base, sqe_num=1)
    assert rig.hal.halSqTaskSend(0, ctypes.byref(info)) == 0
    info.sqe_addr = base
    assert rig.hal.halSqTaskSend(0, ctypes.byref(info)) == c.DRV_ERROR_INVALID_VALUE
    stream.drain()


def test_the_memory_attribute_is_not_a_constant_on_the_950(open_rig: Callable[..., Rig]) -> None:
    answers = set()
    for seed in range(8):
        rig = open_rig("Ascend950PR_9599", seed=seed)
        answers.add(rig.query(rig.stream().sq_id, c.DRV_SQCQ_PROP_SQ_MEM_ATTR))
    assert answers == {0, 1}


def test_transient_reads_answer_ffff(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(transient=2)
    stream = rig.stream()
    assert {stream.head for _ in range(50)} == {0, 0xFFFF}


def test_a_clock_does_not_decide_which_reads_are_transient(open_rig: Callable[..., Rig]) -> None:
    """How often a host looks in vain follows from its clock: only the first of such looks counts."""
    answers = set()
    for looks in (1, 7, 20):
        rig = open_rig(transient=2, seed=4)
        stream, event = rig.stream(), rig.take_event()
        stream.send(rig.wait(stream, event), *[rig.nop(stream)] * 400)
        for _ in range(looks):
            assert stream.head in (0, 0xFFFF)
        assert looks < 2 or stream.head == 0
        rig.fake.device().signals["event"][event].value = 1
        rig.fake.device().wake()
        answers.add(tuple(stream.head for _ in range(20)))
        rig.close()
    assert len(answers) == 1
    assert 0xFFFF in answers.pop()


@pytest.mark.parametrize(
    ("field", "value"), [("sqeSize", 32), ("cqeSize", 0), ("sqeDepth", 0), ("sqeDepth", 70_000), ("tsId", 2)]
)
def test_wrong_pairs_are_refused(rig: Rig, field: str, value: int) -> None:
    in_ = s.halSqCqInputInfo(type=c.DRV_NORMAL_TYPE, sqeSize=64, cqeSize=16, sqeDepth=8, cqeDepth=8)
    setattr(in_, field, value)
    out = s.halSqCqOutputInfo()
    assert rig.hal.halSqCqAllocate(0, ctypes.byref(in_), ctypes.byref(out)) == c.DRV_ERROR_INVALID_VALUE


def test_a_pair_is_freed_as_a_pair(rig: Rig) -> None:
    stream = rig.stream()
    info = s.halSqCqFreeInfo(type=c.DRV_NORMAL_TYPE, sqId=stream.sq_id, cqId=stream.cq_id + 1)
    assert rig.hal.halSqCqFree(0, ctypes.byref(info)) == c.DRV_ERROR_INVALID_VALUE
    info.cqId = stream.cq_id
    assert rig.hal.halSqCqFree(0, ctypes.byref(info)) == 0
    assert rig.send(stream.sq_id, rig.nop(stream))[0] == c.DRV_ERROR_INVALID_VALUE
    assert rig.stream().sq_id == stream.sq_id


def test_a_forced_recycle_ends_what_another_queue_has_to_do(rig: Rig) -> None:
    control, stuck = rig.stream(), rig.stream()
    rig.fake.attach(CODE, kernels.spin)
    stuck.send(rig.kernel(stuck, rig.load(CODE), rig.arguments(0)), rig.nop(stuck))
    assert [stuck.head for _ in range(2)] == [0, 0]
    control.send(rig.sqe("maintenance", control, target_id=stuck.stream_id))
    control.drain()
    assert stuck.head == 0
    control.send(rig.sqe("maintenance", control, sub_type=0x67, target_id=stuck.stream_id))
    control.drain()
    assert stuck.head == 2
    stuck.send(rig.nop(stuck))
    stuck.drain()


def test_the_streams_of_a_group_report_to_one_queue(rig: Rig) -> None:
    one, two = rig.stream(), rig.stream()
    who = s.halResourceIdInputInfo(type=c.DRV_STREAM_ID, resourceId=two.stream_id)
    config = s.halResourceConfigInfo(prop=c.DRV_STREAM_BIND_LOGIC_CQ)
    config.value[0] = one.logic_id
    assert rig.hal.halResourceConfig(0, ctypes.byref(who), ctypes.byref(config)) == 0
    for stream in (one, two):
        stream.send(rig.nop(stream, 5, wr_cqe=1))
        stream.drain()
    assert [cqe.sq_id for cqe in one.receive()[1]] == [one.sq_id, two.sq_id]
    assert two.receive() == (0, [])


@pytest.mark.parametrize("reserved", [True, False])
def test_a_logic_queue_of_a_reserved_number_has_the_same_streams(rig: Rig, reserved: bool) -> None:
    stream = rig.stream()
    free = s.halSqCqFreeInfo(type=c.DRV_LOGIC_TYPE, cqId=stream.logic_id)
    free.flag = c.TSDRV_FLAG_RSV_CQ_ID if reserved else 0
    in_ = s.halSqCqInputInfo(type=c.DRV_LOGIC_TYPE, cqeSize=32, cqeDepth=64)
    in_.flag, in_.cqId = c.TSDRV_FLAG_SPECIFIED_CQ_ID, stream.logic_id
    out = s.halSqCqOutputInfo()
    for _ in range(2):
        assert rig.hal.halSqCqFree(rig.dev, ctypes.byref(free)) == 0
        assert rig.hal.halSqCqAllocate(rig.dev, ctypes.byref(in_), ctypes.byref(out)) == 0
        assert out.cqId == stream.logic_id
    stream.send(rig.nop(stream, 5, wr_cqe=1))
    stream.drain()
    assert [cqe.sq_id for cqe in stream.receive()[1]] == [stream.sq_id] * reserved


def test_ids_that_were_reserved_are_for_who_names_them(rig: Rig) -> None:
    stream = rig.stream(depth=64)
    sq_id, cq_id = stream.sq_id, rig.fake.device().queues[stream.sq_id].cq_id
    free = s.halSqCqFreeInfo(type=c.DRV_NORMAL_TYPE, sqId=sq_id, cqId=cq_id)
    free.flag = c.TSDRV_FLAG_RSV_SQ_ID | c.TSDRV_FLAG_RSV_CQ_ID
    assert rig.hal.halSqCqFree(rig.dev, ctypes.byref(free)) == 0
    assert rig.stream(depth=64).sq_id != sq_id  # who comes meanwhile gets another one
    in_ = s.halSqCqInputInfo(type=c.DRV_NORMAL_TYPE, sqeSize=64, cqeSize=16, sqeDepth=64, cqeDepth=64)
    out = s.halSqCqOutputInfo()
    in_.flag = c.TSDRV_FLAG_SPECIFIED_SQ_ID | c.TSDRV_FLAG_SPECIFIED_CQ_ID
    in_.sqId, in_.cqId, in_.info[0] = sq_id, cq_id, rig.take_id(c.DRV_STREAM_ID)
    assert rig.hal.halSqCqAllocate(rig.dev, ctypes.byref(in_), ctypes.byref(out)) == 0
    assert (out.sqId, out.cqId) == (sq_id, cq_id)
    assert rig.hal.halSqCqAllocate(rig.dev, ctypes.byref(in_), ctypes.byref(out)) == c.DRV_ERROR_NO_RESOURCES
    free.flag = 0
    assert rig.hal.halSqCqFree(rig.dev, ctypes.byref(free)) == 0
    assert sq_id not in rig.fake.device().ids["sq"].used
