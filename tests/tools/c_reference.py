"""`python -m tests.tools.c_reference` writes docs/c_api.md: the functions of the C API, what each refuses in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from runtime.capi.aclrt import names
from runtime.capi.aclrt.entry import CHAPTERS, Entry, find
from runtime.capi.aclrt.kinds import KINDS

TARGET = Path(__file__).resolve().parents[2] / "docs" / "c_api.md"

HEAD = """# The C API

Written by `python -m tests.tools.c_reference` from the entries of `runtime.capi.aclrt`. C programs reach these
functions through `libascendcl.so` ([shim.md](shim.md)), Python through `runtime.capi.aclrt` and pyACL.

The lists say what a call refuses, in the order in which it looks, with code and message id; the first one that holds is
the answer. 1000xx and EH messages are the acl layer's, which decides before anything else; what depends on the state of
the objects behind the handles follows these checks and is told by the errors themselves (`npuhal explain CODE`). `0` is
a success at once: nothing is to be done.
"""


def entries() -> tuple[Entry, ...]:
    """Return all functions, by chapters and in the order of their modules."""
    found = [entry for name in names() if (entry := find(name)) is not None]
    return tuple(sorted(found, key=lambda entry: (CHAPTERS.index(_chapter(entry)), _line(entry))))


def render() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for chapter, members in groupby(entries(), _chapter):
        parts.append(f"\n## {chapter.replace('.', ': ').replace('_', ' ').capitalize()}\n")
        parts += ["\n".join(_lines(entry)) for entry in members]
    return "\n".join(parts) + "\n"


def _chapter(entry: Entry) -> str:
    return entry.function.__module__.removeprefix("runtime.capi.aclrt.")


def _line(entry: Entry) -> int:
    return int(entry.function.__code__.co_firstlineno)


def _lines(entry: Entry) -> Iterator[str]:
    gives = KINDS[entry.answer.partition(" | ")[0]].c if entry.answer else "aclError"
    takes = ", ".join(each.c for each in entry.arguments) or "void"
    yield f"### {entry.name}\n"
    yield f"`{gives}{'' if gives.endswith('*') else ' '}{entry.name}({takes})`\n"
    yield (entry.function.__doc__ or "").splitlines()[0] + "\n"
    for number, check in enumerate(entry.checks, 1):
        yield f"{number}. {_escaped(check.rule)}: {check.answer}"
    if entry.checks:
        yield ""


def _escaped(text: str) -> str:
    return text.replace("_", r"\_").replace("*", r"\*").replace("<", "&lt;")


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
