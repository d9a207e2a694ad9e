"""Tasks made of several parts: fusion, FFTS+ graphs, copies over UB, asynchronous host copies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from chips.descriptor import write_body
from chips.generations.v100 import ffts
from fakes.errors import NotModelled
from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import Rig

CODE = b"compound kernel!" * 4


def test_a_fusion_task_runs_its_parts_together(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig("Ascend950PR_9599")
    stream, busy = rig.stream(), rig.stream()
    so, func = rig.alloc(16), rig.alloc(16)
    rig.put(so, b"lib.so\0")
    rig.put(func, b"Gather\0")
    ran: list[str] = []
    rig.fake.attach_aicpu("lib.so", "Gather", lambda ctx: ran.append("aicpu"))
    rig.fake.attach(CODE, lambda ctx: ran.append("aic"), grid=True)
    pc, args = rig.load(CODE), rig.arguments(0)
    names = {"so_name": so, "func_name": func}
    front = rig.sqe("aicpu_fused", stream, 5, **names, sub_type=6, sqe_length=1, block_dim=1, wr_cqe=1)
    busy.send(rig.kernel(busy, pc, args, 1000))
    busy.drain()
    stream.send(front, rig.kernel(stream, pc, args, 4, 5), rig.nop(stream))
    stream.drain()
    assert ran == ["aic", "aicpu", "aic"]
    fusion = next(entry for entry in rig.fake.log if entry.kind == "fusion")
    assert fusion.start >= rig.fake.log[0].end
    assert fusion.end - fusion.start == 12_000
    assert [cqe.sq_head for cqe in stream.receive()[1]] == [0]


def test_a_fusion_task_with_a_strange_part_is_an_sqe_error(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig("Ascend950PR_9599", kernels="noop")
    stream, func = rig.stream(), rig.alloc(16)
    stream.send(rig.sqe("aicpu_fused", stream, 5, func_name=func, sqe_length=1), rig.nop(stream))
    assert stream.head == 0
    assert stream.receive()[1][0].error_type == 8


def contexts(rig: Rig, *nodes: tuple[ffts.ContextType, dict[str, int]]) -> int:
    address = rig.alloc(128 * len(nodes))
    rig.put(address, b"".join(ffts.encode(kind, **fields) for kind, fields in nodes))
    return address


def test_a_graph_runs_its_contexts_in_the_order_of_their_edges(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    stream, a, b, z = rig.stream(), rig.alloc(8), rig.alloc(8), rig.alloc(8)
    rig.put(a, b"original")
    order: list[int] = []
    rig.fake.attach(CODE, lambda ctx: order.append(ctx.blocks), grid=True)
    pc, args, kind = rig.load(CODE), rig.arguments(0), ffts.ContextType
    table = contexts(
        rig,
        (kind.SDMA, {"src": b, "dst": z, "length": 8, "pred_count_init": 1}),
        (kind.AIC, {"pc": pc, "param": args, "block_dim": 3, "pred_count_init": 1}),
        (kind.SDMA, {"src": a, "dst": b, "length": 8, "successor_count": 2, "successors[0]": 0, "successors[1]": 1}),
        (kind.LABEL, {}),
    )
    fields = {"total_contexts": 4, "ready_contexts": 2, "preload_contexts": 4}
    stream.send(rig.sqe("ffts_plus", stream, 1, contexts=table, **fields))
    stream.drain()
    assert (rig.get(z, 8), order) == (b"original", [3])
    assert rig.fake.log[-1].detail == "4 contexts"


def test_a_graph_context_that_is_not_modelled_is_named(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    stream = rig.stream()
    table = contexts(rig, (ffts.ContextType.DSA, {}))
    stream.send(rig.sqe("ffts_plus", stream, 1, contexts=table, total_contexts=1, ready_contexts=1))
    with pytest.raises(NotModelled, match=r"FFTS\+ context dsa"):
        stream.drain()


@pytest.mark.parametrize("form", ["direct", "doorbell"])
def test_copies_over_ub(open_rig: Callable[..., Rig], form: str) -> None:
    rig = open_rig("Ascend950PR_9599", args="ub")
    stream, host, device = rig.stream(), rig.alloc_host(64), rig.alloc(64)
    ctypes.memmove(host, b"over the bus", 12)
    in_, out = s.halAsyncDmaInputPara(len=12, src=host), s.halAsyncDmaOutputPara()
    in_.dst = device
    assert rig.hal.halAsyncDmaCreate(0, ctypes.byref(in_), ctypes.byref(out)) == 0
    if form == "direct":
        front = rig.sqe("async_dma", stream, 1, jetty=out.jettyId, function=out.functionId, die_id=out.dieId)
        assert stream.send(front, ctypes.string_at(out.wqe, out.size), rig.nop(stream)) == 0
    else:
        bell = rig.sqe("ub_doorbell", stream, 1, jetty_1=out.jettyId, doorbell_num=1, pi_1=out.pi)
        assert stream.send(bell, rig.nop(stream)) == 0
    stream.drain()
    assert rig.get(device, 12) == b"over the bus"
    para = s.halAsyncDmaDestoryPara()
    para.wqe = out.wqe
    assert rig.hal.halAsyncDmaDestory(0, ctypes.byref(para)) == 0
    assert rig.hal.halAsyncDmaDestory(0, ctypes.byref(para)) == c.DRV_ERROR_INVALID_VALUE


def test_async_dma_over_pcie_is_a_chain(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig("Ascend950PR_9599")
    stream, host, device = rig.stream(), rig.alloc_host(64), rig.alloc(64)
    ctypes.memmove(host, b"chain", 5)
    in_, out = s.halAsyncDmaInputPara(len=5, src=host), s.halAsyncDmaOutputPara()
    in_.dst = device
    assert rig.hal.halAsyncDmaCreate(0, ctypes.byref(in_), ctypes.byref(out)) == 0
    dma = out.dma_addr.phyAddr
    stream.send(rig.sqe("pcie_dma", stream, 1, sq_addr=dma.src, sq_tail=dma.len))
    stream.drain()
    assert rig.get(device, 5) == b"chain"
    rows = s.halAsyncDmaInput2DPara(src=host, dst=device, width=4, height=2, dpitch=4, spitch=4)
    assert rig.hal.halAsyncDmaCreate2D(0, ctypes.byref(rows), ctypes.byref(out)) == c.DRV_ERROR_NOT_SUPPORT
    rows.dpitch = 3
    assert rig.hal.halAsyncDmaCreate2D(0, ctypes.byref(rows), ctypes.byref(out)) == c.DRV_ERROR_INVALID_VALUE


def test_a_host_copy_is_done_when_it_was_waited_for(rig: Rig) -> None:
    device, token = rig.alloc(8), ctypes.c_uint64()
    data = ctypes.create_string_buffer(b"tokens!!", 8)
    assert rig.hal.halMemCpyAsync(device, 8, ctypes.addressof(data), 8, ctypes.byref(token)) == 0
    assert rig.get(device, 8) == bytes(8)
    assert rig.hal.halMemCpyAsyncWaitFinish(token) == 0
    assert rig.get(device, 8) == b"tokens!!"
    assert rig.hal.halMemCpyAsyncWaitFinish(token) == c.DRV_ERROR_INVALID_VALUE


def test_pointer_copies_and_pointer_value_writes(rig: Rig) -> None:
    stream, a, b, descriptor, block = rig.stream(), rig.alloc(16), rig.alloc(16), rig.alloc(64), rig.alloc(64)
    rig.put(a, b"through a block!")
    if rig.v1:
        rig.put(descriptor, bytes(12) + (16).to_bytes(4, "little") + a.to_bytes(8, "little") + b.to_bytes(8, "little"))
    else:
        rig.put(descriptor, bytes(32) + a.to_bytes(8, "little") + b.to_bytes(8, "little") + (16).to_bytes(4, "little"))
    stream.send(rig.sqe("sdma_pointer", stream, 1, descriptor=descriptor))
    rig.put(block, write_body(rig.fake.chip, a, 0x01020304, 2))
    name = "pointer" if rig.v1 else "descriptor"
    stream.send(rig.sqe("write_value_pointer", stream, 2, **{name: block}))
    stream.drain()
    assert rig.get(b, 16) == b"through a block!"
    assert rig.get(a, 5) == b"\4\3\2\1u"
