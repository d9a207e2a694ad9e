"""A Python program on the driver's library: a race of two copies, the interpreter's lock held at the calls or not."""

import sys
from pathlib import Path

from program_parts import allocate, open_card, queue, send, wait

entry = bytes.fromhex(sys.argv[2])


def copy(target: int, source: int) -> bytes:
    return entry[:32] + source.to_bytes(8, "little") + target.to_bytes(8, "little") + entry[48:]


open_card()
memory = allocate(65536)
(stream, first), (_, second) = queue(), queue()
if len(sys.argv) > 3:
    Path(sys.argv[3]).write_text(f"stream {stream} prefetch\nrange {memory:#x} 4096 weights\n")
send(first, copy(memory, memory + 8192))
send(second, copy(memory, memory + 16384))
wait(first)
wait(second)
