"""Random programs over streams and events: as graphs they do what they do at once, or end in the code they must.

What a program does is the set of its kernels, and for each the kernels that must have run before. A log of executions
is right when it has all of them in such an order; streams may overtake each other otherwise.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.api import Device, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.sync.event import Event
from runtime.feature.graph import Graph, TaskGroup
from runtime.testing.script import ATTRIBUTE
from tests.property.capture_script import CaptureScript

SHORT = ("fake://ascend910b1?seed=1", "fake://ascend910b1?seed=1&swsq=0", "fake://ascend950pr_9599?seed=1")
LONG = tuple(
    f"fake://{chip}?seed={seed}&swsq={software}&check=race,uaf,bounds,deadlock,stale"
    for chip in ("ascend910b1", "ascend950pr_9599") for software in (1, 0) for seed in (1, 2)
)  # fmt: skip
STREAMS = 6
EVENTS = 3
BURST = 700
"""Kernels of a burst: a few of them fill a hardware queue, so that a stream of the graph is chained to another."""

Step = tuple[str, int, int]
_STREAM = st.integers(0, STREAMS - 1)


def steps(kinds: list[str], most: int) -> st.SearchStrategy[list[Step]]:
    return st.lists(st.tuples(st.sampled_from(kinds), _STREAM, _STREAM), min_size=1, max_size=most)


KINDS = ["launch", "launch", "launch", "order", "order", "group", "gate", "inner"]
CHANGES = st.lists(st.tuples(st.sampled_from(["argument", "leave out", "group"]), st.integers(0, 99)), max_size=3)
HARMLESS = ["launch", "fork", "join", "synchronize", "query", "close", "end elsewhere", "begin again", "plain",
            "update", "default stream", "close graph", "execute"]  # fmt: skip
FATAL = ["", "group left open", "other task in a group", "group interrupted", "two captures"]


@dataclass
class Plan:
    """What one run of a program has to show: each kernel's number, and what must have run before it."""

    before: dict[int, tuple[int, ...]] = field(default_factory=dict)
    gates: list[tuple[int, Event]] = field(default_factory=list)
    """A kernel outside of the graph, and the event behind it that the graph waits for."""
    groups: list[tuple[TaskGroup, list[int]]] = field(default_factory=list)
    others: list[tuple[int, Graph]] = field(default_factory=list)
    """Graphs that were captured meanwhile, of one kernel each."""

    def check(self, log: list[int], names: dict[int, int]) -> None:
        """Compare a log with the plan; `names` are the numbers that other arguments have given to kernels, 0 none."""
        expected = {number: names.get(number, number) for number in self.before}
        assert sorted(log) == sorted(name for name in expected.values() if name)
        place = {name: at for at, name in enumerate(log)}
        for number, earlier in self.before.items():
            for one in earlier:
                if expected[number] and expected[one]:
                    assert place[expected[one]] < place[expected[number]], (number, one, log)


class Machine:
    """A device with streams, and a kernel that notes its number."""

    def __init__(self, url: str) -> None:
        self.runtime = Runtime(url)
        self.device: Device = self.runtime.device(0)
        self.streams: list[Stream] = [self.device.create_stream(name=f"s{place}") for place in range(STREAMS)]
        self.outer, self.extra, self.updater = (self.device.create_stream() for _ in range(3))
        self.log: list[int] = []
        self.kernel = self.device.load(minimal_kernel("mark", 1), name="mark").only
        self.device.hal.fake.attach(
            self.kernel.code, lambda context: self.log.append(context.args[0]), name="mark", grid=True
        )
        with self.extra.capture() as probe:
            self.kernel[1](1, stream=self.extra)
        self.software, self.v100 = probe.software, self.device.chip.generation == "v100"
        probe.close()
        self.url = url
        self.said = self.begin()

    def begin(self) -> CaptureScript:
        """Begin to write another program down."""
        others = {"outer": self.outer, "extra": self.extra, "updater": self.updater}
        self.said = CaptureScript(self.url, self.streams, others)
        self.said.script.names.update(device=self.device, kernel=self.kernel)
        return self.said

    def launch(self, number: int, stream: Stream) -> None:
        self.said.add(f"kernel[1]({number}, stream={self.said.name(stream)})")
        self.kernel[1](number, stream=stream)

    def event(self) -> Event:
        made = self.device.create_event()
        self.said.add(f"{self.said.name(made, 'e')} = device.create_event()")
        return made

    def expect(self, plan: Plan, names: dict[int, int]) -> None:
        """Compare what ran since the last time with a plan."""
        self.said.add(f"expect({plan.before!r}, {names!r})")
        plan.check(self.take_log(), names)

    def run(self, program: list[Step], *, captured: bool) -> Plan:
        """Do the steps from the first stream on; the others join when they are first used, and lead back in the end."""
        plan, streams, said = Plan(), self.streams, self.said
        events = [self.event() for _ in range(EVENTS)]
        last: dict[int, dict[int, int]] = {0: {}}
        """For each stream that takes part: the last kernel of each that comes before what it does next."""

        def order(one: int, two: int, event: Event) -> None:
            said.add(f"streams[{two}].wait(streams[{one}].record({said.name(event)}))")
            streams[two].wait(streams[one].record(event))
            last.setdefault(two, {})
            for stream, number in last[one].items():
                last[two][stream] = max(last[two].get(stream, 0), number)

        def note(number: int, place: int) -> None:
            plan.before[number] = tuple(last[place].values())
            last[place][place] = number
            self.launch(number, streams[place])

        for at, (what, one, two) in enumerate(program, 1):
            number = at * 1000
            if one not in last:
                order(0, one, self.event())
            if what == "launch":
                note(number, one)
            elif what == "burst":
                for offset in range(BURST):
                    note(number + offset, one)
            elif what == "order" and one != two:
                order(one, two, events[at % EVENTS])
            elif what == "group":
                numbers = [number, number + 1]
                if captured:
                    head = f"with streams[{one}].task_group() as g{number}:"
                    with said.block(head), streams[one].task_group() as group:
                        for each in numbers:
                            note(each, one)
                    plan.groups.append((group, numbers))
                else:
                    for each in numbers:
                        note(each, one)
            elif what == "gate" and self.software:
                event = self.event()
                plan.gates.append((number, event))
                plan.before[number] = tuple(last[-1].values()) if -1 in last else ()
                if captured:
                    said.add(f"streams[{one}].wait_external({said.name(event)})")
                    streams[one].wait_external(event)
                else:
                    self.launch(number, self.outer)
                    said.add(f"streams[{one}].wait(outer.record({said.name(event)}))")
                    streams[one].wait(self.outer.record(event))
                last.setdefault(-1, {})[-1] = last[one][-1] = number
            elif what == "inner" and captured:
                with said.block(f"with extra.capture() as inner{number}:"), self.extra.capture() as other:
                    self.launch(number, self.extra)
                plan.others.append((number, other))
        for place in [place for place in last if place > 0]:
            order(place, 0, self.event())
        return plan

    def replay(self, made: Graph, plan: Plan, stream: Stream) -> None:
        """Execute once, behind what its gates wait for."""
        for number, event in plan.gates:
            self.launch(number, self.outer)
            self.said.add(f"outer.record({self.said.name(event)})")
            self.outer.record(event)
        self.said.add(f"made.launch({self.said.name(stream)})")
        made.launch(stream)

    def take_log(self) -> list[int]:
        """Return what ran since the last call."""
        for stream in (self.outer, *self.streams, self.extra, self.updater):
            stream.synchronize(10_000)
        log, self.log = self.log, []
        return log

    def change(self, made: Graph, plan: Plan, changes: list[tuple[str, int]], names: dict[int, int]) -> None:
        """Change kernels of a graph, and note what they are called then."""
        own = [number for number in plan.before if number not in {gate for gate, _ in plan.gates}]
        nodes = dict(zip(own, made.kernels, strict=True))
        for what, choice in changes:
            number = own[choice % len(own)] if own else 0
            if what == "group" and plan.groups:
                group, numbers = plan.groups[choice % len(plan.groups)]
                if any(names.get(each) == 0 for each in numbers):
                    continue  # one that was left out is in no group any more
                with self.said.block(f"with updater.update(g{numbers[0]}):"), self.updater.update(group):
                    for each in numbers:
                        names[each] = 100_000 + each
                        self.launch(names[each], self.updater)
                self.said.add("updater.synchronize(10_000)")
                self.updater.synchronize(10_000)
            elif what == "argument" and number and names.get(number) != 0:
                names[number] = 200_000 + number
                self.said.add(f"made.update(made.kernels[{own.index(number)}], [{names[number]}])")
                made.update(nodes[number], [names[number]])
            elif what == "leave out" and number and self.software:
                names[number] = 0
                self.said.add(f"made.update(made.kernels[{own.index(number)}], enabled=False)")
                made.update(nodes[number], enabled=False)


def replay_program(machine: Machine, chosen: list[Step], changes: list[tuple[str, int]]) -> None:
    """Run a program at once, then as a graph in three streams, changed before the last time."""
    said = machine.said
    machine.expect(machine.run(chosen, captured=False), {})
    with said.block("with streams[0].capture() as made:"), machine.streams[0].capture() as made:
        plan = machine.run(chosen, captured=True)
    assert machine.take_log() == []
    names: dict[int, int] = {}
    for stream in (machine.streams[0], machine.extra):
        machine.replay(made, plan, stream)
        machine.expect(plan, names)
    if machine.software or machine.v100:
        machine.change(made, plan, changes, names)
    machine.replay(made, plan, machine.streams[1])
    machine.expect(plan, names)
    for number, other in plan.others:
        said.add(f"inner{number}.launch(extra)")
        said.add(f"expect({{{number}: ()}})")
        other.launch(machine.extra)
        assert machine.take_log() == [number]
        said.add(f"inner{number}.close()")
        other.close()
    said.add("made.close()")
    made.close()


def check_replay(url: str, program: st.SearchStrategy[list[Step]], examples: int) -> None:
    machine = Machine(url)

    @settings(max_examples=examples)
    @given(program, CHANGES)
    def replays(chosen: list[Step], changes: list[tuple[str, int]]) -> None:
        with machine.begin().script.written():
            replay_program(machine, chosen, changes)

    replays()
    machine.runtime.close(force=True)


@pytest.mark.parametrize("url", SHORT)
def test_replay_does_what_eager_execution_does(url: str) -> None:
    check_replay(url, steps(KINDS, 14), 15)


PROGRAM: list[Step] = [
    ("launch", 0, 0), ("order", 0, 1), ("group", 1, 0), ("gate", 1, 0), ("inner", 0, 0), ("launch", 2, 0),
    ("order", 1, 2), ("launch", 2, 0),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "status"), [("", 0), ("&fault=task:9:LOST:kernel=mark", 1)])
def test_a_program_as_a_script_does_what_it_has_done(fault: str, status: int) -> None:
    machine = Machine(f"fake://ascend910b1?seed=1{fault}")
    problem: BaseException | None = None
    said = machine.begin()
    try:
        with said.script.written():
            replay_program(machine, PROGRAM, [("argument", 0), ("group", 0), ("leave out", 3)])
    except AssertionError as failed:
        problem = failed
    machine.runtime.close(force=True)
    text = said.script.text if problem is None else getattr(problem, ATTRIBUTE)
    assert bool(status) == (problem is not None)
    again = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert again.returncode == status, again.stderr
    assert not status or "AssertionError" in again.stderr


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("url", LONG)
def test_long_programs_do_what_eager_execution_does(url: str) -> None:
    check_replay(url, steps(KINDS, 60), 300)
    check_replay(url, steps([*KINDS, "burst"], 8), 20)


def harmless(said: CaptureScript, what: str, forked: bool) -> None:
    """Do something that is refused and leaves the capture of the first stream as it was."""
    if what == "synchronize":
        said.refused(107027, "streams[0].synchronize()")
    elif what == "query":
        said.refused(107027 if forked else 0, "streams[1].query()")
    elif what == "close":
        said.refused(107027, "streams[0].close(force=True)")
    elif what == "end elsewhere":
        said.refused(107036 if forked else 107029, "graph.end(streams[1])")
    elif what == "begin again":
        said.refused(107027, "graph.begin(streams[0])")
    elif what == "update":
        said.refused(107027, "streams[0].update(old).__enter__()")
    elif what == "close graph":
        said.refused(107026, "made.close()")
    elif what == "execute":
        said.refused(107026, "made.execute(streams[2])")
    elif what == "default stream":
        said.run("event = streams[0].record(device.create_event())")
        said.refused(107031, "device.default_stream.wait(event)")
    elif what == "plain":
        said.run("event = Event(device, EventFlag.DDSYNC, renewed=False)")
        said.refused(207000, "streams[0].record(event)")
        said.run("event.close()")


def fatal(said: CaptureScript, what: str, forked: bool) -> int:
    """Do what spoils the capture; return the code of its end."""
    if what == "group left open":
        said.run("graph.begin_group(streams[0])")
        return 107033
    if what == "other task in a group":
        said.run("graph.begin_group(streams[0])")
        said.refused(507009, "streams[0].record(device.create_event())")
    elif what == "group interrupted" and forked:
        said.run("graph.begin_group(streams[0])")
        said.refused(107034, "kernel[1](1, stream=streams[1])")
        said.refused(107034, "graph.end_group(streams[0])")
    elif what == "two captures":
        said.run("graph.begin(streams[2])", "event = streams[0].record(device.create_event())")
        said.refused(107032, "streams[2].wait(event)")
        said.refused(507903, "graph.end(streams[2])")
    else:
        return 0
    return 507903


def mistaken_program(machine: Machine, mistakes: list[str], end: str) -> None:
    """Capture with mistakes, the last of which may spoil it; all streams must be usable afterwards."""
    said = machine.said
    said.run("made = graph.begin(streams[0])")
    forked = joined = False
    for what in mistakes:
        if what == "launch":
            said.run("kernel[1](1, stream=streams[0])")
        elif what == "fork":
            said.run("streams[1].wait(streams[0].record(device.create_event()))")
            forked, joined = True, False
        elif what == "join" and forked:
            said.run("streams[0].wait(streams[1].record(device.create_event()))")
            joined = True
        else:
            harmless(said, what, forked)
    expected = fatal(said, end, forked) or (107025 if forked and not joined else 0)
    said.refused(expected, "graph.end(streams[0])")
    if expected:
        said.refused(107017, "made.execute(streams[0])")
    else:
        said.run("made.close()")
    said.run("assert {graph.status(stream)[0].name for stream in streams} == {'NONE'}")
    ordinary: list[Step] = [("launch", place, 0) for place in range(STREAMS)]
    machine.expect(machine.run(ordinary, captured=False), {})


OLD = ("with streams[0].capture() as recorded, streams[0].task_group() as old:", "    kernel[1](1, stream=streams[0])")


def check_mistakes(url: str, most: int, examples: int) -> None:
    machine = Machine(url)
    machine.said.run(*OLD)
    kept = {name: machine.said.script.names[name] for name in ("recorded", "old")}

    @settings(max_examples=examples)
    @given(st.lists(st.sampled_from(HARMLESS), min_size=1, max_size=most), st.sampled_from(FATAL))
    def program(mistakes: list[str], end: str) -> None:
        said = machine.begin()
        said.script.add(*OLD).names.update(kept)
        with said.script.written():
            mistaken_program(machine, mistakes, end)

    program()
    kept["recorded"].close()
    machine.runtime.close(force=True)


def test_mistakes_as_a_script_end_as_they_did() -> None:
    machine = Machine("fake://ascend910b1?seed=1&fault=task:4:LOST:kernel=mark")  # a machine that leaves out a kernel
    said = machine.begin()
    said.run(*OLD)
    with pytest.raises(AssertionError) as failed, said.script.written():
        mistaken_program(machine, [*HARMLESS, "fork", "query", "join"], "two captures")
    machine.runtime.close(force=True)
    text = getattr(failed.value, ATTRIBUTE)
    again = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert again.returncode == 1, again.stderr
    assert "AssertionError" in again.stderr


@pytest.mark.parametrize("url", SHORT)
def test_illegal_programs_end_in_their_code_and_leave_all_streams_usable(url: str) -> None:
    check_mistakes(url, 12, 20)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("url", LONG)
def test_long_illegal_programs_end_in_their_code(url: str) -> None:
    check_mistakes(url, 30, 400)
