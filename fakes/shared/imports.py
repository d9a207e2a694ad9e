"""Memory under a name, opened: the block itself in the process that exports it, a view of its bytes in another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.machine.blocks import Allocation, Kind, PageKind
from fakes.machine.memory import Memory
from fakes.shared.names import Export, Names, Source
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.address_space import BackingFile


class Imports:
    """What a process has open of exported memory. `Allocation.users` counts how often."""

    def __init__(self, memory: Memory, names: Names) -> None:
        self._memory, self._names = memory, names
        self._foreign: dict[Source, tuple[Allocation, BackingFile]] = {}

    def open(self, export: Export) -> Allocation | None:
        """Return the memory of an export, to be closed as often; None when the process that has made it is gone."""
        block, source = export.block, export.source
        if block is None:
            if source is None:
                return None
            if source not in self._foreign:
                file = self._memory.open_foreign(source.path, source.offset, source.span)
                if file is None:
                    return None
                kind = Kind.HOST if export.prop and export.prop[0] != c.MEM_DEV_SIDE else Kind.DEVICE
                view = Allocation(0, export.size, source.span, kind, source.device, file.address,
                             list(PageKind)[source.pool], export.page, alias=True)  # fmt: skip
                try:
                    self._names.opened(source)
                except BaseException:
                    self._memory.close_file(file)
                    raise
                self._foreign[source] = view, file
            block = self._foreign[source][0]
        block.users += 1
        return block

    def close(self, block: Allocation) -> None:
        """Undo one `open`; nothing may be mapped to the memory of another process after the last one."""
        block.users -= 1
        if not block.users:
            source = next((source for source, (view, _) in self._foreign.items() if view is block), None)
            if source is not None:
                self._memory.close_file(self._foreign.pop(source)[1])
                self._names.closed(source)
