"""A sample of recorded values, so that the facts are checked where the corpus is not at hand."""

from __future__ import annotations

import pytest

import chips

# soc: chip type, number, generation, overlay, features, then (property, value)...
SAMPLE: dict[str, tuple[str, int, str, str, int, dict[str, object]]] = {
    "Ascend910B1": (
        "CHIP_910_B_93", 5, "v100", "", 105,
        {"rtsqDepth": 2048, "rtsqReservedTaskNum": 35, "maxTaskNumPerStream": 2013, "maxAllocStreamNum": 32768,
         "cqeSize": 16, "CmoSqeVersion": "CMO_SQE_VERSION_V2", "eventBase": 28456255488, "npuArch": 2201,
         "KernelCreditScale": 0.001000000048, "baseAicpuStreamId": 2048, "ioDieNum": 0, "eventTimestampFreq": 50000.0},
    ),
    "Ascend910_9391": ("CHIP_910_B_93", 5, "v100", "", 105, {"maxPhysicalStreamNum": 2038, "stubEventCount": 65536}),
    "Ascend310B1": (
        "CHIP_MINI_V3", 7, "v100", "", 44,
        {"maxAllocStreamNum": 512, "rtsqDepth": 2048, "maxTaskNumPerStream": 2010, "getRtsqPosition": 2047,
         "stackPhyBase": 65536, "tsOverflowHandling": "TS_OVER_FLOW_HANDING_FROM_MEM"},
    ),
    "Ascend310P3": (
        "CHIP_DC", 4, "hwts", "", 62,
        {"isStars": 0, "cqeSize": 12, "rtsqReservedTaskNum": 6, "taskEngineType": "DIRECT_HWTS_ENGINE",
         "MaxKernelCredit": 255, "starsNotifyTableSize": 128},
    ),
    "Ascend910A": (
        "CHIP_CLOUD", 1, "hwts", "", 52,
        {"rtsqDepth": 2042, "maxTaskNumPerStream": 2042, "hugeManagedFlag": 6, "KernelCreditScale": 68719476.74},
    ),
    "Ascend950PR_9599": (
        "CHIP_DAVID", 15, "v200", "", 102,
        {"rtsqDepth": 2049, "maxTaskNumPerStream": 2014, "maxAllocStreamNum": 65535, "isStarsV2": 1, "cqeSize": 32,
         "npuArch": 3510, "ioDieNum": 2, "sqSwapShift": 6, "memsetTaskSupport": "MEMSET_TASK_SUPPORT",
         "starsBaseMethod": "STARS_BASE_CALCULATE_BY_DRIVER", "simtWarpSize": 32},
    ),
    "Ascend350_354f": (
        "CHIP_ASCEND_350", 19, "v200", "", 100,
        {"rtsqDepth": 2048, "maxTaskNumPerStream": 2013, "maxAllocStreamNum": 2048, "ioDieNum": 1, "aicNum": 18,
         "memsetTaskSupport": "MEMSET_TASK_NOT_SUPPORT"},
    ),
    "Arch9201": ("CHIP_CLOUD_V5", 16, "v200", "arch9201", 76, {"creditStartValue": 65535, "icachePrefetchUnits": 512}),
    "MC62CM12A": (
        "CHIP_MC62CM12A", 17, "v201", "", 69,
        {"KernelCreditScale": 33554.43359, "aivNumPerDie": 8, "rtsqDepth": 4089, "tsCount": 2, "npuArch": 0},
    ),
    "MC32DM11A": ("CHIP_MC32DM11A", 18, "v201", "", 68, {"KernelCreditScale": 33554.432, "aivNumPerDie": 4}),
    "Ascend5162A": ("CHIP_5162A", 21, "arch5162", "", 14, {"rtsqDepth": 128, "MaxKernelCredit": 256}),
    "Ascend035B": ("CHIP_NANO", 9, "hwts", "", 30, {"maxAllocStreamNum": 56, "MaxKernelCredit": 0}),
    "Kirin9030": ("CHIP_9030", 201, "v100", "", 0, {"rtsqDepth": 1024, "aicNum": 1, "npuArch": 3113}),
    "KirinDev0001": ("CHIP_DEV_0001", 203, "v100", "", 0, {"aicNum": 5, "maxAllocStreamNum": 192}),
}  # fmt: skip

PADDING = {
    "Ascend910A": 32, "Ascend910B4-1": 32, "Ascend910_9362": 32, "Ascend310P7": 32, "Ascend310B4": 32,
    "Ascend031": 32, "KirinX90": 32, "Ascend035": 16, "Ascend035A": 16, "Ascend035B": 16, "Ascend950DT_950x": 0,
    "Ascend950PR_958b": 0, "Ascend350_355e": 0, "MC62CM12A": 32, "Arch9201": 32,
}  # fmt: skip


@pytest.mark.parametrize("soc", SAMPLE)
def test_sample_of_recorded_values(soc: str) -> None:
    chip_type, value, generation, overlay, features, properties = SAMPLE[soc]
    chip = chips.find_chip(soc)
    assert (chip.soc, chip.chip_type, chip.chip_value) == (soc, chip_type, value)
    assert (chip.generation, chip.overlay, len(chip.features)) == (generation, overlay, features)
    assert len(chip.properties) == 131
    assert {name: chip.prop(name) for name in properties} == properties
    assert chip.is_stars is (generation != "hwts")


@pytest.mark.parametrize("soc", PADDING)
def test_padding(soc: str) -> None:
    assert chips.find_chip(soc).padding_size == PADDING[soc]


def test_description_values() -> None:
    chip = chips.find_chip("Ascend950DT_9573")
    assert chip.spec("SoCInfo", "memory_size") == 135291569824
    assert chip.spec("SoCInfo", "vir_type_list") == "7,14,28"
    assert chip.spec("version", "SoC_version") == "Ascend950DT_9573"
    assert chip.spec("version", "Chip_type") == 15
    assert chips.find_chip("Ascend910B2C").spec("SoCInfo", "memory_size") == ""
    assert "prefetch_num" not in chips.find_chip("Ascend910B4-1").ini["SoCInfo"]
    assert "pcie_through_partial_support" not in chips.find_chip("Ascend350_354f").ini["SoCInfo"]
    with pytest.raises(chips.UnknownProperty, match=r"Ascend950DT_9573 has no SoCInfo\.colour"):
        chip.spec("SoCInfo", "colour")


def test_tables_are_tuples() -> None:
    table = chips.find_chip("Ascend950PR_9599").prop("hostAtomicCapabilities")
    assert len(table) == 45
    assert table[:5] == (99, 99, 99, 98, 98)
    assert chips.find_chip("Ascend910B1").prop("hostAtomicCapabilities") == (0,) * 45
    assert chips.find_chip("Ascend910B1").prop("rtsqVirtualAddr")["rtSqTailAddr"] == 8


def test_features() -> None:
    assert chips.find_chip("Ascend910B1").has("TASK_RECYCLE_THREAD")
    assert not chips.find_chip("Ascend310B1").has("TASK_RECYCLE_THREAD")
    assert chips.find_chip("Ascend950PR_9599").has("MEM_WAIT_PROF")
    assert not chips.find_chip("Ascend350_354f").has("MEM_WAIT_PROF")


@pytest.mark.parametrize(
    ("soc", "sqes", "streams", "events", "notifies", "pending"),
    [
        ("Ascend950PR_9599", 5, 1984, 65536, 65535, 1536),
        ("Ascend910B1", 4, 1984, 65536, 8192, 1536),
        ("Ascend910_9391", 4, 1984, 65536, 8192, 1536),
        ("Ascend310B1", 4, 512, 0, 2048, 1536),
        ("Ascend310P3", 4, 1024, 0, 1024, 768),
        ("Ascend910A", 4, 2048, 0, 1024, 768),
        ("MC62CM12A", 5, 0, 0, 0, 3066),
    ],
)
def test_limits(soc: str, sqes: int, streams: int, events: int, notifies: int, pending: int) -> None:
    chip = chips.find_chip(soc)
    limits = chip.limits
    assert (limits.max_sqe_per_task, limits.streams, limits.events, limits.notifies) == (
        sqes, streams, events, notifies,
    )  # fmt: skip
    assert limits.pending_max == pending
    assert limits.rtsq_depth == (1024 if chip.generation == "hwts" else chip.prop("rtsqDepth"))


def test_properties_of_drivers_that_bind_queues_dynamically() -> None:
    for soc in ("Ascend910B1", "Ascend910_9391"):
        assert dict(chips.find_chip(soc).dynamic_bind) == {"baseAicpuStreamId": 32768}
    assert not chips.find_chip("Ascend950PR_9599").dynamic_bind


def test_unknown_property_names_close_ones() -> None:
    with pytest.raises(chips.UnknownProperty, match="Ascend910B1 has no property 'rtsqDeepth'; close names: rtsqDepth"):
        chips.find_chip("Ascend910B1").prop("rtsqDeepth")


def test_chips_are_immutable() -> None:
    chip = chips.find_chip("Ascend910B1")
    with pytest.raises(AttributeError):
        chip.soc = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        chip.properties["rtsqDepth"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        chip.ini["SoCInfo"]["ai_core_cnt"] = 1  # type: ignore[index]
    assert chip is chips.find_chip("Ascend910B1")


def test_diff_lists_what_differs_and_nothing_else() -> None:
    a, b = chips.find_chip("Ascend910B1"), chips.find_chip("Ascend910B4")
    difference = chips.diff(a, b)
    assert (difference.identity, difference.properties, difference.features_a, difference.limits) == ((), (), (), ())
    assert {change.name for change in difference.ini} == {
        "version.SoC_version", "SoCInfo.ai_core_cnt", "SoCInfo.cube_core_cnt", "SoCInfo.vector_core_cnt",
        "SoCInfo.memory_size", "SoCInfo.l2_size", "SoCInfo.vir_type_list", "AICoreSpec.cube_freq",
    }  # fmt: skip
    assert ("SoCInfo.l2_size", 201326592, 100663296) in difference.ini
    assert not chips.diff(a, a)


def test_diff_of_two_generations() -> None:
    difference = chips.diff(chips.find_chip("Ascend910B1"), chips.find_chip("Ascend950PR_9599"))
    assert ("generation", "v100", "v200") in difference.identity
    assert ("cqe_size", 16, 32) in difference.limits
    assert ("rtsqDepth", 2048, 2049) in difference.properties
    assert "TASK_RDMA" in difference.features_a
    assert "TASK_FUSION" in difference.features_b
    assert ("DieInfo.io_die_num", None, 2) in difference.ini
