"""Condition programs and models: queues that start, stop and move other queues."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from chips.completion import ModelStatus
from chips.programs.body import function_call
from chips.programs.device import CondDevice, generation_of
from chips.programs.model import ModelExecute
from chips.programs.stream import DIAGNOSTIC_BYTES, Condition, StreamActive, StreamSwitch
from chips.programs.wait import KnownQueue, MemoryWait, WaitFor
from fakes import kernels
from fakes.executor import condition
from fakes.machine.queues import SubmissionQueue
from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import Rig, Stream

CODE = b"a kernel of a model" * 4


class Builder:
    """Puts condition programs into device memory and builds the entries that call them."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.device = rig.fake.device()
        self.generation = generation_of(self.device.chip)
        self.facts: CondDevice = condition.facts(self.device)

    def page(self, stream: Stream) -> int:
        if self.rig.v1:
            high, low = (self.rig.query(stream.sq_id, c.DRV_SQCQ_PROP_SQ_REG_BASE, i) for i in (0, 1))
            return high << 32 | low
        info = s.res_addr_info(res_type=c.RES_ADDR_TYPE_STARS_RTSQ, res_id=stream.sq_id)
        va, size = ctypes.c_uint64(), ctypes.c_uint32()
        assert self.rig.hal.halResAddrMap(0, ctypes.byref(info), ctypes.byref(va), ctypes.byref(size)) == 0
        return va.value

    def call(
        self, layout: str, stream: Stream, make: Callable[[int], bytes], task: int, size: int = 0, **fields: int
    ) -> bytes:
        """`size` bytes of what `make` returns are instructions; 0: all."""
        address = -(-self.rig.alloc(8192) // 256) * 256
        code = make(address)
        self.rig.put(address, code)
        row = bytearray(self.rig.sqe(layout, stream, task, **fields))
        row[16:64] = function_call(address, size or len(code)).ljust(48, b"\0")
        return bytes(row)

    def start(self, target: Stream, block: int, size: int, starts: int) -> StreamActive:
        registers = self.facts.registers(self.page(target))
        return StreamActive(sq_id=target.sq_id, registers=registers, starts=starts, dfx=block + size,
                            sq_mask=self.facts.sq_mask)  # fmt: skip

    def table(self) -> int:
        """The table of register pages by queue number."""
        table = self.rig.alloc(8 * 4096)
        for number, sq in self.device.queues.items():
            self.rig.put(table + 8 * number, sq.registers.to_bytes(8, "little"))
        return table


@pytest.fixture(params=["Ascend910B3", "Ascend950PR_9599"])
def build(request: pytest.FixtureRequest, open_rig: Callable[..., Rig]) -> Builder:
    return Builder(open_rig(request.param, seed=4))


def bind(rig: Rig, control: Stream, model: int, stream: Stream, operation: int = 0) -> None:
    layout, name = ("model_maintenance", "op_stream_id") if rig.v1 else ("model_maintain", "stream_id")
    fields = {"model_id": model, "operation": operation, name: stream.stream_id}
    header = {"stream_id": control.stream_id, "task_id": 0} if rig.v1 else {"task_sn": 0}
    assert control.send(rig.layouts[layout].encode(**{**header, **fields})) == 0
    control.drain()


def queue(build: Builder, stream: Stream) -> SubmissionQueue:
    return build.device.queues[stream.sq_id]


def test_a_model_runs_its_stream_each_time_it_is_executed(build: Builder) -> None:
    rig = build.rig
    control, runner, body = rig.stream(), rig.stream(), rig.stream()
    runs: list[int] = []
    rig.fake.attach(CODE, lambda ctx: runs.append(ctx.args[0]), grid=True)
    bind(rig, control, 3, body)
    notify = rig.take_id(c.DRV_NOTIFY_ID)
    body.send(rig.kernel(body, rig.load(CODE), rig.arguments(5)), rig.sqe("notify_record", body, 1, notify_id=notify))
    assert [body.head for _ in range(3)] == [0, 0, 0]
    counter, dfx, table = rig.alloc(8), rig.alloc(DIAGNOSTIC_BYTES), build.table()

    def program(address: int) -> bytes:
        start = build.facts.start_queues(queues=table, dfx=dfx)
        model = ModelExecute(address=address, heads=(body.sq_id,), counters=(counter,), start=start)
        return model.assemble(build.generation)

    size = ModelExecute.program(build.generation).size_bytes
    execute = build.call("model_execute", runner, program, 7, size, model_id=3)
    clear = {} if rig.v1 else {"clr_flag": 1, "sub_type": 1}
    wait = rig.sqe("notify_wait", runner, 8, notify_id=notify, **clear)
    for _ in range(3):
        assert runner.send(execute, wait) == 0
        runner.drain()
    assert runs == [5, 5, 5]
    assert int.from_bytes(rig.get(counter, 8), "little") == 3
    bind(rig, control, 3, body, operation=1)
    assert queue(build, body).enabled
    assert queue(build, body).pending == 0


def test_an_error_inside_a_model_is_reported_by_its_executor(build: Builder) -> None:
    rig = build.rig
    control, runner, body = rig.stream(), rig.stream(), rig.stream()

    def fail(ctx: kernels.Context) -> None:
        raise kernels.Fail("inside")

    rig.fake.attach(CODE, fail)
    bind(rig, control, 4, body)
    body.send(rig.kernel(body, rig.load(CODE), rig.arguments(0), task=9))
    counter, dfx, table = rig.alloc(8), rig.alloc(DIAGNOSTIC_BYTES), build.table()
    execute = build.call(
        "model_execute", runner,
        lambda address: ModelExecute(address=address, heads=(body.sq_id,), counters=(counter,),
                                     start=build.facts.start_queues(queues=table, dfx=dfx)).assemble(build.generation),
        7, ModelExecute.program(build.generation).size_bytes, model_id=4,
    )  # fmt: skip
    runner.send(execute, rig.sqe("notify_wait", runner, 8, notify_id=rig.take_id(c.DRV_NOTIFY_ID)))
    for _ in range(4):
        assert runner.head in (0, 1)
    _, [cqe] = runner.receive()
    assert (cqe.sq_head, cqe.error_type, cqe.sqe_type) == (1, 0x20, 7)  # by what waits for the model's end
    status = ModelStatus.parse(cqe.error_code)
    assert status is not None
    assert (status.queue, status.result) == (body.sq_id, 1)
    assert status.task_id == (9 if rig.fake.executor.stream_ids else 0)
    assert runner.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 0
    assert runner.config(c.DRV_SQCQ_PROP_SQ_HEAD, cqe.sq_head + 1) == 0
    assert runner.config(c.DRV_SQCQ_PROP_SQ_STATUS, 1) == 0
    runner.drain()


@pytest.mark.parametrize(("value", "taken"), [(5, True), (6, False)])
def test_a_stream_switch_starts_the_other_queue_and_stops_its_own(build: Builder, value: int, taken: bool) -> None:
    rig = build.rig
    control, main, other = rig.stream(), rig.stream(), rig.stream()
    for stream in (main, other):
        bind(rig, control, 5, stream)
    variable, starts = rig.alloc(8), rig.alloc(8)
    rig.put(variable, value.to_bytes(8, "little"))
    other.send(rig.nop(other), rig.nop(other))

    def program(address: int) -> bytes:
        target = build.start(other, address, 4096, starts)
        switch = StreamSwitch(variable=variable, condition=Condition.EQUAL, target=target, current_sq=main.sq_id,
                              value=5)  # fmt: skip
        return switch.assemble(build.generation)

    main.send(build.call("stream_switch", main, program, 1), rig.nop(main))
    build.device.queues[main.sq_id].enabled = True
    main_queue = queue(build, main)
    build.device.activate(main_queue)
    rig.fake.run_until_idle()
    assert queue(build, other).pending == (0 if taken else 2)
    assert (main_queue.enabled, main_queue.pending) == ((False, 1) if taken else (True, 0))


def test_a_memory_wait_polls_until_the_value_is_there(build: Builder) -> None:
    rig = build.rig
    stream = rig.stream()
    value, flag, profiling = rig.alloc(8), rig.alloc(8), rig.alloc(8)
    tail = build.page(stream) + build.facts.tail_offset

    def program(address: int) -> bytes:
        wait = MemoryWait(
            address=value, value=7, test=WaitFor.EQUAL, size=3, position=0, depth=stream.depth, profiling=profiling,
            queue=KnownQueue(sq_id=stream.sq_id, tail=tail, paused=flag), swap=build.facts.swap,
        )  # fmt: skip
        return wait.assemble(build.generation)

    entry = build.call("memory_wait" if rig.v1 else "mem_wait", stream, program, 1)
    head = [rig.nop(stream), rig.sqe("write_value", stream, 1, addr=flag, awsize=3, va=1), entry]
    if rig.v1:
        head.append(rig.sqe("memory_wait_end", stream, 1))
    stream.send(*head, rig.nop(stream))
    for _ in range(5):
        assert stream.head in (0, 1, 2)
    rig.put(value, (7).to_bytes(8, "little"))
    stream.drain()
