"""Kernels that wait for each other: functions that `yield` while they do, and the engines that they keep meanwhile.

A core does not change hands in the middle of a kernel. A function that yields says: this kernel spins until somebody
else has done something. Its task stays where it is and keeps its engines, so that no other task gets them, and the
function goes on at the next look at the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

from fakes.errors import FakeError, MemoryFault, StandInFailed, TaskFault
from fakes.executor.task import came_of
from fakes.machine.begun import Begun

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.card import Device

What = TypeVar("What")

_ROUNDS = 64
"""How often the parts of a task look at each other's work before others get their turn."""


def call(task: Task, function: Callable[[What], object], context: What) -> None:
    """Run a kernel function; what it has yet to do goes with the task.

    Raises:
        StandInFailed: it has made a mistake of its own; what it raises of the fake's errors is meant, and passes.
    """
    memo, number = task.sq.memo, task.steps
    if number == len(memo):  # as `once` does
        calls = map(function, (context,))
        try:
            memo += calls
        except (TaskFault, MemoryFault) as fault:
            memo += (fault,)
        except FakeError:
            raise
        except BaseException as error:
            memo += (wrong(error),)
    made = came_of(task, number)
    if isinstance(made, Generator):
        task.parts = [*(task.parts or ()), made]


def wrong(error: BaseException) -> StandInFailed:
    """Return the mistake of a function that has raised something of its own."""
    failure = StandInFailed(error)
    failure.__cause__ = error
    return failure


def resumed(task: Task) -> Begun | None:
    """Return what has begun of a task, if it was here before."""
    begun = task.device.spinning.get(task.sq.sq_id)
    if begun is not None and begun.alive and begun.position == task.position:
        return begun
    return None


def taken(device: Device, engines: tuple[str, ...]) -> bool:
    """Whether an engine is kept by a task that waits."""
    if not device.spinning:
        return False
    for sq_id, begun in list(device.spinning.items()):
        if not begun.alive:
            del device.spinning[sq_id]
        elif any(engine in begun.engines for engine in engines):
            return True
    return False


def _go_round(begun: Begun) -> None:
    """Let the parts go on in turns; the loop is in no `try`, see `npuhal.changed` on interrupts."""
    for _ in range(_ROUNDS):
        begun.parts = [part for part in begun.parts if _goes_on(part)]
        if not begun.parts:
            break


def finished(task: Task, engines: tuple[str, ...], cost: int) -> bool:
    """Let what has yielded in a task go on; False while some of it waits: the task then keeps its engines."""
    spinning, sq = task.device.spinning, task.sq
    begun = spinning.get(sq.sq_id)
    if begun is None or not begun.alive:
        if task.parts is None:
            return True
        begun = Begun(sq, task.position, sq.done, engines, cost, task.detail, task.parts)
        spinning[sq.sq_id] = begun
    try:
        _go_round(begun)
    except FakeError:
        del spinning[sq.sq_id]
        raise
    if begun.parts:
        return False
    task.detail = begun.detail
    return True  # and lives no more as soon as the head moves on


def _goes_on(part: Generator[object, None, object]) -> bool:
    try:
        next(part)
    except StopIteration:
        return False
    except FakeError:
        raise
    except BaseException as error:
        raise StandInFailed(error) from error
    return True
