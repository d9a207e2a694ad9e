"""Runs of a batch: neighbouring tasks of one SQE each, put together as columns and sent with one call of the driver.

How many go with one call is decided by `runtime.core.submission.runs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.core.submission.ring import TICK
from runtime.core.submission.runs import LONGEST_RUN, PUBLISHES, RunSender
from runtime.driver.queues import SQE_BYTES
from runtime.launch.args import mover, take_block
from runtime.launch.batch.kinds import Kind
from runtime.launch.batch.shape import Kinds, Piece, RunShape, Shape

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import Epoch
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock

_MOST_KINDS, _MOST_SHAPES, _MOST_MOVERS = 256, 16, 64
_LONGEST_SHAPE = 8192
"""Steps of a batch whose shape is remembered."""


class BatchSender(RunSender):
    """Sends the runs of a stream's batches, and remembers what those have in common."""

    __slots__ = ("_epoch", "_shapes", "kinds", "movers")

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self.kinds: dict[Any, Kind] = {}
        """What batches of the stream send besides launches."""
        self.movers: dict[Any, Callable[[ArgumentBlock], None]] = {}
        """What brings arguments in a block of a pool to the device, by pool and size."""
        self._shapes: dict[Kinds, Shape] = {}
        self._epoch: Epoch | None = None

    def kind(self, key: Any, make: Callable[[], Kind]) -> Kind:
        """Return a kind that is kept under a key; made where it is not there."""
        found = self.kinds.get(key)
        if found is None:
            if len(self.kinds) >= _MOST_KINDS:
                self.kinds.clear()
            found = self.kinds[key] = make()
        return found

    def shape(self, stream: Stream, kinds: Kinds) -> Shape:
        """Return the shape of a batch."""
        shapes, epoch = self._shapes, stream.epoch.now
        if self._epoch is not epoch:
            shapes = self._shapes = {}
            self._epoch = epoch
        found = shapes.get(kinds)
        if found is None:
            found = Shape(stream, kinds)
            if len(kinds) <= _LONGEST_SHAPE:
                if len(shapes) >= _MOST_SHAPES:
                    shapes.clear()
                shapes[kinds] = found
        return found


def batch_sender(stream: Stream) -> BatchSender:
    """Return what sends the runs of a stream's batches."""
    sender = stream.senders.runs
    if not isinstance(sender, BatchSender):
        sender = stream.senders.runs = BatchSender(stream)
    return sender


class Run:
    """A run of a batch with its values."""

    __slots__ = ("image", "kept", "kernels", "rows", "shape")

    def __init__(
        self, shape: RunShape, image: bytes, kernels: list[Kernel], values: Sequence[Any], things: Sequence[Any]
    ) -> None:
        self.shape, self.image, self.kernels = shape, image, kernels
        """`image` is that of the whole batch."""
        self.rows = shape.rows
        if shape.puts:
            rows = bytearray(shape.rows)
            for put, offset, step in shape.puts:
                put(rows, offset, values[step])
            self.rows = bytes(rows)
        self.kept = shape.kept(things)

    def send(self, stream: Stream, epoch: Epoch) -> int:
        """Send the tasks, in as many pieces as it takes; returns how many: fewer once the epoch is over."""
        runs, at, total = batch_sender(stream), 0, self.shape.count
        while at < total:
            count = self._send_piece(stream, runs, self.shape.piece(at, min(total - at, LONGEST_RUN)), epoch)
            if not count:
                break
            at += count
            if stream.ring.submitted // TICK != (stream.ring.submitted - count) // TICK:
                stream.tick()
        return at

    def _send_piece(self, stream: Stream, runs: BatchSender, piece: Piece, epoch: Epoch) -> int:
        """Send tasks of a piece, as many as find space; returns how many, 0 once the epoch is over."""
        at, size, blocks = piece.at, piece.end - piece.begin, list["ArgumentBlock"]()
        try:
            if size:
                blocks.append(take_block(stream, stream.device.arguments.pool_for(size, stream), size))
            with stream.lock:
                count = runs.space(piece.infos[0], piece.count)
                if stream.epoch.now is not epoch:
                    return 0
                if count < piece.count:
                    piece = self.shape.piece(at, count)
                runs.staging[: count * SQE_BYTES] = self.rows[at * SQE_BYTES : (at + count) * SQE_BYTES]
                if piece.addresses:
                    for kernel in self.kernels:
                        kernel.check_loaded()
                    self._bring(stream, runs, piece, blocks[0])
                runs.name(piece.infos, runs.column(self.shape.number))
                if piece.published is not None:
                    asking = runs.publishing(count)
                    runs.rows[asking, PUBLISHES] = piece.published[asking]
                runs.send(count, blocks, self.kept[piece.kept], piece.kinds)
        finally:
            if blocks:
                stream.device.release_arguments(blocks)
        return count

    def _bring(self, stream: Stream, runs: BatchSender, piece: Piece, block: ArgumentBlock) -> None:
        """Write the arguments of a piece into a block, and where they lie into the SQEs."""
        image = self.image[piece.begin : piece.end]
        if piece.contexts is not None:
            image = _with_contexts(image, piece, block.address)
        if block.pool is None:
            stream.device.memory.write(block.address, image)
        else:
            block.view[block.offset : block.offset + len(image)] = image
            move = runs.movers.get((block.pool, len(image)))
            if move is None:
                if len(runs.movers) >= _MOST_MOVERS:
                    runs.movers.clear()
                move = runs.movers[block.pool, len(image)] = mover(stream, block.pool, len(image))
            move(block)
        for word, which, offsets in piece.addresses:
            runs.column(word)[which] = offsets + block.address


def _with_contexts(image: bytes, piece: Piece, address: int) -> bytes:
    """Return an image whose contexts of launches point to the arguments behind them, once it lies at an address."""
    import numpy as np

    words = np.frombuffer(image, np.uint64).copy()
    where, added = piece.contexts
    words[where] = added + address
    made: bytes = words.tobytes()
    return made
