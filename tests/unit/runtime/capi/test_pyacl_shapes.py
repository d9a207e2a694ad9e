"""pyACL: every call of the tables has its shape, its TypeErrors and its place, whatever state the process is in."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from runtime.capi import pyacl
from runtime.capi.pyacl.binding import Row
from tests.unit.runtime.capi.acl_module import PAIR, URLS, find, opened

TABLE = pyacl.table()
MISSING = pyacl.missing()
CALLS = TABLE | MISSING
PARTS = ("acl", *(f"acl.{part}" for part in pyacl.PARTS))
WRAPPED = 254
"""C functions that the original wraps; some under two names."""

EMPTY: dict[str, Any] = {
    "": 0, "str": "", "list": [], "rows": [], "dict": {}, "float": 0.0, "any": 0, "call": lambda *_: None,
    "bytes": b"x", "array": np.zeros(1), "shape": (1,),
}  # fmt: skip
"""A value of each kind that a call can take in; addresses and handles are NULL."""
OWN_ERRORS = {"acl.util.ptr_to_bytes", "acl.util.ptr_to_numpy", "acl.util.stop_thread", "acl.rt.get_group_info_detail",
              "acl.rt.register_cpu_func"}  # fmt: skip
"""Calls that raise for NULL, as the original does where it does not crash."""
GIVEN_BACK = {"bytes": bytes, "array": np.ndarray, "array_and_ptr": tuple}


def arguments(row: Row) -> list[Any]:
    return [EMPTY[each.kind] for each in row.arguments if not each.optional]


def check_shape(name: str, row: Row, answer: Any) -> None:
    if row.answer:
        wanted = GIVEN_BACK.get(row.answer, (int, float, str, type(None)))
        assert isinstance(answer, wanted), name
    elif row.outputs:
        assert type(answer) is tuple, name
        assert len(answer) == len(row.outputs) + 1, name
        assert type(answer[-1]) is int, name
    else:
        assert type(answer) is int, name


def check_error(problem: type[Exception], function: Any, *given: Any, match: str | None = None) -> None:
    with pytest.raises(problem, match=match):
        pytest.fail(f"{function} with {given} gave {quietly(function, *given)!r} instead of a {problem.__name__}")


def of(part: str, rows: dict[str, Row]) -> dict[str, Row]:
    """Return the rows of one module."""
    return {name: row for name, row in rows.items() if name.rpartition(".")[0] == part}


def quietly(function: Any, *given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given)


@pytest.fixture(scope="module", params=PAIR)
def acl(request: pytest.FixtureRequest) -> Iterator[Any]:
    with opened(request.param) as module:
        yield module


def test_the_tables_hold_what_the_original_wraps() -> None:
    functions = {row.function for row in TABLE.values() if row.function and not row.function.startswith("acldvpp")}
    assert len([name for name in functions if not name.startswith("aclmdlRI")]) == WRAPPED
    assert not TABLE.keys() & MISSING.keys()


def test_every_call_is_there_and_listed(acl: Any) -> None:
    for name in CALLS:
        function = find(acl, name)
        assert function.__name__ == name.rpartition(".")[2]
        assert name in function.__doc__
    assert set(pyacl.PARTS) <= set(dir(acl))
    assert not hasattr(acl.rt, "no_such_call")


@pytest.mark.parametrize("part", PARTS)
def test_wrong_arguments_are_errors_of_their_type(part: str) -> None:
    for name, row in of(part, CALLS).items():
        if row.unchecked:
            continue
        function = find(pyacl.module(), name)
        counts = r"takes exactly \d+ arguments \(\d+ given\)"
        check_error(TypeError, function, *[1] * (len(row.arguments) + 1), match=counts)
        check_error(TypeError, partial(function, **{row.arguments[0].name: 1}))
        for place, argument in enumerate(row.arguments):
            if argument.kind in ("any", "shape") or argument.optional:
                continue
            given = arguments(row)
            for wrong in (None, object()):
                given[place] = wrong
                problem = ValueError if argument.kind in ("list", "bytes", "array") else TypeError
                check_error(problem, function, *given)
        if not row.arguments[0].optional:
            check_error(TypeError, function)


@pytest.mark.parametrize("state", ["fresh", "initialised", "finalised"])
def test_nulls_give_the_shape_of_the_call_in_every_state(acl: Any, state: str) -> None:
    if state != "fresh":
        assert acl.init() in (0, 100002)  # the second of these states, in whatever order they come
        assert acl.rt.set_device(0) == 0
    if state == "finalised":
        assert acl.finalize() == 0
    for name, row in CALLS.items():
        if name in ("acl.init", "acl.finalize", "acl.finalize_reference", *OWN_ERRORS):
            continue
        check_shape(name, row, quietly(find(acl, name), *arguments(row)))


def test_calls_without_arguments_ignore_those_given(acl: Any) -> None:
    for name, row in CALLS.items():
        if not row.arguments and name not in ("acl.finalize", "acl.finalize_reference"):
            check_shape(name, row, quietly(find(acl, name), 0, "x", None))


@pytest.mark.parametrize("part", PARTS)
def test_missing_calls_warn_at_the_line_that_makes_them(part: str) -> None:
    for name, row in of(part, MISSING).items():
        function = find(pyacl.module(), name)
        with pytest.warns(RuntimeWarning, match=f"{name}: this runtime has no") as caught:
            answer = function(*arguments(row))
        assert [each.filename for each in caught] == [__file__], name
        check_shape(name, row, answer)
        if not row.answer:
            assert (answer[-1] if row.outputs else answer) == 200001, name


@pytest.mark.parametrize(
    ("name", "given", "answer"),
    [
        ("acl.mdl.get_input_dims", (1, 0), ({}, 200001)),
        ("acl.mdl.create_and_get_op_desc", (0, 0, 0, 8), ("", 0, 0, 0, 0, 200001)),
        ("acl.mdl.set_aipp_csc_params", (1,) * 17, 200001),
        ("acl.op.set_attr_data_type", (1, "x", 0), (0, 200001)),
        ("acl.get_tensor_desc_dim_range", (1, 0, 2), (None, 200001)),
        ("acl.media.dvpp_jpeg_get_image_info_v2", (1, 2), (0, 0, 0, 0, 200001)),
        ("acl.media.dvpp_vpc_batch_crop_async", (1, 1, [1], 1, [1], 0), (0, 200001)),
        ("acl.media.dvpp_get_border_config_value", (1, 0), 0.0),
        ("acl.media.dvpp_create_channel_desc", (), 0),
        ("acl.media.vdec_get_channel_desc_callback", (1,), None),
        ("acl.blas.create_handle_for_hgemm", (0, 0, 0, 1, 1, 1, 0), (0, 200001)),
        ("acl.blas.gemm_ex", (1,) * 19, 200001),
        ("acl.fv.search", (0, 1, 1), 200001),
        ("acl.himpi.sys_init", (), 200001),
        ("acl.himpi.dvpp_get_version", (), (0, 0, 0, 200001)),
        ("acl.himpi.sys_wait_epoll", (1, 3, 1000), ([], 0, 200001)),
        ("acl.himpi.vdec_get_frame", (0, 100), ({}, {}, {}, 200001)),
        ("acl.himpi.vdec_get_pic_buf_size", (96, {}), 0),
        ("acl.himpi.venc_get_stream", (0, {"pack_cnt": 1}, -1), ({}, 200001)),
        ("acl.himpi.vpc_resize", (0, {}, {}, 0.5, 0.5, 0, -1), (0, 200001)),
        ("acl.himpi.vpc_calc_hist", (0, {}, -1), ({}, 0, 200001)),
        ("acl.himpi.pngd_get_image_data", (0, -1), ({}, {}, 200001)),
    ],
)
def test_shapes_of_missing_calls_are_those_of_the_original(name: str, given: tuple[Any, ...], answer: Any) -> None:
    assert quietly(find(pyacl.module(), name), *given) == answer


def test_handles_are_words() -> None:
    with opened(URLS[0]) as acl:
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        stream, _ = acl.rt.create_stream()
        assert type(stream) is int
        assert acl.rt.synchronize_stream(stream + (1 << 64)) == 0  # what does not fit is cut off
        assert acl.rt.synchronize_stream(True) != 0  # a bool is an int
        assert acl.rt.synchronize_stream(0) == 0  # the default stream
        for bad in (1.5, "1", b"1", [1]):
            with pytest.raises(TypeError, match=r"acl\.rt\.synchronize_stream args parse failed"):
                acl.rt.synchronize_stream(bad)


@pytest.mark.parametrize(
    ("call", "given", "problem"),
    [
        ("malloc_with_cfg", (64, 0, {"attrs": [], "numAttrs": 1}), KeyError),
        ("malloc_with_cfg", (64, 0, {"numAttrs": 0}), TypeError),
        ("malloc_with_cfg", (64, 0, {"attrs": [{"attr": 1, "value": {"other": 1}}], "numAttrs": 1}), KeyError),
        ("malloc_host_with_cfg", (64, {"attrs": [{"attr": 1}], "numAttrs": 1}), TypeError),
        ("mem_set_pid_to_shareable_handle", (1, (1,)), ValueError),
        ("ipc_mem_set_import_pid", ("key", ["1"]), ValueError),
        ("ipc_mem_get_export_key", (1, 64, 1024, 0), ValueError),
        ("get_function_name", (1, 1024), ValueError),
        ("register_cpu_func", (1, "", "kernel"), ValueError),
        ("wait_and_reset_notify", (1, 1, -1), TypeError),
        ("wait_and_reset_notify", (1, 1, 1 << 32), TypeError),
        ("binary_load_from_file", ("x", None), ValueError),
        ("binary_load_from_file", ("x", [1]), ValueError),
        ("mem_uce_repair", (0, None), TypeError),
        ("get_group_info_detail", (1, 0, 0), RuntimeError),
    ],
)
def test_structs_that_cannot_be_read(acl: Any, call: str, given: tuple[Any, ...], problem: type[Exception]) -> None:
    check_error(problem, getattr(acl.rt, call), *given)


ODD: tuple[Any, ...] = (
    None, 0, -1, 1 << 64, 1 << 40, 10**5000, 0.5, "x", "\ud800", "\udcff", b"x", [None], [0], [{}], [-1],
    {"location": None}, {"attrs": [None], "numAttrs": 1}, {"failureMode": -1, "handleType": 1 << 200},
    [{"addr": 1 << 200, "len": -1}],
    [{"type": 1 << 40, "id": -1, "value": {"timeout": -5}}], np.int64(-1), np.float32(1), np.zeros((2, 2)),
    np.str_("x"), object(), print,
)  # fmt: skip


@pytest.mark.timeout(60)
def test_whatever_stands_in_any_place_is_a_code_or_an_error_of_its_type(acl: Any) -> None:
    acl.init()
    acl.rt.set_device(0)
    for name, row in CALLS.items():
        call = find(acl, name)
        for place, parameter in enumerate(row.arguments):
            for value in ODD if "timeout" not in parameter.name else ODD[5:]:  # what waits for ever is no mistake
                given = [EMPTY[each.kind] for each in row.arguments]
                given[place] = value
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        call(*given)
                    except (TypeError, ValueError, KeyError):
                        continue
                    except RuntimeError:
                        assert name in OWN_ERRORS, (name, place)


def test_install_takes_the_name_and_its_parts() -> None:
    before = {name for name in sys.modules if name == "acl" or name.startswith("acl.")}
    assert not before  # nothing takes it unasked
    try:
        root = pyacl.install()
        assert isinstance(root, ModuleType)
        for part in pyacl.PARTS:
            assert sys.modules[f"acl.{part}"] is getattr(root, part)
    finally:
        for name in [name for name in sys.modules if name == "acl" or name.startswith("acl.")]:
            del sys.modules[name]
