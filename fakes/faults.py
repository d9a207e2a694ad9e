"""Faults on demand: calls that return a code, tasks that fail, hang or get lost, memory and ids that run out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from fakes.errors import FakeError, Hang, TaskFault
from npuhal import constants
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.queues import SubmissionQueue

_EVERY = ""
"""Stands for all functions in a rule."""


class Effect(Enum):
    """What becomes of a task; the number is the error type of its CQE (hal_semantics 4.9), 0 for none."""

    EXCEPTION = 0x01
    TRAP = 0x02
    TIMEOUT = 0x04
    SQE_ERROR = 0x08
    CONFLICT = 0x10
    SOFTWARE = 0x20
    WARNING = 0x40
    """The task does its work; its report carries the warning bit, and the queue goes on."""
    HANG = 0x100
    LOST = 0x200
    """The task does nothing and reports nothing."""
    CARD_DOWN = 0x400
    """The card stops answering when it reaches the task; `code` may name another drvStatus_t."""


_GOING_ON = (Effect.WARNING, Effect.LOST)
"""What a task goes on with."""


@dataclass(slots=True)
class CallRule:
    """Calls `nth`..`nth + times - 1` of one function return `code` and do nothing; `times` 0 means for ever."""

    name: str
    code: int
    nth: int = 1
    times: int = 1
    seen: int = 0

    def strike(self) -> bool:
        """Count one call; tell whether it is one of ours."""
        self.seen += 1
        return self.seen >= self.nth and (self.times == 0 or self.seen < self.nth + self.times)

    @property
    def struck(self) -> bool:
        """Whether a call has failed by this rule."""
        return self.seen >= self.nth


@dataclass(slots=True)
class TaskRule:
    """The `nth` task that fits (device, stream, kind, kernel; None fits all) and the following `times - 1` suffer."""

    effect: Effect
    nth: int = 1
    times: int = 1
    device: int | None = None
    stream: int | None = None
    kind: str | None = None
    kernel: str | None = None
    code: int = 0
    seen: int = 0
    tried: dict[tuple[int, int], tuple[SubmissionQueue, int, int, bool]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """By card and SQ: the queue, its head and how many it has done when a task was counted, and whether it is ours."""

    def strike(self, task: Task) -> bool:
        """Count a task that fits; tell whether it is one of ours.

        One that has to wait is tried again and again, how often a clock may decide: it counts once.
        """
        if (self.device is not None and task.device.index != self.device) or (
            self.stream is not None and task.sq.stream_id != self.stream
        ):
            return False
        if self.kind is not None and task.kind != self.kind:
            return False
        if self.kernel is not None and task.kernel_name != self.kernel:
            return False
        sq = task.sq
        queue, at = (sq.device, sq.sq_id), (sq, sq.head, sq.done)
        known = self.tried.get(queue)
        if known is not None and known[:-1] == at:
            return known[-1]
        self.seen += 1
        ours = self.seen >= self.nth and (self.times == 0 or self.seen < self.nth + self.times)
        if ours and self.effect not in _GOING_ON:  # where it is executed once more, it is another time
            self.tried.pop(queue, None)
        else:
            self.tried[queue] = (*at, ours)
        return ours


@dataclass(slots=True)
class Faults:
    """The rules in force on one machine."""

    calls: dict[str, list[CallRule]] = field(default_factory=dict)
    heard: Callable[[str], object] | None = None
    """Called with the name of each call, while somebody listens; see `listen`."""
    tasks: list[TaskRule] = field(default_factory=list)
    out_of_memory_from: int | None = None
    """Device allocations of at least this many bytes fail."""
    slow_credit: int = 0
    """Slots that a send which lacks space gets back at a time, however far the device is; 0: all there are."""

    def on_call(self, name: str, code: int | str, nth: int = 1, times: int = 1) -> CallRule:
        """Let the n-th call of a HAL function, counted from now, return an error code (a number or its C name)."""
        if isinstance(code, str):
            code = int(getattr(constants, code))
        if nth < 1 or times < 0:
            raise FakeError(f"fault on {name}: nth must be at least 1 and times at least 0, got {nth} and {times}")
        rule = CallRule(name, code, nth, times)
        self.calls.setdefault(name, []).append(rule)
        return rule

    def withdraw(self, rule: CallRule) -> None:
        """Take a rule about calls out of force."""
        rules = self.calls.get(rule.name, [])
        if rule in rules:
            rules.remove(rule)
        if not rules:
            self.calls.pop(rule.name, None)

    def listen(self, heard: Callable[[str], object] | None) -> None:
        """Have a function called with the name of each call that is made from now on, by any thread; None: no more."""
        self.heard = heard
        if heard is None:
            self.calls.pop(_EVERY, None)
        else:
            self.calls.setdefault(_EVERY, [])  # calls are looked at while there are rules

    @contextmanager
    def recording(self) -> Iterator[list[str]]:
        """Note the name of each call that is made inside, in order; calls of all threads."""
        names: list[str] = []
        before = self.heard
        self.listen(names.append)
        try:
            yield names
        finally:
            self.listen(before)

    def on_task(
        self, effect: Effect, nth: int = 1, times: int = 1, *, device: int | None = None, stream: int | None = None,
        kind: str | None = None, kernel: str | None = None, code: int = 0,
    ) -> TaskRule:  # fmt: skip
        """Let the n-th task that fits, counted from now, fail, hang or get lost."""
        rule = TaskRule(effect, nth, times, device, stream, kind, kernel, code)
        self.tasks.append(rule)
        return rule

    def clear(self) -> None:
        """Forget every rule."""
        self.calls.clear()
        self.tasks.clear()
        self.out_of_memory_from = None
        self.slow_credit = 0

    def code_for(self, name: str) -> int | None:
        """Count one call of `name`; return the code it must give, or None."""
        if self.heard is not None:
            self.heard(name)
        for rule in self.calls.get(name, ()):
            if rule.strike():
                return rule.code
        return None

    def strike(self, task: Task) -> bool:
        """Apply the rules to a task that is about to run: raises Hang or TaskFault, or returns True when it is lost.

        Kernels are struck a second time, by the rules that name one, when their name is known.
        """
        for rule in self.tasks:
            if (rule.kernel is None) != (not task.kernel_name) or not rule.strike(task):
                continue
            if rule.effect is Effect.HANG:
                raise Hang("a fault rule says so")
            if rule.effect is Effect.CARD_DOWN:
                task.device.fail(rule.code or constants.DRV_STATUS_COMMUNICATION_LOST)
                raise Hang("a fault rule takes the card down")
            if rule.effect is Effect.LOST:
                task.detail = "lost by a fault rule"
                task.fields = {**task.fields, "wr_cqe": 0}
                return True
            if rule.effect is Effect.WARNING:
                task.warning = True
                continue
            raise TaskFault(f"a fault rule gives {rule.effect.name}", rule.effect.value, rule.code)
        return False
