"""`npuhal info`: a machine behind a backend, a chip without one, and what differs between two chips."""

from __future__ import annotations

import json
from typing import Any

import pytest

import npuhal
from chips import find_chip
from runtime import cli
from runtime.api import Runtime


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["info", *arguments]) == 0
    return capsys.readouterr().out


def test_a_chip_is_described_without_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "--chip", "ascend910b3").splitlines()
    assert lines[0] == "Ascend910B3"
    assert "generation    v100" in lines
    assert any(line.split() == ["rtsq_depth", "2048"] for line in lines)
    assert any(line.split() == ["SoCInfo.ai_core_cnt", "20"] for line in lines)
    assert any(line.startswith("features: ") for line in lines)
    assert max(map(len, lines)) <= 120


def test_a_chip_as_json_has_every_property(capsys: pytest.CaptureFixture[str]) -> None:
    described = json.loads(told(capsys, "--chip", "Ascend950PR_9599", "--json"))
    chip = find_chip("Ascend950PR_9599")
    assert described["soc"] == chip.soc
    assert set(described["properties"]) == set(chip.properties)
    assert described["features"] == sorted(chip.features)
    assert described["limits"]["rtsq_depth"] == chip.limits.rtsq_depth


def test_two_chips_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "--chip", "Ascend910B3", "--diff", "Ascend910B2")
    rows = [line.split() for line in text.splitlines()]
    assert rows[0] == ["Ascend910B3", "Ascend910B2"]
    assert ["SoCInfo.ai_core_cnt", "20", "24"] in rows
    assert "rtsq_depth" not in text


def test_features_of_one_chip_only_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "--chip", "Ascend910B3", "--diff", "Ascend950PR_9599")
    assert "features of Ascend950PR_9599 only: " in text


def test_a_chip_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "--chip", "Ascend910B3", "--diff", "Ascend910B3") == (
        "Ascend910B3 and Ascend910B3 do not differ in anything known\n"
    )


def test_a_difference_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(told(capsys, "--chip", "Ascend910B3", "--diff", "Ascend910B2", "--json"))
    assert ["SoCInfo.ai_core_cnt", 20, 24] in found["ini"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--chip", "Ascend910B33"], "Ascend910B3"),
        (["--diff", "Ascend910B3"], "--diff needs a chip to compare with"),
        (["--url", "fakes://x"], "unknown scheme 'fakes'"),
    ],
)
def test_bad_input_is_a_usage_error(capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str) -> None:
    assert cli.main(["info", *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_no_driver_says_where_it_was_looked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_HAL_LIB", "/nowhere/libascend_hal.so")
    assert cli.main(["info", "--url", "hal://"]) == 1
    complaint = capsys.readouterr().err
    assert "/nowhere/libascend_hal.so" in complaint
    assert "NPUHAL_URL=fake://" in complaint


def machine(capsys: pytest.CaptureFixture[str], url: str) -> dict[str, Any]:
    found = json.loads(told(capsys, "--url", url, "--json"))
    assert isinstance(found, dict)
    return found


def test_a_machine_is_told_with_its_devices(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASCEND_RT_VISIBLE_DEVICES", raising=False)
    found = machine(capsys, "fake://ascend910b3?devices=2")
    assert found["door"] == "fake://ascend910b3?devices=2"
    assert found["chip"].startswith("Ascend910B3 (")
    assert [device["device"] for device in found["devices"]] == [0, 1]
    first = found["devices"][0]
    assert first["state"] == "working"
    assert (first["cube_cores"], first["vector_cores"]) == (20, 40)
    assert first["bus"].endswith(":00.0")
    assert first["memory_mib"] == {"used": 0, "capacity": 65536}
    assert first["events"] == {"used": 0, "capacity": 65536}
    assert found["limits"]["ring_depth"] == find_chip("Ascend910B3").limits.rtsq_depth


def test_what_a_process_uses_is_seen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Runtime("fake://ascend910b3")
    try:
        device = runtime.device(0)
        held, events = device.alloc(64 << 20), [device.create_event() for _ in range(3)]
        stream = device.create_stream()
        for event in events:
            stream.record(event)
        monkeypatch.setattr(npuhal, "open_hal", lambda url: runtime.hal)
        monkeypatch.setattr(runtime.hal, "close", lambda: None)
        (used,) = machine(capsys, "fake://ascend910b3")["devices"]
        usage = {kind: device.ids.usage(kind)[1] for kind in ("STREAM", "EVENT")}
        assert used["memory_mib"]["used"] >= held.size >> 20
        assert used["streams"]["used"] == usage["STREAM"] >= 2
        assert used["events"]["used"] == usage["EVENT"] >= 3
    finally:
        monkeypatch.undo()
        runtime.close(force=True)


def test_a_mask_hides_devices_and_renumbers_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "1")
    found = machine(capsys, "fake://ascend910b3?devices=2")
    assert found["visible_devices"] == "1"
    assert [device["user_id"] for device in found["devices"]] == ["hidden by the visible-device mask", 0]
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "1,0")
    assert machine(capsys, "fake://ascend910b3?devices=2")["visible_devices"] == "none: its ids do not ascend"


def test_an_answer_that_is_missing_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hal = npuhal.open_hal("fake://ascend910b3")
    monkeypatch.setattr(hal, "halMemGetInfo", lambda *_: 65534, raising=False)
    monkeypatch.setattr(npuhal, "open_hal", lambda url: hal)
    (device,) = machine(capsys, "fake://ascend910b3")["devices"]
    assert device["memory_mib"] == "unknown (DRV_ERROR_NOT_SUPPORT)"
    assert device["cube_cores"] == 20


def test_the_machine_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "--url", "fake://ascend950?devices=2&streams=9").splitlines()
    assert lines[0] == "machine"
    rows = [line.split() for line in lines]
    heads = next(row for row in rows if row[:2] == ["device", "AI"])
    values = rows[rows.index(heads) + 1 : -1]
    assert [row[0] for row in values] == ["0", "1"]
    assert values[0][4] == "0/9"
    assert "memory (MiB)  as 1 GiB pages (MiB)  streams" in lines[-4]
    used, total = map(int, values[0][3].split("/"))
    assert used == total % 1024 == 0
    assert max(map(len, lines)) <= 120
