"""Groups, blocks, message buffers and the host's queues of them on the fake: who may do what when."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import npuhal
from fakes.errors import NotModelled
from npuhal import constants as c
from npuhal import structs as s

ALL = s.GroupShareAttr(admin=1, read=1, write=1, alloc=1)
NAME = ctypes.create_string_buffer(b"here")
HERE = ctypes.addressof(NAME)
PID = os.getpid()


@pytest.fixture(params=["fake://ascend910b3", "fake-abi://ascend950"])
def alone(request: pytest.FixtureRequest) -> Iterator[npuhal.HalApi]:
    backend = npuhal.open_hal(request.param)
    yield backend
    backend.close()


@pytest.fixture
def hal(alone: npuhal.HalApi) -> npuhal.HalApi:
    """A process in a group of 256 MiB, the least that there is."""
    assert alone.halGrpCreate(HERE, ctypes.byref(s.GroupCfg(maxMemSize=1))) == 0
    assert alone.halGrpAddProc(HERE, PID, ALL) == 0
    assert alone.halGrpAttach(HERE, 10_000) == 0
    assert alone.halBuffInit(ctypes.byref(s.BuffCfg())) == 0
    return alone


def given(call: Callable[..., Any], *arguments: Any, kind: Any = ctypes.c_void_p) -> int:
    """Return what a call gives through its last pointer; it must succeed."""
    out = kind()
    assert call(*arguments, ctypes.byref(out)) == 0
    return out.value or 0


def chain(hal: npuhal.HalApi, number: int) -> list[int]:
    """Make a chain of buffers of 1, 2, ... bytes."""
    made = [given(hal.halMbufAlloc, size + 1) for size in range(number)]
    for each in made[1:]:
        assert hal.halMbufChainAppend(made[0], each) == 0
    return made


def test_a_process_without_a_group_has_no_memory(alone: npuhal.HalApi) -> None:
    out = ctypes.c_void_p(7)
    assert alone.halMbufAlloc(8, ctypes.byref(out)) == c.DRV_ERROR_NO_RESOURCES
    assert alone.halBuffAlloc(8, ctypes.byref(out)) == c.DRV_ERROR_NO_RESOURCES
    assert out.value == 7


def test_a_group_is_made_once_and_by_its_name(alone: npuhal.HalApi) -> None:
    long, slash = ctypes.create_string_buffer(b"x" * 32), ctypes.create_string_buffer(b"a/b")
    config = ctypes.byref(s.GroupCfg())
    for name in (0, ctypes.addressof(long), ctypes.addressof(slash)):
        assert alone.halGrpCreate(name, config) == c.DRV_ERROR_INVALID_VALUE
    assert alone.halGrpCreate(HERE, None) == c.DRV_ERROR_INVALID_VALUE
    too_much = s.GroupCfg(maxMemSize=(256 << 20) + 1)
    assert alone.halGrpCreate(HERE, ctypes.byref(too_much)) == c.DRV_ERROR_INVALID_VALUE
    assert alone.halGrpAddProc(HERE, PID, ALL) == c.DRV_ERROR_INVALID_VALUE
    assert [alone.halGrpCreate(HERE, config), alone.halGrpCreate(HERE, config)] == [0, c.DRV_ERROR_REPEATED_INIT]
    assert alone.halGrpAttach(HERE, 1) == c.DRV_ERROR_INVALID_VALUE, "not added yet"
    assert alone.halGrpAddProc(HERE, PID, s.GroupShareAttr(read=1, write=1)) == c.DRV_ERROR_INVALID_VALUE
    assert [alone.halGrpAddProc(HERE, PID, ALL) for _ in range(2)] == [0, c.DRV_ERROR_REPEATED_INIT]
    assert [alone.halGrpAttach(HERE, ms) for ms in (0, 10_001)] == [c.DRV_ERROR_INVALID_VALUE] * 2
    assert [alone.halGrpAttach(HERE, 1) for _ in range(2)] == [0, c.DRV_ERROR_INVALID_VALUE]
    with pytest.raises(NotModelled, match="halGrpAddProc of another process"):
        alone.halGrpAddProc(HERE, PID + 1, ALL)


def test_what_a_group_tells(hal: npuhal.HalApi) -> None:
    told, asked, length = s.GroupQueryOutput(), s.GroupQueryInput(), ctypes.c_uint32(ctypes.sizeof(s.GroupQueryOutput))

    def query(command: int) -> int:
        return hal.halGrpQuery(
            command, ctypes.addressof(asked), ctypes.sizeof(asked), ctypes.addressof(told), ctypes.byref(length)
        )

    asked.grpQueryGroup.grpName = b"here"
    assert query(c.GRP_QUERY_GROUP) == 0
    member = told.grpQueryGroupInfo[0]
    assert (length.value, member.pid, member.attr.admin, member.attr.alloc) == (8, PID, 1, 1)
    assert query(c.GRP_QUERY_GROUP_ID) == 0
    assert (length.value, told.grpQueryGroupIdInfo.groupId) == (4, 0)
    asked.grpQueryGroup.grpName = b"there"
    assert query(c.GRP_QUERY_GROUP) == c.DRV_ERROR_INVALID_VALUE
    asked.grpQueryGroupsOfProc.pid = PID
    assert query(c.GRP_QUERY_GROUPS_OF_PROCESS) == 0
    assert (length.value, told.grpQueryGroupsOfProcInfo[0].groupName) == (36, b"here")
    asked.grpQueryGroupsOfProc.pid = PID + 1
    assert [query(c.GRP_QUERY_GROUPS_OF_PROCESS), length.value] == [0, 0]
    assert query(c.GRP_QUERY_CMD_MAX) == c.DRV_ERROR_NOT_SUPPORT
    assert hal.halGrpQuery(0, 0, 0, ctypes.addressof(told), ctypes.byref(length)) == c.DRV_ERROR_INVALID_VALUE


@pytest.mark.parametrize(("zone", "code"), [
    ({}, 0), ({"total_size": 4096, "blk_size": 64, "max_buf_size": 128}, 0),
    ({"total_size": 4096, "blk_size": 60, "max_buf_size": 128}, 1),
    ({"total_size": 4000, "blk_size": 64, "max_buf_size": 128}, 1),
    ({"total_size": 4096, "blk_size": 64, "max_buf_size": 4096}, 1),
    ({"total_size": 4096, "blk_size": 64, "max_buf_size": 32}, 1),
    ({"cfg_id": 1, "total_size": 4096, "blk_size": 64, "max_buf_size": 128}, 1),
    ({"total_size": 4096, "blk_size": 64, "max_buf_size": 128, "elasticEnable": 1, "elasticLowLevel": -1}, 1),
])  # fmt: skip
def test_zones(alone: npuhal.HalApi, zone: dict[str, int], code: int) -> None:
    config = s.BuffCfg()
    for name, value in zone.items():
        setattr(config.cfg[0], name, value)
    assert alone.halBuffInit(ctypes.byref(config)) == (c.DRV_ERROR_INVALID_VALUE if code else 0)


def test_a_buffer_has_data_a_length_and_a_private_area(hal: npuhal.HalApi) -> None:
    mbuf = given(hal.halMbufAlloc, 100)
    assert given(hal.halMbufGetBuffSize, mbuf, kind=ctypes.c_uint64) == 100
    assert given(hal.halMbufGetDataLen, mbuf, kind=ctypes.c_uint64) == 0
    assert [hal.halMbufSetDataLen(mbuf, size) for size in (0, 101, 100)] == [c.DRV_ERROR_INVALID_VALUE] * 2 + [0]
    data = given(hal.halMbufGetBuffAddr, mbuf)
    assert data % 32 == 0
    ctypes.memset(data, 5, 100)
    where, size = ctypes.c_void_p(), ctypes.c_uint32()
    assert hal.halMbufGetPrivInfo(mbuf, ctypes.byref(where), ctypes.byref(size)) == 0
    assert (size.value, ctypes.string_at(where.value or 0, 256)) == (256, bytes(256))
    ctypes.memset(where.value or 0, 7, 256)
    copy = given(hal.halMbufCopyRef, mbuf)
    assert given(hal.halMbufGetBuffAddr, copy) == data
    assert given(hal.halMbufGetDataLen, copy, kind=ctypes.c_uint64) == 100
    assert hal.halMbufGetPrivInfo(copy, ctypes.byref(where), ctypes.byref(size)) == 0
    assert ctypes.string_at(where.value or 0, 256) == b"\x07" * 256
    assert [hal.halMbufFree(mbuf), hal.halMbufFree(mbuf)] == [0, c.DRV_ERROR_INVALID_VALUE]
    assert ctypes.string_at(data, 100) == b"\x05" * 100
    assert hal.halMbufFree(copy) == 0


def test_the_group_s_memory_is_counted(hal: npuhal.HalApi) -> None:
    out = ctypes.c_void_p()
    large = given(hal.halMbufAlloc, 200 << 20)
    assert hal.halMbufAlloc(57 << 20, ctypes.byref(out)) == c.DRV_ERROR_OUT_OF_MEMORY
    copy = given(hal.halMbufCopyRef, large)
    assert hal.halMbufFree(large) == 0
    assert hal.halMbufAlloc(57 << 20, ctypes.byref(out)) == c.DRV_ERROR_OUT_OF_MEMORY
    assert hal.halMbufFree(copy) == 0
    assert hal.halMbufFree(given(hal.halMbufAlloc, 256 << 20)) == 0


@pytest.mark.parametrize(("align", "code"), [(16, 2), (32, 0), (48, 2), (4096, 0), (8192, 2)])
def test_alignments(hal: npuhal.HalApi, align: int, code: int) -> None:
    out = ctypes.c_void_p()
    assert hal.halMbufAllocEx(10, align, 0, 0, ctypes.byref(out)) == (c.DRV_ERROR_INVALID_VALUE if code else 0)
    if not code:
        assert given(hal.halMbufGetBuffAddr, out.value) % align == 0


def test_chains(hal: npuhal.HalApi) -> None:
    made = chain(hal, 3)
    assert given(hal.halMbufChainGetMbufNum, made[0], kind=ctypes.c_uint32) == 3
    assert [given(hal.halMbufChainGetMbuf, made[0], index) for index in range(3)] == made
    number, out = ctypes.c_uint32(9), ctypes.c_void_p()
    assert hal.halMbufChainGetMbuf(made[0], 3, ctypes.byref(out)) == c.DRV_ERROR_PARA_ERROR
    assert hal.halMbufChainGetMbuf(made[0], 128, ctypes.byref(out)) == c.DRV_ERROR_INVALID_VALUE
    for inner in made[1:]:  # only the first one stands for a chain
        assert hal.halMbufChainGetMbufNum(inner, ctypes.byref(number)) == c.DRV_ERROR_INVALID_VALUE
        assert hal.halMbufFree(inner) == c.DRV_ERROR_INVALID_VALUE
        assert hal.halMbufChainAppend(inner, made[0]) == c.DRV_ERROR_INVALID_VALUE
    assert hal.halMbufChainAppend(made[0], made[0]) == c.DRV_ERROR_PARA_ERROR
    copies = given(hal.halMbufCopyRef, made[0])
    assert given(hal.halMbufChainGetMbufNum, copies, kind=ctypes.c_uint32) == 3
    long = chain(hal, 126)
    assert hal.halMbufChainAppend(long[0], copies) == c.DRV_ERROR_OVER_LIMIT
    assert hal.halMbufChainAppend(long[0], chain(hal, 2)[0]) == 0
    assert [hal.halMbufFree(made[0]), hal.halMbufFree(made[1])] == [0, c.DRV_ERROR_INVALID_VALUE]
    assert [hal.halMbufFree(head) for head in (copies, long[0])] == [0, 0]


def test_blocks_and_buffers_on_them(hal: npuhal.HalApi) -> None:
    block, out, size = given(hal.halBuffAlloc, 64), ctypes.c_void_p(), ctypes.c_uint64()
    assert hal.halMbufBuild(block, 65, ctypes.byref(out)) == c.DRV_ERROR_INVALID_VALUE
    assert hal.halMbufBuild(block + 8, 8, ctypes.byref(out)) == c.DRV_ERROR_INVALID_VALUE
    mbuf = given(hal.halMbufBuild, block, 40)
    assert given(hal.halMbufGetDataLen, mbuf, kind=ctypes.c_uint64) == 40
    assert hal.halBuffFree(block) == c.DRV_ERROR_INVALID_VALUE
    assert hal.halMbufBuild(block, 8, ctypes.byref(out)) == c.DRV_ERROR_INVALID_VALUE
    assert [hal.halBuffGet(mbuf, block, 64), hal.halBuffGet(0, block + 1, 63)] == [0, 0]
    assert hal.halBuffGet(mbuf, block, 65) == c.DRV_ERROR_INVALID_VALUE
    hal.halBuffPut(mbuf, block)
    copy = given(hal.halMbufCopyRef, mbuf)
    unbuild = (mbuf, ctypes.byref(out), ctypes.byref(size))
    assert hal.halMbufUnBuild(*unbuild) == c.DRV_ERROR_INVALID_VALUE
    assert hal.halMbufFree(copy) == 0
    assert hal.halMbufUnBuild(mbuf, None, ctypes.byref(size)) == c.DRV_ERROR_PARA_ERROR
    assert [hal.halMbufUnBuild(*unbuild), hal.halMbufUnBuild(*unbuild)] == [0, c.DRV_ERROR_INVALID_VALUE]
    assert (out.value, size.value) == (block, 40)
    assert [hal.halBuffFree(block), hal.halBuffFree(block)] == [0, c.DRV_ERROR_INVALID_VALUE]


def test_what_buffers_tell(hal: npuhal.HalApi) -> None:
    mbuf, block = given(hal.halMbufAlloc, 8), given(hal.halBuffAlloc, 8)
    use, kind, which = s.MbufUseInfo(), s.MbufTypeInfo(), s.BuffTypeInfo()

    def info(command: int, of: int, told: Any) -> int:
        asked, length = ctypes.c_uint64(of), ctypes.c_uint32(ctypes.sizeof(told))
        return hal.halBuffGetInfo(command, ctypes.addressof(asked), 8, ctypes.addressof(told), ctypes.byref(length))

    assert info(c.BUFF_GET_MBUF_USE_INFO, mbuf, use) == 0
    assert (use.allocPid, use.usePid, use.ref) == (PID, PID, 1)
    assert info(c.BUFF_GET_MBUF_TYPE_INFO, mbuf, kind) == 0
    assert kind.type == c.MBUF_CREATE_BY_ALLOC
    assert [info(c.BUFF_GET_BUFF_TYPE_INFO, block, which), which.type] == [0, c.BUFF_TYPE_NORMAL]
    assert info(c.BUFF_GET_BUFF_TYPE_INFO, given(hal.halMbufGetBuffAddr, mbuf), which) == 0
    assert which.type == c.BUFF_TYPE_MBUF_DATA
    assert info(c.BUFF_GET_MBUF_USE_INFO, block, use) == c.DRV_ERROR_INVALID_VALUE
    assert info(c.BUFF_GET_MBUF_USE_INFO, mbuf, kind) == c.DRV_ERROR_INVALID_VALUE
    assert info(c.BUFF_GET_MAX, mbuf, use) == c.DRV_ERROR_NOT_SUPPORT
    with pytest.raises(NotModelled, match=r"halBuffGetInfo\(5\)"):
        info(c.BUFF_GET_MEMPOOL_INFO, mbuf, use)


def queue(hal: npuhal.HalApi, depth: int, *, overwrites: bool = False, name: bytes = b"q") -> int:
    """Make a queue of the host."""
    attributes = s.QueueAttr(name=name, depth=depth, deploy_type=c.LOCAL_QUEUE_DEPLOY, overWriteFlag=overwrites)
    return given(hal.halQueueCreate, 0, ctypes.byref(attributes), kind=ctypes.c_uint32)


def state(hal: npuhal.HalApi, number: int) -> tuple[int, int]:
    told = s.QueueInfo()
    assert hal.halQueueQueryInfo(0, number, ctypes.byref(told)) == 0
    return told.size, told.status


def test_queues_of_the_host_pass_buffers_on(hal: npuhal.HalApi) -> None:
    assert hal.halQueueSet(0, c.QUEUE_SET_WORK_MODE, None) == c.DRV_ERROR_NOT_SUPPORT
    assert hal.halQueueSet(0, c.QUEUE_ENABLE_LOCAL_QUEUE, None) == 0
    attributes, number = s.QueueAttr(depth=3, deploy_type=c.LOCAL_QUEUE_DEPLOY), ctypes.c_uint32()
    assert hal.halQueueCreate(0, ctypes.byref(attributes), ctypes.byref(number)) == c.DRV_ERROR_UNINIT
    assert [hal.halQueueInit(0), hal.halQueueInit(0)] == [0, 0]
    first = queue(hal, 3)
    assert first >= 4096
    out, made = ctypes.c_void_p(), chain(hal, 2)
    assert hal.halQueueDeQueue(0, first, ctypes.byref(out)) == c.DRV_ERROR_QUEUE_EMPTY
    assert hal.halQueueEnQueue(0, first, 0) == c.DRV_ERROR_INVALID_VALUE
    assert hal.halQueueEnQueue(0, first + 1, made[0]) == c.DRV_ERROR_NOT_EXIST
    assert hal.halQueueEnQueue(0, first, made[1]) == c.DRV_ERROR_INVALID_VALUE, "not the first of its chain"
    assert hal.halQueueEnQueue(0, first, made[0]) == 0
    assert hal.halMbufFree(made[0]) == c.DRV_ERROR_INVALID_VALUE, "the queue has it"
    single = given(hal.halMbufAlloc, 9)
    assert hal.halQueueEnQueue(0, first, single) == 0
    other = given(hal.halMbufAlloc, 9)
    assert hal.halQueueEnQueue(0, first, other) == c.DRV_ERROR_QUEUE_FULL, "one less than its depth"
    assert state(hal, first) == (2, c.QUEUE_FULL)
    assert [given(hal.halQueueDeQueue, 0, first) for _ in range(2)] == [made[0], single]
    assert state(hal, first) == (0, c.QUEUE_EMPTY)
    assert given(hal.halMbufChainGetMbufNum, made[0], kind=ctypes.c_uint32) == 2
    assert hal.halQueuePeek(0, first, ctypes.byref(ctypes.c_uint64()), 0) == c.DRV_ERROR_NOT_SUPPORT
    assert [hal.halQueueDestroy(0, first), hal.halQueueDestroy(0, first)] == [0, 0]


def test_a_full_queue_may_drop_its_oldest_buffer(hal: npuhal.HalApi) -> None:
    hal.halQueueSet(0, c.QUEUE_ENABLE_LOCAL_QUEUE, None)
    hal.halQueueInit(0)
    number, made = queue(hal, 2, overwrites=True), [given(hal.halMbufAlloc, 200 << 20)]
    assert hal.halQueueEnQueue(0, number, made[0]) == 0
    made.append(given(hal.halMbufAlloc, 1))
    assert hal.halQueueEnQueue(0, number, made[1]) == 0
    assert hal.halMbufFree(given(hal.halMbufAlloc, 200 << 20)) == 0, "the first one is gone"
    assert hal.halQueueReset(0, number) == 0
    assert hal.halMbufFree(made[1]) == c.DRV_ERROR_INVALID_VALUE
    assert state(hal, number) == (0, c.QUEUE_EMPTY)


def test_what_queues_tell(hal: npuhal.HalApi) -> None:
    asked, told = s.QueueQueryInput(), s.QueueQueryOutput()

    def query(command: int, device: int = 0, length: int = ctypes.sizeof(told)) -> tuple[int, int]:
        given_, answer = s.QueueQueryInputPara(), s.QueueQueryOutputPara()
        given_.inBuff, given_.inLen = ctypes.addressof(asked), ctypes.sizeof(asked)
        answer.outBuff, answer.outLen = ctypes.addressof(told), length
        return hal.halQueueQuery(device, command, ctypes.byref(given_), ctypes.byref(answer)), answer.outLen

    assert query(c.QUEUE_QUERY_QUES_OF_CUR_PROC)[0] == c.DRV_ERROR_NOT_SUPPORT
    assert query(c.QUEUE_QUERY_MAX_IOVEC_NUM) == (0, ctypes.sizeof(told))
    assert told.queQueryMaxIovecNum.count == c.QUEUE_MAX_IOVEC_NUM
    hal.halQueueSet(0, c.QUEUE_ENABLE_LOCAL_QUEUE, None)
    hal.halQueueInit(0)
    number = queue(hal, 4, name=b"named")
    asked.queQueryQueueAttr.qid = number
    assert query(c.QUEUE_QUERY_QUE_ATTR_OF_CUR_PROC) == (0, 4)
    assert told.queQueryQueueAttrInfo.attr.write == 1
    assert query(c.QUEUE_QUERY_DEPLOY_TYPE)[0] == 0
    assert told.queQueryDeployInfo.deployType == c.LOCAL_QUEUE_DEPLOY
    assert query(c.QUEUE_QUERY_QUES_OF_CUR_PROC) == (0, 8)
    assert told.queQueryQuesOfProcInfo[0].qid == number
    assert query(c.QUEUE_QUERY_QUES_OF_CUR_PROC, length=4)[0] == c.DRV_ERROR_INVALID_VALUE
    assert query(c.QUEUE_QUERY_QUEUE_MBUF_INFO)[0] == c.DRV_ERROR_QUEUE_EMPTY
    assert hal.halQueueEnQueue(0, number, given(hal.halMbufAlloc, 1)) == 0
    assert query(c.QUEUE_QUERY_QUEUE_MBUF_INFO) == (0, 8)
    assert told.queQueryQueueMbufInfo.timestamp > 0
    name = ctypes.create_string_buffer(b"named")
    assert given(hal.halQueueGetQidbyName, 0, ctypes.addressof(name), kind=ctypes.c_uint32) == number
    assert [hal.halQueueGrant(0, number, PID, s.QueueShareAttr()), hal.halQueueAttach(0, number, 0)] == [0, 0]
    mode = s.QueueSetInput()
    mode.queSetWorkMode.qid, mode.queSetWorkMode.workMode = number, c.QUEUE_MODE_PULL
    para = s.QueueSetInputPara(inBuff=ctypes.addressof(mode), inLen=ctypes.sizeof(mode))
    assert hal.halQueueSet(0, c.QUEUE_SET_WORK_MODE, ctypes.byref(para)) == 0
    info = s.QueueInfo()
    assert hal.halQueueQueryInfo(0, number, ctypes.byref(info)) == 0
    assert info.workMode == c.QUEUE_MODE_PULL
    with pytest.raises(NotModelled, match="halQueueSubscribe"):
        hal.halQueueSubscribe(0, number, 0, 0)
    with pytest.raises(NotModelled, match="halQueueGrant to another process"):
        hal.halQueueGrant(0, number, PID + 1, s.QueueShareAttr())
