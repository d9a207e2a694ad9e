"""The driver's functions as Python programs of these tests call them."""

import ctypes
import sys

library = (ctypes.PyDLL if sys.argv[1] == "locked" else ctypes.CDLL)("libascend_hal.so")
Words = ctypes.c_uint32 * 64
DEVICE_MEMORY, HOST_MEMORY = 1 << 10, 2 << 10
NOTIFY = 3


def check(code: int) -> None:
    """End the program where a call fails."""
    if code:
        sys.exit(f"code {code}")


def words(*values: int) -> ctypes.Array[ctypes.c_uint32]:
    """Return a struct of 32-bit words."""
    return Words(*values)


def open_card() -> None:
    """Open card 0."""
    check(library.halDeviceOpen(0, words(), words()))


def allocate(size: int, kind: int = DEVICE_MEMORY) -> int:
    """Return the address of device memory, or of host memory."""
    memory = ctypes.c_void_p()
    check(library.halMemAlloc(ctypes.byref(memory), ctypes.c_uint64(size), ctypes.c_uint64(kind)))
    return memory.value or 0


def write(address: int, data: bytes) -> None:
    """Copy bytes to the device."""
    source = ctypes.create_string_buffer(data, len(data))
    check(library.drvMemcpy(*map(ctypes.c_uint64, (address, len(data), ctypes.addressof(source), len(data)))))


def read(address: int, size: int) -> bytes:
    """Copy bytes from the device."""
    target = ctypes.create_string_buffer(size)
    check(library.drvMemcpy(*map(ctypes.c_uint64, (ctypes.addressof(target), size, address, size))))
    return target.raw


def queue() -> tuple[int, int]:
    """Return the id of a stream and of its queue."""
    given, made = words(), words()
    check(library.halResourceIdAlloc(0, given, given))
    check(library.halSqCqAllocate(0, words(0, 0, 64, 32, 64, 64, 0, 0, 0, 0, given[0]), made))
    return given[0], made[0]


def notify() -> int:
    """Return the id of a notify."""
    made = words()
    check(library.halResourceIdAlloc(0, words(NOTIFY), made))
    return made[0]


def sending(sq: int, buffer: ctypes.Array[ctypes.c_char]) -> ctypes.Array[ctypes.c_uint32]:
    """Return the struct that sends one entry."""
    info = words(0, 0, sq, 0)
    ctypes.c_uint64.from_buffer(info, 16).value = ctypes.addressof(buffer)
    info[6] = 1
    return info


def send(sq: int, sqe: bytes) -> None:
    """Send an entry."""
    buffer = ctypes.create_string_buffer(sqe, 64)
    check(library.halSqTaskSend(0, sending(sq, buffer)))


def wait(sq: int, head: int = 1) -> bool:
    """Return whether the queue gets that far."""
    for _ in range(1000):
        asked = words(0, 0, sq, 0, 1)
        check(library.halSqCqQuery(0, asked))
        if asked[5] == head:
            return True
    return False
