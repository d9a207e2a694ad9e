"""Every property, feature and description value of every SoC against the recorded facts."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml

import chips
from chips.catalog import vocabulary
from tests.tools.corpus import ROOT, corpus

WITHOUT_DESCRIPTION = {
    "CHIP_MINI": "Ascend310",
    "CHIP_ADC": "Ascend610",
    "CHIP_AS31XM1": "AS31XM1X",
    "CHIP_610LITE": "Ascend610Lite",
    "CHIP_CLOUD_V5": "Arch9201",
    "CHIP_MC62CM12A": "MC62CM12A",
    "CHIP_MC32DM11A": "MC32DM11A",
    "CHIP_5162A": "Ascend5162A",
}
"""Chip types no description file exists for, and the name under which we carry them."""


@cache
def facts() -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, Any] = yaml.load(corpus("data/chips.yaml").read_text(), loader)
    return data


def recorded_properties(chip_type: str, soc: str) -> dict[str, Any]:
    """Return what the properties must be: the recorded table of the chip type, overlaid as the runtime does."""
    out: dict[str, Any] = {}
    for name, value in facts()["chips"][chip_type]["properties"].items():
        if isinstance(value, dict) and "name" in value:
            assert vocabulary().enums[name][value["value"]] == value["name"]
            value = value["name"]
        out[name] = tuple(value) if isinstance(value, list) else value
    ini = facts()["socs"].get(soc)
    if ini is None:
        return out
    soc_info = ini["SoCInfo"]
    if soc_info.get("normal_stream_num"):
        out["maxAllocStreamNum"] = soc_info["normal_stream_num"]
    if depth := soc_info.get("normal_stream_depth"):
        out["rtsqDepth"] = depth
        reserved = out["rtsqReservedTaskNum"]
        if reserved == 0 or depth > reserved:
            out["maxTaskNumPerStream"] = depth - reserved
    if soc_info.get("huge_stream_num"):
        out["maxAllocHugeStreamNum"] = soc_info["huge_stream_num"]
    if soc_info.get("huge_stream_depth"):
        out["maxTaskNumPerHugeStream"] = soc_info["huge_stream_depth"]
    if dies := ini.get("DieInfo", {}).get("io_die_num"):
        out["ioDieNum"] = dies
    out["npuArch"] = ini["version"]["NpuArch"]
    return out


def same_description(chip: chips.Chip, recorded: dict[str, Any]) -> bool:
    sections = {name: values for name, values in recorded.items() if isinstance(values, dict) and values}
    return {name: dict(values) for name, values in chip.ini.items()} == sections


@pytest.mark.parametrize("soc", chips.all_socs())
def test_soc_equals_the_recorded_facts(soc: str) -> None:
    chip = chips.find_chip(soc)
    recorded = facts()["chips"][chip.chip_type]
    assert facts()["rtChipType"][chip.chip_type] == chip.chip_value
    assert dict(chip.properties) == recorded_properties(chip.chip_type, soc)
    assert {type(value) for value in chip.properties.values()} <= {int, float, str, tuple, dict}
    assert chip.features == {name.removeprefix("RT_FEATURE_") for name in recorded["features"]}
    if soc in facts()["socs"]:
        assert facts()["socs"][soc]["chip_type"] == chip.chip_value
        assert same_description(chip, facts()["socs"][soc])
    else:
        assert not chip.ini


def test_every_recorded_soc_is_known() -> None:
    recorded = set(facts()["socs"])
    assert recorded <= set(chips.all_socs())
    assert len(recorded) == 73
    ours = set(chips.all_socs()) - recorded
    assert ours == {*WITHOUT_DESCRIPTION.values(), "BS9SX1AA", "BS9SX1AB", "BS9SX1AC"}


def test_generation_library_and_vocabulary_agree() -> None:
    assert vocabulary().features == tuple(name.removeprefix("RT_FEATURE_") for name in facts()["feature_enum"])
    for name, recorded in facts()["chips"].items():
        if not recorded.get("properties"):
            continue
        soc = (recorded["soc_names"] or [WITHOUT_DESCRIPTION[name]])[0]
        chip = chips.find_chip(soc)
        library = recorded["plugin_library"]
        assert chip.library == ("" if library.startswith("none") else library)
        if not chip.is_stars:
            assert chip.generation == "hwts"
        elif name == "CHIP_CLOUD_V5":
            assert (chip.generation, chip.overlay) == ("v200", "arch9201")
        elif recorded["sqe_family"] != "none":
            assert chip.generation == recorded["sqe_family"].split()[0]


assert ROOT  # the corpus may be absent; the facts of test_chip.py then stand alone
