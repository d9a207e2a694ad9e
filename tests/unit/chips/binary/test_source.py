"""Files, data and options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chips import find_chip
from chips.binary import AicpuProgram, LoadOptions, Program, load_data, load_file
from chips.binary.errors import BadLoadOption, BinaryError, BinaryNotFound, UnreadableBinary
from chips.binary.kernels import Magic
from tests.tools.elf_writer import ElfWriter

A2 = find_chip("Ascend910B1")
ELF = ElfWriter().kernel("k_1").build()
OPS = json.dumps({"Op": {"opInfo": {"opKernelLib": "AICPUKernel"}}})


def test_a_file_with_the_json_of_its_stem(tmp_path: Path) -> None:
    (tmp_path / "k.o").write_bytes(ELF)
    plain = load_file(tmp_path / "k.o", A2)
    (tmp_path / "k.json").write_text('{"magic": "RT_DEV_BINARY_MAGIC_ELF_AIVEC"}')
    told = load_file(str(tmp_path / "k.o"), A2)
    assert isinstance(plain, Program)
    assert isinstance(told, Program)
    assert (plain.default.name, told.default.name) == ("CUBE", "VECTOR")


def test_an_unreadable_json_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "k.o").write_bytes(ELF)
    (tmp_path / "k.json").mkdir()
    assert load_file(tmp_path / "k.o", A2).kernel("k_1")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("", BinaryNotFound, "EE1012"),
        ("nope.o", BinaryNotFound, "EE1012"),
        (".", UnreadableBinary, "EE1013"),
        ("text.o", BinaryError, "EE1014"),
        ("empty.o", UnreadableBinary, "EE1001"),
        ("short.o", BinaryError, "EE1014"),
        ("text.o/x", UnreadableBinary, "EE1013"),
        ("x" * 300, UnreadableBinary, "EE1013"),
        ("a\0b", UnreadableBinary, "EE1013"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, error: type[BinaryError], message: str) -> None:
    (tmp_path / "text.o").write_text("this is no kernel file at all, but it is long enough for a header" * 2)
    (tmp_path / "empty.o").touch()
    (tmp_path / "short.o").write_bytes(ELF[:100])
    with pytest.raises(error) as caught:
        load_file(tmp_path / name if name else "", A2)
    assert (caught.value.message_id, caught.value.code) == (message, "RT_ERROR_INVALID_VALUE")


def test_data(tmp_path: Path) -> None:
    program = load_data(ELF, A2, LoadOptions(magic=Magic.ELF_AIVEC.value))
    assert isinstance(program, Program)
    assert program.default.name == "VECTOR"
    with pytest.raises(BadLoadOption, match="length of the data") as caught:
        load_data(b"", A2)
    assert caught.value.message_id == "EE1001"


@pytest.mark.parametrize(
    ("option", "part", "message"),
    [
        ({"lazy_load": 2}, "LAZY_LOAD", "EE1001"),
        ({"lazy_load": -1}, "LAZY_LOAD", "EE1001"),
        ({"magic": 0}, "MAGIC", "EE1001"),
        ({"magic": Magic.ELF_AICPU.value}, "MAGIC", "EE1001"),
        ({"cpu_kernel_mode": 3}, "CPU_KERNEL_MODE", "EE1017"),
    ],
)
def test_option_values(option: dict[str, int], part: str, message: str) -> None:
    with pytest.raises(BadLoadOption, match=part) as caught:
        LoadOptions(**option)
    assert caught.value.message_id == message


def test_option_combinations(tmp_path: Path) -> None:
    for load, message in (
        (lambda: load_file(tmp_path / "k.so", A2, LoadOptions(cpu_kernel_mode=2)), "EE1017"),
        (lambda: load_data(b"x", A2, LoadOptions(cpu_kernel_mode=0)), "EE1017"),
        (lambda: load_data(b"x", A2, LoadOptions(cpu_kernel_mode=1)), "EE1017"),
        (lambda: load_file(tmp_path / "k.o", A2, LoadOptions(magic=Magic.ELF.value)), "EE1001"),
    ):
        with pytest.raises(BadLoadOption) as caught:
            load()
        assert caught.value.message_id == message


def test_aicpu_from_json_alone_or_with_the_library(tmp_path: Path) -> None:
    (tmp_path / "libk.json").write_text(OPS)
    alone = load_file(tmp_path / "libk.json", A2, LoadOptions(cpu_kernel_mode=0))
    assert isinstance(alone, AicpuProgram)
    assert (alone.library, len(alone)) == (None, 1)
    with pytest.raises(BinaryNotFound, match=r"libk\.so"):
        load_file(tmp_path / "libk.so", A2, LoadOptions(cpu_kernel_mode=1))
    (tmp_path / "libk.so").write_bytes(b"library")
    both = load_file(tmp_path / "libk.so", A2, LoadOptions(cpu_kernel_mode=1))
    assert isinstance(both, AicpuProgram)
    assert (both.library, both.library_name, len(both)) == (b"library", "libk.so", 1)
    with pytest.raises(BinaryNotFound, match=r"other\.json"):
        load_file(tmp_path / "other.so", A2, LoadOptions(cpu_kernel_mode=0))


def test_aicpu_from_data() -> None:
    program = load_data(b"library", A2, LoadOptions(cpu_kernel_mode=2))
    assert isinstance(program, AicpuProgram)
    assert program.library_name.endswith("_7.so")
    again = load_data(b"library", A2, LoadOptions(cpu_kernel_mode=2), taken=frozenset({"other_7.so"}))
    assert again.library_name == program.library_name
