"""Finds and reads rows of the HAL's declaration tables (`npuhal.tables`), one row at a time.

A table is text in a small C-like language; a row belongs to the header named by the last `from` line above it::

    from ascend_hal_base.h
    halSqTaskSend(devId: u32, info: inout halTaskSendInfo*) -> drvError_t
    struct halTaskSendInfo { type: drvSqCqType_t, tsId: u32, ... }      # also union { }, `u32 { name:bits, ... }`
    enum tagDrvSqCqType drvSqCqType_t { DRV_NORMAL_TYPE, ... }          # tag, then the typedef's name if it has one
    callback halfaulteventcb(info: halFaultEventInfo*) -> void
    macros { SQCQ_RESV_LENGTH = 8, ... }
    requests TSDRV X both trs_res_id_para { TRS_RES_ID_ALLOC = 0, ... }    # ioctls: module, type, direction, argument

`@7.36.25` after a name marks a row that holds from that version of the header on; without it, from the first.
Looking up a name scans the text for row heads only; the body is parsed when somebody needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module

from npuhal.tuples import NamedTuple
from npuhal.version import encode_version

CHAPTERS = (
    "errors", "device", "queues", "memory", "resources", "info", "dma", "vmm", "faults", "process", "ipc", "shared_ids",
    "pools", "p2p", "snapshot", "esched", "message_queue", "mbuf", "hdc", "profiling", "logging", "firmware",
)  # fmt: skip
"""Names of the chapters, in the order a lookup tries them: those of the ordinary path first."""

KERNEL_CHAPTERS = ("ioctl_trs", "ioctl_ids", "ioctl_info", "ioctl_svm2", "ioctl_svm3", "ioctl_queue", "ioctl_hdc",
                   "ioctl_esched")
"""Chapters of the kernel interface (`npuhal.ioctl`); their structs may contain those of the HAL."""

FIRST_VERSION = 0
"""Version that every row without a mark holds from."""


class Row(NamedTuple):
    """One declaration: where it stands and its unparsed body."""

    kind: str
    """`function`, `callback`, `struct`, `union`, `enum`, `macros` or `requests`."""
    name: str
    """C name; the tag of a struct or enum; for requests, what they share; empty for macros and unnamed enums."""
    alias: str
    """The typedef's name where it differs from the tag, else empty."""
    since: int
    """Header version the row holds from (major<<16 | minor<<8 | patch), or `FIRST_VERSION`."""
    header: str
    """The header that declares it."""
    chapter: str
    """The chapter's name."""
    body: str
    """Text between the brackets."""
    result: str
    """Return type of a function or callback, else empty."""


class Item(NamedTuple):
    """One element of a body: an argument, a field, or a nested group."""

    name: str
    """C name; empty for an anonymous group."""
    type: str
    """Type text (`u32`, `halTsegInfo*`, `u32[8]`), or `struct` / `union` / a storage unit for a group."""
    direction: str
    """`in`, `out` or `inout`; always `in` for a field."""
    repeat: int
    """Number of array elements of a group, 1 otherwise."""
    items: tuple[Item, ...]
    """The group's own elements; for a storage unit, its bit-fields with the width as `type`."""


_MARK = r"(?:\ @(?P<since{0}>[\d.]+))?"
_ROW = re.compile(
    r"^from\ (?P<header>\S+)$"
    rf"|^(?P<callback>callback\ )?(?P<function>\w+){_MARK.format(1)}\((?P<args>[^)]*)\)\ ->\ (?P<result>\S+)$"
    rf"|^(?P<kind>struct|union|enum|macros|requests)(?P<words>(?:\ \w+)*){_MARK.format(2)}\ "
    r"\{(?P<body>.*?)\}$(?=\n(?![ }]))",
    re.MULTILINE | re.DOTALL,
)
_TOKEN = re.compile(r"[{}:,]|[^{}:,\s][^{}:,]*")


@cache
def chapter_rows(chapter: str) -> tuple[Row, ...]:
    """Return the rows of one chapter in the order they are written, bodies unparsed."""
    rows = []
    header = ""
    for match in _ROW.finditer(_text(chapter)):
        if match["header"]:
            header = match["header"]
            continue
        since = match["since1"] or match["since2"]
        words = (match["words"] or "").split()
        if match["kind"] == "requests":
            words = [" ".join(words)]
        rows.append(
            Row(
                kind=match["kind"] or ("callback" if match["callback"] else "function"),
                name=match["function"] or (words[0] if words else ""),
                alias=words[1] if len(words) > 1 else "",
                since=encode_version(since) if since else FIRST_VERSION,
                header=header,
                chapter=chapter,
                body=match["args"] if match["function"] else match["body"],
                result=match["result"] or "",
            )
        )
    return tuple(rows)


_INDEXES: dict[str, dict[str, list[Row]]] = {}
"""The rows of the chapters that were read, by their C names and typedef names, in their order."""


def _rows_of(name: str, chapter: str) -> Sequence[Row]:
    """Return the rows of a name in a chapter; one that is not read yet, and has not the name, stays so."""
    index = _INDEXES.get(chapter)
    if index is None:
        if name not in _text(chapter):  # a plain text search
            return ()
        index = {}
        for row in chapter_rows(chapter):
            for each in {row.name, row.alias} - {""}:
                index.setdefault(each, []).append(row)
        _INDEXES[chapter] = index
    return index.get(name, ())


def all_rows(*kinds: str, chapters: tuple[str, ...] = CHAPTERS) -> Iterator[Row]:
    """Yield every row of the given kinds, chapter by chapter."""
    for chapter in chapters:
        for row in chapter_rows(chapter):
            if row.kind in kinds:
                yield row


def find(
    name: str, kinds: tuple[str, ...], version: int = FIRST_VERSION, chapters: tuple[str, ...] = CHAPTERS
) -> Row | None:
    """Return the row of a C name (or typedef name) that holds at `version`, or None.

    A name that only newer headers declare is found at any version: whether a library has it is not decided here.
    """
    for chapter in chapters:
        best: Row | None = None
        for row in _rows_of(name, chapter):
            if row.kind in kinds and (row.since <= version or best is None):
                best = row
        if best is not None:
            return best  # all versions of a declaration stand in one chapter
    return None


def find_value(name: str) -> int | str | None:
    """Return the value of an enumerator or macro, or None if there is none; a few macros are strings."""
    for chapter in CHAPTERS:
        values = _VALUES.get(chapter)
        if values is None:
            if name not in _text(chapter):
                continue
            values = _VALUES[chapter] = _chapter_values(chapter)
        if (value := values.get(name)) is not None:
            return value
    return None


def parse_items(body: str) -> tuple[Item, ...]:
    """Parse an argument or field list."""
    tokens = [token.strip() for token in _TOKEN.findall(body)]
    items, end = _items(tokens, 0)
    if end != len(tokens):
        raise ValueError(f"unbalanced bracket in declaration {body!r}")
    return items


def parse_values(body: str) -> dict[str, int | str]:
    """Parse the body of an enum or macros row: a name without a value is its predecessor plus one, as in C."""
    values: dict[str, int | str] = {}
    following = 0
    for part in body.split(","):
        name, _, text = part.partition("=")
        if text := text.strip():
            if text.startswith('"'):
                values[name.strip()] = text.strip('"')
                continue
            following = int(text, 0)
        values[name.strip()] = following
        following += 1
    return values


_VALUES: dict[str, dict[str, int | str]] = {}
"""The values of the chapters that were read, by their names."""


def _chapter_values(chapter: str) -> dict[str, int | str]:
    """Return the values of one chapter; where header versions differ, those of the first."""
    values: dict[str, int | str] = {}
    for row in sorted(chapter_rows(chapter), key=lambda row: -row.since):
        if row.kind in ("enum", "macros"):
            values.update(parse_values(row.body))
    return values


@cache
def _text(chapter: str) -> str:
    text: str = import_module(f"npuhal.tables.{chapter}").TABLE
    return text


def _items(tokens: list[str], at: int) -> tuple[tuple[Item, ...], int]:
    items: list[Item] = []
    while at < len(tokens) and tokens[at] != "}":
        name = tokens[at]
        at += 1
        kind, direction = name, "in"
        if at < len(tokens) and tokens[at] == ":":
            kind = tokens[at + 1]
            at += 2
        else:
            name = ""
        head, _, rest = kind.partition(" ")
        if head in ("in", "out", "inout") and rest:
            kind, direction = rest, head
        nested: tuple[Item, ...] = ()
        repeat = 1
        if at < len(tokens) and tokens[at] == "{":
            nested, at = _items(tokens, at + 1)
            at += 1
            if at < len(tokens) and tokens[at].startswith("["):
                repeat = int(tokens[at].strip("[] "))
                at += 1
        items.append(Item(name, kind, direction, repeat, nested))
        if at < len(tokens) and tokens[at] == ",":
            at += 1
    return tuple(items), at
