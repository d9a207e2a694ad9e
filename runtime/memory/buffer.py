"""What all buffers have in common: an address, a size, who owns them, and an end."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from npuhal.words import count
from runtime import errors
from runtime.errors.arguments import whole, whole_or_none
from runtime.errors.not_copied import NotCopied
from runtime.memory.location import Location

Self = TypeVar("Self", bound="Buffer")

Release = Callable[[int], None]
"""Gives a block back by its address."""


class Buffer(NotCopied):
    """A block of memory or a part of one. Made by a device, a pool, or as a view of another buffer.

    A view shares the life of the block that it is a part of (`owner`); closing a view frees nothing.
    """

    location: ClassVar[Location]

    __slots__ = ("__weakref__", "_release", "_views", "address", "alive", "closed", "device", "owner", "pending_free",
                 "size")

    def __init__(self, device: Any, address: int, size: int, release: Release | None = None, *,
                 owner: Buffer | None = None) -> None:
        self.device, self.address, self.size = device, address, size
        self.owner = owner
        """The buffer that this one is a view of; None for a whole block."""
        self._release = release
        self.pending_free = 0
        """Number of the free that runs when the object is dropped without `close`, see `DeferredFrees`; 0: none."""
        self.closed = False
        self.alive = True
        """Whether the memory is still there: neither this view nor the block it belongs to was closed."""
        self._views: weakref.WeakSet[Buffer] | None = None
        if owner is not None:
            if owner._views is None:
                owner._views = weakref.WeakSet()
            owner._views.add(self)
            if owner.closed:
                self._end()

    @property
    def nbytes(self) -> int:
        """The size, as arrays call it."""
        return self.size

    def check_open(self) -> None:
        """Raise where the memory was given back."""
        if not self.alive:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"the block of {self._kind} at {self.address:#x} ({count(self.size, 'byte')}) was freed",
                hint="keep a buffer open until the work that uses it is done",
            )

    def view(self: Self, offset: int, size: int | None = None) -> Self:
        """Return a part of the block, `offset` bytes in; it shares the block's life."""
        if type(offset) is not int or (size is not None and type(size) is not int):
            offset, size = whole("view", "offset", offset), whole_or_none("view", "size", size)
        length = self.size - offset if size is None else size
        if offset < 0 or length < 0 or offset + length > self.size:
            part = "the rest" if size is None else f"size {size}"
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"a view of {part} at offset {offset} does not fit a buffer of {count(self.size, 'byte')}",
                hint=f"offset and size are not negative and end at {self.size} at most",
            )
        self.check_open()
        return type(self)(self.device, self.address + offset, length, owner=self.owner or self)

    def __add__(self: Self, offset: int) -> Self:
        return self.view(offset)

    def __len__(self) -> int:
        return self.size

    def close(self) -> None:
        """Give the block back; twice does nothing, and views do not own it.

        What the driver refuses to take back stays open: `close` can be called again.
        """
        if self.closed:
            return
        self.closed = True
        self._end()
        if self._views is not None:
            for view in self._views:
                view._end()
        if self._release is None:
            return
        entry = row = None
        if self.pending_free:
            frees = self.device.deferred_frees
            entry = frees.pending.pop(self.pending_free, None)
            if entry is None:
                return  # it ends once: another thread closes at the same time
            if entry.rows is not None:
                row = entry.rows.get(self.address)  # now: behind an interrupt it can be that of somebody else
        try:
            self._release(self.address)
        except BaseException as raised:
            if entry is not None and not isinstance(raised, errors.RuntimeFault) and self._finish_later(entry, row):
                raise
            if entry is not None:
                frees.pending[self.pending_free] = entry
            self.closed = False
            for part in (self, *(self._views or ())):
                part._revive()
            raise
        del entry  # before this object goes, which would count as dropped

    def _finish_later(self, entry: Any, row: object) -> bool:
        """Have the next sweep give back what a close has not that Ctrl-C has broken off.

        Args:
            entry: what frees the block (`PendingFree`), and is no longer among the pending ones.
            row: what was held before the close, see `PendingFree.rows`.

        Returns whether that can be told; else the buffer is open again.
        """
        if entry.rows is None:
            return False
        if entry.rows.get(self.address) is row:
            self.device.deferred_frees.leave(entry.once())
        return True

    def _end(self) -> None:
        """Note that the memory is gone."""
        self.alive = False

    def _revive(self) -> None:
        """Note that the memory is still there: the driver has refused to take it back."""
        self.alive = True

    def __enter__(self: Self) -> Self:
        self.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _kind(self) -> str:
        return "buffer"

    def __repr__(self) -> str:
        part = "" if self.owner is None else f", part of {count(self.owner.size, 'byte')}"
        state = "" if self.alive else ", freed"
        return f"<{count(self.size, 'byte')} of {self._kind} at {self.address:#x}{part}{state}>"
