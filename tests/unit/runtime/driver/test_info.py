"""What is read of a machine before a device is opened, and what odd answers lead to."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import pytest

import chips
import npuhal
from npuhal import constants as c
from runtime import errors
from runtime.driver import info, message_queue
from runtime.driver.ipc import ShareDriver
from tests.unit.runtime.machines import CHIPS, V100

Answer = Callable[..., int]


@pytest.fixture
def hal(request: pytest.FixtureRequest) -> Any:
    backend = npuhal.open_hal(f"fake://{getattr(request, 'param', V100)}?devices=3&seed=4")
    yield backend
    backend.close()


def answer(hal: Any, monkeypatch: pytest.MonkeyPatch, name: str, code: int = 0, value: int | None = None,
           when: Callable[..., bool] = lambda *_arguments: True) -> None:
    """Let a HAL function return a code, and write a value into its last argument, where `when` fits."""
    inner = getattr(hal, name)

    def call(*arguments: Any) -> int:
        if not when(*arguments):
            return int(inner(*arguments))
        if value is not None:
            arguments[-1]._obj.value = value
        return code

    monkeypatch.setattr(hal, name, call)


@pytest.mark.parametrize("hal", CHIPS, indirect=True)
def test_a_machine_as_it_is(hal: Any) -> None:
    facts = info.read_machine(hal)
    assert facts.device_count == 3
    assert facts.chip is hal.fake.chip
    assert facts.soc_name == hal.fake.chip.soc
    assert facts.ts_count == 1
    assert facts.aicpu_count > 0
    assert facts.on_host
    assert facts.version_word >> 8 & 0xFF == facts.chip.chip_value


def test_the_first_device_that_answers_speaks_for_all(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(hal, monkeypatch, "halGetDeviceInfo", c.DRV_ERROR_NO_DEVICE, when=lambda device, *_rest: device < 2)
    assert info.read_machine(hal).chip is hal.fake.chip


def test_a_library_that_answers_without_writing_is_not_believed(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(hal, monkeypatch, "halGetDeviceInfo", 0)
    with pytest.raises(errors.RuntimeFault):
        info.read_machine(hal)


def test_a_machine_without_devices(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(hal, monkeypatch, "halGetDeviceInfo", c.DRV_ERROR_NO_DEVICE)
    answer(hal, monkeypatch, "drvGetDevNum", c.DRV_ERROR_NO_DEVICE)
    try:
        facts = info.read_machine(hal)
    except errors.RuntimeFault as fault:
        caught = fault
    else:
        assert facts.device_count == 0
        with pytest.raises(errors.DeviceUnavailable) as told:
            _ = facts.chip
        caught = told.value
    assert "npu-smi" in caught.hint
    assert "fake://" in caught.hint


@pytest.mark.parametrize("count", [0, 3, -1])
def test_impossible_numbers_of_schedulers(hal: Any, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    answer(hal, monkeypatch, "halGetDeviceInfo", 0, count, when=lambda _device, module, item, _out: (module, item) == (
        c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_CORE_NUM))
    with pytest.raises(errors.RuntimeFault, match=f"reports {count} task schedulers"):
        info.read_machine(hal)


def test_a_soc_that_nobody_knows_is_named(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def name(_device: int, buffer: Any, _size: int) -> int:
        ctypes.memmove(buffer, b"Ascend999X\0", 11)
        return 0

    monkeypatch.setattr(hal, "halGetSocVersion", name)
    with pytest.raises(chips.UnknownChip, match="Ascend999X"):
        info.read_machine(hal)


@pytest.mark.parametrize("hal", CHIPS, indirect=True)
def test_without_a_soc_name_the_version_word_must_do(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """950 cannot be told from its version word; the vendor's runtime does not start without a name there either."""
    monkeypatch.setattr(hal, "halGetSocVersion", lambda *_arguments: c.DRV_ERROR_NOT_SUPPORT)
    if hal.fake.chip.generation == "v100":
        assert info.read_machine(hal).chip.chip_value == hal.fake.chip.chip_value
        return
    with pytest.raises(chips.UnknownChip, match="only halGetSocVersion can name it"):
        info.read_machine(hal)


def test_callback_groups_have_a_default(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hal, "halTsdrvCtl", lambda *_arguments: c.DRV_ERROR_NOT_SUPPORT)
    assert info.read_machine(hal).callback_groups == 128


def test_items_that_a_driver_does_not_know(hal: Any) -> None:
    asked = info.DeviceInfo(hal, 0)
    hal.fake.faults.on_call("halGetDeviceInfo", "DRV_ERROR_NOT_SUPPORT", times=2)
    assert asked.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_ENV", 7) == 7
    with pytest.raises(errors.NotSupported, match="INFO_TYPE_ENV, device 0"):
        asked.get("MODULE_TYPE_SYSTEM", "INFO_TYPE_ENV")


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize(("nodes", "code", "name"), [("missing", 7, "INNER_ERR"), ("closed", 17, "IOCRL_FAIL")])
@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950pr_9599"])
def test_missing_nodes_are_told_with_the_code_of_the_count(
    soc: str, nodes: str, code: int, name: str, scheme: str
) -> None:
    hal = npuhal.open_hal(f"{scheme}://{soc}?nodes={nodes}")
    with pytest.raises(errors.RuntimeFault, match=f"drvGetDevNum answered {code} DRV_ERROR_{name}") as caught:
        info.read_machine(hal)
    assert (caught.value.hal_code, caught.value.hal_call) == (code, "drvGetDevNum")
    assert "/dev/davinci_manager" in caught.value.hint
    hal.close()


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
@pytest.mark.parametrize("nodes", ["open", "bare"])
def test_a_container_and_a_host_without_cards(scheme: str, nodes: str) -> None:
    hal = npuhal.open_hal(f"{scheme}://ascend910b3?devices=0&nodes={nodes}")
    count = ctypes.c_uint32(9)
    assert hal.drvGetDevNum(ctypes.byref(count)) == (0 if nodes == "open" else c.DRV_ERROR_NO_DEVICE)
    facts = info.read_machine(hal)
    assert (facts.device_count, facts.on_host) == (0, True)
    hal.close()


def test_a_bare_host_has_no_cards() -> None:
    with pytest.raises(npuhal.errors.BadUrl, match="give devices=0 with it"):
        npuhal.open_hal("fake://ascend910b3?nodes=bare")


def test_a_process_that_the_driver_does_not_know_has_no_id(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = ShareDriver(hal, 0)
    assert shared.bare_pid() > 0
    monkeypatch.setattr(hal, "drvDeviceGetBareTgid", lambda: -1)
    with pytest.raises(errors.DriverError, match="answered -1, which is no process"):
        shared.bare_pid()


def test_the_first_call_about_message_queues_has_a_bound(hal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()
    monkeypatch.setattr(message_queue, "FIRST_CALL_S", 0.05)
    monkeypatch.setattr(hal, "halQueueInit", lambda _device: 0 if let_go.wait(60) else 1)
    with pytest.raises(errors.Timeout, match=r"message queues of device 0 ready within 0\.05 s"):
        message_queue.MessageDriver(hal, 0).prepare()
    let_go.set()
