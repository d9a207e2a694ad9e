"""Host libraries of AscendC and TileLang: binaries for a chip, names, blocks, prototypes."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from chips import find_chip
from chips.binary.errors import UnsupportedBinary
from chips.binary.producers.ascendc import (
    ByValue,
    Convention,
    chosen_binaries,
    convention_of,
    host_names,
    library_layout,
    prints,
)
from chips.binary.producers.errors import BadSignature
from chips.binary.producers.packing import POINTER
from chips.binary.producers.tilelang import read_prototypes
from chips.binary.program import read_program
from tests.tools.corpus import corpus
from tests.tools.elf_writer import ElfWriter, tlv
from tests.tools.host_library import ascendc_library, launch_library

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[4] / "golden/data/ascendc/layouts.jsonl").read_text().splitlines()
]
PLACES = {
    "ptr": ByValue(POINTER, 8), "i8": ByValue("b", 1), "i16": ByValue("h", 2), "i32": ByValue("i", 4),
    "f32": ByValue("f", 4),
}  # fmt: skip
A2, DAVID = find_chip("Ascend910B3"), find_chip("Ascend950PR_9599")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_blocks_as_gcc_lays_them_out(row: dict[str, Any]) -> None:
    places = [PLACES[kind] if isinstance(kind, str) else ByValue(f"{kind[0]}s", kind[1]) for kind in row["types"]]
    values = [bytes.fromhex(value) if isinstance(value, str) else value for value in row["values"]]
    layout = library_layout(places, dump="dump" in row, sync="ffts" in row, overflow="overflow" in row)
    hidden = [row[key] for key in ("dump", "ffts") if key in row]
    assert layout.pack([*hidden, *values, *([row["overflow"]] if "overflow" in row else [])]).hex() == row["hex"]
    assert [[m.name, m.offset, m.size] for m in layout.members] == row["members"]
    assert layout.size == row["size"]


def test_a_structure_of_doubles_keeps_its_alignment() -> None:
    layout = library_layout([ByValue("b", 1), ByValue("24s", 8), ByValue("2s", 1)])
    assert [member.offset for member in layout.members] == [0, 8, 32]
    assert layout.size == 40


def elf(*names: str, flags: int = 0x940000) -> bytes:
    writer = ElfWriter(flags=flags)
    for name in names:
        writer.kernel(name, size=64)
    return writer.build()


def test_the_chips_own_binaries_are_chosen() -> None:
    library = ascendc_library({
        "ascend910b1": [(1, elf("a_0"))], "ascend910b3": [(1, elf("b_0")), (2, elf("c_0"))],
        "ascend950": [(1, elf("d_0", flags=0x990000))],
    })  # fmt: skip
    own = [(each.soc, each.part) for each in chosen_binaries(library, A2)]
    assert own == [("ascend910b3", "aiv"), ("ascend910b3", "aic")]
    assert [each.soc for each in chosen_binaries(library, find_chip("Ascend910B2"))] == ["ascend910b1"]
    assert [each.soc for each in chosen_binaries(library, DAVID)] == ["ascend950"]
    with pytest.raises(UnsupportedBinary, match=r"ascend910b1.*Ascend310P3"):
        chosen_binaries(library, find_chip("Ascend310P3"))
    with pytest.raises(UnsupportedBinary, match="no device binary"):
        chosen_binaries(ElfWriter(machine=62).build(), A2)


def test_of_a_linked_and_a_relocatable_binary_the_linked_is_chosen() -> None:
    both, one = launch_library(linked=elf("k"), relocatable=elf("k")), launch_library(relocatable=elf("k"))
    assert [each.part for each in chosen_binaries(both, A2)] == ["linked"]
    assert [each.part for each in chosen_binaries(one, A2)] == ["relocatable"]
    assert {convention_of(each) for each in chosen_binaries(both, A2)} == {Convention.PARAMETERS}


@pytest.mark.parametrize(
    ("symbol", "convention", "names"),
    [
        ("add_custom_0", Convention.LIBRARY, ["add_custom", "add_custom_0"]),
        ("bgmv_expand_half_12", Convention.LIBRARY, ["bgmv_expand_half", "bgmv_expand_half_12"]),
        ("add_custom", Convention.LIBRARY, ["add_custom"]),
        ("_Z10add_customPhS_S_", Convention.PARAMETERS, ["add_custom", "_Z10add_customPhS_S_"]),
        ("_Z3addIfEvPT_", Convention.PARAMETERS, ["_Z3addIfEvPT_"]),
        ("_Z99add", Convention.PARAMETERS, ["_Z99add"]),
        ("add_0", Convention.PARAMETERS, ["add_0"]),
    ],
)
def test_names_of_the_source(symbol: str, convention: Convention, names: list[str]) -> None:
    assert list(host_names(symbol, convention)) == names


@pytest.mark.parametrize(("options", "expected"), [(0, False), (1, True), (2, True), (4, True), (8, False)])
def test_whether_a_binary_prints(options: int, expected: bool) -> None:
    meta = tlv(0, struct.pack("<I", 1)) + tlv(1, struct.pack("<II", 1 << 20, options))
    data = ElfWriter(flags=0x940000).kernel("k_0", size=64).section(".ascend.meta", meta).build()
    assert prints(read_program(data, A2)) is expected
    assert not prints(read_program(elf("k_0"), A2))


def test_prototypes_of_tilelang() -> None:
    text = """
    // extern "C" __global__ __aicore__ void old(GM_ADDR x);
    extern "C" __global__ __aicore__ void add_kernel(GM_ADDR a, __gm__ uint8_t *b, const float scale, int64_t M,
                                                     uint64_t fftsAddr);
    extern "C" __global__ [aicore] void plain(GM_ADDR a, int32_t n) { }
    extern "C" void call(uint8_t* a, int64_t M, aclrtStream stream);
    """
    found = read_prototypes(text)
    assert list(found) == ["add_kernel", "plain"]
    add = found["add_kernel"]
    assert add.sync_last
    assert [(each.name, each.pointer, each.packing.code) for each in add.parameters] == [
        ("a", True, "Q"), ("b", True, "Q"), ("scale", False, "f"), ("M", False, "q"),
    ]  # fmt: skip
    assert not found["plain"].sync_last
    assert read_prototypes("__global__ __aicore__ void none(void);")["none"].parameters == ()
    with pytest.raises(BadSignature, match="half4"):
        read_prototypes("__global__ __aicore__ void k(half4 x);")


def test_real_libraries() -> None:
    fat = corpus("elfs/fat")
    found = {
        path.name.split("__")[0]: [each.part for each in chosen_binaries(path.read_bytes(), A2)]
        for path in sorted(fat.iterdir()) if path.suffix != ".json" and "310p" not in path.name
    }  # fmt: skip
    assert found == {
        "bitsandbytes_npu_beta": ["aiv"], "mindspore": ["linked"], "numpy_ascend": ["relocatable"],
        "vllm_ascend": ["mix", "aiv", "aic"],
    }  # fmt: skip
