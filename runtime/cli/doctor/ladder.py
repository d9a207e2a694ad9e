"""The ladder of the probe: named steps, each timed and bounded, where the first that fails ends the climb.

A step runs in a thread of its own, because a call into the driver can block for minutes and cannot be interrupted.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from chips import UnknownChip
from npuhal.changed import start_thread
from npuhal.errors import HalError, NpuhalError
from npuhal.records import asdict, dataclass
from runtime.errors import RuntimeFault

__all__ = ["Doubt", "Failed", "Result", "Skipped", "State", "ProbeStep", "climb"]


class State(Enum):
    """How a step ended."""

    OK = "ok"
    WARNING = "warning"
    """It did not go as it should, but what follows may work all the same."""
    SKIPPED = "skipped"
    FAILED = "FAILED"
    HUNG = "HUNG"
    """It did not come back in its time; nothing more is done, not even tidying up."""


@dataclass(frozen=True, slots=True)
class Result:
    """One step as it went: what it told or what went wrong, the raw code of the driver, and the cure."""

    step: str
    state: State
    ms: float
    told: str
    code: int = 0
    cure: str = ""

    @property
    def bad(self) -> bool:
        """Whether the climb ends here."""
        return self.state in (State.FAILED, State.HUNG)

    def as_json(self) -> dict[str, object]:
        """Return the result as a flat mapping."""
        return {**asdict(self), "state": self.state.value, "ms": round(self.ms, 3)}


@dataclass(frozen=True, slots=True)
class ProbeStep:
    """A step: its name, what it does (the text it returns is shown), and how many seconds it may take."""

    name: str
    work: Callable[[], str]
    limit_s: float


class _Ending(Exception):
    def __init__(self, told: str, cure: str = "", code: int = 0) -> None:
        super().__init__(told)
        self.told, self.cure, self.code = told, cure, code


class Failed(_Ending):
    """Raised by a step that failed for a reason without an exception of its own."""


class Doubt(_Ending):
    """Raised by a step to report something wrong that does not end the climb."""


class Skipped(_Ending):
    """Raised by a step that has nothing to do here."""


def climb(steps: Sequence[ProbeStep], clock: Callable[[], float] = time.perf_counter) -> Iterator[Result]:
    """Do the steps in order and yield how each went; end after the first that failed or hung."""
    for step in steps:
        began = clock()
        ending = _bounded(step)
        result = _judge(step, ending, (clock() - began) * 1000)
        yield result
        if result.bad:
            return


def _bounded(step: ProbeStep) -> str | BaseException | None:
    """What the step returned or raised; None when it did not come back in time."""
    box: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            box.put(step.work())
        except BaseException as problem:
            box.put(problem)

    start_thread(work, f"probe {step.name}")
    try:
        return box.get(timeout=step.limit_s)
    except queue.Empty:
        return None


def _judge(step: ProbeStep, ending: str | BaseException | None, ms: float) -> Result:
    if ending is None:
        told = f"did not come back within {step.limit_s:g} s"
        cure = "the driver or the device is stuck: look at dmesg and npu-smi info, and reset the device"
        return Result(step.name, State.HUNG, ms, told, cure=cure)
    if isinstance(ending, str):
        return Result(step.name, State.OK, ms, ending)
    if isinstance(ending, _Ending):
        state = {Failed: State.FAILED, Doubt: State.WARNING, Skipped: State.SKIPPED}[type(ending)]
        return Result(step.name, state, ms, ending.told, ending.code, ending.cure)
    if isinstance(ending, RuntimeFault):
        below = f" ({ending.hal_call} answered {ending.hal_name})" if ending.hal_call else ""
        return Result(step.name, State.FAILED, ms, ending.message + below, ending.hal_code or ending.code, ending.hint)
    if isinstance(ending, HalError):
        return Result(step.name, State.FAILED, ms, f"{ending.call} answered {ending.name}", ending.code, ending.hint)
    if isinstance(ending, (NpuhalError, UnknownChip)):
        told, cure = _split(str(ending))
        return Result(step.name, State.FAILED, ms, told, getattr(ending, "code", 0), cure)
    if not isinstance(ending, Exception):
        raise ending
    told = f"unexpected {type(ending).__name__}: {ending}"
    return Result(step.name, State.FAILED, ms, told, cure="please report this with `npuhal doctor --bundle FILE`")


def _split(text: str) -> tuple[str, str]:
    """Part an error text whose last line, or all after its first sentence, is the cure."""
    *lines, last = text.splitlines()
    if lines:
        return " ".join(line.strip() for line in lines), last
    told, _, cure = text.partition(". ")
    return told, cure or "correct what the text names"
