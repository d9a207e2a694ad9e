"""An allocator of one's own for a stream, and a library that asks the stream for it, as the operator library does."""

from __future__ import annotations

from itertools import count

from runtime.capi.aclrt import Out
from tests.examples.conftest import CApi

PARTS = ("allocatorDesc", "allocator", "allocFunc", "freeFunc", "allocAdviseFunc", "getAddrFromBlockFunc")


class Blocks:
    """Device memory by blocks with numbers, counted."""

    HANDLE = 1

    def __init__(self, c: CApi) -> None:
        self.c, self.numbers = c, count(1)
        self.made, self.freed = 0, 0
        self.addresses: dict[int, int] = {}

    def alloc(self, allocator: int, size: int) -> int:
        assert allocator == self.HANDLE
        number = next(self.numbers)
        self.addresses[number] = self.c("aclrtMalloc", devPtr=Out(), size=size, policy=0)
        self.made += 1
        return number

    def advise(self, allocator: int, size: int, _wished: int) -> int:
        return self.alloc(allocator, size)

    def free(self, _allocator: int, block: int) -> None:
        self.c("aclrtFree", devPtr=self.addresses.pop(block))
        self.freed += 1

    def address(self, block: int) -> int:
        return self.addresses[block]


def test_an_allocator_of_ones_own(c: CApi) -> None:
    stream, blocks = c("aclrtCreateStream", stream=Out()), Blocks(c)
    description = c.answer("aclrtAllocatorCreateDesc")
    c("aclrtAllocatorSetObjToDesc", allocatorDesc=description, allocator=Blocks.HANDLE)
    for part, function in (("Alloc", blocks.alloc), ("Free", blocks.free), ("AllocAdvise", blocks.advise),
                           ("GetAddrFromBlock", blocks.address)):  # fmt: skip
        c(f"aclrtAllocatorSet{part}FuncToDesc", allocatorDesc=description, func=function)
    c("aclrtAllocatorRegister", stream=stream, allocatorDesc=description)

    work_with(c, stream)

    assert (blocks.made, blocks.freed, blocks.addresses) == (2, 2, {})
    c("aclrtAllocatorUnregister", stream=stream)
    c("aclrtAllocatorDestroyDesc", allocatorDesc=description)
    c("aclrtDestroyStream", stream=stream)


def work_with(c: CApi, stream: int) -> None:
    """What a library does that needs memory for its work in a stream."""
    outs = {part: Out() for part in PARTS}
    c("aclrtAllocatorGetByStream", stream=stream, **outs)
    _, allocator, alloc, free, advise, address_of = (outs[part].value for part in PARTS)
    block = alloc(allocator, 256)
    c("aclrtMemsetAsync", devPtr=address_of(block), maxCount=256, value=0xAB, count=256, stream=stream)
    c("aclrtSynchronizeStream", stream=stream)
    advised = advise(allocator, 128, 0)
    free(allocator, advised)
    free(allocator, block)
