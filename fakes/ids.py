"""Pools of the numbers that the driver and its firmware hand out: streams, events, models, notifies, queues."""

from __future__ import annotations

from heapq import heappop, heappush


class IdPool:
    """Ids `first`..`limit - 1`, then those below; a returned id is handed out again before a new one."""

    def __init__(self, name: str, limit: int, first: int = 0) -> None:
        self.name = name
        self.limit = limit
        self.first = first
        self.used: set[int] = set()
        self._next = first
        self._wrapped = first == 0
        self._returned: list[int] = []
        self._returned_set: set[int] = set()

    @property
    def in_use(self) -> int:
        """How many ids are taken, by whomever; `used` are those of this process."""
        return len(self.used)

    @property
    def free(self) -> int:
        """How many ids are left."""
        return self.limit - self.in_use

    def taken(self, number: int) -> bool:
        """Whether an id is taken, by whomever."""
        return number in self.used

    def take(self, ceiling: int | None = None) -> int | None:
        """Return a free id below `ceiling`, or None."""
        while self._returned and (ceiling is None or self._returned[0] < ceiling):
            number = heappop(self._returned)
            self._returned_set.discard(number)
            if number not in self.used:
                self.used.add(number)
                return number
        top = self.limit if ceiling is None else min(self.limit, ceiling)
        while True:
            if self._next >= top:
                if self._wrapped:
                    return None
                self._wrapped, self._next, top = True, 0, min(self.first, top)
                continue
            number = self._next
            self._next += 1
            if number not in self.used:
                self.used.add(number)
                return number

    def take_this(self, number: int) -> bool:
        """Take a given id; False when it is in use or out of range."""
        if number in self.used or not 0 <= number < self.limit:
            return False
        self.used.add(number)
        return True

    def give(self, number: int) -> bool:
        """Return an id; False when it was not taken."""
        if number not in self.used:
            return False
        self.used.discard(number)
        if number not in self._returned_set:
            heappush(self._returned, number)
            self._returned_set.add(number)
        return True

    def occupy(self, count: int) -> None:
        """Let somebody else hold `count` ids from now on (limits and exhaustion in tests)."""
        for _ in range(count):
            if self.take() is None:
                break

    def reset(self) -> None:
        """Forget every id, as after a device reset."""
        self.used.clear()
        self._returned.clear()
        self._returned_set.clear()
        self._next, self._wrapped = self.first, self.first == 0
