"""Records each call of a program with its structs and result, as `npuhal trace --record` does (NPUHAL_SHIM_TRACE)."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

from npuhal.errors import NpuhalError
from npuhal.trace import Record, TraceApi, to_json

if TYPE_CHECKING:
    from fakes.shim.region import Region
    from fakes.tiers.direct import FakeApi


class CallTrace(TraceApi):
    """A backend that writes each record to a file when the call is over: the program may end at any time."""

    def __init__(self, inner: FakeApi, region: Region, path: Path) -> None:
        super().__init__(inner, capacity=0)
        self._region = region
        self._machine = inner.fake
        self._shared.registered = False  # memory of the program is not there to be looked at
        try:
            self._file = path.open("w", encoding="utf-8", buffering=1)
        except OSError as problem:
            raise NpuhalError(f"NPUHAL_SHIM_TRACE={path}: {problem.strerror}") from None

    def read(self, address: int, size: int) -> bytes:
        """Return bytes: of a slot, or of the program."""
        if self._region.holds(address):
            return ctypes.string_at(address, size)
        with self._machine.lock:
            return bytes(self._machine.memory.read(address, size, "trace from"))

    def keep(self, record: Record) -> None:
        """Write a record."""
        self._file.write(to_json(record))
