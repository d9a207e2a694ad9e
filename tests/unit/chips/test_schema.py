"""Chip files: what the reader takes, and how it complains."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from chips.catalog import SOC_FOLDER, vocabulary
from chips.schema import FamilyFile, SchemaError, read_family, scalar

HEAD = 'spec: "1.0"\n'


def read(folder: Path, text: str) -> FamilyFile:
    path = folder / "x.yaml"
    path.write_text(text)
    return read_family(path, vocabulary())


def test_everything_a_file_can_say(tmp_path: Path) -> None:
    family = read(
        tmp_path,
        HEAD
        + "base: stars\nchip_type: CHIP_DAVID\ngeneration: v200\noverlay: o\nlibrary: l\ndefault: X1\n"
        + "limits: {streams: 3}\n"
        + "properties: {aicNum: 2, KernelCreditScale: 0.5, cvArchType: CV_ARCH_INVALID, p2pAtomicCapabilities: 0*3 7}\n"
        + "features: {add: TASK_CMO TASK_RDMA, drop: TASK_FLIP}\n"
        + "ini: {SoCInfo: a=1 b= c=- d=x-y, DieInfo: e=2}\n"
        + "columns: {n: SoCInfo.n VectorCoreSpec.n, t: chip_type.name}\n"
        + 'socs: {X1: _ CHIP_CLOUD, X2: "- CHIP_DC"}\n',
    )
    assert family.base == "stars"
    assert family.chip_type == ("CHIP_DAVID", 15)
    assert family.texts == {"generation": "v200", "overlay": "o", "library": "l", "default": "X1"}
    assert family.properties["p2pAtomicCapabilities"] == (0, 0, 0, 7)
    assert (family.features_add, family.features_drop) == ({"TASK_CMO", "TASK_RDMA"}, {"TASK_FLIP"})
    assert family.ini == {"SoCInfo": {"a": 1, "b": "", "c": None, "d": "x-y"}, "DieInfo": {"e": 2}}
    assert family.row("X1") == [
        ("SoCInfo", "n", ""), ("VectorCoreSpec", "n", ""), ("chip_type", "name", "CHIP_CLOUD"),
    ]  # fmt: skip
    assert family.row("X2")[0] == ("SoCInfo", "n", None)


def test_features_only(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD + 'features: {only: ""}').features_only == frozenset()
    assert read(tmp_path, HEAD + "features: {only: TASK_CMO}").features_only == {"TASK_CMO"}
    assert read(tmp_path, HEAD).features_only is None


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("-", None), ("_", ""), ("2,4", "2,4"), ("-1", "-1"), ("a", "a")]
)
def test_scalar(text: str, value: object) -> None:
    assert scalar(text) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "line 3: did not find expected node content"),
        ("propertis: {}", "propertis: unknown key; close: properties"),
        ("base: 3", "base: expected a text, got 3"),
        ("properties: 3", "properties: expected a mapping, got 3"),
        ("chip_type: CHIP_DAVIT", "chip_type:CHIP_DAVIT: unknown chip type; close: CHIP_DAVID"),
        ("chip_type: {name: A}", "chip_type: expected a name, or {name, value} of a new type, got {'name': 'A'}"),
        ("limits: {streams: -1}", "limits:streams: expected an integer of 0 or more, got -1"),
        ("limits: {streams: many}", "limits:streams: expected an integer of 0 or more, got 'many'"),
        ("properties: {cvArchType: OLD}", "properties:cvArchType: 'OLD' is not one of CV_ARCH_INVALID, CV_ARCH_INTE"),
        ("properties: {aicNum: true}", "properties:aicNum: expected a number or a text, got True"),
        ("properties: {t: 1*x}", "properties:t: '1*x' is not `value` or `value*count`"),
        ("properties: {rtsqVirtualAddr: {a: x}}", "properties:rtsqVirtualAddr:a: expected an integer, got 'x'"),
        ("features: {add: TASK_CMOO}", "features:add:TASK_CMOO: unknown feature; close: TASK_CMO"),
        ("features: {also: TASK_CMO}", "features:also: unknown key"),
        ("features: {only: TASK_CMO, add: TASK_CMO}", "features:only: stands alone; it replaces what the base has"),
        ("features: {add: [TASK_CMO]}", "features:add: expected names separated by spaces, got ['TASK_CMO']"),
        ("ini: {S: a}", "ini:S:a: has no `=value`"),
        ("ini: {S: a=1 a=2}", "ini:S:a: appears twice"),
        ("ini: {S: 1}", "ini:S: expected `key=value key=value ...`, got 1"),
        ("columns: {c: nodot}", "columns:c: 'nodot' is not `section.key` or `chip_type.name`"),
        ("columns: {c: chip_type.value}", "columns:c: 'chip_type.value' is not"),
        ("columns: {c: S.k}\nsocs: {X1: 1 2}", "socs:X1: 2 values for 1 columns"),
        ("columns: {c: chip_type.name}\nsocs: {X1: CHIP_Q}", "socs:X1:CHIP_Q: unknown chip type"),
    ],
)  # fmt: skip
def test_complaints_say_file_path_and_key(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, HEAD + text)
    assert str(caught.value).startswith(f"x.yaml:{complaint}")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- 1", "x.yaml: a chip file is a mapping"),
        ("base: y", 'x.yaml:spec: expected "1.0" (in quotes), got None'),
        ("spec: 1.0", 'x.yaml:spec: expected "1.0" (in quotes), got 1.0'),
        ('spec: "2.0"', "x.yaml:spec: expected \"1.0\" (in quotes), got '2.0'"),
    ],
)
def test_format_version(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, text)
    assert str(caught.value) == complaint


def test_every_shipped_file_is_small_enough_to_read() -> None:
    longest = max((path.stat().st_size, path.name) for path in Path(SOC_FOLDER).glob("*.yaml"))
    assert longest[0] < 9000, longest
