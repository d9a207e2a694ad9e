"""Fusion launches: engines that wait for each other are started by one task, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from chips.tasks import AicpuKernel, AicpuKind, CcuPart
from fakes.kernels import Fail
from fakes.machine.missions import Mission
from runtime import errors
from runtime.api import Device, Kernel
from runtime.core.submission.ring import TaskInfo
from runtime.feature import fusion, graph
from runtime.feature.graph.state import has_software_queues

MakeKernel = Callable[..., Kernel]
pytestmark = pytest.mark.timeout(60)
_LIBRARY, _FUNCTION = "libpartner.so", "partner"


@pytest.fixture
def device(device: Device) -> Device:
    """A device of a chip that fuses tasks."""
    if not device.chip.has("TASK_FUSION"):
        pytest.skip(f"{device.chip.soc} fuses no tasks")
    return device


def partners(device: Device, make_kernel: MakeKernel, pairs: int = 1) -> list[Kernel]:
    """Kernels of the AI cores that wait for an AICPU kernel of their own, which waits for them."""

    def meet(context: Any, mine: int, theirs: int) -> Iterator[None]:
        flags = context.args.array(0, "u4", 2)
        flags[mine] += 1
        while flags[theirs] < flags[mine]:
            yield

    for number in range(pairs):
        device.hal.fake.attach_aicpu(_LIBRARY, f"{_FUNCTION}{number}", lambda context: meet(context, 1, 0))
    return [make_kernel(f"meet{number}", lambda context: meet(context, 0, 1), 1, grid=True) for number in range(pairs)]


def cpu_alone(device: Device, stream: Any, number: int, flags: Any) -> None:
    """Launch one of the AICPU kernels on its own."""
    words = device.upload(np.array([flags.address], "u8"))
    names = device.names
    task = AicpuKernel(
        so_name=names.address_of(_LIBRARY), func_name=names.address_of(f"{_FUNCTION}{number}"), args=words.address,
        kind=AicpuKind.AICPU,
    )
    stream.submit(task, owner=TaskInfo(task.type, "partner"), finished=words.close)


@pytest.mark.misuse("deadlock", "race", "wait", "leak")
def test_partners_launched_apart_deadlock_and_fused_ones_do_not(device: Device, make_kernel: MakeKernel) -> None:
    cores = partners(device, make_kernel, 2)
    flags = [device.upload(np.zeros(2, "u4")) for _ in cores]
    streams = [device.create_stream() for _ in range(4)]
    # The first core kernel keeps the cores, the second AICPU kernel the AICPU: neither partner can ever start.
    cores[0][1](flags[0], stream=streams[0])
    cpu_alone(device, streams[1], 1, flags[1])
    for stream in streams[:2]:
        with pytest.raises(errors.Timeout):
            stream.synchronize(20)
    cores[1][1](flags[1], stream=streams[2])
    cpu_alone(device, streams[3], 0, flags[0])
    for stream in streams:
        with pytest.raises(errors.Timeout):
            stream.synchronize(20)
    assert [device.download(each, "u4").tolist() for each in flags] == [[1, 0], [0, 1]]
    for stream in streams:
        stream.close(force=True)

    flags = [device.upload(np.zeros(2, "u4")) for _ in cores]
    with device.create_stream() as first, device.create_stream() as second:
        for _ in range(3):
            for number, stream in enumerate((first, second)):
                part = fusion.Cpu(_LIBRARY, f"{_FUNCTION}{number}")
                fusion.launch(stream, part, fusion.Core(cores[number], 1), arguments=(flags[number],))
        for stream in (first, second):
            stream.synchronize(30_000)
        assert [device.download(each, "u4").tolist() for each in flags] == [[3, 3], [3, 3]]


def test_a_part_that_fails_is_one_failure_of_the_whole(device: Device, make_kernel: MakeKernel) -> None:
    def fails(_: Any) -> None:
        raise Fail("no partner for me")

    device.hal.fake.attach_aicpu(_LIBRARY, _FUNCTION, lambda context: None)
    core = fusion.Core(make_kernel("lonely", fails, 1, grid=True), 1)
    with device.create_stream() as stream:
        fusion.launch(stream, fusion.Cpu(_LIBRARY, _FUNCTION), core, arguments=(0,))
        with pytest.raises(errors.RuntimeFault, match=r"AICPU kernel partner \+ kernel lonely"):
            stream.synchronize(30_000)
        stream.synchronize(30_000)


def test_a_fused_task_can_be_captured(device: Device, make_kernel: MakeKernel) -> None:
    if not device.chip.has("MODEL_ACL_GRAPH"):
        pytest.skip(f"{device.chip.soc} cannot capture streams")
    (core,) = partners(device, make_kernel)
    flags = device.upload(np.zeros(2, "u4"))
    with device.create_stream() as stream:
        graph.begin(stream)
        fusion.launch(stream, fusion.HcomCpu(_LIBRARY, f"{_FUNCTION}0"), fusion.Core(core, 1), arguments=(flags,))
        made = graph.end(stream)
        for _ in range(2):
            made.execute(stream)
        stream.synchronize(30_000)
        assert device.download(flags, "u4").tolist() == [2, 2]
        made.close()


def test_a_fused_task_of_a_group_gets_other_arguments(device: Device, make_kernel: MakeKernel) -> None:
    if not graph_updates(device):
        pytest.skip("the entries of a hardware queue that is not mapped cannot be changed")
    cores = partners(device, make_kernel, 2)
    first, second = device.upload(np.zeros(2, "u4")), device.upload(np.zeros(2, "u4"))
    parts = [(fusion.Cpu(_LIBRARY, f"{_FUNCTION}{number}"), fusion.Core(cores[number], 1)) for number in range(2)]
    with device.create_stream() as stream, device.create_stream() as updater:
        graph.begin(stream)
        group = graph.begin_group(stream)
        fusion.launch(stream, *parts[0], arguments=(first,))
        graph.end_group(stream)
        made = graph.end(stream)
        made.execute(stream)
        stream.synchronize(30_000)
        graph.begin_update(updater, group)
        with pytest.raises(errors.InvalidArgument, match="cannot replace"):
            cores[0][1](first, stream=updater)
        fusion.launch(updater, *parts[1], arguments=(second,))
        graph.end_update(updater)
        updater.synchronize(30_000)
        made.execute(stream)
        stream.synchronize(30_000)
        assert [device.download(each, "u4").tolist() for each in (first, second)] == [[1, 1], [1, 1]]
        made.close()


def graph_updates(device: Device) -> bool:
    """Whether graphs of the chip keep their entries where they can be changed."""
    return device.chip.has("MODEL_ACL_GRAPH") and has_software_queues(device)


def mission(number: int, die: int = 0, arguments: int = 13, **other: int) -> CcuPart:
    facts = {"start_id": 1, "instruction_count": 2, **other}
    return CcuPart(mission_id=number, die_id=die, args=tuple(range(arguments)), **facts)


def short(*places: tuple[int, int]) -> fusion.Missions:
    return fusion.Missions(tuple(mission(number, die, 1) for number, die in places))


def missions_run(device: Device) -> None:
    if device.chip.has("TASK_FUSION_DOT_ONLY_AICPUAIC"):
        pytest.skip(f"{device.chip.soc} has no missions")


def test_missions_on_both_dies_meet(device: Device) -> None:
    missions_run(device)

    def meet(mission: Mission) -> Iterator[None]:
        flags = mission.array(mission.die + 1, "u8", 2)
        flags[mission.die] += mission.args[12]
        while flags[1 - mission.die] < flags[mission.die]:
            yield

    flags = device.upload(np.zeros(2, "u8"))
    for die, start in ((0, 64), (1, 96)):
        device.hal.fake.attach_mission(start, meet, die=die, name="meet")
    parts = tuple(
        CcuPart(mission_id=3, die_id=die, start_id=start, instruction_count=8, key=7,
                args=(0, flags.address, flags.address, *range(3, 12), 5))
        for die, start in ((0, 64), (1, 96))
    )  # fmt: skip
    with device.create_stream() as stream:
        for _ in range(2):
            fusion.launch_missions(stream, *parts)
        stream.synchronize(30_000)
    assert device.download(flags, "u8").tolist() == [10, 10]
    assert "meet as mission 3 of die 0 + meet as mission 3 of die 1" in device.hal.fake.log[-1].detail


@pytest.mark.parametrize("form", [1, 13])
def test_missions_and_cores_meet(device: Device, make_kernel: MakeKernel, form: int) -> None:
    missions_run(device)
    count = 4 if form == 1 else 1

    def work(mission: Mission) -> Iterator[None]:
        flags = mission.array(0, "u8", 5)
        assert len(mission.args) == form
        flags[mission.number] += 1
        while flags[4] < flags[mission.number]:
            yield

    def core(context: Any) -> Iterator[None]:
        flags = context.args.array(0, "u8", 5)
        while not all(flags[:count] > flags[4]):
            yield
        flags[4] += 1

    kernel, flags = make_kernel("core", core, 1, grid=True), device.upload(np.zeros(5, "u8"))
    for number in range(count):
        device.hal.fake.attach_mission(number * 16, work)
    pieces = tuple(
        CcuPart(mission_id=number, start_id=number * 16, instruction_count=16,
                args=(flags.address, *range(1, form)))
        for number in range(count)
    )  # fmt: skip
    with device.create_stream() as stream:
        for _ in range(3):
            fusion.launch(stream, fusion.Missions(pieces), fusion.Core(kernel, 1), arguments=(flags,))
        stream.synchronize(30_000)
    assert device.download(flags, "u8").tolist() == [3] * count + [0] * (4 - count) + [3]


def test_a_mission_that_nobody_knows_fails_by_name(device: Device) -> None:
    missions_run(device)
    with device.create_stream() as stream:
        fusion.launch_missions(stream, mission(1), mission(1, 1))
        with pytest.raises(errors.RuntimeFault):
            stream.synchronize(30_000)
    problems = " ".join(device.hal.fake.problems)
    assert "attach_mission(1, function, die=0)" in problems


WRONG = [
    ("more than two", lambda core, cpu: (cpu, core, core), "EE1012"),
    ("none", lambda core, cpu: (), "EE1012"),
    ("the wrong order", lambda core, cpu: (core, cpu), "EE1006"),
    ("cores alone", lambda core, cpu: (core,), "EE1006"),
    ("two of a kind", lambda core, cpu: (core, core), "EE1006"),
    ("HCOM on two blocks", lambda core, cpu: (fusion.HcomCpu("l", "f", 2), core), "EE1003"),
    ("nine missions", lambda core, cpu: (short(*((n, 0) for n in range(9))), core), "EE1003"),
    ("no mission", lambda core, cpu: (fusion.Missions(()), core), "EE1003"),
    ("two arguments", lambda core, cpu: (fusion.Missions((mission(1, arguments=2),)), core), "EE1003"),
    ("two forms", lambda core, cpu: (fusion.Missions((mission(1), mission(2, arguments=1))), core), "EE1017"),
    ("die 2", lambda core, cpu: (fusion.Missions((mission(1, 2),)), core), "EE1003"),
    ("mission 16", lambda core, cpu: (fusion.Missions((mission(16),)), core), "EE1003"),
    ("no instructions", lambda core, cpu: (fusion.Missions((mission(1, instruction_count=0),)), core), "EE1003"),
    ("instruction 32768", lambda core, cpu: (fusion.Missions((mission(1, start_id=32768),)), core), "EE1003"),
    ("ids that fall", lambda core, cpu: (short((2, 0), (1, 0)), core), "EE1017"),
    ("ids that fall on a die", lambda core, cpu: (short((2, 0), (1, 1), (1, 0), (2, 1)), core), "EE1017"),
    ("an odd number", lambda core, cpu: (short((1, 0), (1, 1), (2, 0)), core), "EE1011"),
    ("no alternation", lambda core, cpu: (short((1, 1), (1, 0), (2, 1), (2, 0)), core), "EE1017"),
    ("one short mission", lambda core, cpu: (short((1, 0)), core), "EE1011"),
    ("two long ones on a die", lambda core, cpu: (fusion.Missions((mission(1), mission(2))), core), "EE1003"),
    ("missions alone, one die", lambda core, cpu: (fusion.Missions((mission(1),)),), "EE1017"),
    ("missions alone, short", lambda core, cpu: (short((1, 0), (1, 1), (2, 0), (2, 1)),), "EE1017"),
]


def test_parts_that_do_not_go_together_are_refused(device: Device, make_kernel: MakeKernel) -> None:
    (kernel,) = partners(device, make_kernel)
    core, cpu = fusion.Core(kernel, 1), fusion.Cpu(_LIBRARY, f"{_FUNCTION}0")
    only_pair = device.chip.has("TASK_FUSION_DOT_ONLY_AICPUAIC")
    with device.create_stream() as stream:
        for what, parts, message in WRONG:
            with pytest.raises(errors.InvalidArgument) as raised:
                fusion.launch(stream, *parts(core, cpu), arguments=(1,))
            expected = message if not only_pair or message == "EE1012" or what == "the wrong order" else "EE1006"
            assert (what, raised.value.code, raised.value.message_id) == (what, 107000, expected)
        assert stream.ring.submitted == 0
