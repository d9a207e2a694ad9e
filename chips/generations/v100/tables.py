"""Layouts of STARS v1, the few rules that every builder of it shares, and how a builder is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from chips.env import EncodeEnv, TaskIds
from chips.layout import Layout, load_layouts
from chips.registry import Encode, Later, TaskOps
from chips.tasks import Task
from chips.yaml_file import beside

LAYOUTS = load_layouts(beside(__file__, "sqe.yaml"))
"""Entries of the ring (sqe.yaml)."""

DESCRIPTORS = load_layouts(beside(__file__, "descriptor.yaml"))
"""Descriptors in device memory that entries point to (descriptor.yaml)."""

DEFAULT_CREDIT = 254
"""Credit of everything that has no time limit of its own."""

NEVER_CREDIT = 255
"""Credit of waits: they do not run out."""

FUNCTION_ALIGN = 256
"""Alignment of a function block that a condition entry calls, in bytes."""

_WORD = 4
_SYNC_FLAG = 0x8000


def sync_stream_id(env: EncodeEnv) -> int:
    """Stream id of a task the caller waits for: bit 15 tells the scheduler, unless recycling runs separately."""
    return env.stream_id if env.separate_recycle else env.stream_id | _SYNC_FLAG


def watched_after(env: EncodeEnv) -> bool:
    """Whether the scheduler must look after the entry: a debugger is registered and the stream runs at once."""
    return env.debug_registered and not env.bound


def head(env: EncodeEnv, ids: TaskIds) -> dict[str, int]:
    """Return the header fields of most messages: whose they are, and whether they are reported."""
    return {"stream_id": env.stream_id, "task_id": ids.task_id, "wr_cqe": env.dvpp_group}


class BadFunction(ValueError):
    """A function block that condition entries cannot call."""


def call(layout: Layout, env: EncodeEnv, ids: TaskIds, function: int, size: int, **fields: int) -> bytes:
    """Build the call of a block of ``size`` bytes at ``function``; BadFunction unless aligned and of whole words."""
    if function % FUNCTION_ALIGN or size % _WORD or size <= 0:
        raise BadFunction(
            f"{layout.name}: function block of {size} bytes at {function:#x}; the address must be a multiple of "
            f"{FUNCTION_ALIGN}, the size one or more whole words of {_WORD} bytes"
        )
    return layout.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        function_top=function >> 49,
        function_mid=function >> 32 & 0x1FFFF,
        function_low=function & 0xFFFFFFFF,
        length=size // _WORD,
        **fields,
    )


def ops(
    encode: Encode,
    layouts: str,
    *samples: type[Task] | Later | Task,
    verified: Literal["bytes", "rule"] = "bytes",
    sqes: int | Callable[[Any, Any], int] = 1,
    placeholder: bool = False,
) -> TaskOps:
    """Register a builder: the layouts it may write, by name, and tasks (or their classes) to prove it with."""
    made = tuple(Later(each) if isinstance(each, type) else each for each in samples)
    return TaskOps(
        type=made[0].type,
        encode=encode,
        table=LAYOUTS,
        layouts=tuple(layouts.split()),
        samples=made,
        verified=verified,
        sqes=sqes,
        placeholder=placeholder,
    )
