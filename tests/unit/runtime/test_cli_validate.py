"""`npuhal validate`: table, JSON, exit status."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from chips.chip import Chip
from chips.verify.validate import Check, ChipReport
from runtime.cli import main, validate
from runtime.cli.output import Output
from runtime.driver.info import DeviceInfo


def report(chip: Chip, holes: tuple[str, ...] = ()) -> ChipReport:
    return ChipReport(
        soc=chip.soc,
        family=chip.family,
        generation=chip.generation,
        real=59,
        placeholder=18,
        unsupported=36,
        verified_by_bytes=70,
        verified_by_rule=7,
        checks=(Check("registry", 113, holes), Check("limits", 7)),
    )


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    holes = ("CMO (53) has no builder",)
    monkeypatch.setattr(validate, "validate_chip", lambda chip, seed: report(chip, holes if "950" in chip.soc else ()))


@pytest.mark.usefixtures("broken")
def test_a_sound_chip(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--chip", "910b3"]) == 0
    text = capsys.readouterr().out
    assert "Ascend910B3  1     v100        59    18           36" in text
    assert "HOLE" not in text
    assert "120 checks: no gaps in 1 chip" in text
    assert "for example, malloc(100) on Ascend910B3 takes 160 bytes." in text


@pytest.mark.usefixtures("broken")
def test_holes_are_named_once_for_all_chips_that_share_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 1
    text = capsys.readouterr().out
    assert "Ascend950DT_950x and 34 more: registry: CMO (53) has no builder" in text
    assert text.count("CMO") == 1
    assert "gaps in 35 of 84 chips" in text


@pytest.mark.usefixtures("broken")
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--chip", "ascend950", "--json"]) == 1
    (only,) = json.loads(capsys.readouterr().out)
    assert only["soc"] == "Ascend950PR_9599"
    assert only["ok"] is False
    assert only["holes"] == ["registry: CMO (53) has no builder"]
    assert only["checks"][0] == {"name": "registry", "checked": 113, "holes": ["CMO (53) has no builder"]}


def test_an_unknown_chip_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--chip", "Ascend910B9"]) == 2
    assert "no chip file describes the SoC 'Ascend910B9'; did you mean Ascend910B" in capsys.readouterr().err


def test_a_device_says_itself_which_chip_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--url", "fake://ascend910b3", "--chip", "950"]) == 2
    assert "--url stands alone" in capsys.readouterr().err


@pytest.mark.usefixtures("broken")
def test_chip_files_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ascend910c.yaml").write_text('spec: "1.0"\nbase: ascend910b\nsocs: {Ascend910C1: }\n')
    assert main(["validate", "--chips", str(tmp_path), "--chip", "Ascend910C1"]) == 0
    assert "Ascend910C1" in capsys.readouterr().out


@pytest.mark.usefixtures("broken")
def test_what_a_device_reports(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["validate", "--url", "fake://ascend910b3"]) == 0
    assert "Ascend910B3" in capsys.readouterr().out
    real = DeviceInfo.get

    def fewer(self: DeviceInfo, module: str, info: str) -> int:
        return 16 if module == "MODULE_TYPE_AICORE" else real(self, module, info)

    monkeypatch.setattr(DeviceInfo, "get", fewer)
    assert main(["validate", "--url", "fake://ascend910b3"]) == 1
    assert "device: AI cores: the device reports 16, the chip file says 20" in capsys.readouterr().out


def test_a_pipe_gets_no_escape_codes() -> None:
    import argparse

    stream = io.StringIO()
    parser = argparse.ArgumentParser()
    validate.configure(parser)
    validate.run(parser.parse_args(["--chip", "910B1"]), Output(stream, io.StringIO()))
    assert "\x1b" not in stream.getvalue()
