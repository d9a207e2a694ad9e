"""Which compiler wrote a JSON file, and what registration makes of those that are not its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chips import find_chip
from chips.binary import BinaryError, load_file
from chips.binary.kernels import KernelAttribute
from chips.binary.producers.kinds import JsonKind, json_kind
from chips.binary.registration import Stage, register
from chips.binary.side_file import OtherProducer
from tests.tools import triton_cache

CHIP = find_chip("Ascend910B3")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (triton_cache.metadata("k", "3.2"), JsonKind.TRITON),
        (triton_cache.metadata("k", "new"), JsonKind.TRITON),
        ({"target": {"backend": "npu"}}, JsonKind.TRITON),
        ({"child_paths": {}}, JsonKind.TRITON_GROUP),
        ({"kernel_name": "k", "mix_mode": "aiv", "param_info": []}, JsonKind.TILELANG),
        ({"magic": "RT_DEV_BINARY_MAGIC_ELF_AIVEC"}, JsonKind.OPERATOR),
        ({"magic": "RT_DEV_BINARY_MAGIC_ELF", "mix_mode": "aiv"}, JsonKind.OPERATOR),
        ({"intercoreSync": 1}, JsonKind.OPERATOR),
        ({"Cast": {"opInfo": {}}}, JsonKind.AICPU),
        ({}, JsonKind.UNKNOWN),
        ([], JsonKind.UNKNOWN),
        (None, JsonKind.UNKNOWN),
        ({"target": "npu"}, JsonKind.UNKNOWN),
    ],
    ids=str,
)
def test_kind(fields: Any, kind: JsonKind) -> None:
    assert json_kind(fields) is kind


@pytest.mark.parametrize(
    ("fields", "call"),
    [
        (triton_cache.metadata("k"), "device.load_triton(path)"),
        ({"kernel_name": "k", "mix_mode": "aiv", "gridfunc": ""}, "device.load_triton(path, signature=...)"),
        ({"child_paths": {"k.npubin": "/a"}}, "device.load_triton(path)"),
    ],
    ids=["triton", "tilelang", "group"],
)
def test_another_compilers_json_is_refused_with_the_call_to_use(fields: Any, call: str) -> None:
    result = register(triton_cache.elf("k"), CHIP, side_json=json.dumps(fields))
    assert isinstance(result.error, OtherProducer)
    assert result.failed is Stage.SIDE_FILE
    assert call in result.error.cure


def test_a_file_beside_tritons_json_is_refused_and_its_bytes_are_not(tmp_path: Any) -> None:
    folder = triton_cache.cache_folder(tmp_path)
    with pytest.raises(OtherProducer):
        load_file(folder / "add_kernel.npubin", CHIP)
    (folder / "add_kernel.json").unlink()
    program = load_file(folder / "add_kernel.npubin", CHIP)
    assert program.kernel("add_kernel").attribute is KernelAttribute.CUBE  # type: ignore[union-attr]
    assert issubclass(OtherProducer, BinaryError)
