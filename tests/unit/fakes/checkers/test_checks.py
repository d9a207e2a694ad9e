"""Each checker on programs with a mistake and on the same programs without it, at the level of the driver's calls."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fakes import kernels
from fakes.checkers import CHECKS, CheckFailed, Report
from npuhal import constants as c
from npuhal import structs as s
from npuhal.errors import BadUrl
from tests.tools.pace import slowness
from tests.unit.fakes.rig import Rig, Stream

CODE = b"kernel for checks" * 4
SIZE = 64
CHIPS = ("Ascend910B3", "Ascend950PR_9599")

OpenRig = Callable[..., Rig]


@pytest.fixture(params=CHIPS)
def checked(request: pytest.FixtureRequest, open_rig: OpenRig) -> Rig:
    """A rig with all checkers on."""
    rig = open_rig(request.param, check="all", seed=5)
    rig.fake.attach(CODE, kernels.copy("uint8", 2), name="copy", grid=True)
    return rig


def found(rig: Rig) -> list[str]:
    """Take the reports; return which checkers made them."""
    return [report.check for report in rig.fake.reports.take()]


def only(rig: Rig) -> Report:
    """Take the one report there is."""
    (report,) = rig.fake.reports.take()
    return report  # type: ignore[no-any-return]


def launch(rig: Rig, stream: Stream, dst: int, src: int, size: int = SIZE) -> bytes:
    return rig.kernel(stream, rig.load(CODE), rig.arguments(src, dst, size))


# -- races


def program(rig: Rig, *, ordered: bool) -> None:
    """One stream fills a buffer, another copies it on."""
    a, b, middle, event = rig.stream(), rig.stream(), rig.alloc(SIZE), rig.take_event()
    one, two = rig.alloc(SIZE), rig.alloc(SIZE)
    writer, reader = launch(rig, a, middle, one), launch(rig, b, two, middle)
    assert a.send(writer) == 0
    if ordered:
        assert a.send(rig.record(a, event)) == b.send(rig.wait(b, event)) == 0
    assert b.send(reader) == 0
    a.drain()
    b.drain()


@pytest.mark.parametrize("policy", ["round_robin", "random", "host_ahead", "device_ahead", "starved"])
def test_a_race_is_found_by_order_in_any_schedule(open_rig: OpenRig, policy: str) -> None:
    for ordered in (True, False):
        rig = open_rig(check="all", policy=policy, seed=3)
        rig.fake.attach(CODE, kernels.copy("uint8", 2), name="copy", grid=True)
        program(rig, ordered=ordered)
        assert found(rig) == ([] if ordered else ["race"])


def test_a_missing_event_is_named_with_both_tasks_the_bytes_and_the_places(checked: Rig) -> None:
    program(checked, ordered=True)
    assert found(checked) == []
    program(checked, ordered=False)
    report = only(checked)
    assert report.check == "race"
    assert report.message.count("kernel 'copy' at position 0 of stream") == 2
    assert report.message.count("rig.py:") == 3  # where both were submitted and the buffer was allocated
    assert f"+{SIZE}" in report.message
    assert report.cure.startswith("Missing edge: record an event in stream")


def test_only_bytes_that_overlap_race(checked: Rig) -> None:
    a, b, buffer, source = checked.stream(), checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
    a.send(checked.copy(a, buffer, source, SIZE // 2))
    b.send(checked.copy(b, buffer + SIZE // 2, source, SIZE // 2))
    a.drain(), b.drain()
    assert found(checked) == []
    b.send(checked.copy(b, buffer + SIZE // 2 - 1, source, 2))
    b.drain()
    assert found(checked) == []  # the host has waited for the first stream meanwhile
    a.send(checked.copy(a, buffer, source, 9))
    b.send(checked.copy(b, buffer + 8, source, 9))
    a.drain(), b.drain()
    assert "0x" in only(checked).message


def test_the_host_orders_streams_when_it_waits(checked: Rig) -> None:
    a, b, buffer, other = checked.stream(), checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
    a.send(launch(checked, a, buffer, other))
    a.drain()
    b.send(launch(checked, b, other, buffer))
    b.drain()
    checked.get(other, SIZE)
    assert found(checked) == []


def test_the_host_must_wait_before_it_reads(checked: Rig) -> None:
    a, buffer, other = checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
    a.send(launch(checked, a, buffer, other))
    checked.fake.device().run_until_idle()
    checked.get(buffer, SIZE)
    report = only(checked)
    assert "read by drvMemcpy by the host" in report.message
    assert report.cure.startswith("Missing edge: synchronize stream")


def test_values_in_memory_order_streams_that_wait_for_them(checked: Rig) -> None:
    """A value write is no race with the same by another stream, and is one with a plain access."""
    a, b, flag, buffer = checked.stream(), checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
    value = "value" if "value" in checked.layouts["write_value"] else "value[0]"
    write = {"addr": flag, "awsize": 3, value: 1}
    for stream in (a, b):
        assert stream.send(checked.sqe("write_value", stream, **write)) == 0
    checked.fake.device().run_until_idle()
    assert found(checked) == []
    reader = checked.stream()
    reader.send(checked.copy(reader, buffer, flag, 8))
    reader.drain()
    assert found(checked) == ["race"]


def test_kernels_that_say_what_they_touch_are_believed(checked: Rig) -> None:
    code = b"declared kernel 1" * 4
    checked.fake.attach(code, lambda context: context.args.array(0, "u1", SIZE), grid=True, reads=(), writes=(0,))
    a, b, buffer = checked.stream(), checked.stream(), checked.alloc(SIZE)
    pc = checked.load(code)
    for stream in (a, b):
        stream.send(checked.kernel(stream, pc, checked.arguments(buffer)))
    a.drain(), b.drain()
    assert found(checked) == ["race"]


@pytest.mark.parametrize("declared", [False, True])
def test_views_that_are_passed_on_bare(checked: Rig, caplog: pytest.LogCaptureFixture, declared: bool) -> None:
    """A write through a bare buffer shows in the bytes; that reads do not is said once."""

    def bare(context: Any) -> None:
        memoryview(context.args.array(0, "u1", SIZE))[4] = 7  # type: ignore[call-overload]
        np.asarray(context.args.array(1, "u1", SIZE)).sum()

    slots: dict[str, Any] = {"reads": (1,), "writes": (0,)} if declared else {}
    checked.fake.attach(CODE, bare, name="bare", grid=True, **slots)
    a, b, buffer, source = checked.stream(), checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
    other = checked.alloc(SIZE)
    pc = checked.load(CODE)
    a.send(*[checked.kernel(a, pc, checked.arguments(buffer, source))] * 2)
    b.send(checked.copy(b, other, buffer, SIZE))
    a.drain(), b.drain()
    assert set(found(checked)) == {"race"}
    told = [record.getMessage() for record in caplog.records if "taken argument" in record.getMessage()]
    assert len(told) == (0 if declared else 1)
    if told:
        assert "kernel 'bare' has taken argument 0 as a view and has written it through a bare buffer" in told[0]


def test_views_that_tell_are_followed_by_that_alone(checked: Rig, caplog: pytest.LogCaptureFixture) -> None:
    a, source = checked.stream(), checked.alloc(SIZE)
    a.send(launch(checked, a, checked.alloc(SIZE), source))
    a.drain()
    assert found(checked) == []
    assert not caplog.records


def test_two_readers_do_not_race(checked: Rig) -> None:
    a, b, source = checked.stream(), checked.stream(), checked.alloc(SIZE)
    for stream in (a, b):
        stream.send(launch(checked, stream, checked.alloc(SIZE), source))
    a.drain(), b.drain()
    assert found(checked) == []


def test_a_record_replaced_by_another_stream_orders_nothing(open_rig: OpenRig) -> None:
    """A wait that may have passed on the second record of an event does not come after the first one's stream."""
    rig = open_rig(check="race")
    rig.fake.attach(CODE, kernels.copy("uint8", 2), name="copy", grid=True)
    a, b, other, buffer, event = rig.stream(), rig.stream(), rig.stream(), rig.alloc(SIZE), rig.take_event()
    a.send(launch(rig, a, buffer, rig.alloc(SIZE)), rig.record(a, event))
    other.send(rig.record(other, event))
    b.send(rig.wait(b, event), launch(rig, b, rig.alloc(SIZE), buffer))
    for stream in (a, other, b):
        rig.fake.device().step_stream(stream.stream_id, 9)
    assert found(rig) == ["race"]


# -- lifetimes and bounds


def free(rig: Rig, address: int) -> None:
    assert rig.hal.halMemFree(address) == 0


def test_memory_freed_while_a_copy_is_queued(checked: Rig) -> None:
    a, buffer, source = checked.stream(), checked.alloc(SIZE), checked.alloc_host(SIZE)
    checked.fake.device().hold()
    a.send(checked.copy(a, buffer, source, SIZE))
    free(checked, source)
    report = only(checked)
    assert report.check == "uaf"
    assert "is freed" in report.message
    assert "still queued" in report.message
    checked.fake.device().release()
    checked.fake.device().run_until_idle()
    assert only(checked).check == "uaf"  # and then it runs


def test_memory_freed_after_the_copy_but_before_anybody_waited(checked: Rig) -> None:
    for wait in (True, False):
        a, buffer, source = checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
        a.send(checked.copy(a, buffer, source, SIZE))
        checked.fake.device().run_until_idle()
        if wait:
            a.drain()
        free(checked, source)
        assert found(checked) == ([] if wait else ["uaf"])


def test_a_kernel_that_was_launched_before_its_memory_was_allocated(checked: Rig) -> None:
    a, old, source = checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
    task = launch(checked, a, old, source)
    checked.fake.device().hold()
    a.send(task)
    free(checked, old)
    taken = {checked.alloc(SIZE)}
    while old not in taken and len(taken) < 3:
        taken.add(checked.alloc(SIZE))
    checked.fake.device().release()
    checked.fake.device().run_until_idle()
    report = only(checked)
    assert report.check == "uaf"
    assert "rig.py:" in report.message


def test_a_kernel_that_reaches_too_far(checked: Rig) -> None:
    a, buffer, source = checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE + 32)
    a.send(launch(checked, a, buffer, source, SIZE))
    a.drain()
    assert found(checked) == []
    a.send(launch(checked, a, buffer, source, SIZE + 1))
    checked.fake.device().run_until_idle()
    report = only(checked)
    assert report.check == "bounds"
    assert "kernel 'copy'" in report.message
    assert "1 byte more" in report.message


def test_padding_belongs_to_nobody(checked: Rig) -> None:
    a, buffer, source = checked.stream(), checked.alloc(SIZE + 32), checked.alloc(SIZE + 32)

    class Asked:
        size = SIZE

    checked.hal.annotate(("mem", buffer), Asked())
    a.send(launch(checked, a, buffer, source, SIZE))
    a.drain()
    assert found(checked) == []
    a.send(launch(checked, a, buffer, source, SIZE + 8))
    a.drain()
    report = only(checked)
    assert report.check == "bounds"
    assert f"({SIZE} bytes were asked for)" in report.message


# -- sources of copies


def poke(address: int, value: int, size: int = SIZE) -> None:
    ctypes.memset(address, value, size)


def test_a_source_that_changes_before_the_copy_runs(checked: Rig) -> None:
    a, buffer, source = checked.stream(), checked.alloc(SIZE), checked.alloc_host(SIZE)
    poke(source, 0x11)
    checked.fake.device().hold()
    a.send(checked.copy(a, buffer, source, SIZE))
    poke(source, 0x22)
    checked.fake.device().release()
    a.drain()
    assert checked.get(buffer, SIZE) == b"\x22" * SIZE
    report = only(checked)
    assert report.check == "source"
    assert "rig.py:" in report.message
    poke(source, 0x33)
    a.send(checked.copy(a, buffer, source, SIZE))
    a.drain()
    poke(source, 0x44)
    assert found(checked) == []


def test_a_source_that_an_earlier_task_writes_is_no_mistake(checked: Rig) -> None:
    a, one, two, host = checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE), checked.alloc_host(SIZE)
    checked.put(one, b"\x55" * SIZE)
    checked.fake.device().hold()
    a.send(checked.copy(a, host, one, SIZE), checked.copy(a, two, host, SIZE))
    checked.fake.device().release()
    a.drain()
    assert checked.get(two, SIZE) == b"\x55" * SIZE
    assert found(checked) == []


# -- waits


def test_a_wait_that_nothing_ends(checked: Rig) -> None:
    a, event = checked.stream(), checked.take_event()
    a.send(checked.nop(a), checked.wait(a, event))
    for _ in range(4):
        assert a.head == 1
    report = only(checked)
    assert report.check == "deadlock"
    assert "was never recorded" in report.message
    assert "rig.py:" in report.message


def test_waits_in_a_circle(checked: Rig) -> None:
    a, b, one, two = checked.stream(), checked.stream(), checked.take_event(), checked.take_event()
    a.send(checked.wait(a, two), checked.record(a, one))
    b.send(checked.wait(b, one), checked.record(b, two))
    checked.fake.device().run_until_idle()
    report = only(checked)
    assert report.check == "deadlock"
    assert "cycle" in report.message
    assert len(report.parties) == 2


def test_waits_that_can_still_end_are_no_mistake(checked: Rig) -> None:
    a, b, event = checked.stream(), checked.stream(), checked.take_event()
    checked.fake.device().hold(b.stream_id)
    a.send(checked.wait(a, event))
    b.send(checked.record(b, event))
    checked.fake.device().run_until_idle()
    assert found(checked) == []
    checked.fake.device().release(b.stream_id)
    a.drain()
    assert found(checked) == []


def test_a_hopeless_poll_ends_with_the_report(open_rig: OpenRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakes.checkers.waits.PATIENCE", 50)
    rig = open_rig(check="deadlock")
    a = rig.stream()
    a.send(rig.wait(a, rig.take_event()))
    with pytest.raises(CheckFailed, match=r"deadlock: .* was never recorded"):
        a.drain()
    assert found(rig) == ["deadlock"]


def test_a_wait_given_up_is_reported(checked: Rig) -> None:
    a = checked.stream()
    a.send(checked.wait(a, checked.take_event()))
    assert a.head == 0
    info = s.halSqCqFreeInfo(type=c.DRV_NORMAL_TYPE, sqId=a.sq_id, cqId=a.cq_id)
    assert checked.hal.halSqCqFree(checked.dev, ctypes.byref(info)) == 0
    assert found(checked) == ["deadlock"]


# -- leaks, and how reports come out


def test_what_is_left_on_a_closed_card(open_rig: OpenRig) -> None:
    rig = open_rig(check="all")
    rig.alloc(SIZE)
    stream = rig.stream()
    rig.hal.annotate(("stream", stream.stream_id), "prefetch")
    rig.hal.halDeviceClose(0, None)
    reports = rig.fake.reports.take()
    assert {report.check for report in reports} == {"leak"}
    text = "\n".join(map(str, reports))
    assert "'prefetch'" in text
    assert "rig.py:" in text


def test_pinned_memory_is_left_by_who_closes_the_last_card(open_rig: OpenRig) -> None:
    rig = open_rig(check="leak", devices=2)
    rig.alloc_host(SIZE)
    assert rig.hal.halDeviceOpen(1, ctypes.byref(s.hal_dev_open_in()), ctypes.byref(s.hal_dev_open_out())) == 0
    rig.hal.halDeviceClose(0, None)
    assert rig.fake.reports.take() == ()
    rig.hal.halDeviceClose(1, None)
    assert "device 1 is closed with pinned memory" in "".join(map(str, rig.fake.reports.take()))


def test_reports_that_nobody_takes_come_out_when_the_door_closes() -> None:
    rig = Rig("fake://ascend910b3?check=leak")
    rig.alloc(SIZE)
    rig.hal.halDeviceClose(0, None)
    with pytest.raises(CheckFailed, match="leak: device 0 is closed with memory in use") as raised:
        rig.close()
    assert [report.check for report in raised.value.reports] == ["leak"]


def test_a_block_may_expect_reports(checked: Rig) -> None:
    with checked.fake.reports.expected("race") as block:
        program(checked, ordered=False)
    assert "nothing orders the two" in str(block)
    with pytest.raises(AssertionError, match="none"), checked.fake.reports.expected("race"):
        program(checked, ordered=True)


@pytest.mark.parametrize("check", CHECKS)
def test_checkers_are_chosen_by_name(open_rig: OpenRig, check: str) -> None:
    rig = open_rig(check=check)
    rig.fake.attach(CODE, kernels.copy("uint8", 2), name="copy", grid=True)
    program(rig, ordered=False)
    assert found(rig) == (["race"] if check == "race" else [])


def test_a_wrong_name_is_refused(open_rig: OpenRig) -> None:
    with pytest.raises(BadUrl, match="check='races' is none of all, race, uaf"):
        open_rig(check="races")


def test_argument_blocks_may_be_filled_again(checked: Rig) -> None:
    """They are the runtime's, not the program's: it knows when."""
    a, buffer, source = checked.stream(), checked.alloc(SIZE), checked.alloc(SIZE)
    pc, block = checked.load(CODE), checked.arguments(source, buffer, SIZE)
    a.send(checked.kernel(a, pc, block))
    checked.fake.device().run_until_idle()
    checked.put(block, struct.pack("<3Q", source, buffer, 8))
    a.drain()
    assert found(checked) == []
    assert checked.get(buffer, SIZE) == bytes(SIZE)


# -- what it costs

TASKS, STREAMS = 10_000, 8


def big_program(rig: Rig) -> None:
    """Kernels on eight streams that hand buffers round by events: ordered throughout."""
    rig.fake.attach(CODE, grow, name="grow", grid=True)
    pc = rig.load(CODE)
    streams = [rig.stream() for _ in range(STREAMS)]
    data = [rig.alloc(256) for _ in streams]
    arguments = [rig.arguments(address, data[index - 1]) for index, address in enumerate(data)]
    events = [rig.take_event() for _ in streams]
    for _ in range(TASKS // STREAMS // 4):
        for index, stream in enumerate(streams):
            if index:
                send(stream, rig.wait(stream, events[index - 1]))
            send(stream, *[rig.kernel(stream, pc, arguments[index])] * 2, rig.record(stream, events[index]))
        streams[-1].drain()
        for stream, event in zip(streams, events, strict=True):
            stream.drain()
            if rig.v1:
                send(stream, rig.sqe("event_reset", stream, event_id=event))


def grow(context: Any) -> None:
    mine, other = context.args.array(0, "f4", 64), context.args.array(1, "f4", 64)
    mine[:] = mine + other


def send(stream: Stream, *sqes: bytes) -> None:
    while (rc := stream.send(*sqes)) == c.DRV_ERROR_NO_RESOURCES:
        assert stream.head >= 0
    assert rc == 0


def seconds(rig: Rig) -> float:
    began = time.process_time()
    big_program(rig)
    spent = time.process_time() - began
    assert len(rig.fake.log) >= 0.9 * TASKS
    return spent


@pytest.mark.perf
def test_ten_thousand_tasks_are_checked_in_seconds(open_rig: OpenRig) -> None:
    plain = min(seconds(open_rig()) for _ in range(2))
    checked = open_rig(check="all")
    spent = seconds(checked)
    assert found(checked) == []
    print(f"{plain:.2f} s without, {spent:.2f} s with all checkers on")
    assert spent <= 10 * slowness()
    assert spent <= 5 * plain
