"""Kinds of tasks in a batch: what those have in common whose SQEs differ in their number and a few words."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import CoreKernel
from chips.template import WORD_CODES
from runtime.core.submission.prepared import template_of
from runtime.core.submission.runs import PUBLISHES
from runtime.launch.args import SLOT_BYTES, STORE_BYTES, block_bytes
from runtime.launch.templates import context_template, launch_template, lead_of
from runtime.launch.unrolled import Frame, Image, OtherTypes

if TYPE_CHECKING:
    from chips.layout import Template
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import Epoch
    from runtime.core.submission.ring import TaskInfo
    from runtime.launch.kernel import Kernel

_MOST_ROWS = 64
"""Numbers of rows that a kind remembers."""


class Arguments:
    """How the arguments of launches of one kind lie in the image of a batch."""

    __slots__ = ("blank", "context", "count", "first", "frame")

    def __init__(self, stream: Stream, kernel: Kernel, task: CoreKernel, count: int) -> None:
        """Args:
            count: arguments that each launch gives.
        """
        lead = lead_of(stream, task)
        before, behind = kernel.hidden_words()
        self.count = count
        self.frame = Frame(lead, before, behind, stream.device.owner_tag)
        self.first = lead + len(before) * SLOT_BYTES
        """Where the arguments of a launch begin in its part of the image."""
        blank = bytearray(block_bytes((lead + task.args_size) // SLOT_BYTES, lead or STORE_BYTES))
        struct.pack_into(f"<{len(before)}Q", blank, lead, *before)
        struct.pack_into(f"<{len(behind)}Q", blank, self.first + count * SLOT_BYTES, *behind)
        self.context: tuple[tuple[int, int], ...] = ()
        """Of each address of the arguments in the context: its first byte, and what is added to the address."""
        if lead:
            context = context_template(stream, task)
            blank[:lead] = context.row
            self.context = tuple(
                (word.offset, bias + lead) for word, bias in zip(context.words, context.bias, strict=True)
            )
        self.blank = bytes(blank)
        """The part of a launch without its arguments: the context of a mix kernel that has one, the runtime's words."""


def none_packed(_: tuple[Any, ...]) -> bytes:
    """Pack nothing: what no type of arguments is packed by."""
    raise OtherTypes


class Kind:
    """What steps have in common whose SQEs differ in their number and a few words.

    `alone(values, things)` sends one by itself; `keeps` says whether its things live until it is done.
    """

    __slots__ = ("_epoch", "_rows", "alone", "arguments", "biases", "context", "fixed", "info", "keeps", "kernel",
                 "number", "offset_words", "pack", "published", "put", "size", "task", "varied")  # fmt: skip

    def __init__(self, task: Task, info: TaskInfo, alone: Callable[[Any, Any], object], *varied: str,
                 kernel: Kernel | None = None, arguments: Arguments | None = None) -> None:
        self.task, self.info, self.alone, self.varied, self.kernel = task, info, alone, varied, kernel
        self.arguments = arguments
        self.size = 0 if arguments is None else len(arguments.blank)
        """Bytes that a launch takes in the image of a batch."""
        self.context = () if arguments is None else arguments.context
        self.pack: Image = none_packed
        """What has packed the arguments of the last launch."""
        self.keeps = kernel is None
        self.number = (0, 0)
        """First byte and bytes of the word for the number."""
        self.offset_words: tuple[tuple[int, int], ...] = ()
        """The same of the words for the address of a launch's block; each adds one of `biases` to it."""
        self.biases: tuple[int, ...] = ()
        self.put: Callable[[bytearray, int, Any], None] | None = None
        """`put(rows, offset, values)` writes what else varies into an SQE."""
        self.fixed = b""
        """The SQE, but for its number and what varies; nothing where it cannot be part of a run."""
        self.published = 0
        self._rows: dict[int, Rows] = {}
        self._epoch: Epoch | None = None

    def cut(self, stream: Stream) -> None:
        """Encode the task and cut it at what varies."""
        epoch = stream.epoch.now  # before the facts that it stands for are looked at
        if self._epoch is epoch:
            return
        if self.kernel is None:
            template = template_of(stream, self.task, *self.varied)
        else:
            assert isinstance(self.task, CoreKernel)
            template = None if self.varied else launch_template(stream, self.task)
        self.fixed = b"" if template is None else template.row
        if template is not None:
            words = [(word.offset, word.width // 8) for word in template.words]
            self.number = words[0]
            if self.kernel is not None:
                self.offset_words, self.biases = tuple(words[1:]), template.bias[1:]
            else:
                self.put = _putter(template, self.varied)
            if stream.env.ub_connected:
                self.published = stream.plugin.publishing(template).row[PUBLISHES]
        self._epoch = epoch

    def rows(self, count: int) -> Rows:
        """Return the kind of so many launches of this kind that are noted at once."""
        found = self._rows.get(count)
        if found is None:
            if len(self._rows) >= _MOST_ROWS:
                self._rows.clear()
            found = self._rows[count] = Rows(self, count)
        return found


class Rows:
    """Launches of one kind that are noted at once; the values of such a step are their parts of the image."""

    __slots__ = ("count", "kind")

    def __init__(self, kind: Kind, count: int) -> None:
        self.kind, self.count = kind, count

    def arguments(self, image: bytes) -> list[list[int]]:
        """Return the arguments of each launch."""
        import numpy as np

        how = self.kind.arguments
        assert how is not None
        first = how.first // SLOT_BYTES
        table = np.frombuffer(image, np.uint64).reshape(self.count, -1)
        words: list[list[int]] = table[:, first : first + how.count].tolist()
        return words


def by_itself(kind: Kind | Rows | None, values: Any, things: Any) -> Iterator[Callable[[], object]]:
    """Yield what sends each task of a step alone; without a kind that is its value."""
    if kind is None:
        yield values
    elif isinstance(kind, Rows):
        for row in kind.arguments(values):
            yield partial(kind.kind.alone, None, row)
    else:
        yield partial(kind.alone, values, things)


def _putter(template: Template, varied: tuple[str, ...]) -> Callable[[bytearray, int, Any], None] | None:
    """Return what writes the values that vary, given in this order, and what stands between them, into an SQE."""
    if not varied:
        return None
    form, values, scope = ["<"], [], dict[str, Any]()
    for index, (name, word, bias) in enumerate(zip(template.names, template.words, template.bias, strict=True)):
        if not index:
            continue  # the number
        if index > 1:
            form.append(f"{len(template.runs[index])}s")
            values.append(f"run_{index}")
            scope[f"run_{index}"] = template.runs[index]
        form.append(WORD_CODES[word.width])
        values.append(f"values[{varied.index(name)}]{f' + {bias}' if bias else ''}")
    scope["pack_into"] = struct.Struct("".join(form)).pack_into
    first, packed = template.words[1].offset, ", ".join(values)
    source = f"put = lambda rows, offset, values: pack_into(rows, offset + {first}, {packed})"
    exec(compile(source, "<runtime/launch/batch/kinds.py>", "exec"), scope)
    made: Callable[[bytearray, int, Any], None] = scope["put"]
    return made
