"""What users met when they chose devices: masks, numbers, and devices that stay broken."""

from __future__ import annotations

import logging

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Runtime
from runtime.driver.visible import STRICT, VARIABLE
from tests.unit.runtime.machines import OpenMachine


@pytest.fixture
def masked(open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch) -> OpenMachine:
    """Return a function that opens a machine under a mask: `masked("0,1")`, with 8 cards unless `devices=` is given."""

    def start(mask: str, devices: int = 8, options: str = "") -> Runtime:
        monkeypatch.setenv(VARIABLE, mask)
        return open_machine(f"fake://ascend910b2?devices={devices}{options}")

    return start  # type: ignore[return-value]


# -- a mask of which only a part is used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "devices", "count", "dropped"),
    [("0,1,3,4", 4, 3, "4"), ("1, 2,3", 4, 1, " 2,3"), ("1,3,8", 8, 2, "8"), ("0,1x,2", 4, 2, "2"), ("2", 4, 1, "")],
)
def test_the_dropped_tail_of_a_mask_is_warned_of_once(
    masked: OpenMachine, caplog: pytest.LogCaptureFixture, mask: str, devices: int, count: int, dropped: str
) -> None:
    machine = masked(mask, devices)  # type: ignore[call-arg]
    assert machine.device_count == count
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == bool(dropped)
    if dropped:
        assert mask in warnings[0]
        assert f"not used: {dropped!r}" in warnings[0]


def test_an_id_beyond_the_kept_part_shows_mask_kept_and_dropped(masked: OpenMachine) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        masked("0,1,3,4", 4).set_device(3)  # type: ignore[call-arg]
    assert caught.value.code == 107001
    for part in ("'0,1,3,4'", "leaves 0, 1, 3", "not used: '4'"):
        assert part in caught.value.hint


@pytest.mark.parametrize(("mask", "refused"), [("0,1,3,4", True), ("1,1", True), ("", False), ("0,1,3", False)])
def test_strict_mode_makes_it_an_error_at_the_start(
    masked: OpenMachine, monkeypatch: pytest.MonkeyPatch, mask: str, refused: bool
) -> None:
    monkeypatch.setenv(STRICT, "1")
    if not refused:
        masked(mask, 4)  # type: ignore[call-arg]
        return
    with pytest.raises(errors.DeviceUnavailable) as caught:
        masked(mask, 4)  # type: ignore[call-arg]
    assert (caught.value.code, caught.value.message_id) == (207004, "EE2002")


# -- a mask that is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "rule", "corrected"),
    [
        ("4,3", "do not ascend", "3,4"), ("0,2,4,6,1,3,5,7", "do not ascend", "0,1,2,3,4,5,6,7"),
        ("1,1", "stands in it twice", "1"), ("9", "names no device", ""), ("x", "names no device", ""),
        (" 3, 2", "names no device", "2,3"),
    ],
)  # fmt: skip
def test_a_refused_mask_names_the_rule_and_a_list_that_would_do(
    masked: OpenMachine, mask: str, rule: str, corrected: str
) -> None:
    machine = masked(mask)
    with pytest.raises(errors.DeviceUnavailable, match=rule) as caught:
        _ = machine.device_count
    assert (caught.value.code, caught.value.message_id) == (207004, "EE2002")
    assert "[0, 8)" in caught.value.hint
    assert f"{VARIABLE}={corrected} would be read" in caught.value.hint or not corrected
    with pytest.raises(errors.InvalidArgument, match="unusable") as set_device:
        machine.set_device(0)
    assert set_device.value.code == 107001


def test_a_good_mask_renumbers(masked: OpenMachine) -> None:
    machine = masked("3,4")
    assert machine.device_count == 2
    machine.set_device(1)
    assert [card.index for card in machine.hal.fake.devices if card.queues] == [4]


# -- user, driver and physical ids ---------------------------------------------------------------------------------


def test_each_number_of_a_device_has_a_way_to_the_others(masked: OpenMachine) -> None:
    numbers = masked("2", 5, "&physical=3,4,5,6,7").numbers  # type: ignore[call-arg]
    assert (numbers.driver_id(0), numbers.physical_id(0)) == (2, 5)
    assert (numbers.user_of_driver(2), numbers.user_of_physical(5)) == (0, 0)
    for wrong in (lambda: numbers.driver_id(2), lambda: numbers.user_of_driver(0), lambda: numbers.user_of_physical(3)):
        with pytest.raises(errors.InvalidArgument) as caught:
            wrong()
        assert caught.value.code == 107001


def test_a_physical_id_given_as_a_user_id_is_recognised(masked: OpenMachine) -> None:
    machine = masked("2", 5, "&physical=3,4,5,6,7")  # type: ignore[call-arg]
    with pytest.raises(errors.InvalidArgument) as caught:
        machine.set_device(5)
    assert caught.value.code == 107001
    assert "5 looks like a physical id: the user id of that device is 0" in caught.value.hint


def test_only_the_driver_id_ever_reaches_the_driver(monkeypatch: pytest.MonkeyPatch, open_machine: OpenMachine) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    machine = open_machine("trace+fake://ascend910b2?devices=5")
    before = len(machine.hal.records)  # type: ignore[attr-defined]
    with machine.device(0) as device, device.create_stream() as stream:
        stream.fill(device.alloc(64), 1)
        stream.synchronize()
    touched = {card.index for card in machine.hal.inner.fake.devices if card.executed}
    assert touched == {2}
    named = {
        record.before[name] for record in list(machine.hal.records)[before:]  # type: ignore[attr-defined]
        for name in ("devId", "devid", "device") if name in record.before
    }  # fmt: skip
    assert named == {2}


# -- a device that stays broken ------------------------------------------------------------------------------------


def test_a_broken_device_answers_with_its_first_error_until_it_is_repaired(machine: Runtime) -> None:
    card = machine.hal.fake.device(0)
    device = machine.set_device(0)
    stream = device.create_stream()
    machine.hal.fake.faults.on_task(Effect.CARD_DOWN, stream=stream.stream_id)
    buffer = device.alloc(64)
    stream.fill(buffer, 1)
    with pytest.raises(errors.DeviceFault) as first:
        stream.synchronize(10_000)
    assert first.value.code == 507010
    for use in (lambda: stream.synchronize(30_000), lambda: stream.fill(buffer, 1), device.health.check):
        with pytest.raises(errors.DeviceFault, match="no longer answers") as later:
            use()
        assert later.value.code == 507010
    card.fail(2, sticky=True)
    machine.reset_device(0)
    for _ in range(2):  # a soft reset is not enough, and says so instead of a false success
        with pytest.raises(errors.DeviceUnavailable) as again:
            machine.set_device(0)
        assert again.value.code == 507033
        assert machine.slots[0].device is None
    card.repair()
    with machine.device(0) as repaired, repaired.create_stream() as other:
        other.fill(repaired.alloc(64), 1)
        other.synchronize()


def test_a_hung_kernel_does_not_outlive_a_forced_reset(machine: Runtime) -> None:
    device = machine.set_device(0)
    stream = device.create_stream()
    machine.hal.fake.faults.on_task(Effect.HANG, stream=stream.stream_id)
    stream.fill(device.alloc(64), 1)
    with pytest.raises(errors.Timeout) as caught:
        stream.synchronize(10)
    assert caught.value.code == 507046
    machine.reset_device(0, drain=True)
    again = machine.set_device(0)
    with again.create_stream() as other:
        other.fill(again.alloc(64), 1)
        other.synchronize()
