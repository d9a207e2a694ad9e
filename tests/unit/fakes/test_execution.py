"""What the device does with the entries it reads from the ring, on every chip and both tiers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from chips.generations.v100 import ffts
from fakes import kernels
from fakes.errors import NotModelled
from npuhal import constants as c
from tests.unit.fakes.rig import Rig

CODE = bytes(range(1, 65))
RANDOM = np.random.default_rng(5)


def test_a_copy_takes_effect_after_the_call_and_in_order(rig: Rig) -> None:
    stream = rig.stream()
    a, b, z = rig.alloc(4096), rig.alloc(4096), rig.alloc(4096)
    rig.put(a, b"\1" * 4096)
    rig.put(b, b"\2" * 4096)
    assert stream.send(rig.copy(stream, z, a, 4096, 1)) == 0
    assert stream.send(rig.copy(stream, a, b, 4096, 2)) == 0
    assert rig.get(z, 4) == bytes(4)
    stream.drain()
    assert (rig.get(z, 4096), rig.get(a, 4096)) == (b"\1" * 4096, b"\2" * 4096)


def test_a_kernel_is_found_by_its_code_and_works_block_by_block(rig: Rig) -> None:
    stream = rig.stream()
    seen = []

    def scale(ctx: kernels.Context) -> None:
        seen.append((ctx.block, ctx.blocks, ctx.core))
        data = ctx.args.array(0, "int32", 8)
        data[ctx.block] *= int(ctx.args[1])

    rig.fake.attach(CODE, scale)
    pc, data = rig.load(CODE), rig.alloc(32)
    rig.put(data, np.arange(8, dtype="int32").tobytes())
    stream.send(rig.kernel(stream, pc, rig.arguments(data, 10), 8, 1, core="aiv"))
    stream.drain()
    assert rig.get(data, 32) == (np.arange(8, dtype="int32") * 10).tobytes()
    assert seen == [(block, 8, "AIV") for block in range(8)]


def test_ready_made_kernels_compute(rig: Rig) -> None:
    stream = rig.stream()
    x, y = RANDOM.random(100, dtype="f4"), RANDOM.random(100, dtype="f4")
    addresses = [rig.alloc(400) for _ in range(3)]
    for address, data in zip(addresses, (x, y), strict=False):
        rig.put(address, data.tobytes())
    rig.fake.attach(CODE, kernels.add())
    rig.fake.attach(CODE[::-1], kernels.matmul(10, 10, 10), grid=True)
    args = rig.arguments(*addresses)
    stream.send(rig.kernel(stream, rig.load(CODE), args, 7, 1))
    stream.drain()
    assert rig.get(addresses[2], 400) == (x + y).tobytes()
    stream.send(rig.kernel(stream, rig.load(CODE[::-1]), args, 7, 2))
    stream.drain()
    product = np.frombuffer(rig.get(addresses[2], 400), "f4").reshape(10, 10)
    np.testing.assert_allclose(product, x.reshape(10, 10) @ y.reshape(10, 10), rtol=1e-5)


def test_the_longest_attached_code_wins(rig: Rig) -> None:
    rig.fake.attach(CODE[:32], kernels.fill(1.0))
    rig.fake.attach(CODE, kernels.fill(2.0))
    stream, data = rig.stream(), rig.alloc(16)
    stream.send(rig.kernel(stream, rig.load(CODE), rig.arguments(data)))
    stream.drain()
    assert np.frombuffer(rig.get(data, 16), "f4").tolist() == [2.0] * 4


def test_an_unattached_kernel_fails_and_says_how_to_attach_one(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(rig.kernel(stream, rig.load(CODE), rig.arguments(0), 1, 5))
    assert stream.head == 0
    assert stream.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 0
    _, [cqe] = stream.receive()
    assert (cqe.error_type, cqe.sq_head) == (1, 0)
    assert "hal.fake.attach" in rig.fake.problems[-1]


def test_noop_kernels_pass(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(kernels="noop")
    stream = rig.stream()
    stream.send(rig.kernel(stream, rig.load(CODE), rig.arguments(0)))
    stream.drain()


def test_a_mix_kernel_runs_once_on_both_core_kinds(rig: Rig) -> None:
    stream, data = rig.stream(), rig.alloc(16)
    cores = []
    rig.fake.attach(CODE, lambda ctx: cores.append((ctx.core, ctx.args[0])), grid=True)
    pc, args = rig.load(CODE), rig.arguments(data)
    if rig.v1:
        context = rig.alloc(128)
        fields = {"block_dim": 4, "aic_pc": pc, "aiv_pc": pc, "aic_param": args, "aiv_param": args}
        rig.put(context, ffts.encode(ffts.ContextType.MIX_AIC, **fields))
        stream.send(rig.sqe("kernel_mix", stream, 1, contexts=context))
    else:
        fields = {f"{core}_pc_low": pc & 0xFFFFFFFF for core in ("aic", "aiv")}
        fields |= {f"{core}_pc_high": pc >> 32 for core in ("aic", "aiv")}
        stream.send(rig.sqe("kernel_aic_mix", stream, 1, block_dim=4, aic_param=args, aiv_param=args, **fields))
    stream.drain()
    assert cores == [("MIX", data)]


def test_a_kernel_function_may_fail_trap_and_hang(rig: Rig) -> None:
    def fail(ctx: kernels.Context) -> None:
        raise kernels.Fail("out of luck", code=0x1234)

    def trap(ctx: kernels.Context) -> None:
        raise kernels.Trap

    rig.fake.attach(CODE, fail)
    rig.fake.attach(CODE[::-1], trap)
    rig.fake.attach(b"hang" * 8, kernels.spin)
    args = rig.arguments(0)
    for code, bits, error in ((CODE, 1, 0x1234), (CODE[::-1], 2, 0)):
        stream = rig.stream()
        stream.send(rig.kernel(stream, rig.load(code), args))
        assert stream.head == 0
        _, [cqe] = stream.receive()
        assert (cqe.error_type, cqe.error_code) == (bits, error)
    stream = rig.stream()
    stream.send(rig.kernel(stream, rig.load(b"hang" * 8), args), rig.nop(stream))
    assert [stream.head for _ in range(3)] == [0, 0, 0]
    assert stream.query(c.DRV_SQCQ_PROP_SQ_STATUS) == 1


def test_wild_kernel_arguments_fail_the_kernel_with_the_address(rig: Rig) -> None:
    rig.fake.attach(CODE, kernels.add())
    freed = rig.alloc(64)
    assert rig.hal.halMemFree(freed) == 0
    stream = rig.stream()
    stream.send(rig.kernel(stream, rig.load(CODE), rig.arguments(freed, freed, freed)))
    assert stream.head == 0
    assert f"{freed:#x}" in rig.fake.problems[-1]
    assert "freed before" in rig.fake.problems[-1]


@pytest.mark.parametrize(("opcode", "expected"), [(0x71, [5.0, 7.0]), (0x72, [3.0, 5.0]), (0x73, [2.0, 2.0])])
def test_sdma_reduces(rig: Rig, opcode: int, expected: list[float]) -> None:
    stream, dst, src = rig.stream(), rig.alloc(8), rig.alloc(8)
    rig.put(dst, np.array([3, 2], "f4").tobytes())
    rig.put(src, np.array([2, 5], "f4").tobytes())
    stream.send(rig.copy(stream, dst, src, 8, opcode=opcode))
    stream.drain()
    assert np.frombuffer(rig.get(dst, 8), "f4").tolist() == expected


def test_sdma_without_such_an_operation_is_an_sqe_error(rig: Rig) -> None:
    stream, a = rig.stream(), rig.alloc(8)
    stream.send(rig.copy(stream, a, a, 8, opcode=0xF0))
    assert stream.head == 0
    assert stream.receive()[1][0].error_type == 8


def test_an_unknown_sqe_type_is_an_sqe_error(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(bytes([0x3E]) + bytes(63))
    assert stream.head == 0
    assert stream.receive()[1][0].error_type == 8


def test_what_is_not_modelled_raises_with_the_name_of_the_task(rig: Rig) -> None:
    stream = rig.stream()
    stream.send(rig.sqe("jpege", stream, 1))
    with pytest.raises(NotModelled, match="STARS_COMMON"):
        stream.drain()
    assert stream.head == 0


def test_events_order_streams(rig: Rig) -> None:
    one, two = rig.stream(), rig.stream()
    event = rig.take_event()
    a, b, z = rig.alloc(64), rig.alloc(64), rig.alloc(64)
    rig.put(a, b"\1" * 64)
    two.send(rig.wait(two, event, 1), rig.copy(two, z, b, 64, 2))
    assert [two.head for _ in range(4)] == [0, 0, 0, 0]
    one.send(rig.copy(one, b, a, 64, 1), rig.record(one, event, 2))
    two.drain()
    assert rig.get(z, 64) == b"\1" * 64
    wait = next(entry for entry in rig.fake.log if entry.kind.endswith("wait"))
    record = next(entry for entry in rig.fake.log if entry.kind.endswith("record"))
    assert wait.start >= record.end


def test_an_event_stays_set_until_it_is_reset(rig: Rig) -> None:
    stream, event = rig.stream(), rig.take_event()
    reset = (
        rig.sqe("event_reset", stream, 3, event_id=event) if rig.v1 else
        rig.sqe("event_reset", stream, 3, notify_id=event)
    )  # fmt: skip
    stream.send(rig.record(stream, event, 1), rig.wait(stream, event, 2), rig.wait(stream, event, 2))
    stream.drain()
    stream.send(reset, rig.wait(stream, event, 4))
    assert [stream.head for _ in range(3)][-1] == 4


def test_a_notify_is_consumed_by_its_wait(rig: Rig) -> None:
    stream, notify = rig.stream(), rig.take_id(c.DRV_NOTIFY_ID)
    clear = {} if rig.v1 else {"clr_flag": 1, "sub_type": 1}
    wait = rig.sqe("notify_wait", stream, 2, notify_id=notify, **clear)
    stream.send(rig.sqe("notify_record", stream, 1, notify_id=notify), wait, wait)
    assert [stream.head for _ in range(3)][-1] == 2


def test_the_host_can_fire_a_notify(rig: Rig) -> None:
    import ctypes

    from npuhal import structs as s

    stream, notify = rig.stream(), rig.take_id(c.DRV_NOTIFY_ID)
    stream.send(rig.sqe("notify_wait", stream, 2, notify_id=notify))
    assert stream.head == 0
    who = s.halResourceIdInputInfo(type=c.DRV_NOTIFY_ID, resourceId=notify)
    what = s.halResourceConfigInfo(prop=c.DRV_ID_RECORD)
    assert rig.hal.halResourceConfig(0, ctypes.byref(who), ctypes.byref(what)) == 0
    stream.drain()


def test_count_notifies_count(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig("Ascend950PR_9599")
    stream, other, number = rig.stream(), rig.stream(), rig.take_id(c.DRV_CNT_NOTIFY_ID)

    def record(value: int, mode: int) -> bytes:
        return rig.sqe("notify_record", stream, 1, notify_id=number, cnt_flag=1, sub_type=2, cnt_value=value,
                       record_mode=mode)  # fmt: skip

    other.send(rig.sqe("notify_wait", other, 1, notify_id=number, cnt_flag=1, sub_type=3, cnt_value=7, wait_mode=3,
                       clr_flag=1))  # fmt: skip
    stream.send(record(2, 0), record(4, 1))
    stream.drain()
    assert other.head == 0
    stream.send(record(1, 2))
    other.drain()
    assert rig.fake.device().counters[number].value == 0


def test_value_writes_write_exactly_their_width(rig: Rig) -> None:
    stream, data = rig.stream(), rig.alloc(32)
    rig.put(data, b"\xff" * 32)
    value = {"value": 0x1122334455667788} if rig.v1 else {"value[0]": 0x55667788, "value[1]": 0x11223344}
    for awsize in (0, 1, 2, 3):
        stream.send(rig.sqe("write_value", stream, 1, addr=data + 8 * awsize, awsize=awsize, va=1, **value))
    stream.drain()
    got = rig.get(data, 32)
    assert [got[8 * i : 8 * i + 8].hex() for i in range(4)] == [
        "88ffffffffffffff", "8877ffffffffffff", "88776655ffffffff", "8877665544332211",
    ]  # fmt: skip


def test_memset_of_the_950(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig("Ascend950PR_9599")
    stream, data = rig.stream(), rig.alloc(64)
    stream.send(rig.sqe("memset", stream, 1, src=data, dst=0x5A5A5A5A, length=60))
    stream.drain()
    assert rig.get(data, 64) == b"\x5a" * 60 + bytes(4)


def test_the_scheduler_version_comes_as_the_error_code(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    stream = rig.stream()
    stream.send(rig.sqe("stars_version", stream, 9))
    stream.drain()
    _, [cqe] = stream.receive(timeout=100)
    assert (cqe.error_code, cqe.error_type, cqe.task_id) == (rig.fake.device().identity.ts_version, 0, 9)


def test_aicpu_kernels_are_found_by_name(rig: Rig) -> None:
    stream, so, func = rig.stream(), rig.alloc(32), rig.alloc(32)
    rig.put(so, b"libcustom.so\0")
    rig.put(func, b"DoIt\0")
    sqe = rig.sqe("aicpu", stream, 1, so_name=so, func_name=func, param=rig.arguments(42), block_dim=1)
    seen = []
    rig.fake.attach_aicpu("libcustom.so", "DoIt", lambda ctx: seen.append(ctx.args[0]))
    stream.send(sqe)
    stream.drain()
    assert seen == [42]
    rig.put(func, b"Other\0")
    stream.send(sqe)
    assert stream.head == 1
    assert "attach_aicpu('libcustom.so', 'Other'" in rig.fake.problems[-1]


def test_engines_overlap_in_virtual_time(rig: Rig) -> None:
    one, two = rig.stream(), rig.stream()
    rig.fake.attach(CODE, kernels.fill(0.0), grid=True)
    a, b = rig.alloc(1 << 20), rig.alloc(1 << 20)
    one.send(rig.copy(one, a, b, 1 << 20))
    two.send(rig.kernel(two, rig.load(CODE), rig.arguments(a), 1000))
    one.drain()
    two.drain()
    first, second = rig.fake.log
    assert first.start == second.start == 0
    assert min(first.end, second.end) > 0


def test_work_submitted_after_the_host_saw_the_end_starts_after_it(rig: Rig) -> None:
    one, two = rig.stream(), rig.stream()
    one.send(*[rig.nop(one, i) for i in range(10)])
    one.drain()
    two.send(rig.nop(two))
    two.drain()
    log = list(rig.fake.log)
    assert log[-1].start >= log[-2].end
