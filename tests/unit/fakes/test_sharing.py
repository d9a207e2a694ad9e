"""Virtual memory, names for other processes, peers, stream memory, faults and host callbacks."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import pytest

from fakes.hal.faults import FaultEvent
from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import Rig

MiB = 1 << 20


def create(rig: Rig, size: int) -> tuple[int, int]:
    handle = ctypes.c_void_p()
    prop = s.drv_mem_prop(side=c.MEM_DEV_SIDE, devid=0, pg_type=c.MEM_HUGE_PAGE_TYPE)
    return int(rig.hal.halMemCreate(ctypes.byref(handle), size, ctypes.byref(prop), 0)), handle.value or 0


def reserve(rig: Rig, size: int) -> tuple[int, int]:
    pointer = ctypes.c_void_p()
    return int(rig.hal.halMemAddressReserve(ctypes.byref(pointer), size, 0, 0, 0)), pointer.value or 0


def test_one_physical_memory_at_two_addresses(rig: Rig) -> None:
    rc, handle = create(rig, 2 * MiB)
    assert rc == 0
    rc, base = reserve(rig, 4 * MiB)
    assert rc == 0
    for address in (base, base + 2 * MiB):
        assert rig.hal.halMemMap(address, 2 * MiB, 0, handle, 0) == 0
    rig.put(base, b"seen twice")
    assert rig.get(base + 2 * MiB, 10) == b"seen twice"
    assert rig.hal.halMemMap(base, 2 * MiB, 0, handle, 0) == c.DRV_ERROR_BUSY
    assert rig.hal.halMemAddressFree(base) == c.DRV_ERROR_BUSY
    assert rig.hal.halMemRelease(handle) == 0
    assert rig.hal.halMemUnmap(base) == 0
    assert rig.get(base + 2 * MiB, 10) == b"seen twice"
    assert rig.hal.halMemUnmap(base + 2 * MiB) == 0
    assert rig.hal.halMemUnmap(base) == c.DRV_ERROR_PARA_ERROR
    assert rig.hal.halMemRelease(handle) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halMemAddressFree(base) == 0


def test_the_device_uses_mapped_memory(rig: Rig) -> None:
    _, handle = create(rig, 2 * MiB)
    _, base = reserve(rig, 2 * MiB)
    assert rig.hal.halMemMap(base, 2 * MiB, 0, handle, 0) == 0
    stream, other = rig.stream(), rig.alloc(64)
    rig.put(base, b"physical")
    stream.send(rig.copy(stream, other, base, 8))
    stream.drain()
    assert rig.get(other, 8) == b"physical"


def test_memory_of_a_card_that_is_imported_for_the_host_is_its_own_too(rig: Rig) -> None:
    _, handle = create(rig, 2 * MiB)
    _, base = reserve(rig, 4 * MiB)
    number, host, imported = ctypes.c_uint64(), ctypes.c_uint32(), ctypes.c_void_p()
    assert rig.hal.halMemMap(base, 2 * MiB, 0, handle, 0) == 0
    assert rig.hal.halMemExportToShareableHandle(handle, c.MEM_HANDLE_TYPE_NONE, 1, ctypes.byref(number)) == 0
    assert rig.hal.halGetHostID(ctypes.byref(host)) == 0
    attribute = s.ShareHandleAttr(enableFlag=c.SHMEM_NO_WLIST_ENABLE)
    assert rig.hal.halMemShareHandleSetAttribute(number, c.SHR_HANDLE_ATTR_NO_WLIST_IN_SERVER, attribute) == 0
    assert rig.hal.halMemImportFromShareableHandle(number, host, ctypes.byref(imported)) == 0
    assert rig.hal.halMemMap(base + 2 * MiB, 2 * MiB, 0, imported, 0) == 0
    rig.put(base, b"over the window")
    assert ctypes.string_at(base + 2 * MiB, 15) == b"over the window"


def test_wrong_virtual_memory_calls_have_their_codes(rig: Rig) -> None:
    pointer = ctypes.c_void_p()
    assert rig.hal.halMemAddressReserve(ctypes.byref(pointer), 2 * MiB, 4096, 0, 0) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halMemAddressReserve(ctypes.byref(pointer), 2 * MiB, 0, 0, 3) == c.DRV_ERROR_INVALID_VALUE
    assert create(rig, MiB)[0] == c.DRV_ERROR_PARA_ERROR
    assert create(rig, 1 << 50)[0] == c.DRV_ERROR_OUT_OF_MEMORY
    _, handle = create(rig, 2 * MiB)
    assert rig.hal.halMemMap(1 << 21, 2 * MiB, 0, handle, 0) == c.DRV_ERROR_INVALID_VALUE
    access = s.drv_mem_access_desc(type=c.MEM_ACCESS_TYPE_READ)
    _, base = reserve(rig, 2 * MiB)
    assert rig.hal.halMemMap(base, 2 * MiB, 0, handle, 0) == 0
    assert rig.hal.halMemSetAccess(base, 2 * MiB, ctypes.byref(access), 1) == c.DRV_ERROR_NOT_SUPPORT


def test_reserved_ranges_end_at_2_mib(rig: Rig) -> None:
    code, base = reserve(rig, MiB)
    assert (code, base % (2 * MiB)) == (0, 0)
    _, handle = create(rig, 2 * MiB)
    assert rig.hal.halMemMap(base, 2 * MiB, 0, handle, 0) == 0
    assert rig.hal.halMemFree(base) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halMemUnmap(base) == 0
    assert rig.hal.halMemAddressFree(base) == 0
    assert reserve(rig, 3 * MiB)[0] == 0


def test_a_shared_handle_needs_permission(rig: Rig) -> None:
    _, handle = create(rig, 2 * MiB)
    share, imported = ctypes.c_uint64(), ctypes.c_void_p()
    assert rig.hal.halMemExportToShareableHandle(handle, 0, 0, ctypes.byref(share)) == 0

    def open_it() -> int:
        return int(rig.hal.halMemImportFromShareableHandle(share, 0, ctypes.byref(imported)))

    assert open_it() == c.DRV_ERROR_OPER_NOT_PERMITTED
    pids = (ctypes.c_int32 * 1)(os.getpid())
    assert rig.hal.halMemSetPidToShareableHandle(share, pids, 1) == 0
    assert open_it() == 0
    share.value += 77
    assert open_it() == c.DRV_ERROR_IOCRL_FAIL


def test_named_memory_is_the_same_memory(rig: Rig) -> None:
    address, view = rig.alloc(4096), ctypes.c_uint64()
    name = ctypes.create_string_buffer(65)
    assert rig.hal.halShmemCreateHandle(address, 4096, name, 64) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halShmemCreateHandle(address, 4096, name, 65) == 0
    assert rig.hal.halShmemOpenHandleByDevId(0, name, ctypes.byref(view)) == c.DRV_ERROR_OPER_NOT_PERMITTED
    assert rig.hal.halShmemSetPidHandle(name, (ctypes.c_int32 * 1)(os.getpid()), 1) == 0
    assert rig.hal.halShmemOpenHandleByDevId(0, name, ctypes.byref(view)) == 0
    rig.put(view.value, b"shared")
    assert rig.get(address, 6) == b"shared"
    assert rig.hal.halMemFree(address) == c.DRV_ERROR_BUSY
    assert rig.hal.halShmemCloseHandle(view.value) == 0
    assert rig.hal.halShmemDestroyHandle(name) == 0
    assert rig.hal.halMemFree(address) == 0


def test_a_named_notify_is_fired_by_its_name(rig: Rig) -> None:
    stream, number = rig.stream(), rig.take_id(c.DRV_NOTIFY_ID)
    name, info = ctypes.create_string_buffer(65), s.drvShrIdInfo(id_type=c.SHR_ID_NOTIFY_TYPE, shrid=number)
    assert rig.hal.halShrIdCreate(ctypes.byref(info), name, 65) == 0
    assert rig.hal.halShrIdRecord(name) == c.DRV_ERROR_IOCRL_FAIL
    assert rig.hal.halShrIdSetPid(name, (ctypes.c_int32 * 1)(os.getpid()), 1) == 0
    opened = s.drvShrIdInfo()
    assert rig.hal.halShrIdOpen(name, ctypes.byref(opened)) == 0
    assert opened.shrid == number
    physical = ctypes.c_uint32()
    assert rig.hal.drvDeviceGetPhyIdByIndex(0, ctypes.byref(physical)) == 0
    assert opened.devid == physical.value
    stream.send(rig.sqe("notify_wait", stream, 1, notify_id=number))
    assert stream.head == 0
    assert rig.hal.halShrIdRecord(name) == 0
    stream.drain()
    assert rig.hal.halShrIdClose(name) == 0
    assert rig.hal.halShrIdDestroy(name) == 0


def test_memory_of_another_card_needs_p2p(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(devices=2)
    assert rig.hal.halDeviceOpen(1, None, ctypes.byref(s.hal_dev_open_out())) == 0
    here, stream = rig.alloc(64), rig.stream()
    rig.dev = 1
    there = rig.alloc(64)
    rig.dev = 0
    rig.put(there, b"peer")
    stream.send(rig.copy(stream, here, there, 4))
    assert stream.head == 0
    assert "enable P2P" in rig.fake.problems[-1]
    physical = rig.fake.device(1).identity.physical
    status, can = ctypes.c_uint32(9), ctypes.c_int32(9)
    assert rig.hal.halDeviceCanAccessPeer(ctypes.byref(can), 0, physical) == 0
    assert rig.hal.halDeviceEnableP2P(0, physical, 0) == 0
    assert rig.hal.drvGetP2PStatus(0, physical, ctypes.byref(status)) == 0
    assert (can.value, status.value) == (1, 1)
    assert stream.config(c.DRV_SQCQ_PROP_SQ_STATUS, 1) == 0
    stream.drain()
    assert rig.get(here, 4) == b"peer"
    assert rig.hal.halDeviceDisableP2P(0, physical, 0) == 0
    assert rig.hal.halDeviceDisableP2P(0, physical, 0) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halDeviceEnableP2P(0, 99, 0) == c.DRV_ERROR_INVALID_DEVICE


def test_cards_are_linked_by_their_places(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(devices=8)
    value = ctypes.c_int64()

    def kind(other: int) -> int:
        assert rig.hal.halGetPairDevicesInfo(0, other, c.DEVS_INFO_TYPE_TOPOLOGY, ctypes.byref(value)) == 0
        return value.value

    assert [kind(other) for other in (1, 2, 7)] == [5, 0, 4]
    assert rig.hal.halGetPairDevicesInfo(0, 9, 0, ctypes.byref(value)) == c.DRV_ERROR_INVALID_VALUE


def test_a_queue_runs_what_lies_in_its_streams_memory(rig: Rig) -> None:
    own, memory = rig.stream(), rig.alloc(2 * MiB, c.MEM_PAGE_HUGE)
    info = (s.sq_switch_stream_info * 1)()
    info[0].sq_id, info[0].stream_id, info[0].sq_depth, info[0].stream_mem = own.sq_id, 777, 64, memory
    assert rig.hal.halSqSwitchStreamBatch(0, info, 1) == 0
    data = rig.alloc(8)
    value = {"value": 9} if rig.v1 else {"value[0]": 9}
    tasks = ctypes.create_string_buffer(rig.sqe("write_value", own, 1, addr=data, awsize=3, va=1, **value), 64)
    assert rig.hal.halStreamTaskFill(0, 777, memory, tasks, 1) == 0
    beyond = memory + 64 * 64
    assert rig.hal.halStreamTaskFill(0, 777, beyond, tasks, 1) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halStreamTaskFill(0, 778, memory, tasks, 1) == c.DRV_ERROR_INVALID_VALUE
    assert own.config(c.DRV_SQCQ_PROP_SQ_TAIL, 1) == 0
    own.drain()
    assert rig.get(data, 1) == b"\x09"
    info[0].stream_id = 0xFFFFFFFF
    assert rig.hal.halSqSwitchStreamBatch(0, info, 1) == 0
    assert own.send(rig.nop(own)) == 0
    own.drain()
    info[0].stream_id, info[0].stream_mem = 777, memory + 2 * MiB - 64
    assert rig.hal.halSqSwitchStreamBatch(0, info, 1) == c.DRV_ERROR_INVALID_VALUE


def test_stream_memory_is_saved_and_restored(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(*[rig.nop(stream, task) for task in range(3)])
    stream.drain()
    numbers = (ctypes.c_uint32 * 1)(stream.sq_id)
    info = s.stream_backup_info(type=0, id_num=1, id_list=ctypes.addressof(numbers))
    assert rig.hal.halStreamRestore(0, ctypes.byref(info)) == c.DRV_ERROR_INVALID_VALUE
    assert rig.hal.halStreamBackup(0, ctypes.byref(info)) == 0
    sq = rig.fake.device().queues[stream.sq_id]
    before = ctypes.string_at(sq.ring.pointer, 192)
    ctypes.memset(sq.ring.pointer, 0, 192)
    assert rig.hal.halStreamRestore(0, ctypes.byref(info)) == 0
    assert ctypes.string_at(sq.ring.pointer, 192) == before
    assert (sq.head, sq.tail) == (3, 3)


def test_the_two_step_send(rig: Rig) -> None:
    stream = rig.stream()
    ask, got = s.halSqMemGetInput(sqId=stream.sq_id, cmdCount=9), s.halSqMemGetOutput()
    assert rig.hal.halSqMemGet(0, ctypes.byref(ask), ctypes.byref(got)) == 0
    assert (got.cmdCount, got.pos) == (4, 0)
    ctypes.memmove(got.cmdPtr, rig.nop(stream) * 4, 256)
    message = s.halSqMsgInfo(sqId=stream.sq_id, cmdCount=3)
    assert rig.hal.halSqMsgSend(0, ctypes.byref(message)) == c.DRV_ERROR_INVALID_VALUE
    message.cmdCount = 4
    assert rig.hal.halSqMsgSend(0, ctypes.byref(message)) == 0
    stream.drain()
    assert len(rig.fake.log) == 4


def test_faults_of_a_card_are_listed_and_read(rig: Rig) -> None:
    wanted, info, count = s.halEventFilter(), s.halFaultEventInfo(), ctypes.c_uint32(9)
    assert rig.hal.halReadFaultEvent(-1, 0, ctypes.byref(wanted), ctypes.byref(info)) == c.DRV_ERROR_NO_EVENT
    rig.fake.device().raise_fault(FaultEvent(0x80E01801, "HBM ECC multi bit", severity=3))
    assert rig.hal.halGetFaultEvent(0, ctypes.byref(wanted), ctypes.byref(info), 4, ctypes.byref(count)) == 0
    assert (count.value, info.event_id, info.event_name) == (1, 0x80E01801, b"HBM ECC multi bit")
    wanted.filter_flag, wanted.event_id = c.HAL_EVENT_FILTER_FLAG_EVENT_ID, 1
    assert rig.hal.halReadFaultEvent(0, 0, ctypes.byref(wanted), ctypes.byref(info)) == c.DRV_ERROR_NO_EVENT
    wanted.filter_flag = 0
    assert rig.hal.halReadFaultEvent(0, 1000, ctypes.byref(wanted), ctypes.byref(info)) == 0
    assert info.severity == 3
    rig.fake.device().raise_fault(FaultEvent(0x80E01801, "HBM ECC multi bit", assertion=0))
    assert rig.hal.halGetFaultEvent(0, ctypes.byref(wanted), ctypes.byref(info), 4, ctypes.byref(count)) == 0
    assert count.value == 0


def callback_queue(rig: Rig, group: int) -> int:
    in_ = s.halSqCqInputInfo(type=c.DRV_CALLBACK_TYPE, cqeSize=32, cqeDepth=1024, grpId=group)
    out = s.halSqCqOutputInfo()
    assert rig.hal.halSqCqAllocate(0, ctypes.byref(in_), ctypes.byref(out)) == 0
    return int(out.cqId)


def callback_sqe(rig: Rig, stream: Any, cq: int) -> bytes:
    fields = (
        {"function": 0x1234, "data": 0x5678, "event_id": 9, "block": 1} if rig.v1 else
        {"callback": 0x1234, "data": 0x5678, "notify_id": 9, "is_block": 1}
    )  # fmt: skip
    return rig.sqe("host_callback", stream, 1, cq_id=cq, wr_cqe=0, **fields)


def test_host_callbacks_reach_the_thread_that_waits_for_their_queue(rig: Rig) -> None:
    stream, cq = rig.stream(), callback_queue(rig, 3)
    bits = (ctypes.c_uint64 * 2)(7, 7)
    wait = s.halReportInfoInput(type=c.DRV_CALLBACK_TYPE, grpId=3, timeout=1)
    out = s.halReportInfoOutput(cqIdBitmap=ctypes.addressof(bits), cqIdBitmapSize=2)
    assert rig.hal.halCqReportIrqWait(0, ctypes.byref(wait), ctypes.byref(out)) == c.DRV_ERROR_WAIT_TIMEOUT
    assert list(bits) == [7, 7]
    got, ask = s.halReportGetOutput(), s.halReportGetInput(type=c.DRV_CALLBACK_TYPE, cqId=cq)
    free = s.halReportReleaseInfo(type=c.DRV_CALLBACK_TYPE, cqId=cq, count=0)
    assert rig.hal.halReportRelease(0, ctypes.byref(free)) == c.DRV_ERROR_INVALID_VALUE
    stream.send(*[callback_sqe(rig, stream, cq)] * 3)
    wait.timeout = 1000
    places = set()
    for _ in range(3):  # one at a time, at the same place
        assert rig.hal.halCqReportIrqWait(0, ctypes.byref(wait), ctypes.byref(out)) == 0
        assert list(bits) == [1 << cq, 0]
        assert rig.hal.halCqReportGet(0, ctypes.byref(ask), ctypes.byref(got)) == 0
        assert got.count == 1
        places.add(got.reportPtr)
        raw = ctypes.string_at(got.reportPtr, 32)
        assert (raw[12], int.from_bytes(raw[14:16], "little")) == (1, 9)
        assert [int.from_bytes(raw[at : at + 8], "little") for at in (16, 24)] == [0x1234, 0x5678]
        free.count = 2
        assert rig.hal.halReportRelease(0, ctypes.byref(free)) == c.DRV_ERROR_INVALID_VALUE
        free.count = 1
        assert rig.hal.halReportRelease(0, ctypes.byref(free)) == 0
    assert len(places) == 1
    assert rig.hal.halCqReportGet(0, ctypes.byref(ask), ctypes.byref(got)) == 0
    assert got.count == 0
    wait.timeout = 0
    assert rig.hal.halCqReportIrqWait(0, ctypes.byref(wait), ctypes.byref(out)) == c.DRV_ERROR_NO_EVENT


def test_a_callback_for_nobody_is_an_sqe_error(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(callback_sqe(rig, stream, 55))
    assert stream.head == 0
    assert stream.receive()[1][0].error_type == 8


@pytest.mark.parametrize("count", [1, 3])
def test_callbacks_are_received_one_by_one(rig: Rig, count: int) -> None:
    stream, cq = rig.stream(), callback_queue(rig, 1)
    stream.send(*[callback_sqe(rig, stream, cq)] * count)
    buffer = ctypes.create_string_buffer(32)
    info = s.halReportRecvInfo(type=c.DRV_CALLBACK_TYPE, cqId=1, timeout=1000, report_cqe_num=77)
    assert rig.hal.halCqReportRecv(0, ctypes.byref(info)) == c.DRV_ERROR_PARA_ERROR
    info.cqe_addr = ctypes.addressof(buffer)
    for _ in range(count):  # by the number of the group; the driver does not count
        assert rig.hal.halCqReportRecv(0, ctypes.byref(info)) == 0
        assert int.from_bytes(buffer.raw[:2], "little") >> 4 == cq
        assert info.report_cqe_num == 77
    info.timeout = 0
    assert rig.hal.halCqReportRecv(0, ctypes.byref(info)) == c.DRV_ERROR_NO_EVENT
    info.cqId = 1024
    assert rig.hal.halCqReportRecv(0, ctypes.byref(info)) == c.DRV_ERROR_PARA_ERROR
