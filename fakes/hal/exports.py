"""What the chapters "ipc" and "shared_ids" share: exports under names that other processes can open."""

from __future__ import annotations

import ctypes
from typing import Any

from fakes.hal.chapter import Chapter
from fakes.shared import Export
from npuhal import constants as c

NAME_BYTES = 65
"""Bytes that a name takes, its closing zero included."""
_MAX_PIDS = 31


class NamedChapter(Chapter):
    """Base of the chapters whose things have names."""

    def new_name(self, device: int, kind: int) -> str:
        """Return a name that nothing had before."""
        return f"{self.machine.pid:08x} {device:08x} {kind:08x} {self.machine.names.next_number():08x}"

    def publish(self, export: Export, name: int) -> int:
        """Let other processes find an export, and tell the caller its name."""
        self.machine.names.publish(export)
        ctypes.memmove(name, export.name.encode() + b"\0", len(export.name) + 1)
        return 0

    def find(self, name: int, *, memory: bool) -> Export | None:
        """Return what a name stands for, of this or another process, if it is of the wanted kind."""
        return self._only(self.machine.names.find(text_at(name)), memory=memory)

    def own(self, name: int, *, memory: bool) -> Export | None:
        """Return what this process has under a name, if it is of the wanted kind."""
        return self._only(self.machine.names.own(text_at(name)), memory=memory)

    @staticmethod
    def _only(export: Export | None, *, memory: bool) -> Export | None:
        return export if export is not None and bool(export.size) is memory else None

    def allow(self, export: Export | None, pids: Any, count: int) -> int:
        """Let processes open an export."""
        if export is None or pids is None or not 1 <= count <= _MAX_PIDS:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.names.allow(export, (ctypes.c_int32 * count).from_address(ctypes.addressof(pids)))
        return 0

    def owner(self, export: Export | None, info: Any) -> int:
        """Tell the physical id of the card that has an export."""
        if export is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        info.phyDevid = self.machine.devices[export.device].identity.physical
        return 0


def is_name(address: int) -> bool:
    """Whether there is a text that can be a name: not empty, and no longer than names are."""
    return 0 < len(text_at(address)) < NAME_BYTES


def text_at(address: int) -> str:
    """Return the name at an address; empty for NULL."""
    return ctypes.string_at(address).decode("ascii", "replace") if address else ""
