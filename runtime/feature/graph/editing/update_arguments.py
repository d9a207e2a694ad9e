"""Other arguments for kernels of a graph, in place: stores into its argument memory, and copies of what has changed.

For one kernel that is one copy of its arguments; for all of them at once, one copy of each span of the memory.
"""
from __future__ import annotations

import ctypes
import struct
from functools import partial
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.errors.arguments import whole
from runtime.feature.graph.recording.node import Node, NodeKind
from runtime.launch.args import SLOT_BYTES, all_slots, single_slot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runtime.feature.graph import ports


class ArgumentSlot:
    """Where the arguments of one kernel lie; valid until it gets some elsewhere."""

    __slots__ = ("_copy", "_count", "_device", "_memory", "_pack", "_sent", "_view", "_word")

    def __init__(self, graph: ports.Graph, node: Node, address: int, view: memoryview) -> None:
        """Args:
            address, view: the span that they are in.
        """
        self._count = _visible(node)
        size, start = self._count * SLOT_BYTES, _start(node)
        self._device, self._memory = graph.device, graph.device.memory
        self._view = view[start - address : start - address + size]
        self._pack = struct.Struct(f"<{self._count}Q").pack
        tag = graph.device.owner_tag
        self._word = partial(single_slot, owner_tag=tag) if tag else single_slot
        self._copy = graph.device.hal.raw("drvMemcpy")
        words = ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64
        host = ctypes.addressof((ctypes.c_char * size).from_buffer(view, start - address))
        self._sent = tuple(make(value) for make, value in zip(words, (start, size, host, size), strict=True))

    def store(self, arguments: tuple[Any, ...]) -> bool:
        """Replace all arguments; False where their number does not fit."""
        try:
            data = self._pack(*map(self._word, arguments))
        except (ValueError, struct.error):
            words = all_slots(arguments, self._device)
            if len(words) != self._count:
                return False
            data = self._pack(*words)
        self._view[:] = data
        if rc := self._copy(*self._sent):
            raise self._memory.fault(rc, "drvMemcpy", f"arguments of {len(data)} bytes")
        return True


def slot_of(graph: ports.Graph, node: Node) -> ArgumentSlot | None:
    """Return where the arguments of a kernel lie in the graph's memory; None where they are elsewhere."""
    if node.kind is not NodeKind.KERNEL:
        return None
    start = _start(node)
    for address, view in graph.arguments.spans():
        if address <= start < address + len(view):
            return ArgumentSlot(graph, node, address, view)
    return None


class ArgumentTable:
    """Where the arguments of a graph's kernels lie; valid until one of them gets arguments elsewhere."""

    __slots__ = ("_columns", "_parts", "_rows")

    def __init__(self, graph: ports.Graph) -> None:
        """Look all kernels up.

        Raises:
            InvalidArgument 107000: the arguments of a kernel are not in the graph's memory.
        """
        import numpy as np

        nodes = [node for node in graph.nodes if node.kind is NodeKind.KERNEL]
        self._rows = len(nodes)
        self._columns = min((_visible(node) for node in nodes), default=0)
        """How many arguments the kernels have, the one with the fewest."""
        self._parts: list[tuple[int, memoryview, NDArray[np.uint64], NDArray[np.intp], NDArray[np.intp]]] = []
        """For each span: its address, its bytes, its words, which rows go there, and the word that each begins at."""
        starts_at = [_start(node) for node in nodes]
        held: set[int] = set()
        for address, view in graph.arguments.spans():
            rows = [row for row, start in enumerate(starts_at) if address <= start < address + len(view)]
            if rows:
                starts = [(starts_at[row] - address) // SLOT_BYTES for row in rows]
                words = np.frombuffer(view, np.uint64)
                self._parts.append((address, view, words, np.array(rows, np.intp), np.array(starts, np.intp)))
                held.update(rows)
        if len(held) < self._rows:
            raise _elsewhere(graph, next(node for row, node in enumerate(nodes) if row not in held))

    def store(self, graph: ports.Graph, values: Any, first: int) -> None:
        """Give each kernel the values of its row, from its argument number `first` on.

        Raises:
            InvalidArgument 107000: the shape does not fit the kernels.
        """
        import numpy as np

        table, first = _words(values), whole("graph.update_arguments", "first", first)
        most = self._columns - first
        if table.ndim != 2 or len(table) != self._rows or first < 0 or not 0 < table.shape[1] <= most:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"arguments of shape {table.shape} from number {first} on, but {graph!r} "
                f"launches {self._rows} kernels with {self._columns} or more arguments each",
                hint="pass one row per kernel, in the order of graph.kernels, with a column per argument",
            )
        width = np.arange(first, first + table.shape[1])
        for address, view, words, rows, starts in self._parts:
            words[starts[:, None] + width] = table if len(rows) == self._rows else table[rows]
            low, end = int(starts[0]) * SLOT_BYTES, (int(starts[-1]) + self._columns) * SLOT_BYTES
            graph.device.memory.write(address + low, view[low:end])


def _words(values: Any) -> np.ndarray[Any, Any]:
    """Return integers as 64-bit words; anything else is refused instead of being cut."""
    import numpy as np

    table = np.asarray(values)
    if table.size and table.dtype.kind not in "iu":
        given = np.asarray(values, object).ravel().tolist()  # whole numbers as the caller has them
        words = [whole("graph.update_arguments", "an item of values", each) % (1 << 64) for each in given]
        table = np.array(words, np.uint64).reshape(table.shape)
    return table.astype(np.uint64, copy=False)


def _visible(node: Node) -> int:
    before, behind = _hidden(node)
    return int(node.task.args_size) // SLOT_BYTES - before - behind  # type: ignore[attr-defined]


def _hidden(node: Node) -> tuple[int, int]:
    kernel = node.kernel
    before, behind = ((), ()) if kernel is None else kernel.hidden_words()
    return len(before), len(behind)


def _start(node: Node) -> int:
    """Return where the first argument lies that a launch gives."""
    return int(node.task.args) + _hidden(node)[0] * SLOT_BYTES  # type: ignore[attr-defined]


def _elsewhere(graph: ports.Graph, node: Node) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{graph!r} does not hold the arguments of {node!r}",
        hint="kernels launched with arguments in memory of the caller are changed by writing there",
    )
