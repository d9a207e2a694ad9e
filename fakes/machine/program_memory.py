"""What the program has mapped itself: tried before it is touched, since a wrong address would end the process."""

from __future__ import annotations

from fakes.errors import MemoryFault, access
from npuhal.process_memory import readable, writable


def tried(address: int, size: int, use: str, writes: bool) -> int:
    """Return the address; MemoryFault where one of `size` bytes cannot be read, or not written if the use `writes`."""
    if not size or (writable if writes else readable)(address, size):
        return address
    reason = "no memory of this process is there"
    if writes and readable(address, size):
        reason = "that memory of this process can only be read"
    raise MemoryFault(f"{access(use, size, address)}: {reason}", use, address, size)
