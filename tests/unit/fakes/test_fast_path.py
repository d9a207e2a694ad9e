"""The fast paths of the fake's device change nothing: log, times, problems, errors and memory are those of the slow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import runtime
from fakes.executor.executor import Executor
from fakes.executor.fast_path import PlainKernels
from fakes.executor.plain_signals import PlainSignals
from fakes.executor.task import Task
from fakes.machine.begun import DONE, NOT_PLAIN, RAN, STOPPED, WAITS
from fakes.machine.card import Device
from fakes.machine.queues import SubmissionQueue
from fakes.schedule.scheduler import DeviceAhead, HostAhead, Policy, RoundRobin
from runtime.cli.sample import minimal_kernel
from tests.tools.fake_logs import Program

CHIPS = ("ascend910b1", "ascend950pr_9599")
OPTIONS = ("", "policy=random", "policy=device_ahead", "policy=starved&devices=2", "fault=task:9:WARNING")


def cases() -> Iterator[tuple[str, int]]:
    for number, (chip, options) in enumerate(product(CHIPS, OPTIONS)):
        tier = "fake-abi" if number % 5 == 1 else "fake"
        yield f"{tier}://{chip}?seed={number}&hbm=1g{'&' if options else ''}{options}", number + 40


def outcomes(monkeypatch: pytest.MonkeyPatch, path: type[PlainKernels | PlainSignals]) -> list[int]:
    """Return the list that the outcomes of a fast path are added to from now on."""
    seen: list[int] = []
    run: Any = path.run

    def counted(self: Any, device: Device, sq: SubmissionQueue, raw: bytes, end: int) -> int:
        seen.append(run(self, device, sq, raw, end))
        return seen[-1]

    monkeypatch.setattr(path, "run", counted)
    return seen


def take_the_slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode each entry anew, run nothing on the fast paths, and try each queue again that waits."""

    def read(self: Executor, device: Device, sq: SubmissionQueue, position: int, raw: bytes) -> Task:
        return Task(self.machine, device, sq, position, raw, *self._decode(raw, int.from_bytes(raw, "little")))

    monkeypatch.setattr(Executor, "read", read)
    for path in (PlainKernels, PlainSignals):
        monkeypatch.setattr(path, "run", lambda *_: NOT_PLAIN)
    monkeypatch.setattr(Device, "waits_for_signal", lambda *_: None)


def test_the_log_is_that_of_the_slow_path() -> None:
    ways: list[list[str]] = []
    for slow in (False, True):
        with pytest.MonkeyPatch.context() as monkeypatch:
            kernels, signals = outcomes(monkeypatch, PlainKernels), outcomes(monkeypatch, PlainSignals)
            if slow:
                take_the_slow_path(monkeypatch)
            ways.append([Program(url, seed).run() for url, seed in cases()])
            if not slow:
                assert set(kernels) == {NOT_PLAIN, RAN, STOPPED, WAITS}
                assert set(signals) == {NOT_PLAIN, DONE, WAITS}
    for (url, seed), fast, slow in zip(cases(), *ways, strict=True):
        assert fast == slow, (url, seed)


@pytest.mark.parametrize("chip", CHIPS)
def test_signals_take_the_fast_path(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = outcomes(monkeypatch, PlainSignals)
    with runtime.Runtime(f"fake://{chip}?hbm=1g") as machine:
        device = machine.device(0)
        one, other = device.create_stream(), device.create_stream()
        event, notify = device.create_event(), device.create_notify()
        for _ in range(5):
            for signal in (event, notify):
                signal.record(one)
                signal.wait(other)
                one.synchronize()
                other.synchronize()
        assert seen.count(DONE) == 4 * 4  # each but the first of its kind


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kept", ["context", "args", "neither"])
def test_what_a_function_keeps_of_a_launch_stays_as_it_was(chip: str, kept: str) -> None:
    """Kernels that follow each other are given one context, but for what their function has kept."""
    contexts: list[Any] = []
    seen: list[int] = []

    def function(context: Any) -> None:
        assert (context.block, context.blocks, context.cost_ns) == (0, 3, None)
        context.cost_ns, context.blocks = 1000 * context.args[0], 99
        contexts.extend([context] if kept == "context" else [context.args] if kept == "args" else [])
        seen.append(context.args[0])

    with runtime.Runtime(f"fake://{chip}?hbm=1g") as machine:
        device: Any = machine.device(0)
        kernel = device.load(minimal_kernel("keeps", 1), name="keeps").only
        device.hal.fake.attach(kernel.code, function, name="keeps", grid=True)
        stream = device.create_stream()
        for number in range(1, 41):
            kernel[3](number, stream=stream)
        stream.synchronize()
        assert seen == list(range(1, 41))
        if kept == "context":
            assert [context.args[0] for context in contexts] == seen
            assert [context.cost_ns for context in contexts] == [1000 * number for number in seen]
        if kept == "args":
            assert [arguments[0] for arguments in contexts] == seen
        costs = [entry.end - entry.start for entry in device.hal.fake.log if entry.kind == "kernel"]
        assert costs == [1000 * number for number in seen]


@pytest.mark.parametrize("kind", [RoundRobin, DeviceAhead, HostAhead])
def test_what_picks_of_waiting_queues_leave_behind(kind: type[RoundRobin]) -> None:
    """`pass_over` does what picks do while a queue runs and the others are tried again after each of its tasks."""
    import random

    for ids, last, times in product(((4, 2), (4, 6), (4, 1, 2), (4, 2, 7, 9), (4, 5, 3)), range(-1, 11), range(1, 6)):
        runs, others = ids[0], ids[1:]
        picking, passing = kind(random.Random(0)), kind(random.Random(0))
        picking._last = passing._last = last
        tried: list[int] = []
        for _ in range(times):
            tried = picked(picking, runs, others)
        assert list(passing.pass_over(runs, others, times)) == sorted(tried, key=others.index)
        assert passing._last == picking._last


def picked(policy: Policy, runs: int, others: tuple[int, ...]) -> list[int]:
    """Pick as the device does until it is a queue's turn; returns the others that came before."""
    queues = {number: queue(number) for number in (runs, *others)}
    tried: list[int] = []
    while True:
        ready = [sq for number, sq in queues.items() if number not in tried]
        sq = ready[0] if len(ready) == 1 else policy.pick(ready)
        if sq.sq_id == runs:
            return tried
        tried.append(sq.sq_id)


def queue(number: int) -> SubmissionQueue:
    made = SubmissionQueue.__new__(SubmissionQueue)
    made.sq_id = number
    return made
