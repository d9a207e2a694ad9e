"""AICPU programs: op lists and libraries."""

from __future__ import annotations

import json

import pytest

from chips.binary.aicpu import AicpuKind, MalformedOpList, library_name, read_aicpu_program
from chips.binary.errors import UnknownKernel


def op(**info: object) -> dict[str, object]:
    return {"opInfo": {"functionName": "RunCpuKernel", "kernelSo": "libk.so", "opKernelLib": "AICPUKernel", **info}}


@pytest.mark.parametrize(
    ("info", "kind", "noted"),
    [
        ({}, AicpuKind.AICPU, False),
        ({"userDefined": "True"}, AicpuKind.CUSTOM, False),
        ({"userDefined": "False"}, AicpuKind.AICPU, False),
        ({"userDefined": "true"}, AicpuKind.AICPU, False),
        ({"opKernelLib": "CUSTAICPUKernel"}, AicpuKind.CUSTOM, False),
        ({"opKernelLib": "TFKernel", "userDefined": "True"}, AicpuKind.FRAMEWORK, False),
        ({"opKernelLib": "KFCKernel"}, AicpuKind.KFC, False),
        ({"opKernelLib": "CUSTKFCKernel"}, AicpuKind.CUSTOM_KFC, False),
        ({"opKernelLib": "Other"}, AicpuKind.RESERVED, True),
        ({"opKernelLib": ""}, AicpuKind.RESERVED, True),
    ],
)
def test_kind(info: dict, kind: AicpuKind, noted: bool) -> None:
    program = read_aicpu_program(json.dumps({"Op": op(**info)}))
    kernel = program.kernel("Op")
    assert (kernel.kind, kernel.function_name, kernel.so_name, kernel.user_args) == (
        *(kind, "RunCpuKernel", "libk.so"),
        128,
    )
    assert bool(program.warnings) == noted


def test_what_is_no_op_is_left_out() -> None:
    program = read_aicpu_program(
        json.dumps({"A": op(), "B": {}, "C": 5, "D": {"opInfo": []}, "E": op(kernelSo=7), "F": op(userDefined=True)})
    )
    assert [kernel.name for kernel in program] == ["A"]
    assert ["'E'" in program.warnings[0], "'F'" in program.warnings[1]] == [True, True]
    assert (len(program), program.library) == (1, None)


def test_all_fields_are_optional() -> None:
    kernel = read_aicpu_program('{"A": {"opInfo": {}}}').kernel("A")
    assert (kernel.function_name, kernel.so_name, kernel.kind) == ("", "", AicpuKind.RESERVED)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", b"\xff", "[" * 100_000])
def test_what_is_no_op_list_is_refused(text: str) -> None:
    with pytest.raises(MalformedOpList) as caught:
        read_aicpu_program(text)
    assert caught.value.code == "RT_ERROR_INVALID_VALUE"


def test_an_unknown_op_gets_near_names() -> None:
    program = read_aicpu_program(json.dumps({"TopK": op(), "Sort": op()}))
    with pytest.raises(UnknownKernel, match="did you mean 'TopK'"):
        program.kernel("Topk")


def test_a_library_is_kept_as_a_view() -> None:
    data = bytearray(b"library")
    program = read_aicpu_program(None, data, "lib.so")
    data[0] = 0x4C
    assert program.library == b"Library"
    assert (program.library_name, len(program)) == ("lib.so", 0)


def test_names_of_libraries_given_as_data() -> None:
    a, b = b"x" * 2000, b"x" * 1999 + b"y"
    assert library_name(a) == library_name(b), "they differ behind the first 1,024 bytes"
    assert library_name(a).endswith("_2000.so")
    other = library_name(b, frozenset({library_name(a)}))
    assert other != library_name(a)
    assert other.endswith("_2000.so")
