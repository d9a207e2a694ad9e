"""Where in the user's program a call of the module stands, and warnings that point there."""

from __future__ import annotations

import ast
import bisect
import dis
import linecache
from functools import lru_cache
from types import CodeType, FrameType

from runtime.errors import misuse

_PACKAGE = __name__.rpartition(".")[0]
_REACH = 40
"""Instructions behind an unpacking in which its targets are looked for."""


def caller() -> FrameType:
    """Return the frame of the program that called into this package."""
    return misuse.caller((_PACKAGE,))


def text_of(frame: FrameType) -> str:
    """Return `file:line` of a frame."""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the line of the program that called into this package; once per line, unless filters say otherwise."""
    misuse.warn_at(caller(), text, category)


@lru_cache
def _listing(code: CodeType) -> tuple[list[int], list[dis.Instruction]]:
    found = list(dis.get_instructions(code))
    return [each.offset for each in found], found


def _following(frame: FrameType) -> list[dis.Instruction]:
    """Return the instruction that a frame is in and those behind it.

    The position of a frame may be inside an instruction: behind a call come words of the interpreter's own.
    """
    offsets, found = _listing(frame.f_code)
    index = bisect.bisect_right(offsets, frame.f_lasti) - 1
    return found[index : index + _REACH]


def unpacked_into(frame: FrameType) -> list[str]:
    """Return the names that the unpacking under way in a frame stores to; none if it is not unpacking."""
    found = _following(frame)
    if not found or found[0].opname != "UNPACK_SEQUENCE":
        return []
    names: list[str] = []
    for each in found[1:]:
        if each.opname.startswith("STORE_"):
            names += each.argval if isinstance(each.argval, tuple) else [str(each.argval or "")]
        if len(names) >= int(found[0].arg or 0):
            break
    return names


def is_dropped(frame: FrameType) -> bool:
    """Return whether the result of the call under way in a frame is thrown away."""
    found = _following(frame)
    return len(found) > 1 and found[1].opname == "POP_TOP"


def argument_texts(frame: FrameType) -> list[str]:
    """Return the source of the arguments of the call under way; none where there is no source to read."""
    try:
        tree = ast.parse(linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip())
    except SyntaxError:  # part of a longer statement
        return []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [ast.unparse(argument) for argument in calls[-1].args] if len(calls) == 1 else []
