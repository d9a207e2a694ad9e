"""Reading what Triton-Ascend leaves in its cache: signatures, metadata of every version, folders."""

from __future__ import annotations

import contextlib
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips.binary import BinaryError, Magic
from chips.binary.producers.argument_size import stated_argument_bytes
from chips.binary.producers.errors import BadMetadata, BadSignature, IncompleteFolder
from chips.binary.producers.triton import (
    GridRule,
    LayoutVersion,
    LockRule,
    Parameter,
    find_entry,
    layout_of,
    parameters_of,
    read_entry,
    read_metadata,
    read_signature,
)
from chips.binary.producers.triton.grid import axes_of
from chips.binary.producers.triton.signature import SCALARS
from tests.tools import triton_cache
from tests.tools.corpus import corpus
from tests.tools.elf_writer import OBJECT, WEAK, ElfWriter
from tests.tools.triton_cache import cache_folder, metadata, transforms

# -- signatures ----------------------------------------------------------------------------------------------------


def types(text: str, kernel: str = "k", **how: Any) -> list[str]:
    return [each.type for each in read_signature(text, kernel, **how)]


def test_a_signature_out_of_ir_with_locations_and_attributes() -> None:
    kinds = ["*fp32", "*fp16", "*bf16", "*i8", "i1", "i32", "i64", "fp32", "fp64"]
    assert types(triton_cache.ir("k", kinds)) == kinds


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        ("%x: !tt.ptr<f8E4M3FN>", "*fp8e4nv"),
        ("%x: !tt.ptr<f32, 1>", "*fp32"),
        ("%x: !tt.ptr<!tt.ptr<f32>>", "**fp32"),
        ("%x: index", "i64"),
        ("%x: f16", "fp16"),
        ('%x: i32 loc("a)b, (c"(#loc))', "i32"),
        ("%x: i32 {tt.a = dense<[1, 2]> : tensor<2xi32>}", "i32"),
    ],
)
def test_types_of_ir(argument: str, kind: str) -> None:
    assert types(f"tt.func public @k({argument}, %y: i8) {{}}") == [kind, "i8"]


def test_names_come_from_the_ir_and_from_named_locations() -> None:
    text = 'tt.func public @k(%x_ptr: !tt.ptr<f32> loc("x"(#loc1)), %arg1: i32 loc("f.py":1:2)) {}'
    assert [each.name for each in read_signature(text, "k")] == ["x", "arg1"]


def test_a_tensor_descriptor_is_its_parts() -> None:
    text = "tt.func public @k(%d: !tt.tensordesc<tensor<64x32xf16>>, %n: i32) {}"
    parts = ["*fp16", "i64", "i64", "i64", "i64", "i1", "i32", "i32", "i64", "i64"]
    assert types(text) == [*parts, "i32"]
    assert [each.type for each in parameters_of(["tensordesc<fp16[64, 32]>"])] == parts


def test_the_adapter_has_the_same_without_what_it_adds() -> None:
    hidden = "%arg0: memref<?xi8>, %arg1: memref<?xi8>"
    behind = ", ".join(f"%arg{number}: i32" for number in range(4, 10))
    own = "%arg2: memref<?xf32> {tt.tensor_kind = 0 : i32}, %arg3: i32"
    text = f"func.func @k({hidden}, {own}, {behind}) attributes {{}}"
    assert types(text, adapter=True) == ["*fp32", "i32"]


def test_another_function_stands_in_only_if_it_is_the_only_public_one() -> None:
    text = "tt.func private @helper(%a: i8) {} tt.func public @k_0d1d(%a: i32) {}"
    assert types(text, "k") == ["i32"]
    with pytest.raises(BadSignature, match="k_0d1d"):
        read_signature(text + " tt.func public @other() {}", "k")


@pytest.mark.parametrize("text", ["", "tt.func public @k(%a: i32", "tt.func public @k(i32) {}",
                                  "tt.func public @k(%a: !tt.what<3>) {}", "tt.func public @k(%a: f8E5M2) {}"])
def test_ir_that_cannot_be_read(text: str) -> None:
    with pytest.raises(BadSignature):
        read_signature(text, "k")


def test_stated_signatures() -> None:
    stated = {"x": "*f32", "BLOCK": "constexpr", "n": "i32", "pair": ("i8", ("u64", "*kfp16"))}
    assert parameters_of(stated) == (
        Parameter("x", "*fp32"), Parameter("n", "i32"), Parameter("pair.0", "i8"), Parameter("pair.1.0", "u64"),
        Parameter("pair.1.1", "*fp16"),
    )  # fmt: skip
    for wrong in (["i33"], [3], "*fp32", ["tensordesc<fp16>"]):
        with pytest.raises(BadSignature):
            parameters_of(wrong)


@given(st.lists(st.sampled_from([*SCALARS, "*fp32"]), max_size=12), st.sampled_from(list(LayoutVersion)), st.booleans(),
       st.booleans(), st.booleans())
def test_members_never_overlap_and_keep_their_alignment(
    kinds: list[str], version: LayoutVersion, sync: bool, simt: bool, original: bool
) -> None:
    layout = layout_of(parameters_of(kinds), version, sync_address=sync, pure_simt=simt, original_grid=original)
    end = 0
    for member in layout.block.members:
        assert member.offset >= end
        assert member.offset % member.alignment == 0
        assert member.offset - end < member.alignment
        end = member.offset + member.size
    assert end <= layout.block.size
    assert [m.name for m in layout.block.members if m.name.startswith("arg")] == [f"arg{n}" for n in range(len(kinds))]


# -- metadata ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.2", "3.5", "3.6", "new"])
def test_the_version_is_told_by_its_keys(version: str) -> None:
    facts = read_metadata(json.dumps(metadata("k", version)))
    assert (facts.version.text, facts.kernel, facts.magic, facts.arch) == (version, "k", Magic.ELF_AIVEC, "Ascend910B3")


def test_without_a_stated_version_the_keys_decide_and_the_caller_has_the_last_word() -> None:
    assert read_metadata(metadata("k", "3.6", triton_version=...)).version is LayoutVersion.V36
    assert read_metadata(metadata("k", "3.5", triton_version=...)).version is LayoutVersion.V35
    assert read_metadata(metadata("k", "3.2"), "3.6").version is LayoutVersion.V36
    with pytest.raises(BadMetadata, match=r"3\.2, 3\.5, 3\.6, new"):
        read_metadata(metadata("k"), "3.7")


def test_workspace_and_locks_of_old_compilers() -> None:
    facts = read_metadata(metadata("k", mix="mix", workspace_size=65536, lock_num=4, lock_init_val=7))
    assert (facts.workspace_bytes, facts.locks, facts.magic) == (65536, LockRule(words=4), Magic.ELF)
    assert read_metadata(metadata("k", lock_num=2, lock_init_value=7)).locks == LockRule(words=2, initial=7)


def test_locks_of_new_compilers() -> None:
    layout = 2 | 3 << 32
    both = metadata("k", "3.6", mix="mix", sync_block_lock_layout=layout, lock_init_val=5)
    assert read_metadata(both).locks == LockRule(ordered=2, unordered=3, factor=2, initial=5)
    assert read_metadata(metadata("k", "3.6", sync_block_lock_layout=layout)).locks.factor == 1
    alone = metadata("k", "3.6", mix="mix", sync_block_lock_layout=2)
    assert read_metadata(alone).locks == LockRule(ordered=2)


def test_the_unified_buffer_is_for_simt_on_950_only() -> None:
    on_950 = {"arch": "Ascend950PR_9579", "parallel_mode": "mix_simd_simt"}
    assert read_metadata(metadata("k", "3.6", **on_950)).simt_bytes == 221184
    assert read_metadata(metadata("k", "3.6", arch="Ascend950PR_9579")).simt_bytes == 0
    assert read_metadata(metadata("k", "3.6", parallel_mode="simt")).simt_bytes == 0


def test_tilelang_has_its_signature_in_the_metadata_and_always_a_print_buffer() -> None:
    facts = read_metadata({"kernel_name": "k", "mix_mode": "aiv", "param_info": ["*fp32", "i32"], "symbolic": {}})
    assert facts.version is LayoutVersion.V36
    assert facts.always_sync
    assert facts.parameters == (Parameter("arg0", "*fp32"), Parameter("arg1", "i32"))


@pytest.mark.parametrize(
    "fields",
    [
        b"{", b"[]", b"{}", {"magic": "X"}, metadata("k", mix="cube"), metadata("", "3.2"),
        metadata("k", kernel_name=3), metadata("k", workspace_size="1"), metadata("k", "3.6", coalesce_factor=-1),
        metadata("k", "3.6", coalesce_axis=3),
    ],
    ids=str,
)  # fmt: skip
def test_metadata_that_are_refused(fields: Any) -> None:
    with pytest.raises(BadMetadata):
        read_metadata(fields)


def test_names_of_950_before_its_release() -> None:
    assert read_metadata(metadata("k", arch="Ascend910_9579")).arch == "Ascend950PR_9579"


# -- argument sizes ------------------------------------------------------------------------------------------------


def sized(*sizes: int) -> bytes:
    """An ELF that states argument sizes for the kernels k0, k1 and so on."""
    writer = ElfWriter()
    for number in range(len(sizes)):
        writer.kernel(f"k{number}")
    writer.section("__CCE_KernelArgSize", struct.pack(f"<{len(sizes)}I", *sizes))
    for number in range(len(sizes)):
        writer.symbol(f"k{number}__", value=4 * number, size=4, type=OBJECT, binding=WEAK, section=2)
    return writer.build()


def test_the_size_that_a_compiler_states() -> None:
    data = sized(64, 72)
    assert [stated_argument_bytes(data, name) for name in ("k0", "k1", "k2")] == [64, 72, None]
    assert stated_argument_bytes(triton_cache.elf("k0"), "k0") is None
    assert stated_argument_bytes(data[:100], "k0") is None
    assert stated_argument_bytes(b"", "k0") is None


@pytest.mark.parametrize(
    ("version", "sync", "sizes"),
    [("3.2", True, (64, 56)), ("3.6", True, (64, 56)), ("3.6", False, (56,)), ("new", True, (64, 56))],
)
def test_what_a_compiler_may_count(version: str, sync: bool, sizes: tuple[int, ...]) -> None:
    parameters = parameters_of(["*fp32", "*fp32", "*fp32", "i32"])
    layout = layout_of(parameters, LayoutVersion.named(version), sync_address=sync)
    assert layout.counted_sizes == sizes


# -- rewritten grids -----------------------------------------------------------------------------------------------

IAT, BOTH, PTSM = transforms((1, 16, False)), transforms((1, 16, False), (0, 4, True)), transforms((0, 64, True))
MAPPED = {"program_grid_mapping_applied": True}
LOOPS = {**MAPPED, "ptsm_cap_authorized": True}


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({}, GridRule(may_cap=False)),
        ({"auto_blockify_enabled": True}, GridRule(may_cap=True)),
        ({**MAPPED, "program_grid_transforms": IAT}, GridRule(iat=True, may_cap=False)),
        ({**LOOPS, "program_grid_transforms": json.dumps(BOTH)}, GridRule(iat=True, ptsm=True, may_cap=False)),
        ({**LOOPS, "program_grid_transforms": PTSM}, GridRule(ptsm=True, may_cap=False)),
        ({"row_coalescing_applied": True, "coalesce_factor": 4, "coalesce_axis": 1}, GridRule(4, 1, may_cap=False)),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value),
)
def test_grids_of_the_newest(more: dict[str, Any], rule: GridRule) -> None:
    assert read_metadata(metadata("k", "new", **more)).grid == rule


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"ptsm_cap_authorized": ...}, "ptsm_cap_authorized"),
        ({"auto_blockify_enabled": 1}, "auto_blockify_enabled"),
        (MAPPED, "program_grid_transforms"),
        ({"program_grid_transforms": IAT}, "program_grid_transforms"),
        ({**MAPPED, "program_grid_transforms": "{"}, "program_grid_transforms"),
        ({**MAPPED, "program_grid_transforms": transforms((1, 8, False))}, "program_grid_transforms.transforms"),
        ({**MAPPED, "program_grid_transforms": {**IAT, "version": 3}}, "program_grid_transforms"),
        ({**MAPPED, "program_grid_transforms": {**IAT, "hidden_extent_axes": [0, 2]}}, "hidden_extent_axes"),
        ({**MAPPED, "program_grid_transforms": {**IAT, "transforms": [{"kind": "floor_div"}]}}, "transforms[0]"),
        ({**MAPPED, "program_grid_transforms": PTSM}, "ptsm_cap_authorized"),
        ({"ptsm_cap_authorized": True}, "ptsm_cap_authorized"),
        ({**LOOPS, "program_grid_transforms": PTSM, "mix": "mix"}, "mix_mode"),
        ({**MAPPED, "program_grid_transforms": IAT, "auto_blockify_enabled": True}, "auto_blockify_enabled"),
        ({"row_coalescing_applied": True}, "row_coalescing_applied"),
        ({"coalesce_factor": 4, "coalesce_axis": 0}, "coalesce_factor"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_contradictions_of_the_newest_are_refused(more: dict[str, Any], part: str) -> None:
    with pytest.raises(BadMetadata) as refused:
        read_metadata(metadata("k", "new", **more))
    assert part in refused.value.part


@given(st.tuples(*[st.integers(1, 300)] * 3), st.integers(1, 80), st.booleans())
def test_a_cap_only_lowers_what_is_launched(grid: tuple[int, int, int], cores: int, cap: bool) -> None:
    arranged = GridRule().arrange(grid, cores, cap=cap)
    assert arranged.grid == grid
    assert arranged.physical == (min(arranged.logical, cores) if cap else arranged.logical)


@pytest.mark.parametrize(
    ("given", "axes"), [(8, (8, 1, 1)), ((8,), (8, 1, 1)), ([2, 3], (2, 3, 1)), ((0, 1, 2), (0, 1, 2))]
)
def test_grids_as_people_write_them(given: Any, axes: tuple[int, int, int]) -> None:
    assert axes_of(given) == axes


@pytest.mark.parametrize("given", ["8", 8.0, (), (1, 2, 3, 4), (2**31,), None, lambda meta: (1,)])
def test_what_is_no_grid(given: Any) -> None:
    with pytest.raises(BadMetadata, match="one to three whole numbers"):
        axes_of(given)


# -- folders -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", "add_kernel.npubin", "add_kernel.json", "add_kernel.ttir", "__grp__add_kernel.json"]
)
def test_any_of_its_files_means_the_kernel(tmp_path: Path, name: str) -> None:
    folder = cache_folder(tmp_path)
    assert find_entry(folder / name) == folder / "add_kernel.npubin"


def test_a_moved_folder_is_read_where_it_is(tmp_path: Path) -> None:
    moved = Path(shutil.move(cache_folder(tmp_path), tmp_path / "elsewhere"))
    entry = read_entry(find_entry(moved))
    assert entry.folder == moved
    assert entry.ir is not None


def test_a_whole_cache_is_searched_past_folders_without_kernels(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path)
    (tmp_path / "launcher").mkdir()
    (tmp_path / "launcher" / "npu_utils.so").touch()
    assert find_entry(tmp_path) == folder / "add_kernel.npubin"
    cache_folder(tmp_path, "mul")
    with pytest.raises(IncompleteFolder, match="2 kernels"):
        find_entry(tmp_path)
    assert find_entry(tmp_path, "mul").stem == "mul"
    with pytest.raises(IncompleteFolder, match="did you mean 'mul'"):
        find_entry(tmp_path, "mull")


def test_two_kernels_in_one_folder_are_told_apart_by_name(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path)
    for path in cache_folder(tmp_path, "mul").iterdir():
        shutil.copy(path, folder)
    with pytest.raises(IncompleteFolder, match="name one"):
        find_entry(folder)
    assert find_entry(folder, "mul").name == "mul.npubin"


def test_an_incomplete_folder_says_what_is_missing_and_where_it_was(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path)
    (folder / "add_kernel.npubin").unlink()
    for path in (folder, folder / "add_kernel.json", folder / "__grp__add_kernel.json"):
        with pytest.raises(IncompleteFolder, match=r"add_kernel.npubin is missing.*/home/user/.triton/cache/X"):
            find_entry(path)
    for path in (tmp_path / "nothing", Path(__file__)):
        with pytest.raises(IncompleteFolder):
            find_entry(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(IncompleteFolder, match="holds no"):
        find_entry(tmp_path / "empty")
    other = cache_folder(tmp_path, "mul")
    (other / "mul.json").unlink()
    with pytest.raises(IncompleteFolder, match="cannot be read"):
        read_entry(find_entry(other))


def test_what_the_real_front_end_wrote() -> None:
    folders = sorted(path.parent for path in corpus("producers/triton").glob("*/*/*.npubin"))
    assert len(folders) >= 12
    for folder in folders:
        entry = read_entry(find_entry(folder))
        facts = read_metadata(entry.metadata)
        assert entry.ir is not None
        parameters = read_signature(entry.ir, facts.kernel)
        assert sum(each.is_pointer for each in parameters) >= len(facts.tensor_kinds) - 1
        if entry.adapter is not None:
            adapted = read_signature(entry.adapter, facts.kernel, adapter=True)
            assert [each.type for each in adapted] == [each.type for each in parameters]


@given(st.binary(max_size=200))
def test_damaged_files_are_refused_in_words(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(BinaryError):
        read_metadata(data)
    with contextlib.suppress(BinaryError):
        read_signature("tt.func public @k(" + text, "k")
