"""Checkers: they watch what a program does on the fake and report what would go wrong sooner or later.

`fake://ascend910b3?check=all` turns all of them on, `check=race,uaf` some:

========  =====================================================================================
race      two streams (or a stream and a copy of the host) touch the same bytes, one writes, unordered
uaf       memory is freed while tasks use it, or used by a task that was submitted before it existed
bounds    a task touches more than was allocated
source    host memory changes between the submission of an asynchronous copy and the copy
deadlock  waits that form a cycle, or that nothing submitted will end
stale     a graph is executed again after memory that it uses was freed
update    a graph's tasks are changed while an execution may be reading them
leak      something is in use on a card that is closed
========  =====================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from fakes.checkers.hub import Checks
    from fakes.checkers.report import CHECKS, CheckFailed, Report, Reports
else:
    __getattr__, __dir__ = late.names(__name__, {
        "fakes.checkers.hub": "Checks",
        "fakes.checkers.report": "CHECKS CheckFailed Report Reports",
    })  # fmt: skip

__all__ = ["CHECKS", "CheckFailed", "Checks", "Report", "Reports"]
