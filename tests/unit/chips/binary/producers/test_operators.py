"""Side files of op libraries, the order of the slots, and lists of tensors."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from chips import find_chip
from chips.binary import Program, load_file
from chips.binary.arguments import ArgumentKind as Kind
from chips.binary.cores import core_of
from chips.binary.elf import ElfFile
from chips.binary.producers.errors import BadMetadata
from chips.binary.producers.operators import (
    InitialValue,
    TensorEntry,
    read_operator,
    slots_of,
    tensor_list,
    workspace_reserve,
)
from tests.tools.corpus import corpus

KERNELS = Path(__file__).parents[4] / "data/kernels"
TENSOR = {"name": "x", "dtype": "float32", "paramType": "required"}
SIDE: dict[str, Any] = {
    "binFileName": "Add", "kernelName": "Add", "opParaSize": 24, "intercoreSync": 1, "parameters": [None, None],
    "workspace": {"num": 1, "size": [-1]}, "optionalInputMode": "gen_placeholder",
    "dynamicParamMode": "folded_with_desc",
    "supportInfo": {"inputs": [TENSOR, [{**TENSOR, "name": "list"}], None, {**TENSOR, "paramType": "optional"}],
                    "outputs": None},
}  # fmt: skip


def test_what_a_side_file_says() -> None:
    file = read_operator(json.dumps(SIDE))
    assert file.inputs == (
        TensorEntry("x", "float32", "required"), TensorEntry("list", "float32", "dynamic"),
        TensorEntry("input 2", "", "optional"), TensorEntry("x", "float32", "optional"),
    )  # fmt: skip
    assert (file.outputs, file.tiling_limit, file.workspaces, file.batch_schedule) == ((), 16, (-1,), True)
    assert (file.optional_inputs_keep_slots, file.optional_outputs_keep_slots, file.folded_lists) == (True, False, True)
    assert [each.element for each in file.inputs] == ["fp32", "fp32", "", "fp32"]
    assert read_operator({"magic": "X"}).tiling_limit is None
    assert read_operator({"magic": "X"}).inputs is None


def test_initial_values() -> None:
    file = read_operator({**SIDE, "parameters": [None, {"dtype": "float32", "init_value": 0.5}]})
    assert file.initial == (None, InitialValue("float32", 0.5))


@pytest.mark.parametrize(
    "fields",
    [
        b"{", {"mix_mode": "aiv"}, {**SIDE, "opParaSize": "24"}, {**SIDE, "workspace": [1]}, {**SIDE, "supportInfo": 3},
        {**SIDE, "supportInfo": {"inputs": {"a": 1}}},
        {**SIDE, "supportInfo": {"inputs": [3]}}, {**SIDE, "parameters": [3]},
        {**SIDE, "parameters": [{"dtype": "int8", "init_value": "1"}]},
    ],
    ids=str,
)  # fmt: skip
def test_side_files_that_are_refused(fields: Any) -> None:
    with pytest.raises(BadMetadata):
        read_operator(fields)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ([(0x1000, (1, 2, 3)), (0x2000, (3, 4, 5))], [72, 3, 1, 2, 3, 3 | 1 << 32, 3, 4, 5, 0x1000, 0x2000]),
        ([(0x1000, (7,))], [24, 1, 7, 0x1000]),
        ([(0x1000, (2, 2)), (0x2000, (9,))], [48, 2, 2, 2, 1 | 1 << 32, 9, 0x1000, 0x2000]),
    ],
)
def test_lists_of_tensors(tensors: Any, words: list[int]) -> None:
    assert tensor_list(tensors) == struct.pack(f"<{len(words)}Q", *words)


@pytest.mark.parametrize("tensors", [[], [(0x1000, ())], [(0x1000, (2,)), (0x2000, ())]], ids=str)
def test_lists_that_kernels_want_in_another_form(tensors: Any) -> None:
    with pytest.raises(BadMetadata, match="one dimension"):
        tensor_list(tensors)


def test_the_systems_part_of_the_workspace() -> None:
    sizes = {name: workspace_reserve(find_chip(name)) >> 20 for name in ("910A", "310P3", "910B3", "310B1", "950")}
    assert sizes == {"910A": 2, "310P3": 2, "910B3": 16, "310B1": 16, "950": 16}


def kinds_of(path: Path) -> list[tuple[list[Kind | int], list[Kind | int], int | None]]:
    """Slots of each kernel of a file: as listed, by its side file alone, and as many as its argument size says."""
    data = path.read_bytes()
    file = ElfFile(data)
    core, names, size = core_of(file.header.flags), file.section_names(), None
    assert core is not None
    assert names is not None
    for index, section in enumerate(file.sections):
        if names.text(section.name, "a section") == "__CCE_KernelArgSize":
            size = struct.unpack_from("<I", file.content(index))[0] // 8
    chip = find_chip(core.soc)
    program, operator = load_file(path, chip), read_operator(path.with_suffix(".json").read_bytes())
    assert isinstance(program, Program)
    forms = [[each.form for each in side or ()] for side in (operator.inputs, operator.outputs)]
    rows = []
    for kernel in program:
        listed = [each.kind for each in slots_of(kernel, chip, operator, *forms)]
        bare = _Bare(kernel)
        alone = [each.kind for each in slots_of(bare, chip, operator, *forms, shapes=listed.count(Kind.SHAPE))]  # type: ignore[arg-type]
        rows.append((listed, alone, size))
    return rows


class _Bare:
    """A kernel whose compiler has listed nothing."""

    arguments = ()

    def __init__(self, kernel: Any) -> None:
        self.ffts_arg, self.described_by = kernel.ffts_arg, self


def check(paths: list[Path]) -> int:
    compared = 0
    for path in paths:
        for listed, alone, size in kinds_of(path):
            assert listed == alone, path.name
            assert size in (None, len(listed)), path.name
            compared += 1
    return compared


def test_lists_side_files_and_argument_sizes_agree() -> None:
    assert check(sorted(KERNELS.rglob("*.o"))) >= 2


def test_in_the_larger_corpus_too() -> None:
    assert check([path for path in sorted(corpus("elfs").glob("*.o")) if path.with_suffix(".json").exists()]) >= 60
