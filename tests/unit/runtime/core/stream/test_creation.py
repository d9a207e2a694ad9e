"""What flags and priorities make of a stream, and what is said when nothing is left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chips.tasks import Nop, Report, WriteValue
from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.diagnostics.resource_report import creation_site
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.ring import RingV100, RingV200

OpenMachine = Callable[[str], Runtime]


@pytest.mark.parametrize(("asked", "given"), [(-1, 0), (0, 0), (7, 7), (8, 7), (1 << 31, 7)])
def test_priorities_are_moved_into_range(device: Device, asked: int, given: int) -> None:
    assert device.context.create_stream(priority=asked).priority == given


@pytest.mark.parametrize("flags", [0, 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x2800,
                                   0x4000, 0x8000])  # fmt: skip
def test_every_flag_makes_a_stream_that_can_be_waited_for_and_closed(device: Device, flags: int) -> None:
    stream = device.context.create_stream(flags=flags)
    assert not stream.is_default
    assert stream.query()
    stream.synchronize(100)
    stream.close()
    with pytest.raises(errors.InvalidHandle):
        stream.query()


@pytest.mark.parametrize(
    ("flags", "message"),
    [(-1, "EE1003"), (0x10000, "EE1003"), (0x801, "EE1006"), (0xA00, "EE1006"), (0x2801, "EE1006")],
)
def test_flags_that_do_not_go_are_refused(device: Device, flags: int, message: str) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        device.context.create_stream(flags=flags)
    assert (caught.value.code, caught.value.message_id) == (107000, message)
    assert not list(device.context.streams)


@pytest.mark.parametrize("flags", [StreamFlag.CPU_SCHEDULE, StreamFlag.FORBIDDEN_DEFAULT, StreamFlag.DEVICE_USE_ONLY])
def test_streams_that_the_host_does_not_feed_take_no_task(device: Device, flags: StreamFlag) -> None:
    stream = device.context.create_stream(flags=flags)
    ended: list[int] = []
    with pytest.raises(errors.NotSupported, match="takes no tasks"):
        stream.submit(Nop(), finished=lambda: ended.append(1))
    assert ended == [1]
    assert stream.ring.pending == 0


def test_host_only_streams_take_no_id_of_the_driver(device: Device) -> None:
    used = device.ids.usage("STREAM")
    first = device.context.create_stream(flags=StreamFlag.CPU_SCHEDULE)
    second = device.context.create_stream(flags=StreamFlag.CPU_SCHEDULE)
    assert device.ids.usage("STREAM") == used
    assert second.stream_id == first.stream_id + 1
    assert first.stream_id >= device.chip.prop("baseAicpuStreamId")
    number = first.stream_id
    first.close()
    assert device.context.create_stream(flags=StreamFlag.CPU_SCHEDULE).stream_id == number


def test_a_persistent_stream_of_v2_keeps_its_entries_in_host_memory(open_machine: OpenMachine) -> None:
    stream = open_machine("fake://ascend950pr_9599").device(0).context.create_stream(flags=StreamFlag.PERSISTENT)
    assert stream.sq_path == "software SQ, split when full"
    for _ in range(3000):
        stream.submit(Nop())
    image = stream.own_sink.image  # type: ignore[attr-defined]
    assert len(image) == 2 * 128 * 1024
    assert image[:64] != bytes(64)
    assert image[2999 * 64 : 3000 * 64] != bytes(64)
    assert image[3000 * 64 : 3001 * 64] == bytes(64)
    stream.synchronize(100)
    assert stream.ring.reclaimed == 0
    stream.close()


def test_a_full_software_queue_says_so(open_machine: OpenMachine) -> None:
    stream = open_machine("fake://ascend950pr_9599").device(0).context.create_stream(flags=StreamFlag.PERSISTENT)
    room = 32768 - 1 - 32 - int(stream.device.chip.prop("expandStreamRsvTaskNum"))
    stream.ring.submitted = room - 2
    stream.submit(Nop())
    with pytest.raises(errors.ResourceExhausted) as caught:
        stream.submit(Nop())
    assert (caught.value.code, caught.value.message_id) == (507002, "EE1019")
    stream.ring.submitted = 0


@pytest.mark.parametrize(("chip_name", "ring", "depth"), [("ascend910b1", RingV100, 2048),
                                                          ("ascend950pr_9599", RingV200, 2049)])  # fmt: skip
def test_ordinary_streams_have_the_ring_of_their_generation(
    open_machine: OpenMachine, chip_name: str, ring: type, depth: int
) -> None:
    stream = open_machine(f"fake://{chip_name}").device(0).create_stream()
    assert type(stream.ring) is ring
    assert stream.ring.depth == depth
    assert stream.sq_path.startswith("hardware SQ")


@pytest.mark.parametrize(("chip_name", "message"), [("ascend910b1", "EE1023"), ("ascend950pr_9599", "")])
def test_the_report_says_who_holds_the_streams(open_machine: OpenMachine, chip_name: str, message: str) -> None:
    device = open_machine(f"fake://{chip_name}?streams=12").device(0)
    here = creation_site().rpartition(":")[0]
    held = [device.create_stream() for _ in range(12 - len(device.own_streams))]
    with pytest.raises(errors.ResourceExhausted) as caught:
        device.create_stream()
    assert (caught.value.code, caught.value.message_id) == (207008, message)
    text = str(caught.value)
    assert "this process holds 12 streams" in text
    assert f"{here}:" in text
    assert f"({len(held)})" in text
    assert "has 12, 12 are used, 0 of them by other owners" in text
    held.pop().close()
    device.create_stream()


def test_queues_can_run_out_before_ids(chip: str, open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{chip}?sqs=5").device(0)
    used = device.ids.usage("STREAM")[1]
    held = [device.create_stream() for _ in range(5 - len(device.own_streams))]
    with pytest.raises(errors.ResourceExhausted) as caught:
        device.create_stream()
    assert (caught.value.code, caught.value.message_id) == (207005, "EE1023")
    assert device.ids.usage("STREAM")[1] == used + len(held)


def test_a_dvpp_group_shares_one_queue_and_every_task_reports(device: Device) -> None:
    group = device.create_dvpp_group()
    first, second = (device.context.create_stream(group=group) for _ in range(2))
    assert first.queues.logic_cq_id == second.queues.logic_cq_id == group.logic_cq_id
    assert first.env.dvpp_group
    assert not first.env.separate_recycle
    target = device.alloc(64).address
    for member in (first, second):
        member.submit(WriteValue(addr=target, size_code=3, data=bytes(8)))
    assert group.wait_report(1000) + group.wait_report(0) >= 1
    first.synchronize(30_000)
    second.synchronize(30_000)
    group.close()
    assert first.closed
    assert second.closed
    with pytest.raises(errors.InvalidHandle):
        first.query()


@pytest.mark.parametrize(("report", "in_group", "alone"), [
    (Report.DEFAULT, 1, 0), (Report.NEVER, 0, 0), (Report.ALWAYS, 1, 1),
])  # fmt: skip
def test_a_task_may_report_other_than_its_stream_does(
    device: Device, report: Report, in_group: int, alone: int
) -> None:
    buffer, group = device.alloc(64), device.create_dvpp_group()
    target = buffer.address
    plain, member = device.create_stream(), device.context.create_stream(group=group)
    for stream, asked in ((plain, alone), (member, in_group)):
        stream.submit(WriteValue(addr=target, size_code=3, data=bytes(8), report=report))
        assert stream.plugin.decode(bytes(stream.senders[1].buffer)[:64]).fields["wr_cqe"] == asked
    device.hal.fake.run_until_idle()  # what is to be reported is there: nothing will come later
    assert group.wait_report(20) == in_group
    plain.synchronize(30_000)


def test_a_failed_task_reports_though_it_was_not_to(device: Device) -> None:
    group = device.create_dvpp_group()
    member = device.context.create_stream(group=group)
    device.hal.fake.faults.on_task(Effect.EXCEPTION, 1, stream=member.stream_id)
    member.submit(WriteValue(addr=device.alloc(64).address, size_code=3, data=bytes(8), report=Report.NEVER))
    with pytest.raises(errors.RuntimeFault):
        member.synchronize(30_000)
