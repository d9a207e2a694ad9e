"""Memory of the fake: classes of addresses, copies, budgets, registration, and what stale addresses do."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import signal
from collections.abc import Callable

import numpy as np
import pytest

from fakes.errors import MemoryFault, OutOfDeviceMemory
from fakes.machine.address_space import Extents
from fakes.machine.blocks import Kind, PageKind
from fakes.machine.memory import Memory
from fakes.machine.views import reached
from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import Rig


def allocate(rig: Rig, size: int, flag: int) -> tuple[int, int]:
    pointer = ctypes.c_void_p()
    return int(rig.hal.halMemAlloc(ctypes.byref(pointer), size, flag)), pointer.value or 0


def test_device_memory_holds_what_was_copied(rig: Rig) -> None:
    address = rig.alloc(10_000)
    data = os.urandom(10_000)
    rig.put(address, data)
    assert rig.get(address, 10_000) == data
    assert rig.hal.drvMemsetD8(address + 10, 100, 0xA5, 100) == 0
    assert rig.get(address, 120) == data[:10] + b"\xa5" * 100 + data[110:120]


@pytest.mark.parametrize("offset", [0, 100])
@pytest.mark.parametrize("used", [(0,), (70_000,), (1 << 20, (1 << 20) + 5), ((1 << 21) - 1,), ()])
def test_a_large_image_with_zeros_replaces_what_was_there(rig: Rig, used: tuple[int, ...], offset: int) -> None:
    size = 1 << 21
    address = rig.alloc(size + 4096)
    assert rig.hal.drvMemsetD8(address, size + 4096, 0xA5, size + 4096) == 0
    image = bytearray(size)
    for place in used:
        image[place] = 7
    rig.put(address + offset, bytes(image))
    expected = b"\xa5" * offset + image + b"\xa5" * (4096 - offset)
    assert rig.get(address, size + 4096) == expected
    assert rig.hal.drvMemcpy(address, size, address + offset, size) == 0  # overlapping
    assert rig.get(address, size) == bytes(image)


def _signal_of_read(address: int) -> int:
    """Read one byte in a child; return the signal that ended it, or 0."""
    child = os.fork()
    if not child:
        faulthandler.disable()
        ctypes.c_uint8.from_address(address).value  # noqa: B018  # the access is the point
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def test_the_host_faults_on_a_device_address(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    assert _signal_of_read(rig.alloc(4096)) == signal.SIGSEGV


def test_the_host_writes_device_memory_over_the_bar(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(args="bar")
    address = rig.alloc(4096)
    ctypes.memmove(address, b"straight", 8)
    assert rig.get(address, 8) == b"straight"


def test_one_buffer_may_be_mapped_for_the_host(rig: Rig) -> None:
    address = rig.alloc(8192)
    out = ctypes.c_void_p()
    assert rig.hal.halHostRegister(address, 8192, c.DEV_SVM_MAP_HOST, 0, ctypes.byref(out)) == 0
    assert out.value == address
    ctypes.memmove(address, b"mapped", 6)
    assert rig.get(address, 6) == b"mapped"
    assert rig.hal.halHostUnregister(address, 0) == 0


def test_pinned_host_memory_is_ordinary_memory_to_the_host(rig: Rig) -> None:
    address = rig.alloc_host(100)
    ctypes.memmove(address, b"host", 4)
    device = rig.alloc(64)
    stream = rig.stream()
    stream.send(rig.copy(stream, device, address, 4))
    stream.drain()
    assert rig.get(device, 4) == b"host"


@pytest.mark.parametrize(("where", "kind"), [("device", "DV_MEM_LOCK_DEV"), ("host", "DV_MEM_LOCK_HOST"),
                                             ("plain", "DV_MEM_USER_MALLOC")])  # fmt: skip
def test_addresses_have_classes(rig: Rig, where: str, kind: str) -> None:
    buffer = ctypes.create_string_buffer(64)
    address = {"device": lambda: rig.alloc(64), "host": lambda: rig.alloc_host(64),
               "plain": lambda: ctypes.addressof(buffer)}[where]()  # fmt: skip
    attribute = s.DVattribute()
    rig.hal.halSupportFeature(0, c.FEATURE_SVM_GET_USER_MALLOC_ATTR)
    assert rig.hal.drvMemGetAttribute(address + 8, ctypes.byref(attribute)) == 0
    assert attribute.memType == getattr(c, kind)


def test_ordinary_memory_is_told_apart_once_the_first_driver_was_asked_whether_it_can(rig: Rig) -> None:
    buffer, attribute, classes = ctypes.create_string_buffer(64), s.DVattribute(), []
    for _ in range(2):
        assert rig.hal.drvMemGetAttribute(ctypes.addressof(buffer), ctypes.byref(attribute)) == 0
        classes.append(attribute.memType)
        assert rig.hal.halSupportFeature(0, c.FEATURE_SVM_GET_USER_MALLOC_ATTR)
    assert classes == [c.DV_MEM_LOCK_HOST if rig.v1 else c.DV_MEM_USER_MALLOC, c.DV_MEM_USER_MALLOC]


def test_the_attribute_of_a_freed_address_does_not_exist(rig: Rig) -> None:
    address = rig.alloc(64)
    assert rig.hal.halMemFree(address) == 0
    assert rig.hal.drvMemGetAttribute(address, ctypes.byref(s.DVattribute())) == c.DRV_ERROR_NOT_EXIST


def test_a_double_free_is_refused(rig: Rig) -> None:
    address = rig.alloc(64)
    assert rig.hal.halMemFree(address) == 0
    assert rig.hal.halMemFree(address) in (c.DRV_ERROR_INVALID_VALUE, c.DRV_ERROR_NOT_EXIST)
    assert rig.hal.halMemFree(rig.alloc(64) + 1) != 0


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_memory_ends_with_its_page_unless_bounds_are_checked(
    open_rig: Callable[..., Rig], soc: str, scheme: str
) -> None:
    rig = open_rig(soc, scheme, seed=3)
    page = rig.fake.memory.page
    for address in (rig.alloc(100), rig.alloc_host(100)):
        data = ctypes.create_string_buffer(page + 1)
        assert rig.hal.drvMemcpy(address, page, ctypes.addressof(data), page) == 0
        assert rig.hal.drvMemcpy(address, page + 1, ctypes.addressof(data), page + 1) == c.DRV_ERROR_INVALID_VALUE
        assert f"ends {page - 99} bytes behind" in rig.fake.problems[-1]


def test_a_copy_past_the_end_is_refused_by_name_where_bounds_are_checked(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(check="bounds")
    address = rig.alloc(100)
    data = ctypes.create_string_buffer(200)
    assert rig.hal.drvMemcpy(address, 101, ctypes.addressof(data), 101) == c.DRV_ERROR_INVALID_VALUE
    assert "ends 1 byte behind device memory" in rig.fake.problems[-1]
    assert rig.hal.drvMemcpy(address, 10, ctypes.addressof(data), 20) == c.DRV_ERROR_INVALID_VALUE


def test_wrong_requests_have_their_codes(rig: Rig) -> None:
    flag = c.MEM_DEV | c.MEM_TYPE_HBM
    assert allocate(rig, 0, flag)[0] == c.DRV_ERROR_INVALID_VALUE
    assert allocate(rig, 64, flag | 5)[0] == c.DRV_ERROR_INVALID_DEVICE
    assert rig.hal.halMemAlloc(None, 64, flag) == c.DRV_ERROR_INVALID_VALUE
    contiguous = flag | c.MEM_CONTIGUOUS_PHY
    assert allocate(rig, 8 << 20, contiguous)[0] == (c.DRV_ERROR_INVALID_VALUE if rig.v1 else 0)
    refused = c.DRV_ERROR_INVALID_VALUE if rig.v1 else c.DRV_ERROR_NOT_SUPPORT
    assert allocate(rig, 64, contiguous | c.MEM_PAGE_HUGE)[0] == refused
    assert allocate(rig, 64, flag | c.MEM_READONLY)[0] == (0 if rig.v1 else c.DRV_ERROR_NOT_SUPPORT)
    for large in (c.MEM_PAGE_GIANT, *(() if rig.v1 else (c.MEM_PAGE_HUGE,))):
        assert allocate(rig, 64, c.MEM_HOST | large)[0] == c.DRV_ERROR_NOT_SUPPORT


def test_a_pointer_is_cleared_once_an_address_is_looked_for(rig: Rig) -> None:
    """The first driver clears it then, the later one never touches it on failure."""
    flag = c.MEM_DEV | c.MEM_TYPE_HBM
    for size, wish, cleared in ((1 << 50, flag, rig.v1), (0, flag, rig.v1), (64, c.MEM_RESERVE, False)):
        pointer = ctypes.c_void_p(0x77)
        assert rig.hal.halMemAlloc(ctypes.byref(pointer), size, wish)
        assert pointer.value == (None if cleared else 0x77)


def test_memory_runs_out_per_page_kind_and_comes_back(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(hbm="64m")
    huge = c.MEM_DEV | c.MEM_PAGE_HUGE
    taken = []
    while (got := allocate(rig, 8 << 20, huge))[0] == 0:
        taken.append(got[1])
    assert got[0] == c.DRV_ERROR_OUT_OF_MEMORY
    assert len(taken) == 6
    assert allocate(rig, 4096, c.MEM_DEV)[0] == 0
    info = s.MemInfo()
    assert rig.hal.halMemGetInfo(0, c.MEM_INFO_TYPE_HBM_SIZE, ctypes.byref(info)) == 0
    assert (info.phy_info.huge_total, info.phy_info.huge_free) == (48 << 20, 0)
    assert rig.hal.halMemFree(taken[0]) == 0
    assert allocate(rig, 8 << 20, huge)[0] == 0


def test_registered_host_memory_is_usable_by_a_kernel_copy(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    with mmap.mmap(-1, 65536) as area:
        view = ctypes.c_char.from_buffer(area)
        address = ctypes.addressof(view)
        out = ctypes.c_void_p()
        if address % rig.fake.memory.page == 0:
            assert rig.hal.halHostRegister(address, 65536, c.HOST_MEM_MAP_DEV, 0, ctypes.byref(out)) == 0
            attribute = s.DVattribute()
            assert rig.hal.drvMemGetAttribute(address, ctypes.byref(attribute)) == 0
            assert attribute.memType == c.DV_MEM_USER_REGISTER
            assert rig.hal.halHostUnregister(address, 0) == 0
        assert rig.hal.halHostUnregister(address, 0) == c.DRV_ERROR_NOT_EXIST
        del view


def test_a_dma_chain_copies_and_is_gone_after_destroy(rig: Rig) -> None:
    host, device = rig.alloc_host(100), rig.alloc(100)
    ctypes.memmove(host, b"x" * 100, 100)
    dma = s.DMA_ADDR()
    assert rig.hal.drvMemConvertAddr(host, device, 100, ctypes.byref(dma)) == 0
    assert rig.hal.halMemcpySumbit(ctypes.byref(dma), c.MEMCPY_SUMBIT_ASYNC) == 0
    assert rig.hal.halMemcpyWait(ctypes.byref(dma)) == 0
    assert rig.get(device, 100) == b"x" * 100
    ctypes.memmove(host, b"z" * 100, 100)
    assert rig.hal.halMemcpySumbit(ctypes.byref(dma), c.MEMCPY_SUMBIT_SYNC) == 0  # waits by itself
    assert rig.get(device, 100) == b"z" * 100
    assert rig.hal.drvMemDestroyAddr(ctypes.byref(dma)) == 0
    assert rig.hal.halMemcpySumbit(ctypes.byref(dma), 0) == c.DRV_ERROR_INVALID_VALUE


@pytest.mark.parametrize("back", [False, True])
def test_a_dma_chain_is_for_the_card_whose_memory_it_copies(open_rig: Callable[..., Rig], back: bool) -> None:
    rig = open_rig(dev=1, devices=2)
    device = rig.alloc(100)
    host = ctypes.c_void_p()  # pinned for card 0, which is not open
    assert rig.hal.halMemAlloc(ctypes.byref(host), 100, c.MEM_HOST) == 0
    assert host.value is not None
    ends = (device, host.value) if back else (host.value, device)
    dma = s.DMA_ADDR()
    assert rig.hal.drvMemConvertAddr(*ends, 100, ctypes.byref(dma)) == 0
    flag = {"converted": 1} if rig.v1 else {"is_converted": 1}
    stream = rig.stream()
    stream.send(rig.sqe("pcie_dma", stream, 1, sq_addr=dma.phyAddr.src, sq_tail=dma.phyAddr.len, **flag))
    stream.drain()
    assert list(rig.fake.problems) == []


def test_the_device_follows_a_dma_chain(rig: Rig) -> None:
    stream, host, device = rig.stream(), rig.alloc_host(100), rig.alloc(100)
    ctypes.memmove(host, b"y" * 100, 100)
    dma = s.DMA_ADDR()
    assert rig.hal.drvMemConvertAddr(host, device, 100, ctypes.byref(dma)) == 0
    flag = {"converted": 1} if rig.v1 else {"is_converted": 1}
    stream.send(rig.sqe("pcie_dma", stream, 1, sq_addr=dma.phyAddr.src, sq_tail=dma.phyAddr.len, **flag))
    stream.drain()
    assert rig.get(device, 100) == b"y" * 100


def test_rows_are_copied_with_their_pitches(rig: Rig) -> None:
    device = rig.alloc(64)
    rows = ctypes.create_string_buffer(b"abcdEFGHijkl", 12)
    copy = s.MEMCPY2D(type=c.DEVMM_MEMCPY2D_SYNC)
    plane = copy.copy2d
    plane.dst, plane.dpitch, plane.src, plane.spitch = device, 16, ctypes.addressof(rows), 4
    plane.width, plane.height, plane.direction = 3, 3, c.DRV_MEMCPY_HOST_TO_DEVICE
    assert rig.hal.halMemcpy2D(ctypes.byref(copy)) == 0
    assert [rig.get(device + 16 * row, 4) for row in range(3)] == [b"abc\0", b"EFG\0", b"ijk\0"]
    plane.dpitch = 2
    assert rig.hal.halMemcpy2D(ctypes.byref(copy)) == c.DRV_ERROR_INVALID_VALUE


def test_a_batch_copies_each_pair(rig: Rig) -> None:
    a, b = rig.alloc(16), rig.alloc(16)
    first, second = ctypes.create_string_buffer(b"one"), ctypes.create_string_buffer(b"two")
    triple = ctypes.c_uint64 * 2
    dst, src = triple(a, b), triple(ctypes.addressof(first), ctypes.addressof(second))
    assert rig.hal.halMemcpyBatch(dst, src, triple(3, 3), 2) == 0
    assert (rig.get(a, 3), rig.get(b, 3)) == (b"one", b"two")


def test_closing_the_device_frees_its_memory(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    address = rig.alloc(1 << 20)
    assert rig.hal.halDeviceClose(0, None) == 0
    assert rig.hal.drvMemGetAttribute(address, ctypes.byref(s.DVattribute())) == c.DRV_ERROR_NOT_EXIST
    assert rig.fake.memory.budgets[0][PageKind.NORMAL].used == 0


def test_two_machines_live_side_by_side(open_rig: Callable[..., Rig]) -> None:
    one, two = open_rig(seed=1), open_rig(seed=1)
    first, second = one.alloc(64), two.alloc(64)
    assert first != second
    one.put(first, b"1")
    two.put(second, b"2")
    assert (one.get(first, 1), two.get(second, 1)) == (b"1", b"2")


def test_memory_is_committed_when_touched() -> None:
    memory = Memory(0x1F00_0000_0000, 1, 64 << 30, 4096)
    try:
        before = _resident()
        block = memory.allocate_device(0, 16 << 30, PageKind.HUGE)
        memory.write(block.base + (15 << 30), b"far")
        assert memory.read(block.base + (15 << 30), 3) == b"far"
        assert _resident() - before < 8 << 20
        memory.free(block.base)
        with pytest.raises(MemoryFault, match="freed before"):
            memory.read(block.base, 1)
    finally:
        memory.close()


def test_budgets_and_blocks_of_the_memory_class() -> None:
    memory = Memory(0x1F00_0000_0000, 2, 1 << 30, 4096)
    try:
        block = memory.allocate_device(1, 5000)
        assert (block.span, block.kind, block.device) == (8192, Kind.DEVICE, 1)
        assert memory.find(block.base + 4999) is block
        with pytest.raises(OutOfDeviceMemory, match="normal pages"):
            memory.allocate_device(1, 1 << 30)
        assert memory.free(block.base) is block
        assert memory.free(block.base) is None
    finally:
        memory.close()


def _resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * mmap.PAGESIZE


def test_extents_join_and_reuse_late() -> None:
    extents = Extents(0, 100)
    a, b, third = (extents.take(10, 1) for _ in range(3))
    assert (a, b, third) == (0, 10, 20)
    extents.give(0, 10)
    extents.give(10, 10)
    assert extents.take(20, 1) == 30
    assert extents.take_at(50, 50)
    assert not extents.take_at(60, 1)
    assert extents.take(20, 1) == 0
    assert extents.take(1, 1) is None


@pytest.mark.parametrize("access", [mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE])
def test_a_kernel_gets_registered_memory_as_the_program_may_use_it(access: int) -> None:
    memory = Memory(1 << 46, 1, 64 << 20, 4096)
    with mmap.mmap(-1, mmap.PAGESIZE, prot=access) as page:
        address = np.frombuffer(page, np.uint8).ctypes.data
        memory.register_host(address, mmap.PAGESIZE, 0)
        for _ in range(2):
            words = reached(memory, address, "uint32", 4, "argument 0")
            assert words.tolist() == [0] * 4
            if access & mmap.PROT_WRITE:
                words[0] = 0
            else:
                with pytest.raises(ValueError, match="read-only"):
                    words[0] = 1
        memory.free(address)
    memory.close()
