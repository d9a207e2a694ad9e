"""Stream-ordered pools, managed memory, memory by component, process snapshots, handles for other hosts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from fakes.machine.blocks import PageKind
from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import Rig
from tests.unit.fakes.test_real_programs import open_card
from tests.unit.fakes.test_sharing import create, reserve

MiB = 1 << 20


class OnePool:
    """A pool over 16 MiB of reserved addresses."""

    def __init__(self, rig: Rig, size: int = 16 * MiB) -> None:
        self.hal = rig.hal
        rc, self.base = reserve(rig, size)
        assert rc == 0
        self.name = s.soma_mem_pool_t(poolId=7, devId=0)
        self.prop = s.soma_mem_pool_prop(va=self.base, maxSize=size)

    def create(self) -> int:
        return int(self.hal.halMemPoolCreate(self.name, self.prop))

    def set(self, offset: int, size: int, taken: bool) -> int:
        return int(self.hal.halMemPoolAsyncConfig(self.name, self.base + offset, size, int(taken)))


def used(rig: Rig) -> int:
    return rig.fake.memory.budgets[0][PageKind.HUGE].used


def test_neighbouring_parts_of_a_pool_are_one_piece_of_memory(rig: Rig) -> None:
    pool, before = OnePool(rig), used(rig)
    assert (pool.create(), pool.create()) == (0, c.DRV_ERROR_INVALID_VALUE)
    for part in (0, 2, 1):
        assert pool.set(part * 2 * MiB, 2 * MiB, True) == 0
    assert used(rig) - before == 6 * MiB
    seam = pool.base + 2 * MiB - 4
    rig.put(seam, b"over the seam")
    assert rig.get(seam, 13) == b"over the seam"
    assert pool.set(2 * MiB, 2 * MiB, False) == 0
    assert used(rig) - before == 4 * MiB
    rig.put(pool.base, b"left")
    rig.put(pool.base + 4 * MiB, b"right")
    buffer = ctypes.create_string_buffer(4)
    assert rig.hal.drvMemcpy(pool.base + 2 * MiB, 4, ctypes.addressof(buffer), 4) == c.DRV_ERROR_INVALID_VALUE
    assert pool.set(0, 16 * MiB, True) == 0
    assert rig.get(seam, 13)[4:] == bytes(9)
    assert rig.hal.halMemPoolDestroy(pool.name) == 0
    assert used(rig) == before
    assert rig.hal.halMemPoolDestroy(pool.name) == c.DRV_ERROR_INVALID_VALUE


def test_a_pool_takes_from_the_memory_of_the_card_and_ends_with_it(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(hbm="64m")
    pool = OnePool(rig, 64 * MiB)
    assert pool.create() == 0
    assert pool.set(0, 64 * MiB, True) == c.DRV_ERROR_OUT_OF_MEMORY
    assert pool.set(0, 16 * MiB, True) == 0
    assert pool.set(60 * MiB, 8 * MiB, True) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halDeviceClose(0, None) == 0
    assert used(rig) == 0


def test_physical_memory_ends_with_the_card(rig: Rig) -> None:
    rc, handle = create(rig, 2 * MiB)
    _, base = reserve(rig, 2 * MiB)
    assert (rc, rig.hal.halMemMap(base, 2 * MiB, 0, handle, 0)) == (0, 0)
    assert used(rig)
    assert rig.hal.halDeviceClose(0, None) == 0
    assert used(rig) == 0
    assert rig.hal.halMemRelease(handle) == c.DRV_ERROR_INVALID_VALUE


def test_pools_keep_attributes_and_trim(rig: Rig) -> None:
    pool, value = OnePool(rig), ctypes.c_uint64(1 << 20)
    pool.create()
    key = c.SOMA_MEM_POOL_ATTR_RELEASE_THRESHOLD
    if rig.hal.has("halMemPoolSetAttr"):  # libraries of the 910B have neither
        assert rig.hal.halMemPoolSetAttr(pool.name, key, ctypes.addressof(value)) == 0
        value.value = 0
        assert rig.hal.halMemPoolGetAttr(pool.name, key, ctypes.addressof(value)) == 0
        assert value.value == 1 << 20
    held = ctypes.c_uint64(8 * MiB)
    assert rig.hal.halMemPoolTrim(pool.name, ctypes.byref(held), 2 * MiB, 4 * MiB) == 0
    assert held.value == 4 * MiB


def test_a_batch_of_managed_ranges_moves_only_as_a_whole(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    pointer, place = ctypes.c_void_p(), s.drv_uvm_location()
    assert rig.hal.halMemAlloc(ctypes.byref(pointer), 2 * MiB, c.MEM_UVM) == 0
    place.type, plain = c.DRV_UVM_LOCATION_TYPE_DEVICE, rig.alloc(64)

    def move(address: int) -> int:
        starts, sizes, first = (ctypes.c_uint64 * 1)(address), (ctypes.c_uint64 * 1)(64), (ctypes.c_uint64 * 1)(0)
        return int(rig.hal.halMemManagedPrefetchBatch(starts, sizes, 1, ctypes.byref(place), first, 1, 0))

    assert (move(pointer.value or 0), move(plain)) == (0, c.DRV_ERROR_INVALID_VALUE)


def test_memory_is_counted_by_component(rig: Rig) -> None:
    def usage() -> dict[bytes, tuple[int, int]]:
        rows, count = (s.mem_module_usage * 8)(), ctypes.c_uint64()
        assert rig.hal.halGetMemUsageInfo(0, rows, 8, ctypes.byref(count)) == 0
        return {row.name: (row.cur_mem_size, row.mem_peak_size) for row in rows[: count.value]}

    hccl = c.HCCL_HAL_MODULE_ID << c.MEM_MODULE_ID_BIT
    blocks = [rig.alloc(MiB, hccl) for _ in range(3)]
    assert usage()[b"HCCL_HAL"] == (3 * MiB, 3 * MiB)
    assert rig.hal.halMemFree(blocks[0]) == 0
    assert usage()[b"HCCL_HAL"] == (2 * MiB, 3 * MiB)


def test_an_exchanged_card_works_again_after_the_restore(rig: Rig) -> None:
    info, stream, data, device = s.hal_proc_res_backup_info(), rig.stream(), rig.alloc(64), rig.fake.device()
    restore = lambda: rig.hal.halProcessResRestore(ctypes.byref(s.hal_proc_res_restore_info()))  # noqa: E731
    rig.put(data, b"gone with the card")
    stream.send(*[rig.nop(stream)] * 5)
    stream.drain()
    assert restore() == c.DRV_ERROR_OPER_NOT_PERMITTED
    assert rig.hal.halProcessResBackup(None) == c.DRV_ERROR_PARA_ERROR
    assert rig.hal.halProcessResBackup(ctypes.byref(info)) == 0
    device.fail(c.DRV_STATUS_EXCEPTION, sticky=True)
    device.exchange()
    assert stream.receive(timeout=1)[0] == c.DRV_ERROR_BUS_DOWN
    assert restore() == 0
    assert (stream.head, stream.query(c.DRV_SQCQ_PROP_SQ_TAIL)) == (5, 5)
    assert rig.get(data, 18) == bytes(18)
    assert stream.send(rig.nop(stream)) == 0
    stream.drain()
    device.exchange()
    assert restore() == 0
    assert (stream.head, stream.query(c.DRV_SQCQ_PROP_SQ_TAIL)) == (5, 5)


@pytest.mark.parametrize("kind", ["MEM_HANDLE_TYPE_NONE", "MEM_HANDLE_TYPE_FABRIC"])
def test_a_handle_travels_as_a_block_of_bytes(rig: Rig, kind: str) -> None:
    number, block, opened = getattr(c, kind), s.MemShareHandle(), ctypes.c_void_p()
    _, handle = create(rig, 2 * MiB)
    assert rig.hal.halMemExportToShareableHandleV2(handle, number, 0, ctypes.byref(block)) == 0
    name, server = ctypes.c_uint64(), ctypes.c_uint32(9)
    fabric = c.MEM_HANDLE_TYPE_FABRIC
    translate = rig.hal.halMemTransShareableHandle
    assert translate(fabric, ctypes.byref(block), ctypes.byref(server), ctypes.byref(name)) == 0
    assert server.value == 0
    info = s.ShareHandleGetInfo()
    assert rig.hal.halMemShareHandleInfoGet(name.value, ctypes.byref(info)) == 0
    assert info.phyDevid == rig.fake.device().identity.physical

    def import_it() -> int:
        return int(rig.hal.halMemImportFromShareableHandleV2(number, ctypes.byref(block), 0, ctypes.byref(opened)))

    assert import_it() == c.DRV_ERROR_OPER_NOT_PERMITTED
    everyone = s.ShareHandleAttr(enableFlag=c.SHMEM_NO_WLIST_ENABLE)
    assert rig.hal.halMemShareHandleSetAttribute(name.value, c.SHR_HANDLE_ATTR_NO_WLIST_IN_SERVER, everyone) == 0
    assert (import_it(), opened.value) == (0, handle)
    assert import_it() == 0


def test_a_handle_keeps_its_route(rig: Rig) -> None:
    _, handle = create(rig, 2 * MiB)
    kind, read = c.HANDLE_ATTR_MEM_MAP_ROUTE, s.HandleAttr()
    assert rig.hal.halMemHandleSetAttribute(handle, kind, s.HandleAttr(mem_map_route=1)) == 0
    assert rig.hal.halMemHandleGetAttribute(handle, kind, ctypes.byref(read)) == 0
    assert read.mem_map_route == 1


def test_windows_may_be_asked_for_in_the_newer_form(rig: Rig) -> None:
    asked: dict[str, Any] = {"res_type": c.RES_ADDR_TYPE_STARS_RTSQ, "res_id": 3}
    old, new = s.res_addr_info(**asked), s.res_map_info_in(**asked)
    address, length, out = ctypes.c_uint64(), ctypes.c_uint32(), s.res_map_info_out()
    assert rig.hal.halResAddrMap(0, ctypes.byref(old), ctypes.byref(address), ctypes.byref(length)) == 0
    assert rig.hal.has("halResAddrMapV2") != rig.v1
    if rig.v1:
        return  # only the later driver exports it
    assert rig.hal.halResAddrMapV2(0, ctypes.byref(new), ctypes.byref(out)) == 0
    assert (out.va, out.len) == (address.value, length.value)
    assert rig.hal.halResAddrUnmapV2(0, ctypes.byref(new)) == 0
    assert rig.hal.halResAddrUnmap(0, ctypes.byref(old)) == c.DRV_ERROR_NOT_EXIST
    assert rig.hal.halGetMaxResMapType() > c.RES_ADDR_TYPE_STARS_RTSQ


def test_windows_are_refused_as_the_driver_does(rig: Rig) -> None:
    address, length = ctypes.c_uint64(), ctypes.c_uint32()

    def ask(devid: int = 0, **fields: int) -> tuple[int, int]:
        info = s.res_addr_info(**{"res_type": c.RES_ADDR_TYPE_STARS_RTSQ, "res_id": 3, **fields})
        code = rig.hal.halResAddrMap(devid, ctypes.byref(info), ctypes.byref(address), ctypes.byref(length))
        return int(code), int(rig.hal.halResAddrUnmap(devid, ctypes.byref(info)))

    assert rig.hal.halResAddrMap(0, None, ctypes.byref(address), ctypes.byref(length)) == c.DRV_ERROR_PARA_ERROR
    assert ask(9) == (c.DRV_ERROR_NO_DEVICE, c.DRV_ERROR_NO_DEVICE)
    assert ask(9, flag=c.RES_MAP_USE_UNIFIED_VA) == (c.DRV_ERROR_NOT_SUPPORT, c.DRV_ERROR_NOT_SUPPORT)
    assert ask(res_type=99) == ask(target_proc_type=99) == (c.DRV_ERROR_PARA_ERROR, c.DRV_ERROR_PARA_ERROR)
    assert ask(res_type=c.RES_ADDR_TYPE_STARS_TOPIC_CQE)[1] == c.DRV_ERROR_NOT_EXIST
    assert ask() == (0, 0)


def mapped(rig: Rig, number: int, owner: int, **private: int) -> tuple[int, int]:
    """Ask card 0 where the notify of a card is; returns code and address."""
    told = s.trs_res_map_priv(flag=c.TSDRV_RES_REMOTE_ID, local_devid=0, remote_devid=owner)
    asked = s.res_map_info_in(res_type=c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD, res_id=number, priv=ctypes.addressof(told),
                              priv_len=private.get("priv_len", ctypes.sizeof(told)))  # fmt: skip
    out = s.res_map_info_out()
    return int(rig.hal.halResAddrMapV2(0, ctypes.byref(asked), ctypes.byref(out))), out.va


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
def test_a_value_write_reaches_the_notify_of_another_card_where_it_is_mapped(
    open_rig: Callable[..., Rig], scheme: str
) -> None:
    rig = open_rig("Ascend950PR_9599", scheme, devices=2)
    open_card(rig, 1)
    stream, (own, other) = rig.stream(), rig.fake.devices
    asked, out = s.halResourceIdInputInfo(type=c.DRV_NOTIFY_ID), s.halResourceIdOutputInfo()
    assert rig.hal.halResourceIdAlloc(1, ctypes.byref(asked), ctypes.byref(out)) == 0
    number = out.resourceId
    code, address = mapped(rig, number, other.identity.physical)
    assert code == 0
    assert mapped(rig, number, own.identity.physical)[1] != address
    assert mapped(rig, number, 77)[0] == c.DRV_ERROR_IOCRL_FAIL
    assert mapped(rig, number, other.identity.physical, priv_len=8)[0] == c.DRV_ERROR_IOCRL_FAIL
    write = {"va": 1, "awsize": 2, "sub_type": 4, "notify_id": number, "value[0]": 1}
    assert stream.send(rig.sqe("write_value", stream, 1, addr=address, **write)) == 0
    stream.drain()
    assert other.signal(other.notifies, number).value == 1
    assert stream.send(rig.sqe("write_value", stream, 2, addr=address + 4, **write)) == 0
    rig.fake.run_until_idle()
    assert stream.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 0
    assert "no register of a notify" in rig.fake.problems[-1]


def test_a_process_on_a_working_card_is_healthy(rig: Rig) -> None:
    out = s.drv_process_status_output(result=9)
    assert rig.hal.has("halCheckProcessStatusEx") == rig.v1
    if not rig.v1:
        return  # only the first driver exports it
    assert rig.hal.halCheckProcessStatusEx(0, c.PROCESS_CP1, c.STATUS_NOMEM, ctypes.byref(out)) == 0
    assert out.result == 0
    assert rig.hal.halGetCurrentThreadNumaNode() == 0
