"""One trial: a program on a machine of its own, in which one driver call fails, and what is looked at afterwards.

A program takes a `Runtime` that has opened no device yet. Where it is a generator, what comes before its first `yield`
is made ready, and only what comes after it fails. After a failure the program has cleaned up by its own means; then the
same device must do a plain piece of work and the program once more, a close by force must succeed and leave nothing on
the card, and the device must open again.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from npuhal.errors import NpuhalError
from runtime.errors import RuntimeFault
from runtime.testing.leaks import holdings
from runtime.testing.sweeps.cases import Case, Finding, Outcome, Verdict

if TYPE_CHECKING:
    from runtime.api import Device, Runtime

Program = Callable[["Runtime"], Any]
_PACKAGES = ("npuhal", "chips", "runtime", "fakes")
_WAIT_MS = 3000
"""How long a plain piece of work may take; a fraction of it is used up on a busy machine at most."""
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


def calls_of(program: Program, url: str, *, own: bool = False) -> list[str]:
    """Return the names of the driver calls of a program, in order; what it raises without any failure is raised.

    Args:
        own: the machine becomes the process's own runtime, as a script expects it.
    """
    machine = _open(url, own)
    try:
        steps = _prepared(program, machine)
        with machine.hal.fake.faults.recording() as names:
            _finish(steps)
        return list(names)
    finally:
        machine.close(force=True)


def try_case(program: Program, url: str, case: Case, *, own: bool = False) -> Outcome:
    """Run a program once, with one failure, and look at what is left; `own` as of `calls_of`."""
    outcome = Outcome(case, Verdict.NOT_REACHED)
    with _threads_heard() as strays:
        machine = _open(url, own)  # a machine has hooks of its own, which end with it
        try:
            _Trial(machine, program, outcome, own).run()
        finally:
            _last_close(machine, outcome)
            gc.collect()  # what only a failed run holds is finalized while somebody listens
    for stray in strays:
        _note(outcome, Verdict.UNTYPED, stray, "in a thread or finalizer: ")
    return outcome


class _Trial:
    """The steps of one trial, on a machine that is open."""

    def __init__(self, machine: Runtime, program: Program, outcome: Outcome, own: bool) -> None:
        self.machine, self.program, self.outcome, self.own = machine, program, outcome, own
        self.fake: Any = machine.hal.fake

    def run(self) -> None:
        case, outcome = self.outcome.case, self.outcome
        steps = _prepared(self.program, self.machine)
        rule = self.fake.faults.on_call(case.call, case.code, case.occurrence)
        problem = None
        try:
            _finish(steps)
        except BaseException as raised:
            problem = raised
        self.fake.faults.withdraw(rule)
        if problem is not None:
            traceback.clear_frames(problem.__traceback__)
        del steps
        gc.collect()
        if not rule.struck:
            if problem is not None:
                _note(outcome, Verdict.UNTYPED, problem, "without the failure: ")
            return
        outcome.verdict = Verdict.ABSORBED if problem is None else Verdict.TYPED
        if problem is not None and not isinstance(problem, (RuntimeFault, NpuhalError)):
            if _is_ours(problem):
                _note(outcome, Verdict.UNTYPED, problem)
            elif isinstance(problem, AssertionError) or not self.own:
                _note(outcome, Verdict.WRONG, problem)
        del problem
        self.use("afterwards: ")
        self.again()
        self.close()
        self.use("opened again: ")

    def use(self, when: str) -> None:
        """Have the device do a plain piece of work."""
        try:
            use(self.machine.device(0))
        except BaseException as problem:
            _note(self.outcome, Verdict.UNUSABLE, problem, when)

    def again(self) -> None:
        """Run the whole program once more, without a failure."""
        try:
            _finish(_prepared(self.program, self.machine))
        except BaseException as problem:
            _note(self.outcome, Verdict.UNUSABLE, problem, "the program once more: ")

    def close(self) -> None:
        """Close the devices by force, and ask the card what is left."""
        for device in self.machine.open_devices():
            try:
                device.close(force=True)
            except BaseException as problem:
                _note(self.outcome, Verdict.CLOSE, problem)
        self.take_reports()
        for card in self.fake.devices:
            for what, items in holdings(self.fake, card.index).items():
                text = f"card {card.index} holds {what} after the close: {items}"
                self.outcome.findings.append(Finding(self.outcome.case, Verdict.LEAK, text, f"leak {what}"))

    def take_reports(self) -> None:
        """Take what the checkers say."""
        if self.fake.checks is None:
            return
        for report in self.fake.reports.take():
            verdict = Verdict.LEAK if report.check == "leak" else Verdict.REPORT
            cause = f"{report.check} {_NUMBER.sub('N', report.message)}"
            self.outcome.findings.append(Finding(self.outcome.case, verdict, str(report), cause))


def use(device: Device) -> None:
    """Have a device copy, launch, record and wait, and compare what comes of it; AssertionError where it is wrong."""
    from fakes import kernels
    from runtime.cli.sample import minimal_kernel

    program = device.load(minimal_kernel("fresh", 3), name="fresh")
    device.hal.fake.attach(program.only.code, kernels.add(), name="fresh")
    data = np.arange(16, dtype=np.float32)
    with device.create_stream() as one, device.create_stream() as two, device.create_event() as event:
        first, second, third = device.upload(data), device.upload(data), device.alloc(64)
        program.only[1](first, second, third, stream=one)
        one.record(event)
        two.wait(event)
        program.only[1](third, first, second, stream=two)
        two.synchronize(_WAIT_MS)
        one.synchronize(_WAIT_MS)
        found = device.download(second, np.float32)
    for buffer in (first, second, third):
        buffer.close()
    program.close()
    if not np.array_equal(found, 3 * data):
        raise AssertionError(f"a plain piece of work gives {found.tolist()} instead of {(3 * data).tolist()}")


def _open(url: str, own: bool) -> Runtime:
    from runtime.api import Runtime, start

    return start(url) if own else Runtime(url)


def _prepared(program: Program, machine: Runtime) -> Iterator[Any]:
    """Return the steps of a program, of which the first was made where it is a generator."""
    if inspect.isgeneratorfunction(program):
        steps: Iterator[Any] = program(machine)
        next(steps)
        return steps
    return (program(machine) for _ in range(1))


def _finish(steps: Iterator[Any]) -> None:
    for _ in steps:
        pass


def _last_close(machine: Runtime, outcome: Outcome) -> None:
    try:
        machine.close(force=True)
    except BaseException as problem:
        _note(outcome, Verdict.CLOSE, problem, "the runtime: ")


@contextlib.contextmanager
def _threads_heard() -> Iterator[list[BaseException]]:
    """Collect what threads and finalizers raise, which nobody else would hear of."""
    heard: list[BaseException] = []
    hooks = threading.excepthook, sys.unraisablehook

    def hear(lost: Any) -> None:
        if lost.exc_value is not None:
            heard.append(lost.exc_value)

    threading.excepthook = sys.unraisablehook = hear
    try:
        yield heard
    finally:
        threading.excepthook, sys.unraisablehook = hooks


def _is_ours(problem: BaseException) -> bool:
    """Whether an exception comes from our packages; what the program itself raises, it has raised on purpose."""
    module = ""
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in _PACKAGES


def _note(outcome: Outcome, verdict: Verdict, problem: BaseException, when: str = "") -> None:
    """Keep what went wrong; its cause is the exception, and the last line of ours in its traceback."""
    site = ""
    for frame, line in traceback.walk_tb(problem.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _PACKAGES and module != __name__:
            site = f"{module}:{line} {frame.f_code.co_name}"
    text = f"{when}{type(problem).__name__}: {problem}"
    cause = f"{verdict.value} {when}{type(problem).__name__} {site} {_NUMBER.sub('N', str(problem))[:120]}"
    outcome.findings.append(Finding(outcome.case, verdict, f"{text} ({site})", cause))
