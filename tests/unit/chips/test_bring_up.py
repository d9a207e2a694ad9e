"""Bring-up from outside: a new SoC in one file, a new generation in one package of another distribution."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import npuhal
from chips import Catalog, SchemaError, all_socs, catalog, find_chip
from chips.env import EncodeEnv, TaskIds
from chips.registry import plugin
from chips.tasks import Nop, NotifyWait

SOC = """\
spec: "1.0"
base: ascend910b
default: Lab900A1
columns: {cores: SoCInfo.ai_core_cnt}
socs: {Lab900A1: 4}
"""

SQE = """\
header:
  fields: type:6 -:10 task_id:16 -:32
  vary: {task_id: task_id}
nop: {base: header, fields: "-:448", when: {type: 3}, task: NOP}
"""

PACKAGE = """\
from pathlib import Path

from chips.completion import Outcome, OutcomeKind, parse_logic_cqe
from chips.layout import load_layouts
from chips.registry import Plugin, TaskOps
from chips.tasks import Nop, TaskType

LAYOUTS = load_layouts(Path(__file__).with_name("sqe.yaml"))


def nop(task, env, ids):
    return LAYOUTS["nop"].encode(task_id=ids.task_id)


def classify(cqe, task_type):
    return Outcome(OutcomeKind.ERROR if cqe.failed else OutcomeKind.SUCCESS, cqe.error_code, 1)


def make_plugin(chip):
    ops = [TaskOps(type=TaskType.NOP, encode=nop, table=LAYOUTS, layouts=("nop",), samples=(Nop(),), verified="rule")]
    return Plugin("lab900", LAYOUTS, ops, max_sqe=1, parse_cqe=parse_logic_cqe, classify=classify)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of installed distributions with one that offers the generation lab900."""
    folder = tmp_path / "site"
    package, info = folder / "lab900_chip", folder / "lab900_chip-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    (package / "sqe.yaml").write_text(SQE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab900-chip\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[npuhal.chips]\nlab900 = lab900_chip:make_plugin\n")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("lab900_chip", None)


def test_a_new_soc_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "lab900.yaml").write_text(SOC)
    chip = Catalog.including(tmp_path).find("Lab900A1")
    assert chip.spec("SoCInfo", "ai_core_cnt") == 4
    row = plugin(chip).encode(NotifyWait(notify_id=5), EncodeEnv(chip=chip, stream_id=1), TaskIds(2))
    assert plugin(chip).decode(row).fields["notify_id"] == 5


def test_a_new_generation_is_one_package(site: Path, tmp_path: Path) -> None:
    (tmp_path / "lab900.yaml").write_text(SOC + "generation: lab900\n")
    chip = Catalog.including(tmp_path).find("Lab900A1")
    assert chip.generation == "lab900"
    made = plugin(chip)
    assert made.decode(made.encode(Nop(), EncodeEnv(chip=chip), TaskIds(7))).fields["task_id"] == 7


def test_a_folder_in_the_environment_is_seen_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab900.yaml").write_text(SOC)
    monkeypatch.setenv("NPUHAL_CHIPS", os.pathsep.join(["", str(tmp_path)]))
    assert find_chip("lab900a1").soc == "Lab900A1"
    assert "Lab900A1" in all_socs()
    hal = npuhal.open_hal("fake://lab900a1")
    assert hal.fake.cores["AIC"] == 4  # type: ignore[attr-defined]
    hal.close()


def test_a_folder_in_the_environment_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUHAL_CHIPS", str(tmp_path / "nowhere"))
    with pytest.raises(SchemaError, match="nowhere:NPUHAL_CHIPS: no folder"):
        find_chip("Ascend910B3")


def test_an_installed_package_brings_its_chip_files(site: Path) -> None:
    (site / "lab900_chip" / "soc").mkdir()
    (site / "lab900_chip" / "soc" / "lab900.yaml").write_text(SOC + "generation: lab900\n")
    catalog._installed_folders.cache_clear()
    try:
        assert find_chip("Lab900A1").generation == "lab900"
        assert "lab900_chip" not in sys.modules  # a file was read, nothing was imported
    finally:
        catalog._installed_folders.cache_clear()
        catalog._found.cache_clear()
