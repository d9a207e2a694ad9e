"""Memory that processes share by groups, and the message buffers (mbufs) in it.

A process makes a group or is added to one, and attaches; what it allocates counts against the group's limit. Blocks are
plain host memory with a count of the buffers on them. A buffer is its own block of control words with a private area;
its handle is the address of that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuhal import constants as c
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.machine.lent import Lent
    from fakes.machine.memory import Memory

PRIVATE_BYTES = 256
"""Size of the private area of a buffer (user_data of the driver's share_mbuf)."""
LONGEST_CHAIN = 128
"""Buffers that a chain has at most (MBUF_CHAIN_MAX_LEN of the driver)."""
_CONTROL_BYTES = 128
LARGEST_GROUP = 256 << 30
"""Bytes that a group may have at most, and has where its maker names none."""
SMALLEST_GROUP = 256 << 20


@dataclass(slots=True, eq=False)
class Group:
    """Memory that the processes of a group share."""

    name: str
    limit: int
    rights: dict[int, int] = field(default_factory=dict)
    """Process id -> bits of GroupShareAttr."""
    attached: bool = False
    used: int = 0


@dataclass(slots=True, eq=False)
class Block:
    """Allocated memory; `references`: the buffers on it, 1 for a block without any."""

    lent: Lent
    address: int
    size: int
    references: int = 1
    holds_data: bool = False
    """Whether it is the data of a buffer, which has to be given back as that."""

    def holds(self, address: int, size: int) -> bool:
        """Whether a range lies in it."""
        return self.address <= address and address + size <= self.address + self.size


@dataclass(slots=True, eq=False)
class Mbuf:
    """A message buffer: `size` bytes of a block, of which `length` are valid, and its neighbours in a chain."""

    lent: Lent
    block: Block
    size: int
    length: int
    kind: int
    made_at: int
    pid: int
    previous: Mbuf | None = None
    next: Mbuf | None = None
    queued: bool = False
    """Whether a queue has it: nobody may use it then."""

    @property
    def handle(self) -> int:
        """What the driver gives out for it."""
        return self.lent.address

    @property
    def private(self) -> int:
        """Address of its private area."""
        return self.lent.address + _CONTROL_BYTES

    def chain(self) -> Iterator[Mbuf]:
        """Yield it and those behind it."""
        member: Mbuf | None = self
        while member is not None:
            yield member
            member = member.next


class SharedBuffers:
    """Groups, blocks and buffers of one process."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.group: Group | None = None
        self._blocks: dict[int, Block] = {}
        self._mbufs: dict[int, Mbuf] = {}

    def allocate(self, size: int, align: int) -> Block | int:
        """Return a block of a size at an alignment, or the driver's code: no group, or one that is exhausted."""
        group = self.group
        if group is None or not group.attached:
            return c.DRV_ERROR_NO_RESOURCES
        if group.used + size > group.limit:
            return c.DRV_ERROR_OUT_OF_MEMORY
        try:
            lent = self._memory.lend_space(size + align, "shared buffer")
        except (MemoryError, OverflowError, OSError):
            return c.DRV_ERROR_OUT_OF_MEMORY
        block = Block(lent, -(-lent.address // align) * align, size)
        self._blocks[block.address] = block
        group.used += size
        return block

    def release(self, block: Block) -> None:
        """Take a reference off a block, which goes with the last one."""
        block.references -= 1
        if not block.references:
            del self._blocks[block.address]
            block.lent.close()
            if self.group is not None:
                self.group.used -= block.size

    def block_at(self, address: int) -> Block | None:
        """Return the block that begins at an address."""
        return self._blocks.get(address)

    def block_around(self, address: int, size: int) -> Block | None:
        """Return the block that a range lies in."""
        return next((block for block in self._blocks.values() if block.holds(address, size)), None)

    def describe(self, block: Block, size: int, length: int, kind: int, pid: int) -> Mbuf:
        """Make a buffer on a block, whose reference it takes over."""
        lent = self._memory.lend_space(_CONTROL_BYTES + PRIVATE_BYTES, "mbuf")
        made = Mbuf(lent, block, size, length, kind, time.monotonic_ns(), pid)
        block.holds_data = True
        self._mbufs[made.handle] = made
        return made

    def copy(self, mbuf: Mbuf, pid: int) -> Mbuf:
        """Make another buffer on the same data, with the same length and private area."""
        mbuf.block.references += 1
        made = self.describe(mbuf.block, mbuf.size, mbuf.length, mbuf.kind, pid)
        made.made_at = mbuf.made_at
        self._memory.write(made.private, self._memory.read(mbuf.private, PRIVATE_BYTES))
        return made

    def forget(self, mbuf: Mbuf) -> None:
        """Give up a buffer without its block."""
        del self._mbufs[mbuf.handle]
        mbuf.lent.close()
        mbuf.previous = mbuf.next = None

    def free(self, head: Mbuf) -> None:
        """Give up a chain, from its end, and the blocks that nothing else is on."""
        for mbuf in reversed(list(head.chain())):
            block = mbuf.block
            self.forget(mbuf)
            self.release(block)

    def find(self, handle: int) -> Mbuf | None:
        """Return the buffer of a handle that may be used now: one that exists, is sound, and in no queue."""
        found = self._mbufs.get(handle)
        return found if found is not None and 0 < found.size >= found.length and not found.queued else None
