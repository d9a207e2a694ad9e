"""The JSON file beside a kernel: what counts, what is ignored, what refuses the binary."""

from __future__ import annotations

from pathlib import Path

import pytest

from chips import find_chip
from chips.binary.kernels import KernelAttribute, Magic
from chips.binary.notes import Notes
from chips.binary.registration import Stage, register
from chips.binary.side_file import load_json, read_side_file, side_file_of
from tests.tools.elf_writer import ElfWriter

A2, OLD = find_chip("Ascend910B1"), find_chip("Ascend310P3")
ELF = ElfWriter().kernel("k").build()
MIX, VECTOR, CUBE, AICORE = (
    KernelAttribute.MIX,
    KernelAttribute.VECTOR,
    KernelAttribute.CUBE,
    KernelAttribute.AICORE,
)
HEAD = '"magic":"RT_DEV_BINARY_MAGIC_ELF"'


@pytest.mark.parametrize(
    ("content", "on_910b", "on_310p"),
    [
        (None, CUBE, AICORE),
        ("{}", CUBE, AICORE),
        ("[]", CUBE, AICORE),
        ("null", CUBE, AICORE),
        ('{"magic":', CUBE, AICORE),
        ("", CUBE, AICORE),
        ("{" + HEAD + "}", MIX, AICORE),
        ('{"magic":"RT_DEV_BINARY_MAGIC_ELF_AIVEC"}', VECTOR, VECTOR),
        ('{"magic":"RT_DEV_BINARY_MAGIC_ELF_AICUBE"}', CUBE, CUBE),
        ('{"magic":"FFTS_BINARY_MAGIC_ELF_MIX_AIC"}', VECTOR, VECTOR),
        ('{"magic":"FFTS_BINARY_MAGIC_ELF_MIX_AIV"}', VECTOR, VECTOR),
        ('{"magic":"RT_DEV_BINARY_MAGIC_ELF_AICPU"}', CUBE, AICORE),
        ('{"magic":"XYZ"}', CUBE, AICORE),
        ('{"magic":"rt_dev_binary_magic_elf"}', CUBE, AICORE),
        ('{"magic":5}', CUBE, AICORE),
        ('{"magic":null}', CUBE, AICORE),
        ('{"magic":["RT_DEV_BINARY_MAGIC_ELF"]}', CUBE, AICORE),
        ("{" + HEAD + " /*c*/}", CUBE, AICORE),
        ("{" + HEAD + ",}", CUBE, AICORE),
        ('\ufeff{"magic":"RT_DEV_BINARY_MAGIC_ELF_AIVEC"}', VECTOR, VECTOR),
        ("{" + HEAD + ',"magic":"RT_DEV_BINARY_MAGIC_ELF_AIVEC"}', VECTOR, VECTOR),
        ("{" + HEAD + ',"x":NaN}', CUBE, AICORE),
        ("[" * 100_000, CUBE, AICORE),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_default_kind(content: str | None, on_910b: KernelAttribute, on_310p: KernelAttribute) -> None:
    side = None if content is None else content.encode()
    for chip, attribute in ((A2, on_910b), (OLD, on_310p)):
        result = register(ELF, chip, side_json=side)
        assert (result.error, result.default, result.kernels[0].attribute) == (None, attribute, attribute)


@pytest.mark.parametrize(
    ("value", "counts"), [("1", True), ("1.0", True), ("0", False), ("2", False), ("true", False), ('"1"', False)]
)
def test_intercore_sync_is_the_number_one(value: str, counts: bool) -> None:
    result = register(ELF, A2, side_json="{" + HEAD + ',"intercoreSync":' + value + "}")
    assert (result.intercore_sync, result.kernels[0].system_args) == (counts, 2 if counts else 1)
    assert register(ELF, OLD, side_json='{"intercoreSync":' + value + "}").kernels[0].system_args == 1


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ('"printf"', "RT_ERROR_FEATURE_NOT_SUPPORT"),
        ('"assert,xprintfy"', "RT_ERROR_FEATURE_NOT_SUPPORT"),
        ("3", "RT_ERROR_INVALID_VALUE"),
        ("null", "RT_ERROR_INVALID_VALUE"),
        ('["printf"]', "RT_ERROR_INVALID_VALUE"),
        ('"assert"', None),
    ],
)
def test_debug_options(value: str, code: str | None) -> None:
    result = register(ELF, A2, side_json="{" + HEAD + ',"intercoreSync":1,"debugOptions":' + value + "}")
    if code is None:
        assert result.error is None
    else:
        assert (result.failed, result.error.code) == (Stage.SIDE_FILE, code)
        assert (result.default, result.intercore_sync, result.kernels) == (CUBE, False, ())
        assert result.function_count == 1


def test_what_was_ignored_is_noted() -> None:
    notes = Notes()
    assert read_side_file('{"magic":"XYZ"}', notes).magic is None
    assert read_side_file("{", notes).magic is None
    assert read_side_file("{" + HEAD + "}", notes).magic is Magic.ELF
    unknown, broken = notes.texts()
    assert "'XYZ'" in unknown
    assert "not JSON" in broken


@pytest.mark.parametrize(
    ("kernel", "side"), [("a/b.c.o", "a/b.c.json"), ("a.b/k", "a.b/k.json"), ("k.json", "k.json"), (".o", ".json")]
)
def test_where_it_lies(kernel: str, side: str) -> None:
    assert side_file_of(Path(kernel)) == Path(side)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"Infinity", b"{'a':1}", b"1" * 5000 + b"x"])
def test_what_is_not_json_raises_one_kind_of_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the point is that it is nothing else
        load_json(content)
