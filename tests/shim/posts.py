"""A Python program that changes the source of a copy which waits, and races with it; its queues were used before."""

import ctypes
import sys

from program_parts import HOST_MEMORY, allocate, check, library, notify, open_card, queue, send, sending, wait

nothing, copying, waiting, recording = (bytes.fromhex(each) for each in sys.argv[2:6])


def copy(target: int, source: int) -> bytes:
    return copying[:32] + source.to_bytes(8, "little") + target.to_bytes(8, "little") + copying[48:]


def with_id(entry: bytes, number: int) -> bytes:
    return entry[:8] + number.to_bytes(2, "little") + entry[10:]


open_card()
memory, pinned = allocate(65536), allocate(4096, HOST_MEMORY)
signal = notify()
(_, first), (_, second) = queue(), queue()
for each in (first, second):
    send(each, nothing)
    wait(each)
send(first, with_id(waiting, signal))
send(first, copy(memory, pinned))
ctypes.memset(pinned, 1, 4096)
send(second, with_id(recording, signal))
other = ctypes.create_string_buffer(copy(memory, memory + 8192), 64)
check(library.halSqTaskSend(0, sending(second, other)))
print(wait(second, 3), wait(first, 3))
