"""The device side: reads 64-byte SQEs out of the ring, decodes them with the chip's plug-in, and executes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from fakes.executor.executor import Executor, handlers
    from fakes.executor.task import WAIT, Handler, Task
else:  # what executes is loaded with the first task: null:// never needs it
    __getattr__, __dir__ = late.names(__name__, {
        "fakes.executor.executor": "Executor handlers", "fakes.executor.task": "WAIT Handler Task",
    })

__all__ = ["WAIT", "Executor", "Handler", "Task", "handlers"]
