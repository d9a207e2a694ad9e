"""``npuhal elf`` on kernels of Triton-Ascend: the right core kind, and what a launch passes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from tests.tools.elf_writer import OBJECT, WEAK, ElfWriter
from tests.tools.triton_cache import cache_folder
from tests.unit.chips.binary.test_cli_elf import run


@pytest.mark.parametrize("name", ["", "add_kernel.npubin", "add_kernel.json"])
def test_any_file_of_a_kernel_shows_it(tmp_path: Path, name: str) -> None:
    folder = cache_folder(tmp_path, workspace_size=64, lock_num=4)
    status, text, problems = run(str(folder / name))
    assert (status, problems) == (0, "")
    for part in ("VECTOR", "Triton-Ascend 3.2, aiv simd for Ascend910B3", "64 bytes per block", "4 words",
                 "syncBlockLock", "arg0: *fp32", "argument block: 64 bytes"):  # fmt: skip
        assert part in text


def test_as_json(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path, "mm", "3.6", ["*fp16", "i32"], mix="mix", sync_block_lock_layout=1 << 32)
    status, text, _ = run("--json", str(folder))
    (found,) = map(json.loads, text.splitlines())
    assert status == 0
    assert [each["name"] for each in found["kernels"]] == ["mm"]
    about = found["triton"]
    assert (about["layout"], about["signature"]) == ("3.6", [["arg0", "*fp16"], ["arg1", "i32"]])
    assert about["locks"]["unordered"] == 1
    assert about["members"][-1] == ["DTData", about["size"] - 8, 8]


def test_several_kernels_of_a_folder_and_one_without_ir(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path)
    for path in cache_folder(tmp_path, "mul", with_ir=False).iterdir():
        path.rename(folder / path.name)
    status, text, _ = run(str(folder))
    assert status == 0
    assert "add_kernel.npubin" in text
    assert "no .ttir lies beside it" in text


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path)
    (folder / "add_kernel.ttir").write_text("tt.func public @add_kernel(%x: what) {}")
    status, _, problems = run(str(folder))
    assert status == 1
    assert "'what'" in problems
    (folder / "add_kernel.npubin").unlink()
    status, _, problems = run(str(folder))
    assert status == 1
    assert "missing" in problems
    status, _, problems = run(str(tmp_path / "nothing.npubin"))
    assert status == 2
    assert "no such file" in problems


def test_another_argument_size_than_the_layouts_is_told(tmp_path: Path) -> None:
    folder = cache_folder(tmp_path)
    for size, told in ((64, False), (56, False), (48, True)):
        writer = ElfWriter(flags=0x930000).kernel("add_kernel", size=64)
        writer.section("__CCE_KernelArgSize", struct.pack("<I", size))
        writer.symbol("add_kernel__", size=4, type=OBJECT, binding=WEAK, section=2)
        (folder / "add_kernel.npubin").write_bytes(writer.build())
        status, text, _ = run(str(folder))
        assert status == 0
        assert ("another version of Triton-Ascend" in text) is told
