"""Recording calls, keeping recordings, replaying and comparing them."""

from __future__ import annotations

import ctypes
import threading

import pytest

from npuhal import constants as c
from npuhal import structs
from npuhal.replay import diff, replay
from npuhal.trace import Record, TraceApi, decode, format_record, load, save

from .backends import PythonBackend, pointee


class SmallHal(PythonBackend):
    """A few calls with state: blocks of memory and queues, both numbered from where the test wants."""

    def __init__(self, first_address: int = 0x10_0000, first_sq: int = 5) -> None:
        super().__init__(
            halMemAlloc=self.allocate,
            halMemFree=self.free,
            drvMemcpy=lambda dst, dst_max, src, n: 0 if n <= dst_max else 3,
            halSqCqAllocate=self.make_queue,
            halSqTaskSend=self.send,
            halSqCqQuery=self.query,
            halCqReportRecv=self.receive,
            halGetSocVersion=self.soc_version,
            drvGetDevNum=self.count_devices,
            halSubscribeFaultEvent=lambda device, filter, handler: 0,
            halMemCtl=lambda *_: 0,
        )
        self.next_address, self.next_sq = first_address, first_sq
        self.blocks: set[int] = set()
        self.tails: dict[int, int] = {}
        self.sent: list[bytes] = []

    def allocate(self, pointer, size, flag):
        pointee(pointer).value = self.next_address
        self.blocks.add(self.next_address)
        self.next_address += size
        return 0

    def free(self, address):
        address = getattr(address, "value", address)
        if address not in self.blocks:
            return c.DRV_ERROR_INVALID_VALUE
        self.blocks.remove(address)
        return 0

    def make_queue(self, device, request, answer):
        pointee(answer).sqId = self.next_sq
        self.tails[self.next_sq] = 0
        self.next_sq += 1
        return 0

    def send(self, device, info):
        info = pointee(info)
        if info.sqId not in self.tails:
            return c.DRV_ERROR_INVALID_VALUE
        self.sent.append(ctypes.string_at(info.sqe_addr, info.sqe_num * 64))
        info.pos = self.tails[info.sqId]
        self.tails[info.sqId] += info.sqe_num
        return 0

    def query(self, device, info):
        info = pointee(info)
        info.value[0] = self.tails[info.sqId]
        return 0

    def receive(self, device, info):
        info = pointee(info)
        info.report_cqe_num = 1
        ctypes.memmove(info.cqe_addr, bytes(range(32)), 32)
        return 0

    def soc_version(self, device, text, length):
        pointee(text).value = b"Ascend910B3"
        return 0

    def count_devices(self, count):
        if count is None:
            return c.DRV_ERROR_INVALID_VALUE
        pointee(count).value = 2
        return 0


def send_one(hal, sq, byte=0x5A):
    sqe = (ctypes.c_uint8 * 64)(*[byte] * 64)
    info = structs.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=sq, sqe_num=1, sqe_addr=ctypes.addressof(sqe))
    assert hal.halSqTaskSend(0, ctypes.byref(info)) == 0
    return info.pos


def a_little_program(hal, sqes=(1, 2)):
    """Allocate, make a queue, copy, send, query, free: every id and address comes from the HAL."""
    block = ctypes.c_void_p()
    hal.halMemAlloc(ctypes.byref(block), 4096, 0)
    answer = structs.halSqCqOutputInfo()
    hal.halSqCqAllocate(0, ctypes.byref(structs.halSqCqInputInfo(sqeSize=64)), ctypes.byref(answer))
    host = ctypes.create_string_buffer(64)
    hal.drvMemcpy(block.value + 128, 64, ctypes.addressof(host), 64)
    for byte in sqes:
        send_one(hal, answer.sqId, byte)
    query = structs.halSqCqQueryInfo(sqId=answer.sqId, prop=c.DRV_SQCQ_PROP_SQ_TAIL)
    hal.halSqCqQuery(0, ctypes.byref(query))
    hal.halMemFree(block)


def recorded(program=a_little_program, **start):
    trace = TraceApi(SmallHal(**start))
    program(trace)
    return list(trace.records)


def test_a_record_holds_arguments_results_and_what_was_sent():
    trace = TraceApi(SmallHal())
    a_little_program(trace)
    allocate, make, copy, send, *_ = trace.records
    assert (allocate.name, allocate.before, allocate.after) == (
        "halMemAlloc",
        {"pp": 0, "size": 4096, "flag": 0},
        {"pp": 0x10_0000},
    )
    assert make.before["in"]["sqeSize"] == 64
    assert make.after["out"]["sqId"] == 5
    assert copy.before["dst"] == 0x10_0080
    assert send.before["info"]["pos"] == 0
    assert send.payload == "01" * 64
    assert [record.index for record in trace.records] == list(range(len(trace.records)))
    assert all(record.ns >= 0 and record.rc == 0 and record.thread == 0 and not record.raw for record in trace.records)


def test_raw_calls_are_recorded_too():
    trace = TraceApi(SmallHal())
    count = ctypes.c_uint32()
    raw = trace.raw("drvGetDevNum")
    assert raw(ctypes.byref(count)) == 0
    assert count.value == 2
    (record,) = trace.records
    assert (record.raw, record.after) == (True, {"num_dev": 2})


def test_errors_are_recorded_and_returned():
    trace = TraceApi(SmallHal())
    assert trace.halMemFree(0x999) == c.DRV_ERROR_INVALID_VALUE
    assert trace.records[0].rc == c.DRV_ERROR_INVALID_VALUE
    assert "halMemFree(pp=2457) -> DRV_ERROR_INVALID_VALUE" in format_record(trace.records[0])


def test_null_and_callbacks_and_structs_by_value():
    trace = TraceApi(SmallHal())
    trace.drvGetDevNum(None)
    handler = ctypes.CFUNCTYPE(None, ctypes.POINTER(structs.halFaultEventInfo))(lambda info: None)
    trace.halSubscribeFaultEvent(-1, structs.halEventFilter(event_id=9), handler)
    null, subscribe = trace.records
    assert null.before == {"num_dev": None}
    assert subscribe.before["handler"] == "<callback>"
    assert subscribe.before["filter"]["event_id"] == 9


def test_what_void_pointers_lead_to():
    trace = TraceApi(SmallHal())
    text = ctypes.create_string_buffer(32)
    trace.halGetSocVersion(0, text, 32)
    trace.halMemCtl(0, ctypes.byref(structs.AddrUnmapInPara(len=7)), 8, ctypes.byref(ctypes.c_uint16(513)), None)
    soc, control = trace.records
    assert bytes.fromhex(soc.after["socVersion"]["_bytes"]).rstrip(b"\0") == b"Ascend910B3"
    assert "'Ascend910B3'" in format_record(soc)
    assert control.before["param_value"]["_struct"] == "AddrUnmapInPara"
    assert control.before["param_value"]["len"] == 7
    assert control.before["out_value"] == {"_bytes": "0102"}


def test_received_entries_of_a_logic_queue_are_kept():
    trace = TraceApi(SmallHal())
    entry = ctypes.create_string_buffer(32)
    info = structs.halReportRecvInfo(type=c.DRV_LOGIC_TYPE, cqe_addr=ctypes.addressof(entry), cqe_num=1)
    trace.halCqReportRecv(0, ctypes.byref(info))
    assert trace.records[0].payload == bytes(range(32)).hex()


def test_threads_are_numbered_in_the_order_of_their_first_call():
    trace = TraceApi(SmallHal())
    count = ctypes.c_uint32()
    trace.drvGetDevNum(ctypes.byref(count))
    thread = threading.Thread(target=lambda: trace.drvGetDevNum(ctypes.byref(count)))
    thread.start()
    thread.join()
    assert [record.thread for record in trace.records] == [0, 1]


def test_log_capacity_names_and_the_inner_door():
    inner = SmallHal()
    lines: list[str] = []
    trace = TraceApi(inner, log=lines.append, capacity=2)
    for _ in range(3):
        trace.drvGetDevNum(ctypes.byref(ctypes.c_uint32()))
    assert [record.index for record in trace.records] == [1, 2]
    assert len(lines) == 3
    assert lines[0].startswith("#0 t0 drvGetDevNum(num_dev=0) -> 0 [num_dev=2] ")
    trace.annotate(("sq", 5), "stream 1")
    assert trace.names == {("sq", 5): "stream 1"}
    assert trace.has("halMemAlloc")
    assert not trace.has("halMemPoolFree")
    assert trace.url == "trace+test://"
    assert trace.daemon() is None
    trace.close()


def test_decode_bit_fields_unions_and_text():
    message = structs.event_sync_msg(dev_id=3, tid=4)
    assert decode(message)["tid"] == 4
    assert "bits0" not in decode(message)
    assert decode(structs.MemPhyInfo())["total"] == 0
    assert decode(structs.MemSvmGrpInfo(name=b"one"))["name"] == "one"
    assert decode(structs.MEMCPY2D())["copy2d"]["width"] == 0


def test_recordings_go_to_a_file_and_back(tmp_path):
    records = recorded()
    path = tmp_path / "calls.jsonl"
    save(records, path)
    assert load(path) == records
    path.write_text(path.read_text() + '{"index": 1}\n')
    with pytest.raises(ValueError, match=rf"calls\.jsonl:{len(records) + 1}: not a record"):
        load(path)


def test_replay_on_a_hal_with_other_ids_and_addresses():
    records = recorded()
    other = SmallHal(first_address=0x7000_0000, first_sq=90)
    outcome = replay(records, other)
    assert outcome.divergence is None
    assert (outcome.replayed, outcome.skipped) == (len(records), [])
    assert other.sent == [b"\x01" * 64, b"\x02" * 64]
    assert other.blocks == set()


def test_replay_from_a_file(tmp_path):
    save(recorded(), tmp_path / "calls.jsonl")
    assert replay(load(tmp_path / "calls.jsonl"), SmallHal(0x5000_0000, 7)).divergence is None


def test_replay_stops_at_the_first_difference():
    class Deaf(SmallHal):
        def query(self, device, info):
            pointee(info).value[0] = 7
            return 0

    records = recorded()
    outcome = replay(records, Deaf())
    assert outcome.divergence is not None
    assert str(outcome.divergence) == "#5 halSqCqQuery: info.value[0]: recorded 2, now 7"
    assert outcome.replayed == 6


def test_replay_sees_another_result_code():
    class Full(SmallHal):
        def send(self, device, info):
            return c.DRV_ERROR_NO_RESOURCES

    outcome = replay(recorded(), Full())
    assert outcome.divergence is not None
    assert (outcome.divergence.name, outcome.divergence.what) == ("halSqTaskSend", "rc")


def test_replay_says_what_it_cannot_rebuild():
    def program(hal):
        handler = ctypes.CFUNCTYPE(None, ctypes.POINTER(structs.halFaultEventInfo))(lambda info: None)
        hal.halSubscribeFaultEvent(-1, structs.halEventFilter(), handler)
        hal.halMemCtl(0, 0x1234567, 8, None, None)
        hal.drvGetDevNum(ctypes.byref(ctypes.c_uint32()))

    outcome = replay(recorded(program), SmallHal())
    assert outcome.replayed == 1
    assert [(name, "callback" in reason or "host memory" in reason) for _, name, reason in outcome.skipped] == [
        ("halSubscribeFaultEvent", True),
        ("halMemCtl", True),
    ]


def test_replay_rebuilds_pointed_to_values():
    def program(hal):
        hal.halGetSocVersion(0, ctypes.create_string_buffer(32), 32)
        hal.halMemCtl(0, ctypes.byref(structs.AddrUnmapInPara(len=7)), 8, None, None)

    seen = []
    other = SmallHal()
    other.functions["halMemCtl"] = lambda kind, para, *_: seen.append(pointee(para).len) or 0
    outcome = replay(recorded(program), other)
    assert (outcome.divergence, outcome.replayed, seen) == (None, 2, [7])


def test_recordings_of_one_program_differ_in_its_own_buffers_only():
    first, second = recorded(), recorded()
    assert diff(first, second, ignore=("sqe_addr", "src")) is None
    moved = Record(**{**vars_of(first[2]), "before": {**first[2].before, "src": 1}})
    found = diff(first[:3], [*first[:2], moved])
    assert found is not None
    assert found.what == "src"


def vars_of(record):
    return {name: getattr(record, name) for name in Record.__slots__}


def send_bytes(*values):
    sqe = ctypes.create_string_buffer(64)  # one buffer: the address is the same in both recordings

    def program(hal):
        hal.halSqCqAllocate(0, ctypes.byref(structs.halSqCqInputInfo()), ctypes.byref(structs.halSqCqOutputInfo()))
        for value in values:
            ctypes.memset(sqe, value, 64)
            info = structs.halTaskSendInfo(sqId=5, sqe_num=1, sqe_addr=ctypes.addressof(sqe))
            hal.halSqTaskSend(0, ctypes.byref(info))

    program.sqe = sqe
    return program


def test_differences_of_two_recordings():
    first = recorded(send_bytes(1, 2))
    longer = [*first, first[-1]]
    assert str(diff(first, longer)) == "#2 halSqTaskSend: number of calls: recorded 3, now 4"
    changed = Record(**{**vars_of(first[1]), "payload": "02" * 64})
    found = diff(first, [first[0], changed, first[2]])
    assert found is not None
    assert (found.index, found.what) == (1, "payload")
    renamed = Record(**{**vars_of(first[0]), "name": "halSqCqFree"})
    assert str(diff(first, [renamed, *first[1:]])) == (
        "#0 halSqCqAllocate: function: recorded halSqCqAllocate, now halSqCqFree"
    )
    failed = Record(**{**vars_of(first[2]), "rc": 14})
    found = diff(first, [*first[:2], failed])
    assert found is not None
    assert (found.what, found.recorded, found.seen) == ("rc", 0, 14)
