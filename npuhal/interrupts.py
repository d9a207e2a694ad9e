"""Exceptions of signal handlers, which Python raises in the middle of whatever the main thread does."""

from __future__ import annotations

from types import FrameType


def raised_by_handler(problem: BaseException) -> bool:
    """Whether a signal handler that is a Python function has raised an exception, rather than what it interrupted.

    Its frame was given the frame under it: the one that it interrupted.
    """
    below: FrameType | None = None
    trace = problem.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if below is not None and any(_has(value, below) for value in list(frame.f_locals.values())):
            return True
        below, trace = frame, trace.tb_next
    return False


def _has(value: object, frame: FrameType) -> bool:
    return value is frame or (type(value) is tuple and any(each is frame for each in value))
