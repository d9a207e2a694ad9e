"""A Python program on the driver's library: launches a kernel that works, then one that breaks."""

import sys

from kernels_of_a_program import CODE
from program_parts import allocate, open_card, queue, read, send, wait, write

entry = bytes.fromhex(sys.argv[2])
open_card()
code, arguments, data = allocate(4096), allocate(4096), allocate(4096)
write(arguments, data.to_bytes(8, "little"))


def launch(program: bytes) -> bool:
    write(code, program)
    _, sq = queue()
    send(sq, entry[:32] + code.to_bytes(8, "little") + arguments.to_bytes(8, "little")[:6] + entry[46:])
    return wait(sq)


print(launch(CODE), read(data, 64) == b"\7\0\0\0" * 16, launch(bytes(reversed(CODE))))
