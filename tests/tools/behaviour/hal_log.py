"""What reaches the driver during a step: sizes and flag bits of allocations, as scenarios recorded them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = list[Any]
"""Function, size, flag bits in hexadecimal."""


class HalLog:
    """Listens at a backend: every function it knows is wrapped, once, and noted while `calls` is read in between."""

    def __init__(self, hal: Any) -> None:
        self.calls: list[Call] = []
        self._blocks: dict[int, tuple[int, int]] = {}
        for name, describe in (
            ("halMemAlloc", self._alloc), ("halMemFree", self._free),
            ("halHostRegister", lambda rc, _src, size, flag, *_: (size, flag)),
            ("halMemAddressReserve", lambda rc, _where, size, _alignment, _address, flag: (size, flag)),
            ("halMemCreate", self._create),
        ):  # fmt: skip
            setattr(hal, name, self._wrapped(name, getattr(hal, name), describe))

    def _wrapped(self, name: str, function: Callable[..., int], describe: Callable[..., Any]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            rc = function(*arguments)
            size, flags = describe(rc, *arguments)
            self.calls.append([name, size, f"{flags:#x}"])
            return rc

        return call

    def _alloc(self, rc: int, where: Any, size: int, flag: int) -> tuple[int, int]:
        if rc == 0:
            self._blocks[where._obj.value] = size, flag
        return size, flag

    def _free(self, rc: int, address: int) -> tuple[int, int]:
        return self._blocks.pop(address, (0, 0)) if rc == 0 else (0, 0)

    @staticmethod
    def _create(rc: int, _handle: Any, size: int, prop: Any, _flag: int) -> tuple[int, int]:
        kind = prop._obj
        return size, kind.side << 32 | kind.pg_type << 16 | kind.mem_type

    def take(self, wanted: list[str]) -> list[Call]:
        """Return the noted calls of some functions and forget all."""
        taken, self.calls = self.calls, []
        return [call for call in taken if call[0] in wanted]
