"""``npuhal elf`` on bundles of PyPTO and on libraries for CPUs, which are no kernel binaries."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import pytest

from chips.binary.producers.pypto import EntryKind, MalformedBundle, read_bundle
from tests.tools.corpus import corpus
from tests.tools.elf_writer import DYNSYM, ElfWriter
from tests.tools.host_library import ascendc_library
from tests.unit.chips.binary.test_cli_elf import run

AICPU = ElfWriter(machine=183, type=3, flags=0, symtab_type=DYNSYM).kernel("RunAdd").kernel("RunMul").build()
DEVICE = ElfWriter(flags=0x930000).kernel("OpAdd_1_mix_aic").kernel("OpAdd_1_mix_aiv").build()


def bundle(*values: tuple[int, bytes], version: int = 1) -> bytes:
    """A `.pyptokb` file."""
    body, entries = b"", b""
    for kind, value in values:
        entries += struct.pack("<IIQQII", kind, 0, 4096 + len(body), len(value), zlib.crc32(value), 0)
        body += value + bytes(-len(value) % 4096)
    head = struct.pack("<8sIIIIQ28s", b"PYPTOKB\0", version, 0, len(values), 64, 4096 + len(body), b"")
    return (head + struct.pack("<I", zlib.crc32(head)) + entries).ljust(4096, b"\0") + body


BUNDLE = bundle((1, DEVICE), (2, AICPU), (3, b"program"), (5, b"{}"), (9, b"?"))


def test_a_bundle_is_its_entries() -> None:
    found = read_bundle(BUNDLE)
    assert [each.kind for each in found.entries] == [
        EntryKind.AI_CORE_ELF, EntryKind.AICPU_LIBRARY, EntryKind.PROGRAM, EntryKind.SYMBOLS, 9,
    ]  # fmt: skip
    assert bytes(found.entries[0].value) == DEVICE
    assert found.entries[-1].label == "type 9"


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (BUNDLE[:40], "head"), (b"x" + BUNDLE[1:], "head"), (bundle(version=2), "version"), (BUNDLE[:6000], "size"),
        (BUNDLE[:20] + b"\x09" + BUNDLE[21:], "checksum of the head"),
        (BUNDLE[:4196] + b"\xff" + BUNDLE[4197:], "entry 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_damaged_bundles(data: bytes, part: str) -> None:
    with pytest.raises(MalformedBundle, match=part):
        read_bundle(data)


def test_the_command_lists_a_bundle_and_its_kernel(tmp_path: Path) -> None:
    path = tmp_path / "add.pyptokb"
    path.write_bytes(BUNDLE)
    status, text, problems = run(str(path))
    assert (status, problems) == (0, "")
    for part in ("PyPTO kernel bundle", "AI core ELF", "control", "MAIN_AIC", "AICPU library (AArch64)", "2 functions"):
        assert (part in text) == (part != "control")
    status, text, _ = run("--json", str(path))
    rows = [json.loads(line) for line in text.splitlines()]
    assert [each["file"] for each in rows] == ["add.pyptokb", "add.pyptokb:AI core ELF", "add.pyptokb:AICPU library"]
    assert [each["bytes"] for each in rows[0]["entries"]] == [len(DEVICE), len(AICPU), 7, 2, 1]
    path.write_bytes(BUNDLE[:6000])
    status, _, problems = run(str(path))
    assert status == 1
    assert "the bundle's size" in problems


def test_a_library_for_a_cpu_has_no_kernels(tmp_path: Path) -> None:
    path = tmp_path / "libops.so"
    path.write_bytes(AICPU)
    status, text, _ = run(str(path))
    assert status == 0
    assert "libops.so: AICPU library (AArch64), no device binary inside" in text
    assert "2 functions: RunAdd, RunMul" in text
    assert "VECTOR" not in text
    assert "CUBE" not in text
    (row,) = map(json.loads, run("--json", str(path))[1].splitlines())
    assert (row["library"], row["functions"]) == ("AICPU library", ["RunAdd", "RunMul"])
    path.write_bytes(ElfWriter(machine=62, type=3, flags=0, symtab_type=DYNSYM).kernel("main").build())
    assert "host library (x86-64), no device binary inside" in run(str(path))[1]
    path.write_bytes(ascendc_library({"ascend910b3": [(1, DEVICE)]}))
    assert "host library" not in run(str(path))[1]


def test_the_sample() -> None:
    status, text, _ = run(str(corpus("producers/pypto/add.pyptokb")))
    assert status == 0
    assert "OpAdd_1" in text
