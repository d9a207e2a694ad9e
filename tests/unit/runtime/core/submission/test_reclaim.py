"""Who reclaims and when: ticks, the recycle thread, limited looks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.reclaim import Recycler, try_recycle
from runtime.core.submission.ring import TICK, RingV100, RingV200, TaskRing
from runtime.feature.graph import Model

OpenMachine = Callable[[str], Runtime]
Rings = pytest.mark.parametrize("make", [RingV100, RingV200])


def filled(make: Callable[[int], TaskRing], depth: int, before: int, pending: int) -> TaskRing:
    """Return a ring in which `before` places were used and freed again, and `pending` are taken."""
    ring = make(depth)
    for _ in range(before):
        ring.take(1, 0, "t")
        ring.reclaim(1, lambda blocks: None)
    for _ in range(pending):
        ring.take(1, 0, "t")
    return ring


@Rings
@pytest.mark.parametrize(
    ("before", "done", "limit", "expected"),
    [(0, 10, 0, 10), (0, 64, 64, 64), (0, 65, 64, 64), (0, 200, 64, 64), (200, 100, 64, 64), (200, 50, 64, 50),
     (230, 64, 64, 64), (255, 2, 64, 2)],
)  # fmt: skip
def test_a_limited_look_takes_at_most_64_places_also_around_the_end(
    make: Callable[[int], TaskRing], before: int, done: int, limit: int, expected: int
) -> None:
    ring = filled(make, 256, before, 250)
    assert ring.done((before + done) % 256, limit) == expected


@Rings
def test_a_limit_inside_a_task_of_several_entries_stops_before_it(make: Callable[[int], TaskRing]) -> None:
    ring = make(256)
    for _ in range(63):
        ring.take(1, 0, "one")
    ring.take(3, 0, "three")
    assert ring.done(66, 64) == 63
    assert ring.done(66) == 66


def test_the_64th_place_makes_the_stream_look(stream: Stream) -> None:
    for _ in range(TICK - 1):
        stream.submit(Nop())
    stream.device.hal.fake.run_until_idle()
    assert stream.ring.reclaimed == 0
    stream.submit(Nop())
    assert stream.ring.reclaimed >= TICK - 1


def test_a_stream_without_recycle_thread_looks_only_when_the_device_is_far_behind(stream: Stream) -> None:
    card = stream.device.hal.fake.device(0)
    for _ in range(512):
        stream.submit(Nop())
    reclaimed = stream.ring.reclaimed
    card.hold(stream.stream_id)
    try_recycle(stream)
    assert stream.ring.reclaimed == reclaimed
    pending = stream.ring.pending
    for _ in range(600 - pending):
        stream.submit(Nop())
    card.release(stream.stream_id)
    card.step(100)
    before = stream.ring.reclaimed
    card.hold(stream.stream_id)
    try_recycle(stream)
    assert stream.ring.reclaimed - before <= TICK


class _Streams:
    """Stands for the streams of a device; remembers which thread looked."""

    def __init__(self) -> None:
        self.looked: list[int] = []
        self.seen = threading.Event()

    def __call__(self) -> list[object]:
        self.looked.append(threading.get_ident())
        self.seen.set()
        return []


def test_the_thread_sleeps_until_it_is_woken_and_is_joined() -> None:
    streams = _Streams()
    recycler = Recycler(streams, "test", threaded=True)  # type: ignore[arg-type]
    assert recycler._thread is None
    recycler.wake()
    assert streams.seen.wait(60)
    thread = recycler._thread
    assert thread is not None
    assert streams.looked == [thread.ident]
    recycler.close()
    assert not thread.is_alive()
    recycler.wake()
    assert recycler._thread is None
    assert len(streams.looked) == 1


def test_a_stepped_machine_has_no_recycle_thread(device: Device, stream: Stream) -> None:
    assert device.hal.stepped
    stream.tick()
    device.recycler.look_around()
    assert device.recycler._thread is None


def test_a_free_running_machine_reclaims_in_the_thread(chip: str, open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{chip}?free_run=1").device(0)
    stream = device.create_stream()
    done = threading.Event()
    threads: list[int] = []

    def finished() -> None:
        threads.append(threading.get_ident())
        done.set()

    stream.submit(Nop(), finished=finished)
    while not done.wait(0.01):
        for _ in range(TICK):
            stream.submit(Nop())
    assert stream.ring.submitted >= TICK
    stream.synchronize(10_000)


def test_results_do_not_depend_on_who_looks(chip: str, open_machine: OpenMachine) -> None:
    logs = []
    for _ in range(2):
        machine = open_machine(f"fake://{chip}?seed=5&policy=random")
        device = machine.device(0)
        streams = [device.create_stream() for _ in range(3)]
        for number in range(300):
            streams[number % 3].submit(Nop())
        device.synchronize(10_000)
        logs.append(machine.hal.fake.log_text())
        machine.close(force=True)
    assert logs[0] == logs[1]


# -- who gives places back (core_spec 11.1) -----------------------------------------------------------------------


@pytest.fixture
def finished_tasks(stream: Stream) -> list[int]:
    """Return a list that grows as tasks of the stream are reclaimed; three are done and nobody has looked."""
    told: list[int] = []
    for number in range(3):
        stream.submit(Nop(), finished=lambda number=number: told.append(number))
    stream.device.hal.fake.run_until_idle()
    assert told == []
    return told


@pytest.mark.parametrize("look", ["query", "synchronize", "close", "close by force", "abort", "monitor", "event"])
def test_everybody_who_wants_an_answer_gives_places_back(stream: Stream, finished_tasks: list[int], look: str) -> None:
    event = stream.device.create_event()
    {
        "query": stream.query,
        "synchronize": lambda: stream.synchronize(30_000),
        "close": stream.close,
        "close by force": lambda: stream.close(force=True),
        "abort": stream.abort,
        "monitor": lambda: (stream.failure.keep(errors.fault(507000)), stream.device.runtime.monitor.look()),
        "event": lambda: (event.record(stream), event.synchronize(30_000)),
    }[look]()
    assert finished_tasks == [0, 1, 2]
    assert stream.ring.pending == 0


def test_a_sender_that_finds_no_place_gives_back_all_that_is_done(stream: Stream) -> None:
    card = stream.device.hal.fake.device(0)
    card.hold(stream.stream_id)
    while stream.ring.fits(1):
        stream.submit(Nop())
    assert stream.ring.reclaimed == 0
    card.release(stream.stream_id)
    stream.device.hal.fake.run_until_idle()
    stream.submit(Nop())
    assert stream.ring.pending <= 2


def test_tasks_of_a_model_keep_their_places_until_it_goes(device: Device) -> None:
    kept = device.create_stream(flags=StreamFlag.PERSISTENT)
    told: list[int] = []
    model = Model(device.context)
    model.bind(kept)
    for number in range(2 * TICK):
        kept.submit(Nop(), finished=lambda number=number: told.append(number))
    device.hal.fake.run_until_idle()
    device.synchronize(30_000)
    kept.drain()
    assert (told, kept.ring.pending) == ([], 2 * TICK)
    model.close()
    kept.close()
    assert told == list(range(2 * TICK))


@pytest.mark.parametrize("chip", ["ascend310b1"], indirect=True)
def test_64_submits_of_a_stream_without_recycle_thread_read_the_head_once(stream: Stream) -> None:
    reads: list[int] = []
    read = stream.read_head
    stream.read_head = lambda: reads.append(stream.ring.submitted) or read()
    for _ in range(3 * TICK):
        stream.submit(Nop())
    assert reads == [TICK, 2 * TICK, 3 * TICK]
    assert stream.ring.reclaimed == 0
