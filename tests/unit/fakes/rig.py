"""A bare HAL client for tests of the fake: opens a device, makes streams, sends raw SQEs, reads completions."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import Any

import npuhal
from chips.registry import plugin
from npuhal import constants as c
from npuhal import structs as s

SQE = 64


@dataclass
class Stream:
    """One stream: its ids and the rig it belongs to."""

    rig: Rig
    stream_id: int
    sq_id: int
    cq_id: int
    logic_id: int
    depth: int
    next_id: int = 0

    def send(self, *sqes: bytes) -> int:
        """Send SQEs; returns the code."""
        rc, self.last_pos = self.rig.send(self.sq_id, b"".join(sqes))
        return rc

    def query(self, prop: int) -> int:
        return self.rig.query(self.sq_id, prop)

    @property
    def head(self) -> int:
        return self.query(c.DRV_SQCQ_PROP_SQ_HEAD)

    def config(self, prop: int, value: int = 0) -> int:
        info = s.halSqCqConfigInfo(type=c.DRV_NORMAL_TYPE, sqId=self.sq_id, prop=prop)
        info.value[0] = value
        return int(self.rig.hal.halSqCqConfig(self.rig.dev, ctypes.byref(info)))

    def drain(self) -> None:
        """Poll until the head reaches the tail."""
        tail = self.query(c.DRV_SQCQ_PROP_SQ_TAIL)
        for _ in range(100_000):
            if self.head == tail:
                return
        raise AssertionError(f"stream {self.stream_id} does not finish: {self.rig.hal.fake.problems}")

    def receive(self, count: int = 8, timeout: int = 0, stream: int = 0, task: int = 0) -> tuple[int, list[Any]]:
        buffer = ctypes.create_string_buffer(32 * count)
        info = s.halReportRecvInfo(
            type=c.DRV_LOGIC_TYPE, cqId=self.logic_id, timeout=timeout, cqe_addr=ctypes.addressof(buffer),
            cqe_num=count, stream_id=stream, task_id=task,
        )  # fmt: skip
        rc = int(self.rig.hal.halCqReportRecv(self.rig.dev, ctypes.byref(info)))
        plug = self.rig.plugin
        return rc, [plug.parse_cqe(buffer.raw[32 * i : 32 * i + 32]) for i in range(info.report_cqe_num)]


class Rig:
    """A fake with one open device."""

    def __init__(self, url: str, dev: int = 0, open_card: bool = True) -> None:
        self.hal = npuhal.open_hal(url)
        self.fake = self.hal.fake
        self.dev = dev
        self.plugin = plugin(self.fake.chip)
        self.layouts = self.plugin.layouts
        self.v1 = self.plugin.name == "v100"
        out = s.hal_dev_open_out()
        if open_card:
            assert self.hal.halDeviceOpen(dev, ctypes.byref(s.hal_dev_open_in()), ctypes.byref(out)) == 0

    def close(self) -> None:
        self.hal.close()

    # -- memory

    def alloc(self, size: int, flag: int = 0) -> int:
        pointer = ctypes.c_void_p()
        flags = c.MEM_DEV | c.MEM_TYPE_HBM | flag | self.dev
        assert self.hal.halMemAlloc(ctypes.byref(pointer), size, flags) == 0
        assert pointer.value is not None
        return pointer.value

    def alloc_host(self, size: int) -> int:
        pointer = ctypes.c_void_p()
        assert self.hal.halMemAlloc(ctypes.byref(pointer), size, c.MEM_HOST | self.dev) == 0
        assert pointer.value is not None
        return pointer.value

    def put(self, address: int, data: bytes) -> None:
        buffer = ctypes.create_string_buffer(data, len(data))
        assert self.hal.drvMemcpy(address, len(data), ctypes.addressof(buffer), len(data)) == 0

    def get(self, address: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        assert self.hal.drvMemcpy(ctypes.addressof(buffer), size, address, size) == 0
        return buffer.raw

    # -- ids and queues

    def take_id(self, kind: int) -> int:
        rc, number = self.try_id(kind)
        assert rc == 0
        return number

    def try_id(self, kind: int, wanted: int | None = None) -> tuple[int, int]:
        in_, out = s.halResourceIdInputInfo(type=kind), s.halResourceIdOutputInfo()
        if wanted is not None:
            in_.resourceId = wanted
            in_.res[1] = 2
        rc = self.hal.halResourceIdAlloc(self.dev, ctypes.byref(in_), ctypes.byref(out))
        return int(rc), int(out.resourceId)

    def stream(self, depth: int = 0, logic_depth: int = 4096) -> Stream:
        depth = depth or self.fake.chip.limits.rtsq_depth
        stream = self.take_id(c.DRV_STREAM_ID)
        in_, out = s.halSqCqInputInfo(), s.halSqCqOutputInfo()
        in_.type, in_.sqeSize, in_.cqeSize, in_.sqeDepth, in_.cqeDepth = c.DRV_NORMAL_TYPE, SQE, 16, depth, depth
        in_.info[0] = stream
        assert self.hal.halSqCqAllocate(self.dev, ctypes.byref(in_), ctypes.byref(out)) == 0
        sq, cq = out.sqId, out.cqId
        in_ = s.halSqCqInputInfo(type=c.DRV_LOGIC_TYPE, cqeSize=32, cqeDepth=logic_depth)
        in_.info[0] = stream
        assert self.hal.halSqCqAllocate(self.dev, ctypes.byref(in_), ctypes.byref(out)) == 0
        config = s.halResourceConfigInfo(prop=c.DRV_STREAM_BIND_LOGIC_CQ)
        config.value[0] = out.cqId
        who = s.halResourceIdInputInfo(type=c.DRV_STREAM_ID, resourceId=stream)
        assert self.hal.halResourceConfig(self.dev, ctypes.byref(who), ctypes.byref(config)) == 0
        return Stream(self, stream, sq, cq, out.cqId, depth)

    def send(self, sq_id: int, data: bytes) -> tuple[int, int]:
        buffer = ctypes.create_string_buffer(data, len(data))
        info = s.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=sq_id, sqe_addr=ctypes.addressof(buffer))
        info.sqe_num = len(data) // SQE
        return int(self.hal.halSqTaskSend(self.dev, ctypes.byref(info))), int(info.pos)

    def query(self, sq_id: int, prop: int, index: int = 0) -> int:
        info = s.halSqCqQueryInfo(type=c.DRV_NORMAL_TYPE, sqId=sq_id, prop=prop)
        rc = self.hal.halSqCqQuery(self.dev, ctypes.byref(info))
        assert rc == 0, rc
        return int(info.value[index])

    # -- SQEs, by layout name

    def sqe(self, layout: str, stream: Stream | None = None, task: int = 0, **fields: int) -> bytes:
        """Encode one SQE; the header gets stream and task id, or the serial number."""
        header = {"stream_id": stream.stream_id if stream else 0, "task_id": task} if self.v1 else {"task_sn": task}
        table = self.layouts[layout]
        return table.encode(**{**{k: v for k, v in header.items() if k in table}, **fields})

    def nop(self, stream: Stream, task: int = 0, **fields: int) -> bytes:
        return self.sqe("nop", stream, task, **fields)

    def copy(self, stream: Stream, dst: int, src: int, size: int, task: int = 0, **fields: int) -> bytes:
        return self.sqe("sdma", stream, task, dst=dst, src=src, length=size, **fields)

    def kernel(
        self, stream: Stream, pc: int, args: int, blocks: int = 1, task: int = 0, core: str = "aic", **more: int
    ) -> bytes:
        if self.v1:
            return self.sqe(f"kernel_{core}", stream, task, pc=pc, param=args, block_dim=blocks, **more)
        fields = {f"{core}_pc_low": pc & 0xFFFFFFFF, f"{core}_pc_high": pc >> 32, f"{core}_param": args, **more}
        return self.sqe(f"kernel_{core}", stream, task, block_dim=blocks, **fields)

    def record(self, stream: Stream, event: int, task: int = 0, **fields: int) -> bytes:
        if self.v1:
            return self.sqe("event_record", stream, task, event_id=event, **fields)
        return self.sqe("event_record", stream, task, notify_id=event, **fields)

    def wait(self, stream: Stream, event: int, task: int = 0) -> bytes:
        if self.v1:
            return self.sqe("event_wait", stream, task, event_id=event)
        return self.sqe("event_wait", stream, task, notify_id=event)

    def take_event(self) -> int:
        return self.take_id(c.DRV_EVENT_ID if self.v1 else c.DRV_NOTIFY_ID)

    def load(self, code: bytes) -> int:
        """Put kernel code into device memory; returns its address."""
        address = self.alloc(max(len(code), 64))
        self.put(address, code)
        return address

    def arguments(self, *words: int) -> int:
        """Put an argument block of 64-bit words into device memory; returns its address."""
        address = self.alloc(8 * len(words))
        self.put(address, struct.pack(f"<{len(words)}Q", *words))
        return address
