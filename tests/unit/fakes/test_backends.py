"""The backends: URLs, what is refused, the C ABI, and the null backend."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import npuhal
from chips import UnknownChip
from fakes import NotModelled
from fakes.faults import Effect
from fakes.hal.coverage import Status, coverage
from fakes.machine.ids import ID_KINDS
from fakes.schedule.scheduler import POLICIES
from fakes.url.options import NAMES as OPTIONS
from fakes.url.rules import KEYS as RULES
from npuhal import constants as c
from npuhal import structs as s
from npuhal.compiler import find_compiler as compiler
from npuhal.errors import BadUrl, NotSupported
from tests.unit.fakes.rig import Rig


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("device=2", "unknown option 'device'"),
        ("devices=65", "outside 0 to 64"),
        ("seed=x", "not an integer"),
        ("policy=fair", "none of round_robin"),
        ("args=rdma", "none of dma, bar, ub"),
        ("hbm=lots", "not a size such as"),
        ("kernels=all", "none of attached, noop"),
        ("policy=random&schedule=random", "give one"),
    ],
)
def test_wrong_options_are_named(query: str, says: str) -> None:
    with pytest.raises(BadUrl, match=says):
        npuhal.open_hal(f"fake://ascend910b3?{query}")


def test_an_unknown_soc_is_named() -> None:
    with pytest.raises(UnknownChip, match="910B9"):
        npuhal.open_hal("fake://ascend910B9")


def test_sizes_and_counts_are_options(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(hbm="1g", streams=5, devices=2)
    assert sum(budget.total for budget in rig.fake.memory.budgets[1].values()) == 1 << 30
    assert rig.fake.device(1).ids["stream"].limit == 5


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
def test_what_is_not_modelled_raises_with_its_name(open_rig: Callable[..., Rig], scheme: str) -> None:
    rig = open_rig(scheme=scheme)
    assert rig.hal.has("halGetChipCount")
    with pytest.raises(NotModelled, match="halGetChipCount"):
        rig.hal.halGetChipCount(ctypes.byref(ctypes.c_int32()))
    with pytest.raises(AttributeError, match="halNonsense"):
        rig.hal.halNonsense(0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
def test_absent_features_answer_not_support(open_rig: Callable[..., Rig], scheme: str) -> None:
    rig = open_rig(scheme=scheme)
    assert rig.hal.halRepairFault(0, None) == c.DRV_ERROR_NOT_SUPPORT
    with pytest.raises(NotSupported, match="does not export"):
        rig.hal.halMemUnRegUbSegment(0, 4096)


@pytest.mark.parametrize("scheme", ["fake", "fake-abi", "null"])
def test_raw_twins_take_prebuilt_arguments(open_rig: Callable[..., Rig], scheme: str) -> None:
    rig = open_rig(scheme=scheme)
    stream = rig.stream()
    buffer = ctypes.create_string_buffer(rig.nop(stream), 64)
    info = s.halTaskSendInfo(type=0, sqId=stream.sq_id, sqe_addr=ctypes.addressof(buffer), sqe_num=1)
    query = s.halSqCqQueryInfo(type=0, sqId=stream.sq_id, prop=c.DRV_SQCQ_PROP_SQ_HEAD)
    send, ask = rig.hal.raw("halSqTaskSend"), rig.hal.raw("halSqCqQuery")
    sending, asking = ctypes.byref(info), ctypes.byref(query)
    assert [send(0, sending) for _ in range(3)] == [0, 0, 0]
    assert ask(0, asking) == 0
    assert query.value[0] == 3
    info.sqId = 4000
    assert send(0, sending) == c.DRV_ERROR_INVALID_VALUE
    query.prop = c.DRV_SQCQ_PROP_SQ_MEM_ATTR
    assert ask(0, asking) == 0


def test_arguments_come_in_every_form(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig()
    count = ctypes.c_uint32(0)
    for form in (ctypes.byref(count), count, ctypes.pointer(count), ctypes.addressof(count)):
        count.value = 0
        assert rig.hal.drvGetDevNum(form) == 0  # type: ignore[arg-type]
        assert count.value == 1
    assert rig.hal.drvGetDevNum(None) == c.DRV_ERROR_INVALID_VALUE
    with pytest.raises(TypeError, match="takes 1 arguments"):
        rig.hal.drvGetDevNum()  # type: ignore[call-arg]


def test_the_abi_tier_crosses_real_function_pointers(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(scheme="fake-abi")
    address = rig.hal.address("drvGetDevNum")  # type: ignore[attr-defined]
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)
    count = ctypes.c_uint32()
    assert function(ctypes.addressof(count)) == 0
    assert count.value == 1


def test_abi_backends_leave_the_hook_of_unraisable_exceptions_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    monkeypatch.setattr("fakes.tiers.abi._open", weakref.WeakSet())  # those of other tests stay open
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    kept, closed, replaced, dropped = (npuhal.open_hal("fake-abi://ascend910b1") for _ in range(4))
    closed.close()
    machine = weakref.ref(dropped)
    del dropped
    gc.collect()
    assert machine() is None
    with monkeypatch.context() as others:  # somebody else's hook for a while, meanwhile one is closed
        others.setattr(sys, "unraisablehook", lambda lost: None)
        replaced.close()
    sys.unraisablehook(lost := SimpleNamespace(object=[], exc_value=ValueError()))  # type: ignore[arg-type]
    assert heard == [lost]
    npuhal.open_hal("fake-abi://ascend950").close()
    monkeypatch.setattr(sys, "unraisablehook", second := heard.append)
    kept.drvGetDevNum(ctypes.byref(ctypes.c_uint32()))  # a hook that came later is put behind ours again
    assert sys.unraisablehook is not second
    kept.close()
    assert sys.unraisablehook is second


@pytest.mark.parametrize("compiled", [0, 1])
def test_null_completes_everything_at_once(open_rig: Callable[..., Rig], compiled: int) -> None:
    if compiled and compiler() is None:
        pytest.skip("this machine has no C compiler")
    rig = open_rig(scheme="null", compiled=compiled)
    stream = rig.stream(depth=8)
    for task in range(20):
        assert stream.send(rig.sqe("jpege", stream, task)) == 0
    assert stream.head == 20 % 8
    rc, [cqe] = stream.receive(timeout=1, stream=stream.stream_id, task=19)
    assert (rc, cqe.task_id, cqe.sq_head, cqe.error_type) == (0, 19, 3, 0)
    address = rig.alloc(64)
    rig.put(address, b"real")
    assert rig.get(address, 4) == b"real"


@pytest.mark.parametrize("tree", [1, 2])
def test_coverage_names_every_function_once(tree: int) -> None:
    rows = coverage(tree)
    names = [row.name for row in rows]
    assert len(names) == len(set(names))
    assert set(npuhal.prototypes.names()) == set(names)
    referenced = [row for row in rows if row.referenced]
    assert len(referenced) == 245
    assert {row.status for row in referenced} == {Status.MODELLED, Status.ABSENT}  # none of them is refused
    assert all(bool(row.reason) == (row.status is Status.ABSENT) for row in rows)
    assert {row.name: row.status for row in rows}["halSqTaskSend"] is Status.MODELLED


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
def test_coverage_is_what_a_call_meets(open_rig: Callable[..., Rig], scheme: str) -> None:
    rig = open_rig(scheme=scheme)
    for row in coverage(1):
        assert rig.hal.has(row.name) is row.exported
        if row.status is not Status.ABSENT:
            continue
        prototype = npuhal.prototypes.prototype(row.name)
        arguments = [nothing(arg.ctype) for arg in prototype.args]
        if row.exported:
            answer = None if prototype.restype is None else c.DRV_ERROR_NOT_SUPPORT
            assert getattr(rig.hal, row.name)(*arguments) == answer
        else:
            with pytest.raises(NotSupported, match=row.name):
                getattr(rig.hal, row.name)(*arguments)


def test_the_documentation_names_every_knob() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "fake.md").read_text(encoding="utf-8")
    kinds = [f"{kind}s" for kind in ID_KINDS]
    knobs = [*OPTIONS, *kinds, *POLICIES, *Effect.__members__, *RULES]
    assert [knob for knob in knobs if knob not in text] == []


def nothing(ctype: type) -> object:
    """The emptiest argument of a type."""
    if issubclass(ctype, ctypes._Pointer) or ctype is ctypes.c_void_p:
        return None
    return ctype() if issubclass(ctype, ctypes.Structure) else 0
