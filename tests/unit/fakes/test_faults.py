"""Faults: each has its effect, and without the rule nothing happens."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

import npuhal
from fakes import kernels
from fakes.errors import FakeError
from fakes.faults import Effect
from fakes.hal.faults import FaultEvent
from npuhal import constants as c
from npuhal import structs as s
from npuhal.errors import BadUrl
from tests.unit.fakes.rig import Rig

CODE = b"some kernel code" * 4


@pytest.mark.parametrize("name", ["halMemAlloc", "drvGetDevNum"])
def test_the_nth_call_fails(rig: Rig, name: str) -> None:
    def call() -> int:
        if name == "halMemAlloc":
            return int(rig.hal.halMemAlloc(ctypes.byref(ctypes.c_void_p()), 64, c.MEM_DEV))
        return int(rig.hal.drvGetDevNum(ctypes.byref(ctypes.c_uint32())))

    rig.fake.faults.on_call(name, "DRV_ERROR_OUT_OF_MEMORY", nth=2, times=2)
    assert [call() for _ in range(5)] == [0, 6, 6, 0, 0]
    rig.fake.faults.on_call(name, 33, times=0)
    assert [call() for _ in range(3)] == [33, 33, 33]
    rig.fake.faults.clear()
    assert call() == 0


def test_a_failing_send_sends_nothing(rig: Rig) -> None:
    stream = rig.stream()
    rig.fake.faults.on_call("halSqTaskSend", c.DRV_ERROR_NO_RESOURCES)
    assert stream.send(rig.nop(stream)) == c.DRV_ERROR_NO_RESOURCES
    assert stream.query(c.DRV_SQCQ_PROP_SQ_TAIL) == 0
    assert stream.send(rig.nop(stream)) == 0
    stream.drain()


@pytest.mark.parametrize("looks", [1, 9])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_a_task_that_waits_counts_once(open_rig: Callable[..., Rig], soc: str, looks: int) -> None:
    """It is tried at each look, and how often a host looks is decided by its clock."""
    rig = open_rig(soc)
    one, other, event = rig.stream(), rig.stream(), rig.take_event()
    rule = rig.fake.faults.on_task(Effect.EXCEPTION, nth=6)
    one.send(rig.wait(one, event), *[rig.nop(one)] * 2)
    assert [one.head for _ in range(looks)] == [0] * looks
    assert rule.seen == 1
    other.send(rig.nop(other), rig.record(other, event), rig.nop(other))
    other.drain()
    assert {one.head for _ in range(3)} == {2}, "the wait, three of the other queue, a placeholder, and the sixth"
    assert rule.seen == 6
    _, [cqe] = one.receive()
    assert (cqe.error_type, cqe.sq_head) == (1, 2)


@pytest.mark.parametrize(
    ("effect", "bits"),
    [
        (Effect.EXCEPTION, 1), (Effect.TRAP, 2), (Effect.TIMEOUT, 4), (Effect.SQE_ERROR, 8), (Effect.CONFLICT, 16),
        (Effect.SOFTWARE, 32),
    ],
)
def test_the_nth_task_fails(rig: Rig, effect: Effect, bits: int) -> None:
    stream = rig.stream()
    rig.fake.faults.on_task(effect, nth=3, code=0x42)
    stream.send(*[rig.nop(stream)] * 5)
    assert [stream.head for _ in range(2)] == [2, 2]
    _, [cqe] = stream.receive()
    assert (cqe.error_type, cqe.error_code, cqe.sq_head) == (bits, 0x42, 2)


def test_a_task_with_a_warning_does_its_work(rig: Rig) -> None:
    stream = rig.stream()
    rig.fake.faults.on_task(Effect.WARNING, nth=2)
    stream.send(*[rig.nop(stream)] * 3)
    stream.drain()
    _, [cqe] = stream.receive()
    assert (cqe.error_type, cqe.error, cqe.sq_head) == (0x40, False, 1)


def test_a_card_goes_down_at_a_task(rig: Rig) -> None:
    stream = rig.stream()
    rig.fake.faults.on_task(Effect.CARD_DOWN, nth=2)
    stream.send(*[rig.nop(stream)] * 3)
    assert [stream.head for _ in range(2)] == [1, 1]
    assert (stream.send(rig.nop(stream)), stream.receive(timeout=1)[0]) == (0, c.DRV_ERROR_BUS_DOWN)
    assert rig.fake.device().status == c.DRV_STATUS_COMMUNICATION_LOST


def test_slow_credit_gives_room_back_bit_by_bit(rig: Rig) -> None:
    stream = rig.stream(depth=8)
    assert stream.send(*[rig.nop(stream)] * 7) == 0
    stream.drain()
    rig.fake.faults.slow_credit = 1
    three, full = [rig.nop(stream)] * 3, c.DRV_ERROR_NO_RESOURCES
    assert [stream.send(*three) for _ in range(4)] == [full, full, 0, full]
    for _ in range(100):
        while stream.send(*three):
            pass
        stream.drain()
    rig.fake.faults.clear()
    assert [stream.send(*three), stream.send(*three)] == [0, 0]


def test_rules_choose_by_stream_kind_and_kernel(rig: Rig) -> None:
    one, two = rig.stream(), rig.stream()
    rig.fake.attach(CODE, lambda ctx: None, name="victim")
    rig.fake.faults.on_task(Effect.EXCEPTION, stream=two.stream_id, kind="kernel", kernel="victim")
    kernel = [rig.nop(one), rig.kernel(one, rig.load(CODE), rig.arguments(0))]
    one.send(*kernel)
    one.drain()
    two.send(*kernel)
    assert [two.head for _ in range(2)] == [1, 1]


def test_a_hanging_task_neither_ends_nor_fails(rig: Rig) -> None:
    stream = rig.stream()
    rig.fake.faults.on_task(Effect.HANG)
    stream.send(rig.nop(stream))
    assert [stream.head for _ in range(3)] == [0, 0, 0]
    assert (stream.receive(timeout=1)[0], stream.query(c.DRV_SQCQ_PROP_SQ_STATUS)) == (c.DRV_ERROR_WAIT_TIMEOUT, 1)
    assert stream.config(c.DRV_SQCQ_PROP_SQ_HEAD, 1) == 0
    assert stream.head == 1


def test_a_lost_task_has_no_effect_and_no_completion(rig: Rig) -> None:
    stream, data = rig.stream(), rig.alloc(8)
    rig.fake.faults.on_task(Effect.LOST)
    value = {"value": 1} if rig.v1 else {"value[0]": 1}
    stream.send(rig.sqe("write_value", stream, 1, addr=data, awsize=3, wr_cqe=1, va=1, **value))
    stream.drain()
    assert rig.get(data, 8) == bytes(8)
    assert stream.receive() == (0, [])


def test_allocations_from_a_size_on_fail(rig: Rig) -> None:
    rig.fake.faults.out_of_memory_from = 1 << 20
    pointer = ctypes.c_void_p()
    assert rig.hal.halMemAlloc(ctypes.byref(pointer), 1 << 20, c.MEM_DEV) == c.DRV_ERROR_OUT_OF_MEMORY
    assert rig.hal.halMemAlloc(ctypes.byref(pointer), (1 << 20) - 1, c.MEM_DEV) == 0


def test_ids_may_be_taken_by_others(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(notifys=10)
    rig.fake.device().ids["notify"].occupy(9)
    rig.take_id(c.DRV_NOTIFY_ID)
    assert rig.try_id(c.DRV_NOTIFY_ID)[0] == c.DRV_ERROR_NO_NOTIFY_RESOURCES


def test_a_card_that_is_down_takes_entries_until_the_ring_is_full(rig: Rig) -> None:
    """The library writes into a ring of its own; only who waits hears that nobody reads it."""
    stream = rig.stream(depth=4)
    rig.fake.device().status = c.DRV_STATUS_COMMUNICATION_LOST
    assert [stream.send(rig.nop(stream)) for _ in range(5)] == [0, 0, 0, *[c.DRV_ERROR_NO_RESOURCES] * 2]
    assert stream.head == 0
    assert stream.receive(timeout=1)[0] == c.DRV_ERROR_BUS_DOWN
    status = ctypes.c_int()
    assert rig.hal.drvDeviceStatus(0, ctypes.byref(status)) == 0
    assert status.value == c.DRV_STATUS_COMMUNICATION_LOST


def test_a_rule_that_can_never_strike_is_refused(open_rig: Callable[..., Rig]) -> None:
    with pytest.raises(FakeError, match="nth must be at least 1"):
        open_rig().fake.faults.on_call("halMemAlloc", 6, nth=0)


def test_a_hanging_kernel_runs_out_of_its_credit(rig: Rig) -> None:
    rig.fake.attach(CODE, kernels.spin)
    pc, args = rig.load(CODE), rig.arguments(0)
    stream, endless = rig.stream(), rig.stream()
    stream.send(rig.kernel(stream, pc, args, kernel_credit=2))
    endless.send(rig.kernel(endless, pc, args, kernel_credit=255))
    assert (stream.head, endless.head) == (0, 0)
    device = rig.fake.device()
    device.pass_time(rig.fake.executor.credit_ns)
    assert stream.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 1
    device.pass_time(10**15)
    assert stream.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 0
    assert stream.receive()[1][0].error_type == 4
    assert endless.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 1


def test_a_wait_with_a_limit_ends_when_the_time_is_over(rig: Rig) -> None:
    limited, patient = rig.stream(), rig.stream()
    number = rig.take_id(c.DRV_NOTIFY_ID)
    limited.send(rig.sqe("notify_wait", limited, 1, notify_id=number, timeout=3))
    patient.send(rig.sqe("notify_wait", patient, 1, notify_id=number))
    for _ in range(20_000):
        assert limited.head == 0
    rig.fake.device().pass_time(3 * 10**9)
    assert (limited.head, patient.head) == (0, 0)
    assert limited.receive()[1][0].error_type == 4
    assert patient.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 1


def test_a_sticky_bad_state_outlives_closing_the_card(rig: Rig) -> None:
    device, out = rig.fake.device(), s.hal_dev_open_out()
    address, data = rig.alloc(8), ctypes.create_string_buffer(8)
    device.fail(c.DRV_STATUS_EXCEPTION, sticky=True)
    assert rig.hal.drvMemcpy(address, 8, ctypes.addressof(data), 8) == c.DRV_ERROR_IOCRL_FAIL
    assert rig.hal.halDeviceClose(0, None) == 0
    assert rig.hal.halDeviceOpen(0, None, ctypes.byref(out)) == c.DRV_ERROR_DEVICE_NOT_READY
    device.repair()
    assert rig.hal.halDeviceOpen(0, None, ctypes.byref(out)) == 0
    device.fail(c.DRV_STATUS_EXCEPTION)
    assert rig.hal.halDeviceClose(0, None) == 0
    assert rig.hal.halDeviceOpen(0, None, ctypes.byref(out)) == 0


def one_alloc(rig: Rig) -> bool:
    return rig.hal.halMemAlloc(ctypes.byref(ctypes.c_void_p()), 1 << 16, c.MEM_DEV) != 0


def task_error(rig: Rig) -> bool:
    stream = rig.stream()
    stream.send(rig.nop(stream))
    return stream.head == 0 and bool(stream.receive()[1])


def task_hangs(rig: Rig) -> bool:
    stream = rig.stream()
    stream.send(rig.nop(stream))
    return stream.head == 0 and not stream.receive()[1]


def task_lost(rig: Rig) -> bool:
    stream = rig.stream()
    stream.send(rig.nop(stream, wr_cqe=1))
    return stream.head == 1 and not stream.receive()[1]


def card_status(rig: Rig) -> int:
    status = ctypes.c_int()
    assert rig.hal.drvDeviceStatus(0, ctypes.byref(status)) == 0
    return status.value


def reported_event(rig: Rig) -> bool:
    infos, count, every = (s.halFaultEventInfo * 4)(), ctypes.c_uint32(), s.halEventFilter()
    assert rig.hal.halGetFaultEvent(0, ctypes.byref(every), infos, 4, ctypes.byref(count)) == 0
    return bool(count.value) and infos[0].event_id == 0x80E01801


def little_credit(rig: Rig) -> bool:
    stream = rig.stream(depth=4)
    assert stream.send(*[rig.nop(stream)] * 3) == 0
    stream.drain()
    return stream.send(*[rig.nop(stream)] * 3) == c.DRV_ERROR_NO_RESOURCES


def stays_bad(rig: Rig) -> bool:
    rig.hal.halDeviceClose(0, None)
    return rig.hal.halDeviceOpen(0, None, ctypes.byref(s.hal_dev_open_out())) == c.DRV_ERROR_DEVICE_NOT_READY


FAULTS: dict[str, tuple[Callable[[Rig], object], str, str, Callable[[Rig], bool]]] = {
    "a call fails": (
        lambda rig: rig.fake.faults.on_call("halMemAlloc", c.DRV_ERROR_BUSY),
        "call: halMemAlloc, code: DRV_ERROR_BUSY", "halMemAlloc:1:DRV_ERROR_BUSY", one_alloc,
    ),
    "a task fails": (
        lambda rig: rig.fake.faults.on_task(Effect.EXCEPTION, kind="nop"),
        "task: EXCEPTION, kind: nop", "task:1:EXCEPTION:kind=nop", task_error,
    ),
    "a task hangs": (lambda rig: rig.fake.faults.on_task(Effect.HANG), "task: HANG", "task:1:HANG", task_hangs),
    "a task is lost": (lambda rig: rig.fake.faults.on_task(Effect.LOST), "task: LOST", "task:1:LOST", task_lost),
    "a card goes down at work": (
        lambda rig: rig.fake.faults.on_task(Effect.CARD_DOWN), "task: CARD_DOWN", "task:1:CARD_DOWN",
        lambda rig: task_hangs(rig) and card_status(rig) == c.DRV_STATUS_COMMUNICATION_LOST,
    ),
    "the heartbeat is lost": (
        lambda rig: rig.fake.device().fail(c.DRV_STATUS_COMMUNICATION_LOST),
        "card: DRV_STATUS_COMMUNICATION_LOST", "card:DRV_STATUS_COMMUNICATION_LOST",
        lambda rig: card_status(rig) == c.DRV_STATUS_COMMUNICATION_LOST,
    ),
    "bad health that a reset does not clear": (
        lambda rig: rig.fake.device().fail(c.DRV_STATUS_EXCEPTION, sticky=True),
        "card: DRV_STATUS_EXCEPTION, sticky: true", "card:DRV_STATUS_EXCEPTION:sticky=1", stays_bad,
    ),
    "an ECC event": (
        lambda rig: rig.fake.device().raise_fault(FaultEvent(0x80E01801, "HBM ECC error", 2)),
        "event: 0x80E01801, name: HBM ECC error, severity: 2", "event:0x80E01801:name=HBM ECC error:severity=2",
        reported_event,
    ),
    "little credit": (
        lambda rig: setattr(rig.fake.faults, "slow_credit", 1), "credit: 1", "credit:1", little_credit,
    ),
    "out of memory at a size": (
        lambda rig: setattr(rig.fake.faults, "out_of_memory_from", 1 << 16), "memory: 65536", "memory:65536", one_alloc,
    ),
    "ids taken by others": (
        lambda rig: rig.fake.device().ids["model"].occupy(2048),
        "ids: model, taken: 2048", "ids:model:2048",
        lambda rig: rig.try_id(c.DRV_MODEL_ID)[0] == c.DRV_ERROR_NO_MODEL_RESOURCES,
    ),
}  # fmt: skip
"""What goes wrong -> the rule in Python, YAML and a URL, and how a program sees it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_comes_from_python_yaml_and_url(
    open_rig: Callable[..., Rig], tmp_path: Path, fault: str
) -> None:
    start, yaml, url, seen = FAULTS[fault]
    assert not seen(open_rig())
    rig = open_rig()
    start(rig)
    assert seen(rig)
    (tmp_path / "rules.yaml").write_text(f"- {{{yaml}}}")
    for options in ({"scenario": tmp_path / "rules.yaml"}, {"fault": url}):
        rig = open_rig(open_card="card" not in yaml.split(":")[0], **options)
        assert seen(rig)


def test_faults_come_from_the_url(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(fault="drvGetDevNum:2:DRV_ERROR_BUSY,task:2:trap")
    count = ctypes.c_uint32()
    assert [rig.hal.drvGetDevNum(ctypes.byref(count)) for _ in range(3)] == [0, c.DRV_ERROR_BUSY, 0]
    stream = rig.stream()
    stream.send(rig.nop(stream), rig.nop(stream))
    assert [stream.head for _ in range(2)] == [1, 1]
    assert stream.receive()[1][0].error_type == 2


def test_faults_come_from_a_file(open_rig: Callable[..., Rig], tmp_path: Path) -> None:
    scenario = tmp_path / "bad_day.yaml"
    scenario.write_text(
        """
        - {call: drvGetDevNum, code: 33}
        - {task: LOST, kind: nop, nth: 1}
        - {memory: 4096}
        - {ids: notify, taken: 8191}
        - {card: DRV_STATUS_EXCEPTION, device: 1, sticky: true}
        """
    )
    rig = open_rig(devices=2, scenario=scenario)
    assert rig.hal.drvGetDevNum(ctypes.byref(ctypes.c_uint32())) == 33
    assert rig.hal.halMemAlloc(ctypes.byref(ctypes.c_void_p()), 4096, c.MEM_DEV) == c.DRV_ERROR_OUT_OF_MEMORY
    rig.take_id(c.DRV_NOTIFY_ID)
    assert rig.try_id(c.DRV_NOTIFY_ID)[0] == c.DRV_ERROR_NO_NOTIFY_RESOURCES
    assert not rig.fake.device(1).works


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("- {call: halMemAlloc}", "`code` is missing"),
        ("- {call: halMemAlloc, code: DRV_ERROR_NONSENSE}", "neither a number nor a constant"),
        ("- {task: EXPLODE}", "none of EXCEPTION"),
        ("- {task: HANG, often: 3}", "unknown key 'often'"),
        ("- {ids: tickets}", "none of stream"),
        ("- {card: 2, device: 7}", "there is no device 7"),
        ("- {memory: 5, task: HANG}", "exactly one of"),
        ("- {memory: plenty}", "memory is 'plenty'; it must be a number"),
        ("memory: 5", "wrong.yaml:spec: None is not a version"),
        ("[{credit: 4}, {credit: x}]", r"wrong.yaml:\[1\]: credit is 'x'"),
    ],
)
def test_wrong_scenarios_are_refused_with_their_place(tmp_path: Path, rule: str, says: str) -> None:
    scenario = tmp_path / "wrong.yaml"
    scenario.write_text(rule)
    with pytest.raises(BadUrl, match=says):
        npuhal.open_hal(f"fake://ascend910b3?scenario={scenario}")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("halMemAlloc", "the form is NAME:NTH:CODE"), ("task:HANG", "the form is task:NTH:TASK"),
        ("halMemAlloc:often:6", "nth is 'often'"), ("credit:1:2", "the form is credit:CREDIT"),
        ("memory:1:device=3", "unknown key 'device'"), ("sdma:5:3", "'sdma' is no function of the driver"),
        ("halSqTaskSnd:4:7", "is halSqTaskSend meant"),
    ],
)  # fmt: skip
def test_a_wrong_short_rule_is_named(rule: str, says: str) -> None:
    with pytest.raises(BadUrl, match=f"fault '{rule}': .*{says}"):
        npuhal.open_hal(f"fake://ascend910b3?fault={rule}")
