"""What the program calls its streams and ranges of memory: a file that it writes (NPUHAL_SHIM_NAMES), for reports.

A line is `stream ID NAME`, with the driver's stream id, or `range ADDRESS BYTES NAME`; later lines win.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fakes.checkers.names import Names

if TYPE_CHECKING:
    from fakes.machine.blocks import Allocation

_SHOWN = 3


class ProgramNames(Names):
    """Names as the file has them at the time of a report."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._read_at = (0, 0)
        self._streams: dict[int, str] = {}
        self._ranges: dict[tuple[int, int], str] = {}

    def name(self, kind: str, number: int) -> str:
        """Return " 'name'" or nothing."""
        self._refresh()
        known = self._streams.get(number) if kind == "stream" else None
        return f" '{known}'" if known else super().name(kind, number)

    def block(self, block: Allocation) -> str:
        """Name a piece of memory, and what the program has in it."""
        text = super().block(block)
        found = [
            f"'{name}' at {address:#x}+{size}"
            for (address, size), name in sorted(self._ranges.items())
            if address < block.base + block.size and block.base < address + size
        ]
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return f"{text} with {', '.join(found[:_SHOWN])}{more}" if found else text

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
            if (status.st_mtime_ns, status.st_size) == self._read_at:
                return
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return  # nothing was named yet
        self._read_at = status.st_mtime_ns, status.st_size
        for line in lines:
            words = line.split(maxsplit=1)
            try:
                if words[:1] == ["stream"]:
                    number, name = words[1].split(maxsplit=1)
                    self._streams[int(number, 0)] = name
                elif words[:1] == ["range"]:
                    start, size, name = words[1].split(maxsplit=2)
                    self._ranges[int(start, 0), int(size, 0)] = name
            except (ValueError, IndexError):
                continue  # the program may be in the middle of the last line
