"""Where a sub-command writes: a terminal gets rich tables and colour, a pipe gets plain text and no escape codes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO

from npuhal.words import shortened

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Output"]

_WIDEST = 120
"""Columns of a table in a pipe, where its words allow it."""


class Output:
    """Writes results to ``stream`` and complaints to ``errors`` (standard output and error unless given)."""

    def __init__(self, stream: TextIO | None = None, errors: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        self.errors = sys.stderr if errors is None else errors

    @property
    def is_terminal(self) -> bool:
        """Whether a person is reading."""
        return self.stream.isatty()

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line; ``style`` is a rich style such as ``bold red`` and is dropped in a pipe."""
        if style and self.is_terminal:
            _console(self.stream).print(text, style=style, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self.stream)

    def prose(self, text: str) -> None:
        """Write a long line; in a pipe it is wrapped at 120 columns."""
        import textwrap  # late, as `json` below: what a command does not write need not be loaded

        self.line(text if self.is_terminal else textwrap.fill(text, _WIDEST, subsequent_indent="  "))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
        """Write rows under column heads; cells are wrapped in a narrow terminal, and at 120 columns in a pipe."""
        cells = [[str(cell) for cell in row] for row in rows]
        if self.is_terminal:
            self._rich_table(columns, cells, title)
            return
        widths = _plain_widths(list(zip(columns, *cells, strict=True)))
        if widths is None:
            self._records(columns, cells, title)
            return
        import textwrap

        if title:
            print(title, file=self.stream)
        for row in (columns, *cells):
            parts = [textwrap.wrap(cell, max(width, 1)) or [""] for cell, width in zip(row, widths, strict=True)]
            for line in zip_longest(*parts, fillvalue=""):
                padded = (part.ljust(width) for part, width in zip(line, widths, strict=True))
                print("  ".join(padded).rstrip(), file=self.stream)

    def json(self, value: object) -> None:
        """Write a value as indented JSON; objects that JSON lacks are written as their text."""
        import json

        print(json.dumps(value, indent=2, default=str), file=self.stream)

    def error(self, message: str, hint: str = "") -> None:
        """Write a complaint, and its cure on a line of its own, to the error stream."""
        self._complain("error: ", "bold red", message, hint)

    def note(self, message: str, hint: str = "") -> None:
        """Write what the user may not have meant, where the command goes on; and its cure, to the error stream."""
        self._complain("note: ", "bold", message, hint)

    def _complain(self, kind: str, colour: str, message: str, hint: str) -> None:
        for head, said, style in ((kind, message, colour), ("cure: ", hint, "bold green")):
            if not said:
                continue
            text = shortened(said)
            if self.errors.isatty():
                console = _console(self.errors)
                console.print(head, style=style, end="")
                console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                print(head + text, file=self.errors)

    @contextmanager
    def progress(self, text: str, total: int = 0) -> Iterator[Callable[[str], None]]:
        """Show that something slow is going on, on the error stream of a terminal only.

        Yields a call to be made with what comes next. With a `total` it also counts: "3/84 Ascend910B3, 12 s left".
        """
        if not self.errors.isatty():
            yield lambda _: None
            return
        steps = Steps(text, total)
        with _console(self.errors).status(text) as status:
            yield lambda what: status.update(steps.next(what))

    def _rich_table(self, columns: Sequence[str], cells: list[list[str]], title: str) -> None:
        width = _console(self.stream).width
        by_column = zip(columns, *cells, strict=True)
        least = (max(len(word) for cell in column for word in cell.split(" ")) for column in by_column)
        if len(columns) > 2 and sum(least) + 2 * (len(columns) - 1) > width:
            self._records(columns, cells, title)
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        _console(self.stream).print(table)


    def _records(self, columns: Sequence[str], cells: list[list[str]], title: str) -> None:
        """Write a table that has no space as one paragraph per row."""
        import textwrap

        if title:
            self.line(title)
        label = max(map(len, columns[1:]))
        for row in cells:
            self.line(f"{columns[0]} {row[0]}", style="bold")
            for name, cell in zip(columns[1:], row[1:], strict=True):
                for head, part in zip_longest((name,), textwrap.wrap(cell, _WIDEST - label - 4) or ("",), fillvalue=""):
                    self.line(f"  {head:<{label}}  {part}".rstrip())


class Steps:
    """The text of a progress line: how far it is, and the time that is left at the pace so far."""

    def __init__(self, text: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._text, self._total, self._clock = text, total, clock
        self._begun, self._done = clock(), -1

    def next(self, what: str) -> str:
        """Return the text for the step that begins now."""
        self._done += 1
        if not self._total:
            return f"{self._text} {what}"
        left = ""
        if self._done:
            seconds = (self._clock() - self._begun) / self._done * max(self._total - self._done, 0)
            left = f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"
        return f"{self._text} {min(self._done + 1, self._total)}/{self._total} {what}{left}"


def _plain_widths(table: list[tuple[str, ...]]) -> list[int] | None:
    """Return the widths of columns for a pipe: the widest are wrapped, as far as their words allow; None: no space."""
    widths = [max(map(len, column)) for column in table]
    least = [max(len(word) for cell in column for word in cell.split(" ")) for column in table]
    over = sum(widths) + 2 * (len(widths) - 1) - _WIDEST
    while over > 0:
        widest = max(range(len(widths)), key=lambda index: widths[index] - least[index])
        cut = min(over, max((widths[widest] - least[widest]) // 2, 1))
        if widths[widest] == least[widest]:
            return widths if len(widths) <= 2 else None  # two columns: the words themselves are long
        widths[widest] -= cut
        over -= cut
    return widths


def _console(stream: TextIO) -> Console:
    from rich.console import Console  # 60 ms: never for a pipe

    return Console(file=stream)
