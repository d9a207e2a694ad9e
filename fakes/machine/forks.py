"""Forks: the driver's mappings do not come along, so a machine with an open card refuses to work in the child."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

alive: weakref.WeakSet[Machine] = weakref.WeakSet()
"""All machines of the process: hooks of forks cannot be taken away again."""
_held: list[Machine] = []
"""Those whose locks are held while the process forks, so that the child finds none held by a thread it has not."""


def _before() -> None:
    _held[:] = alive
    for machine in _held:
        machine.lock.acquire()


def _in_parent() -> None:
    while _held:
        _held.pop().lock.release()


def _in_child() -> None:
    machines = [*_held]
    _in_parent()
    for machine in machines:
        machine.in_child()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
