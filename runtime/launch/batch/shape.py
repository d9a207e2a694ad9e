"""Shapes of batches: which steps go together in runs, and all of their SQEs that does not depend on values.

A shape follows from the kinds of the steps alone. A program that makes the same batch again and again gets the shape
that was made for the first one, and only fills it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from runtime.core.diagnostics.counters import counted
from runtime.launch.args import SLOT_BYTES, STORE_BYTES
from runtime.launch.batch.kinds import Kind, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runtime.core.diagnostics.counters import Counts
    from runtime.core.stream.stream import Stream

Kinds = tuple["Kind | Rows | None", ...]
Picked = Callable[[Sequence[Any]], Sequence[Any]]
_MOST_PIECES = 64


def picker(indexes: list[int]) -> Picked:
    """Return the function that takes these items out of a sequence."""
    if len(indexes) > 1:
        return itemgetter(*indexes)
    return lambda items: [items[index] for index in indexes]


class Shape:
    """What batches have in common whose steps are of the same kinds in the same order.

    Attributes:
        parts: in order, the runs, and the numbers of steps that go by themselves.
        images: takes the images of launches out of the values.
        kernels: what is launched.
    """

    __slots__ = ("images", "kernels", "parts")

    def __init__(self, stream: Stream, kinds: Kinds) -> None:
        single = [kind.kind if isinstance(kind, Rows) else kind for kind in kinds]
        distinct = [kind for kind in dict.fromkeys(single) if kind is not None]
        self.kernels = [*dict.fromkeys(kind.kernel for kind in distinct if kind.kernel is not None)]
        self.images = picker([step for step, kind in enumerate(single) if kind is not None and kind.size])
        self.parts: list[RunShape | int] = []
        for each in distinct:
            each.cut(stream)
        largest = max((pool.size for pool in stream.device.arguments.pools), default=STORE_BYTES)
        members: list[Member] = []
        offset_words: tuple[tuple[int, int], ...] = ()
        start = space = 0

        def close() -> None:
            if members:
                self.parts.append(RunShape(members))
                members.clear()

        for step, kind in enumerate(single):
            of = kinds[step]
            count = of.count if isinstance(of, Rows) else 1
            if kind is None or not kind.fixed:
                close()
                self.parts.append(step)
                start += 0 if kind is None else kind.size * count
                continue
            size, number = kind.size, kind.number
            for row in range(count):
                other = size and offset_words and kind.offset_words != offset_words
                if members and (space < size or members[0][0].number != number or other):
                    close()
                if not members:
                    space, offset_words = largest, ()
                if size:
                    space, offset_words = space - size, kind.offset_words
                members.append((kind, step, row, start))
                start += size
        close()


Member = tuple[Kind, int, int, int]
"""A task of a run: its kind, its step, which row of that it is, and where its arguments begin in the batch's image."""


class RunShape:
    """Neighbours that can go together, as columns."""

    __slots__ = ("_contexts", "_counted", "_indexes", "_infos", "_keeping", "_launches", "_offset_words", "_offsets",
                 "_pieces", "_published", "_starts", "count", "kept", "members", "number", "puts", "rows")  # fmt: skip

    def __init__(self, members: list[Member]) -> None:
        import numpy as np

        kinds = [kind for kind, _, _, _ in members]
        self.count = len(members)
        self.members = [(step, row) for _, step, row, _ in members]
        """Step and row of each task."""
        self._infos = [kind.info for kind in kinds]
        names = {kind: counted([kind.info])[0][0] for kind in dict.fromkeys(kinds)}
        self._counted: dict[str, list[int]] = {}
        """Which tasks are of each kind, as counters have it: pieces are looked at once each, where a ring ends."""
        for at, kind in enumerate(kinds):
            self._counted.setdefault(names[kind], []).append(at)
        self.rows = b"".join([kind.fixed for kind in kinds])
        self.number = kinds[0].number
        size = len(kinds[0].fixed)
        self.puts = [(kind.put, at * size, step) for at, (kind, step, _, _) in enumerate(members) if kind.put]
        """What writes values into the SQEs: by `put(rows, offset, values)`, those of a step."""
        self._keeping = [at for at, kind in enumerate(kinds) if kind.keeps]
        self.kept = picker([members[at][1] for at in self._keeping])
        """Takes out of the things of all steps what has to live until the tasks are done."""
        self._published: NDArray[np.uint8] | None = None
        if kinds[0].published:
            self._published = np.array([kind.published for kind in kinds], np.uint8)
        self._launches = launches = [at for at, kind in enumerate(kinds) if kind.kernel is not None]
        self._indexes = np.array(launches, np.intp)
        self._starts = [members[at][3] for at in launches]
        begins = np.array(self._starts, np.uint64)
        leading = kinds[launches[0]] if launches else kinds[0]
        self._offset_words = leading.offset_words
        self._offsets = [
            begins + np.array([kinds[at].biases[word] for at in launches], np.uint64)
            for word in range(len(self._offset_words))
        ]
        contexts = [
            (number, start + first, start + added)
            for number, (at, start) in enumerate(zip(launches, self._starts, strict=True))
            for first, added in kinds[at].context
        ]
        self._contexts = np.array(contexts, np.uint64).reshape(-1, 3)
        """Of each address in the contexts of launches: which launch, its place in the image, and what it adds."""
        if launches:
            self._starts.append(self._starts[-1] + kinds[launches[-1]].size)
        self._pieces: dict[tuple[int, int], Piece] = {}

    def piece(self, at: int, count: int) -> Piece:
        """Return a part of the run: so many tasks from number `at` on."""
        found = self._pieces.get((at, count))
        if found is None:
            if len(self._pieces) >= _MOST_PIECES:
                self._pieces.clear()
            found = self._pieces[at, count] = self._cut(at, count)
        return found

    def _cut(self, at: int, count: int) -> Piece:
        behind, launches = at + count, self._launches
        first, last = bisect_left(launches, at), bisect_left(launches, behind)
        begin, end = (self._starts[first], self._starts[last]) if last > first else (0, 0)
        where: Any = slice(0, count) if last - first == count else self._indexes[first:last] - at
        kinds = [
            (name, number)
            for name, tasks in self._counted.items()
            if (number := bisect_left(tasks, behind) - bisect_left(tasks, at))
        ]
        return Piece(
            at, count, self._infos[at:behind], kinds, begin, end,
            [(word, where, offsets[first:last] - begin)
             for word, offsets in zip(self._offset_words, self._offsets, strict=True)] if last > first else [],
            self._contexts_of(first, last, begin) if len(self._contexts) else None,
            None if self._published is None else self._published[at:behind],
            slice(bisect_left(self._keeping, at), bisect_left(self._keeping, behind)),
        )  # fmt: skip

    def _contexts_of(self, first: int, last: int, begin: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
        """Return the addresses in the contexts of launches number `first` to `last`, whose image begins at `begin`."""
        launches = self._contexts[:, 0]
        of = self._contexts[launches.searchsorted(first) : launches.searchsorted(last)]
        return ((of[:, 1] - begin) // SLOT_BYTES, of[:, 2] - begin) if len(of) else None


class Piece:
    """What the driver gets of a run with one call.

    Attributes:
        at, count: number of the first task, and how many.
        infos: who they are, and `kinds`: how many of each kind, as counters have it.
        begin, end: their part of the batch's image.
        addresses: of each word of launches with an address in their block: the word, which of the SQEs have it, and
            what each adds to the address of the block.
        contexts: the addresses in the contexts of launches: where they are in the part of the image, in 8-byte words,
            and what each adds to the address of the block; None where there are none.
        published: the byte that asks for the queue's head, for the SQEs that do; None where none does.
        kept: which of the things that the run keeps are for these tasks.
    """

    __slots__ = ("addresses", "at", "begin", "contexts", "count", "end", "infos", "kept", "kinds", "published")

    def __init__(
        self, at: int, count: int, infos: list[Any], kinds: Counts, begin: int, end: int, addresses: list[Any],
        contexts: Any, published: NDArray[np.uint8] | None, kept: slice,
    ) -> None:
        self.at, self.count, self.infos, self.kinds = at, count, infos, kinds
        self.begin, self.end, self.addresses, self.contexts = begin, end, addresses, contexts
        self.published, self.kept = published, kept
