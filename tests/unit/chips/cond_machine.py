"""A few queues and some memory, enough to run condition programs on."""

from __future__ import annotations

from chips.programs.stream import ENABLE_OFFSET, HEAD_OFFSET

SELECTOR = 0x6A000_4880
PAGES = 0x5000_0000
TABLE = 0x4000_0000


class Queues:
    """Machine with ``count`` queues; ``log`` records what programs did to them, in order."""

    def __init__(self, count: int = 8, *, tail_offset: int = 8) -> None:
        self.memory: dict[int, int] = {}
        self.count = count
        self.tail_offset = tail_offset
        self.log: list[tuple[str, int, int]] = []
        self.selected = 0
        self.states = [0] * count
        for sq_id in range(count):
            self.poke(TABLE + 8 * sq_id, self.page(sq_id))

    def page(self, sq_id: int) -> int:
        return PAGES + 0x1000 * sq_id

    def poke(self, address: int, value: int, size: int = 8) -> None:
        for index, byte in enumerate(value.to_bytes(size, "little")):
            self.memory[address + index] = byte

    def peek(self, address: int, size: int = 8) -> int:
        return int.from_bytes(bytes(self.memory.get(address + index, 0) for index in range(size)), "little")

    def set_queue(self, sq_id: int, *, head: int, tail: int, enabled: bool) -> None:
        self.poke(self.page(sq_id) + HEAD_OFFSET, head, 4)
        self.poke(self.page(sq_id) + self.tail_offset, tail, 4)
        self.poke(self.page(sq_id) + ENABLE_OFFSET, int(enabled), 4)

    def enabled(self, sq_id: int) -> bool:
        return bool(self.peek(self.page(sq_id) + ENABLE_OFFSET, 4))

    # --- chips.programs.execute.Machine
    def load(self, address: int, size: int, physical: bool) -> bytes:
        if physical and address == SELECTOR:
            return (self.states[self.selected] << 32 | self.selected).to_bytes(8, "little")
        return bytes(self.memory.get(address + index, 0) for index in range(size))

    def store(self, address: int, data: bytes, physical: bool) -> None:
        if physical and address == SELECTOR:
            self.selected = int.from_bytes(data, "little")
            return
        self.poke(address, int.from_bytes(data, "little"), len(data))

    def goto(self, sq_id: int, head: int) -> int:
        self.log.append(("goto", sq_id, head))
        return 0

    def activate(self, sq_id: int) -> int:
        self.log.append(("activate", sq_id, 0))
        return 0

    def deactivate(self, sq_id: int) -> int:
        self.log.append(("deactivate", sq_id, 0))
        return 0
