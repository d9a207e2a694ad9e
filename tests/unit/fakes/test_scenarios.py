"""Machines from files: the shipped ones, those of users, and what is wrong in them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import npuhal
from fakes.url.scenario import find, read, shipped
from npuhal import constants as c
from npuhal import structs as s
from npuhal.errors import BadUrl
from tests.unit.fakes.rig import Rig

SHIPPED = ("950-dual-die", "a2-server", "a3-node", "card-in-use", "flaky", "nearly-full", "one-card")
Open = Callable[..., Rig]


def links(rig: Rig, *others: int) -> list[int]:
    value = ctypes.c_int64()
    kinds = []
    for other in others:
        assert rig.hal.halGetPairDevicesInfo(0, other, c.DEVS_INFO_TYPE_TOPOLOGY, ctypes.byref(value)) == 0
        kinds.append(value.value)
    return kinds


@pytest.fixture
def open_scenario() -> Iterator[Open]:
    opened: list[Rig] = []

    def start(name: object, more: str = "", **options: bool) -> Rig:
        opened.append(Rig(f"fake://scenario={name}{more}", **options))
        return opened[-1]

    yield start
    for rig in opened:
        rig.close()



@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_machine_opens_and_says_what_it_is(name: str, open_scenario: Open) -> None:
    assert len(find(name).about) > 20
    rig = open_scenario(name, open_card=False)
    assert rig.fake.chip.soc == find(name).soc


def test_the_shipped_ones_are_those() -> None:
    assert tuple(each.path.stem for each in shipped()) == SHIPPED


def test_cards_of_a_server_are_joined_as_in_one(open_scenario: Open) -> None:
    assert links(open_scenario("a2-server"), 1, 4, 7) == [0, 0, 0]
    node = open_scenario("a3-node")
    assert len(node.fake.devices) == 16
    assert links(node, 1, 2, 15) == [5, 6, 6]
    assert open_scenario("950-dual-die").fake.dies == 2


def test_a_nearly_full_card_has_little_left(open_scenario: Open) -> None:
    rig = open_scenario("nearly-full")
    info, ids = s.MemInfo(), s.halResourceInfo()
    assert rig.hal.halMemGetInfo(0, c.MEM_INFO_TYPE_HBM_SIZE, ctypes.byref(info)) == 0
    assert 0 < info.phy_info.huge_free < info.phy_info.huge_total / 50
    assert rig.hal.halResourceInfoQuery(0, 0, c.DRV_RESOURCE_STREAM_ID, ctypes.byref(ids)) == 0
    assert ids.capacity - ids.usedNum < 20
    pointer = ctypes.c_void_p()
    rc = rig.hal.halMemAlloc(ctypes.byref(pointer), 2 << 30, c.MEM_DEV | c.MEM_PAGE_HUGE)
    assert rc == c.DRV_ERROR_OUT_OF_MEMORY
    assert "other processes hold" in rig.fake.problems[-1]


def test_a_card_in_use_cannot_be_opened_and_its_neighbour_can(open_scenario: Open) -> None:
    rig = open_scenario("card-in-use", open_card=False)
    out = s.hal_dev_open_out()
    assert rig.hal.halDeviceOpen(0, None, ctypes.byref(out)) == c.DRV_ERROR_RESOURCE_OCCUPIED
    assert rig.fake.problems[-1] == "card 0 is held by another process (pid 4711)"
    assert rig.hal.halDeviceOpen(1, None, ctypes.byref(out)) == 0


def test_a_flaky_card_fails_now_and_then_and_works_again(open_scenario: Open) -> None:
    rig = open_scenario("flaky")
    codes = []
    for _ in range(60):
        codes.append(rig.hal.halMemAlloc(ctypes.byref(ctypes.c_void_p()), 4096, c.MEM_DEV))
    assert codes.count(c.DRV_ERROR_OUT_OF_MEMORY) == 1
    assert codes.count(0) == 59
    assert [event.name for event in rig.fake.device().faults] == ["HBM ECC error"]


def test_the_url_goes_before_the_file(open_scenario: Open, tmp_path: Path) -> None:
    assert len(open_scenario("a2-server", "?devices=2").fake.devices) == 2
    file = tmp_path / "mine.yaml"
    file.write_text(
        """
        spec: "1.0"
        soc: Ascend910B1
        devices: 3
        memory: 1g
        limits: {notifys: 5}
        options: {free_run: true, seed: 4}
        """
    )
    rig = open_scenario(file)
    assert (rig.fake.chip.soc, len(rig.fake.devices), rig.fake.options.seed) == ("Ascend910B1", 3, 4)
    assert rig.fake.options.free_run
    assert [rig.try_id(c.DRV_NOTIFY_ID)[0] for _ in range(6)] == [0] * 5 + [c.DRV_ERROR_NO_NOTIFY_RESOURCES]
    other = Rig(f"fake://ascend950?scenario={file}&seed=9")
    assert (other.fake.chip.generation, other.fake.options.seed) == ("v200", 9)
    other.close()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("devices: 2", "x.yaml:spec: None is not a version"),
        ('spec: "2.0"', "x.yaml:spec: '2.0' is not"),
        ('spec: "1.0"\ncards: 2', "x.yaml:cards: unknown; known are about"),
        ('spec: "1.0"\ndevices: 99', "x.yaml:devices: devices=99 is outside 0 to 64"),
        ('spec: "1.0"\nmemory: much', "x.yaml:memory: hbm='much' is not a size"),
        ('spec: "1.0"\ntopology: ring', "x.yaml:topology: topology='ring' is none of mixed"),
        ('spec: "1.0"\nlimits: {stream: 3}', "x.yaml:limits.stream: unknown; known are cmos"),
        ('spec: "1.0"\nlimits: 3', "x.yaml:limits: a mapping is expected"),
        ('spec: "1.0"\noptions: {polices: 3}', "x.yaml:options.polices: unknown option"),
        ('spec: "1.0"\nfaults: {credit: 3}', "x.yaml:faults: a list is expected"),
        ('spec: "1.0"\nfaults: [{credit: 3}, {task: EXPLODE}]', r"x.yaml:faults\[1\]: 'EXPLODE' is none"),
        ('spec: "1.0"\nholders: [{pid: 3}]', r"x.yaml:holders\[0\].pid: unknown"),
        ('spec: "1.0"\nholders: [{device: 4}]', r"x.yaml:holders\[0\].device: there is no device 4"),
        ('spec: "1.0"\nholders: [{device: one}]', r"x.yaml:holders\[0\].device: 'one' is not a number"),
        ('spec: "1.0"\nholders: [{memory: 900t}]', r"x.yaml:holders\[0\].memory: the card has only"),
        ('spec: "1.0"\nholders: [{memory: all}]', r"x.yaml:holders\[0\].memory: 'all' is not a size"),
        ('spec: "1.0"\nholders: [{ids: {streams: -1}}]', r"x.yaml:holders\[0\].ids.streams: -1 is not"),
        ("spec: [", "x.yaml:line 2"),
        (f'spec: "1.0"\ndevices: {"9" * 5000}', "x.yaml: .*5000 digits$"),
        ("3", "x.yaml: a mapping is expected"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_key(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadUrl, match=says):
        npuhal.open_hal(f"fake://scenario={tmp_path}/x.yaml")


def test_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadUrl, match=r"'a4' is neither a file that ends in .yaml nor one of 950-dual-die, a2-server"):
        npuhal.open_hal("fake://scenario=a4")
    with pytest.raises(BadUrl, match=r"none.yaml: No such file"):
        npuhal.open_hal(f"fake://scenario={tmp_path}/none.yaml")


def test_a_file_may_hold_rules_only(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("- {credit: 4}")
    assert read(tmp_path / "x.yaml").only_rules
