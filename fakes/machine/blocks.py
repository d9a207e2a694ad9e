"""What the memory of a fake machine consists of: blocks, page kinds, and the bytes that there are of each."""

from __future__ import annotations

from enum import Enum
from typing import Any

from npuhal.records import dataclass, field

MiB = 1 << 20
GiB = 1 << 30
HUGE = 2 * MiB
GIANT = GiB


class Kind(Enum):
    """What an address is."""

    DEVICE = "device memory"
    HOST = "pinned host memory"
    REGISTERED = "registered host memory"
    RESERVED = "reserved address range"


class PageKind(Enum):
    """Page kinds, each with its own budget."""

    NORMAL = "normal pages"
    HUGE = "huge pages"
    GIANT = "giant pages"


@dataclass(slots=True, eq=False)
class Allocation:
    """One allocation. `pointer` is where its bytes really are; `host_access`: the host may use `base` itself."""

    base: int
    size: int
    span: int
    kind: Kind
    device: int
    pointer: int
    pool: PageKind = PageKind.NORMAL
    page: int = 4096
    flags: int = 0
    host_access: bool = False
    label: str = ""
    users: int = 0
    alias: bool = False
    """The bytes belong to somebody else: mapped physical memory, or memory of another process."""
    asked: int = 0
    """Bytes that the program wanted, where it has said so: rounding and padding made `size` of it. Else 0."""
    site: Any = None
    """Where the program has asked for it, when that is watched."""
    parts: dict[int, int] = field(default_factory=dict)
    """First and last address + 1 of what the runtime has handed out of it."""

    def cut(self, address: int, size: int) -> None:
        """A part is handed out, with what lay there before."""
        for other in [start for start in self.parts if address < start < address + size]:
            del self.parts[other]
        self.parts[address] = address + size

    def end_of(self, address: int) -> int:
        """Return the address behind what was asked for: of the part that an address lies in, or of all."""
        low = max((start for start in self.parts if start <= address < self.parts[start]), default=0)
        return self.parts[low] if low else self.base + (self.asked or self.size)

    def __str__(self) -> str:
        name = f" '{self.label}'" if self.label else ""
        where = f" of device {self.device}" if self.kind is Kind.DEVICE else ""
        return f"{self.kind.value}{where}{name} {self.base:#x}+{self.size}"


@dataclass(slots=True)
class Usage:
    """Bytes that one component has on one card, and the most it ever had."""

    used: int = 0
    peak: int = 0


@dataclass(slots=True, eq=False)
class Budget:
    """Bytes of one page kind of one device."""

    total: int
    used: int = 0
    others: int = 0
    """What others hold: an imagined process of a scenario."""

    @property
    def free(self) -> int:
        """Bytes left."""
        return self.total - self.used - self.others

    def take(self, size: int) -> bool:
        """Take bytes; False when there are too few."""
        if size > self.free:
            return False
        self.used += size
        return True

    def give(self, size: int) -> None:
        """Give bytes back."""
        self.used -= size
