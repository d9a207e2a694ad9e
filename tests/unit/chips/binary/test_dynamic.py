"""What shared objects ask of others, compared with pyelftools on libraries of this machine."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from chips.binary.dynamic import read_dynamic
from chips.binary.errors import BinaryError
from npuhal.compiler import compile_library, find_compiler


def mapped() -> list[Path]:
    assert ctypes.sizeof(ctypes.c_void_p) == 8
    text = Path("/proc/self/maps").read_text()
    return sorted({Path(name) for name in re.findall(r"(/\S+\.so[.\d]*)$", text, re.MULTILINE)})[:12]


@pytest.mark.parametrize("path", mapped(), ids=lambda path: path.name)
def test_libraries_and_symbols_are_those_of_pyelftools(path: Path) -> None:
    found = read_dynamic(path)
    with path.open("rb") as file:
        elf = ELFFile(file)
        tags = list(elf.get_section_by_name(".dynamic").iter_tags())
        symbols = [each for each in elf.get_section_by_name(".dynsym").iter_symbols() if each.name]
        needs = elf.get_section_by_name(".gnu.version_r")
        versions = {library.name: tuple(each.name for each in wanted)
                    for library, wanted in (needs.iter_versions() if needs else ())}  # fmt: skip
    visible = [each for each in symbols if each["st_info"]["bind"] != "STB_LOCAL"]
    undefined = [each for each in visible if each["st_shndx"] == "SHN_UNDEF"]
    assert list(found.libraries) == [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
    assert found.soname == next((tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"), None)
    assert set(found.weak) == {each.name for each in undefined if each["st_info"]["bind"] == "STB_WEAK"}
    assert set(found.undefined) == {each.name for each in undefined} - set(found.weak)
    assert found.defined == {each.name for each in visible if each["st_shndx"] != "SHN_UNDEF"}
    assert found.versions == versions


def test_symbols_name_the_library_that_they_want_a_version_of(tmp_path: Path) -> None:
    if find_compiler() is None:
        pytest.skip("there is no C compiler on this machine")
    script, source, target = tmp_path / "script", tmp_path / "a.c", tmp_path / "liba.so"
    script.write_text("ONE { global: one; };\n")
    source.write_text("int one(void) { return 1; } int two(void) { return 2; }\n")
    compile_library(target, [source], f"-Wl,--version-script={script}")
    user = tmp_path / "b.c"
    user.write_text("int one(void), two(void), three(void);\nint b(void) { return one() + two() + three(); }\n")
    compile_library(tmp_path / "libb.so", [user], f"-L{tmp_path}", "-la")
    found = read_dynamic(tmp_path / "libb.so")
    assert found.libraries[0] == "liba.so"
    assert (found.undefined["one"], found.undefined["two"], found.undefined["three"]) == ("liba.so", "", "")
    assert found.versions["liba.so"] == ("ONE",)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    whole = Path(sys.executable).resolve().read_bytes()[:4096]
    with pytest.raises(BinaryError):
        read_dynamic(whole)
    (tmp_path / "text").write_text("no library, but a text that is long enough for a header of an ELF file, and more")
    with pytest.raises(BinaryError):
        read_dynamic(tmp_path / "text")


def test_a_file_is_not_kept_open(tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    copy.write_bytes(mapped()[0].read_bytes())
    read_dynamic(copy)
    listed = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, check=True).stdout
    assert str(copy) not in listed + Path("/proc/self/maps").read_text()
