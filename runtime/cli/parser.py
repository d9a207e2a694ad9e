"""Command lines: help with examples, and complaints that name what was probably meant."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from npuhal.words import close_names

__all__ = ["Parser", "UsageError", "columns"]

_CHOICE = r"invalid choice: '(.*?)' \(choose from (.*)\)"
_UNKNOWN = "unrecognized arguments: "
_INDENT = "  "
_LEAST_WIDTH = 20
_USUAL_WIDTH = 80
_DASHES = "\0--"


class UsageError(Exception):
    """A sub-command was given arguments it cannot use: exit status 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError, with the nearest option or choice as the cure."""

    keeps_dashes = False
    """Whether `--` is a word of the command's."""

    def __init__(self, prog: str, description: str = "", examples: Sequence[tuple[str, str]] = (), status: str = "",
                 commands: Sequence[tuple[str, str]] = (), **settings: object) -> None:
        """Make a parser.

        Args:
            examples: (command line, what it does), shown at the end of the help.
            status: what the exit status means.
            commands: (name, what it does), shown before the examples.
        """
        super().__init__(
            prog=prog, description=description, formatter_class=_Help, **settings,  # type: ignore[arg-type]
        )  # fmt: skip
        self._end = (("commands:", commands), ("examples:", examples)), status

    def format_help(self) -> str:
        """Return the help; its end is made for the width of the terminal."""
        sections, status = self._end
        parts = [columns(title, rows) for title, rows in sections if rows]
        parts += [f"exit status: {status}"] if status else []
        self.epilog = "\n\n".join(parts)
        return super().format_help()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; where `keeps_dashes` is set, `--` is a word like others, which argparse takes out of its place."""
        if self.keeps_dashes and args is not None:
            args = [_DASHES if word == "--" else word for word in args]
        found = super().parse_args(args, namespace)
        if self.keeps_dashes:
            for name, value in vars(found).items():
                if isinstance(value, list):
                    setattr(found, name, ["--" if word == _DASHES else word for word in value])
        return found

    def error(self, message: str) -> NoReturn:
        """Complain about the command line."""
        import re  # late, as what follows: for a mistake or the help only

        known: Iterable[str] = ()
        word = ""
        if message.startswith(_UNKNOWN):
            word = message.removeprefix(_UNKNOWN).split()[0]
            known = _options(self) if word.startswith("-") else ()
        elif found := re.search(_CHOICE, message):
            word, known = found[1], re.findall(r"[\w-]+", found[2])
        message = message.replace(", ...", "")
        near = close_names(word.partition("=")[0], known)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"{self.prog}: {message}", f"{hint}`{self.prog} --help` says what there is")


class _Help(argparse.HelpFormatter):
    """Wraps what is one paragraph, and leaves alone what has lines of its own."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{"width": _width(), **settings})

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        parts = (part if "\n" in part else textwrap.fill(part, width) for part in text.split("\n\n"))
        return "\n\n".join(parts)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _options(below)


def columns(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a title and below it rows of two columns, as wide as the terminal; long first cells stand alone."""
    import textwrap

    rows = list(rows)
    width = max(_width(), _LEAST_WIDTH)
    first = max((len(left) for left, _ in rows), default=0)
    beside = len(_INDENT) + first + 2 + _LEAST_WIDTH <= width
    lines = [title]
    for left, right in rows:
        if beside:
            start = f"{_INDENT}{left:<{first}}  "
            lines += textwrap.wrap(right, width, initial_indent=start, subsequent_indent=" " * len(start))
        else:
            lines.append(_INDENT + left)
            lines += textwrap.wrap(right, width, initial_indent=_INDENT * 3, subsequent_indent=_INDENT * 3)
    return "\n".join(lines)


def _width() -> int:
    """Return how wide a help text is: what `shutil` says of the terminal, which argparse loads for each argument."""
    try:
        columns = int(os.environ.get("COLUMNS", 0))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):  # there is none, it is closed, or it is no terminal
            columns = 0
    return (columns or _USUAL_WIDTH) - 2
