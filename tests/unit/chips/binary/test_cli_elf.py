"""``npuhal elf``: the numbers recorded of the vendor's runtime, and a table a person can read."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest

from chips import UnknownChip, find_chip
from chips.binary.registration import register
from chips.binary.side_file import side_file_of
from runtime.cli import elf
from runtime.cli.output import Output
from tests.tools.corpus import corpus
from tests.tools.elf_writer import ElfWriter, u32

KERNELS = Path(__file__).parents[3] / "data/kernels"
SOC_OF_TYPE = {1: "Ascend910A", 4: "Ascend310P3", 5: "Ascend910B1", 15: "Ascend950PR_9599"}
NOT_SHOWN = {"pkg", "sha256", "chip", "symbols"}


def run(*words: str) -> tuple[int, str, str]:
    parser = argparse.ArgumentParser()
    elf.configure(parser)
    out = Output(io.StringIO(), io.StringIO())
    status = elf.run(parser.parse_args(words), out)
    return status, out.stream.getvalue(), out.errors.getvalue()


def recorded(relative: str) -> list[tuple[Path, dict]]:
    lines = corpus(f"{relative}/expected.jsonl").read_text().splitlines()
    pairs = [(corpus(relative) / line["file"], line) for line in map(json.loads, lines)]
    return [(path, line) for path, line in pairs if path.exists()]


@pytest.mark.parametrize(("relative", "least"), [("elfs", 41), ("elfs/mutations", 103)])
def test_json_equals_what_was_recorded(relative: str, least: int) -> None:
    compared = 0
    for path, line in recorded(relative):
        status, text, errors = run("--json", "--chip", SOC_OF_TYPE[line["chip"]], str(path))
        (mine,) = map(json.loads, text.splitlines())
        compared += 1
        if "signal" in line:  # the vendor's runtime crashed
            assert (status, mine["parse"] != 0) == (1, True), path.name
            continue
        assert mine == {key: value for key, value in line.items() if key not in NOT_SHOWN}, path.name
        assert status == (0 if not (line["parse"] or line["json"] or line["register"]) else 1)
        assert errors == ""
    assert compared >= least


def test_side_files_as_recorded() -> None:
    data = ElfWriter().kernel("k").build()
    for line in corpus("elfs/json_side_file_cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        result = register(data, find_chip(SOC_OF_TYPE[case["chip"]]), side_json=case["json"])
        mine = elf.as_json("x", result)
        kernel = mine["kernels"][0] if mine["kernels"] else {"attr": None, "sys_args": None}
        got = (mine["json"], mine["default_attr"], mine["intercore"], kernel["attr"], kernel["sys_args"])
        assert got == tuple(case[key] for key in ("json_rc", "default_attr", "intercore", "attr", "sys_args")), case


def test_the_compilers_own_list_of_kernels_agrees() -> None:
    compared = 0
    for path in sorted(corpus("elfs").glob("*.o")):
        side = side_file_of(path)
        listed = json.loads(side.read_text()).get("kernelList") if side.exists() else None
        if listed is not None:
            _, text, _ = run("--json", str(path))
            assert {each["kernelName"] for each in listed} == {each["name"] for each in json.loads(text)["kernels"]}
            compared += 1
    assert compared > 20


def test_table(tmp_path: Path) -> None:
    status, text, errors = run(*map(str, sorted(KERNELS.glob("*/*.o"))))
    assert (status, errors) == (0, "")
    assert "InvertPermute_e1213a34da9f82d37a43dd341739df75.o on Ascend950PR_9599" in text
    assert "input input output workspace tiling" in " ".join(text.split())
    assert "global g_opSystemRunCfg: offset 4096, 256 bytes" in text


def test_one_line_for_each_binary_in_a_host_file(tmp_path: Path) -> None:
    one = ElfWriter().kernel("k_1").build()
    host = ElfWriter(machine=62).symbol("main").section(".rodata", b"frame" + one + one)
    (tmp_path / "lib.so").write_bytes(host.build())
    status, text, _ = run("--json", str(tmp_path / "lib.so"))
    first, second = map(json.loads, text.splitlines())
    assert status == 0
    assert first["file"].startswith("lib.so.at_")
    assert int(second["file"].rpartition("_")[2], 16) - int(first["file"].rpartition("_")[2], 16) == len(one)


def test_a_refused_file_does_not_keep_the_others_from_being_shown(tmp_path: Path) -> None:
    (tmp_path / "bad.o").write_bytes(ElfWriter().kernel("k", u32(18, 9)).build())
    (tmp_path / "good.o").write_bytes(ElfWriter().kernel("fine_1").build())
    status, text, errors = run(*(str(tmp_path / name) for name in ("none.o", "bad.o", "good.o")))
    assert status == 2
    assert "fine_1" in text
    assert "none.o" in errors
    assert "schedule mode" in errors


@pytest.mark.parametrize("name", ["Ascend910B1", "ascend910b", "CHIP_910_B_93", "910_b_93", "5"])
def test_a_chip_may_be_named_in_several_ways(tmp_path: Path, name: str) -> None:
    (tmp_path / "k.o").write_bytes(ElfWriter().kernel("k").stack(32768).build())
    _, text, _ = run("--json", "--chip", name, str(tmp_path / "k.o"))
    assert json.loads(text)["file"] == "k.o"


def test_an_unknown_chip_is_refused() -> None:
    with pytest.raises(UnknownChip):
        run("--chip", "Ascend9999", "x.o")


def test_names_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "k.o").write_bytes(ElfWriter().kernel("k\x1b[31m\n").build())
    _, text, _ = run(str(tmp_path / "k.o"))
    assert "\x1b" not in text
    assert r"k\x1b[31m\n" in text
