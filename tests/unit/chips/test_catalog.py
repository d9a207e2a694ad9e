"""Finding chips by name, by folder and by the hardware's version word."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import zipfile
from functools import cache
from pathlib import Path

import pytest

import chips
from chips.catalog import SOC_FOLDER, Catalog
from chips.schema import read_yaml
from tests.tools.pace import slowness

# --- by name


@pytest.mark.parametrize(
    ("name", "soc"),
    [
        ("Ascend910B3", "Ascend910B3"),
        ("ascend910b3", "Ascend910B3"),
        (" ASCEND910B3 ", "Ascend910B3"),
        ("910B1", "Ascend910B1"),
        ("910_9391", "Ascend910_9391"),
        ("ascend910_93", "Ascend910_9391"),
        ("ascend950", "Ascend950PR_9599"),
        ("950", "Ascend950PR_9599"),
        ("Ascend950DT_95A1", "Ascend950DT_95A1"),
        ("310b", "Ascend310B1"),
        ("310P", "Ascend310P3"),
        ("910A", "Ascend910A"),
        ("ascend350", "Ascend350_354f"),
        ("mc62cm12a", "MC62CM12A"),
        ("mc32dm11a", "MC32DM11A"),
        ("arch9201", "Arch9201"),
        ("kirinx90", "KirinX90"),
        ("bs9sx1ab", "BS9SX1AB"),
        ("as31xm1x", "AS31XM1X"),
    ],
)
def test_find_chip(name: str, soc: str) -> None:
    assert chips.find_chip(name).soc == soc


def test_910b_without_a_number_is_the_first_generation_soc() -> None:
    assert chips.find_chip("Ascend910B").chip_type == "CHIP_CLOUD"
    assert chips.find_chip("Ascend910B1").chip_type == "CHIP_910_B_93"


@pytest.mark.parametrize("name", ["", "Ascend", "Ascend910B9", "hwts", "stars_v2", "common", "GPU", "vocabulary"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(chips.UnknownChip, match="no chip file describes the SoC"):
        chips.find_chip(name)


def test_unknown_name_lists_close_ones() -> None:
    with pytest.raises(chips.UnknownChip, match=r"did you mean Ascend910B"):
        chips.find_chip("Ascend910B9")
    with pytest.raises(chips.UnknownChip, match=r"these begin so: ascend950\w+, .*ascend910b1, .* and \d+ more$"):
        chips.find_chip("ascend")


def test_all_socs_are_found_under_their_own_name() -> None:
    names = chips.all_socs()
    assert len(names) == 84
    assert names == tuple(sorted(names))
    assert [chips.find_chip(name).soc for name in names] == list(names)


def test_the_default_of_every_family_is_one_of_its_socs() -> None:
    for stem, path in Catalog().stems().items():
        text = read_yaml(path)
        if "socs" in text:
            assert text["default"] in text["socs"], stem
            assert chips.find_chip(text["default"]).family == stem


def test_socs_of_a_type() -> None:
    assert len(Catalog().of_type("CHIP_DAVID")) == 35
    assert len(Catalog().of_type("CHIP_910_B_93")) == 13
    assert Catalog().of_type("CHIP_LHISI") == ()


def test_loading_one_chip_parses_only_its_files_and_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def spy(path: str) -> object:
        read.append(Path(path).stem)
        return read_yaml(path)

    monkeypatch.setattr("chips.schema.read_yaml", spy)
    for name in ("_read", "_build"):  # chips that are known stay the same objects for everybody else
        monkeypatch.setattr(chips.catalog, name, cache(getattr(chips.catalog, name).__wrapped__))
    started = time.process_time()
    Catalog().find("Ascend910B3")
    spent_ms = (time.process_time() - started) * 1000
    assert set(read) <= {"vocabulary", "common", "stars", "stars_a2", "ascend910b"}
    assert spent_ms < 50 * slowness()  # about 3 ms on an idle machine; the fence only catches reading everything


def test_chips_are_found_in_packages_from_a_zip_file(tmp_path: Path) -> None:
    root, archive = Path(chips.__file__).parents[1], tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for package in ("npuhal", "chips"):
            for path in (root / package).rglob("*.*"):
                if path.suffix in (".py", ".yaml"):
                    file.write(path, path.relative_to(root))
    program = "import chips; print(chips.__file__, chips.find_chip('910b3').soc)"
    for _ in range(2):  # parsed, then from the user's cache
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=250,
            env={**os.environ, "PYTHONPATH": str(archive), "XDG_CACHE_HOME": str(tmp_path)},
        )  # fmt: skip
        assert done.stdout.split() == [str(archive / "chips/__init__.py"), "Ascend910B3"]


# --- further folders

NEW_SOC = """
spec: "1.0"
base: ascend910b
default: Ascend910C1
properties: {eventPoolSize: 65}
features: {drop: TASK_RDMA}
ini: {SoCInfo: ai_cpu_cnt=9 prefetch_num=-}
columns: {cores: SoCInfo.ai_core_cnt}
socs:
  Ascend910C1: 26
  Ascend910C2: 22
"""


def test_a_new_soc_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "ascend910c.yaml").write_text(NEW_SOC)
    catalog = Catalog.including(tmp_path)
    chip = catalog.find("ascend910c2")
    base = chips.find_chip("Ascend910B1")
    assert (chip.soc, chip.family, chip.chip_type) == ("Ascend910C2", "ascend910c", "CHIP_910_B_93")
    assert (chip.prop("eventPoolSize"), chip.prop("rtsqDepth")) == (65, base.prop("rtsqDepth"))
    assert base.features - chip.features == {"TASK_RDMA"}
    assert chip.ini["SoCInfo"]["ai_core_cnt"] == 22
    assert chip.ini["SoCInfo"]["ai_cpu_cnt"] == 9
    assert "prefetch_num" not in chip.ini["SoCInfo"]
    assert catalog.find("910C").soc == "Ascend910C1"
    assert set(catalog.all_socs()) - set(chips.all_socs()) == {"Ascend910C1", "Ascend910C2"}
    with pytest.raises(chips.UnknownChip):
        chips.find_chip("Ascend910C1")


def test_a_new_chip_type_states_its_number(tmp_path: Path) -> None:
    text = 'spec: "1.0"\nbase: stars_v2\nchip_type: {name: CHIP_NEW, value: 23}\nsocs: {Next1: }\n'
    (tmp_path / "next.yaml").write_text(text)
    chip = Catalog.including(tmp_path).find("next1")
    assert (chip.chip_type, chip.chip_value, chip.generation, dict(chip.ini)) == ("CHIP_NEW", 23, "v200", {})


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    import os

    path = tmp_path / "ascend910c.yaml"
    path.write_text(NEW_SOC)
    catalog = Catalog.including(tmp_path)
    assert catalog.find("Ascend910C1").prop("eventPoolSize") == 65
    path.write_text(NEW_SOC.replace("65", "66"))
    os.utime(path, ns=(1, 1))
    assert catalog.find("Ascend910C1").prop("eventPoolSize") == 66


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("base: nowhere", "base: 'nowhere': no chip file nowhere.yaml"),
        ("base: x", "base: 'x': is its own base"),
        ("base: ascend950\nproperties: {rtsqDeth: 1}", "properties:rtsqDeth: unknown property; close: rtsqDepth"),
        ("base: ascend950\nproperties: {rtsqDepth: deep}", "properties:rtsqDepth: expected int, got 'deep'"),
        ("base: ascend950\nfeatures: {add: TASK_FUSION}", "features: TASK_FUSION: the base already says so"),
        ("base: ascend950\nfeatures: {drop: TASK_RDMA}", "features: TASK_RDMA: the base already says so"),
        ("base: stars", "chip_type: stated neither here nor in a base"),
        ("base: ascend950\nlimits: {colour: 1}", "limits:colour: unknown limit"),
    ],
)
def test_what_only_shows_against_the_base(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "x.yaml").write_text(f'spec: "1.0"\n{text}\nsocs: {{X1: }}\n')
    with pytest.raises(chips.SchemaError) as caught:
        Catalog.including(tmp_path).find("X1")
    assert str(caught.value).startswith(f"x.yaml:{complaint}")


# --- by version word

SINGLE = {8: "Ascend031", 11: "AS31XM1X", 12: "Ascend610Lite"}
BINS = {
    5: {0: "Ascend910B4", 1: "Ascend910B1", 2: "Ascend910B2", 3: "Ascend910B3", 8: "Ascend910B2C", 10: "Ascend910B4-1"},
    7: {0: "Ascend310B1", 1: "Ascend310B1", 2: "Ascend310B2", 3: "Ascend310B3", 4: "Ascend310B4"},
}
LEVELS = {
    (1, 1): "Ascend910A", (1, 2): "Ascend910ProA", (1, 3): "Ascend910PremiumA",
    (2, 1): "Ascend910B", (2, 2): "Ascend910ProB",
}  # fmt: skip
SX1A = {(10, 8): "BS9SX1AA", (9, 7): "BS9SX1AA", (8, 6): "BS9SX1AB", (6, 4): "BS9SX1AC"}


def expected(word: int, facts: dict[str, int | str]) -> str | None:
    """Say what a word must give, in words of our own: an independent table of the rule."""
    version, chip = word % 256, word // 256 % 256
    if chip in SINGLE:
        return SINGLE[chip]
    if chip in BINS:
        return BINS[chip].get(version)
    if chip == 1:
        return LEVELS.get((int(facts["aicore_level"]), int(facts["frequency_level"])))
    if chip == 2:
        counts = (int(facts["aicore_count"]), int(facts["vector_count"]))
        return SX1A.get(counts, "BS9SX1AA") if version == 2 else "Ascend610"
    if chip == 4:
        if facts["aicore_count"] == 10:
            return "Ascend310P1"
        return {"310P5": "Ascend310P5", "310P7": "Ascend310P7"}.get(str(facts["chip_name"])[:5], "Ascend310P3")
    return None


def test_a_thousand_version_words() -> None:
    source = random.Random(910)
    resolved: set[str] = set()
    refused = 0
    for turn in range(1000):
        chip = source.choice([1, 2, 4, 5, 7]) if source.random() < 0.6 else source.randrange(32 + 224 * (turn % 2))
        word = (
            source.getrandbits(16) << 16 | chip << 8 | source.choice([0, 1, 2, 2, 3, 4, 8, 10, source.getrandbits(8)])
        )
        aicores, vectors = source.choice([*SX1A, (10, 7), (32, 0)])
        facts: dict[str, int | str] = {
            "aicore_count": aicores,
            "vector_count": vectors,
            "aicore_level": source.choice([0, 1, 2, 3]),
            "frequency_level": source.choice([0, 1, 2, 3, 4]),
            "chip_name": source.choice(["", "310P", "310P5", "310P7B", "910"]),
        }
        wanted = expected(word, facts)
        if wanted is None:
            with pytest.raises(chips.UnknownChip, match=f"version word {word:#x}: chip type {chip}"):
                chips.chip_from_version(word, **facts)  # type: ignore[arg-type]
            refused += 1
        else:
            assert chips.chip_from_version(word, **facts).soc == wanted  # type: ignore[arg-type]
            resolved.add(wanted)
    assert refused > 300
    assert resolved == {
        *SINGLE.values(), *BINS[5].values(), *BINS[7].values(), *LEVELS.values(), *SX1A.values(),
        "Ascend610", "Ascend310P1", "Ascend310P3", "Ascend310P5", "Ascend310P7",
    }  # fmt: skip


def test_the_driver_name_decides_alone() -> None:
    assert chips.chip_from_version(0, soc_name="Ascend910_9391").soc == "Ascend910_9391"
    assert chips.chip_from_version(0x0501, soc_name="Ascend950DT_9591").chip_type == "CHIP_DAVID"
    with pytest.raises(chips.UnknownChip, match="'Ascend999'"):
        chips.chip_from_version(0x0501, soc_name="Ascend999")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (0x0600, r"chip type 6 \(CHIP_NO_DEVICE\) means that there is no device"),
        (0x1600, r"chip type 22 is not one of 0\.\.21"),
        (0xFFFFFFFF, r"chip type 255 is not one of 0\.\.21"),
        (0xC800, r"chip type 200 is not one of 0\.\.21"),
        (0x0F01, r"CHIP_DAVID\) has no SoC name of its own; only halGetSocVersion can name it"),
        (0x0504, r"CHIP_910_B_93\) with version 4 is no known SoC"),
        (0x0100, r"CHIP_CLOUD\) needs aicore_level and frequency_level"),
        (0x0400, r"CHIP_DC\) needs aicore_count"),
    ],
)
def test_refusals_say_why(word: int, reason: str) -> None:
    with pytest.raises(chips.UnknownChip, match=reason):
        chips.chip_from_version(word)


def test_every_rule_names_a_described_soc_of_that_type() -> None:
    for name, entry in read_yaml(Path(SOC_FOLDER, "detect.yaml"))["types"].items():
        for rule in entry["rules"]:
            assert chips.find_chip(rule["soc"]).chip_type == name


def test_version_word_fields() -> None:
    assert chips.VersionWord.of(0x12340503) == (3, 5, 0x1234)


@pytest.mark.parametrize(
    ("name", "soc"),
    [
        ("ascend950pr", "Ascend950PR_9599"), ("950PR", "Ascend950PR_9599"), ("ascend950dt", "Ascend950DT_950x"),
        ("ascend910_9", "Ascend910_9391"),
    ],
)  # fmt: skip
def test_the_beginning_of_names_of_one_family_gives_its_default_and_the_log_says_which(
    name: str, soc: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING"):
        assert Catalog.including().find(name).soc == soc
    assert f"{name!r} is taken for {soc}" in caplog.text


@pytest.mark.parametrize("name", ["ascend", "ascend9", "91"])
def test_the_beginning_of_names_of_several_families_lists_them(name: str) -> None:
    with pytest.raises(chips.UnknownChip, match=r"these begin so: .*ascend910b1.* and \d+ more$"):
        Catalog.including().find(name)
