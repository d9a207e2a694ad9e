"""What a runtime makes of its machine: hidden devices, the wrong SoC, fork, close (core_spec 1, 2.6)."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from runtime import errors
from runtime.api import Runtime
from tests.unit.runtime.machines import OpenMachine


def test_a_boot_that_fails_half_way_gives_the_door_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import npuhal

    backends: list[npuhal.HalApi] = []
    closed: list[npuhal.HalApi] = []
    real = npuhal.open_hal

    def opened(url: str | None = None) -> npuhal.HalApi:
        backends.append(real(url))
        backends[-1].fake.faults.on_call("halGetSocVersion", "DRV_ERROR_INNER_ERR")
        monkeypatch.setattr(type(backends[-1]), "close", lambda self: closed.append(self))
        return backends[-1]

    monkeypatch.setattr(npuhal, "open_hal", opened)
    with pytest.raises(errors.RuntimeFault, match="halGetSocVersion"):
        Runtime("fake://ascend910b1")
    assert closed == backends


def test_a_machine_without_devices_boots_and_says_so(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b1?devices=0")
    assert machine.device_count == 0
    with pytest.raises(errors.InvalidArgument, match="this machine has no devices") as caught:
        machine.device(0)
    assert caught.value.code == 107001
    with pytest.raises(errors.DeviceUnavailable, match="no NPU"):
        _ = machine.machine.chip


def test_the_mask_renumbers_devices(open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "1,3")
    machine = open_machine("fake://ascend910b1?devices=4&physical=4,5,6,7")
    assert machine.device_count == 2
    device = machine.device(1)
    assert (device.user_id, device.device_id) == (1, 3)
    assert machine.ask(1).physical_id() == 7
    opened = [card.index for card in machine.hal.fake.devices if card.queues]
    assert opened == [3]


@pytest.mark.parametrize(
    ("mask", "index", "told"),
    [
        ("0,1,3,4", 3, ["leaves 0, 1, 3", "stopped at '4'"]),
        ("2", 2, ["leaves 2", "2 is the driver's id of user device 0"]),
        ("1, 2,3", 1, ["leaves 1", "stopped at ' 2'"]),
    ],
)
def test_an_id_beyond_the_mask_is_explained(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, mask: str, index: int, told: list[str]
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", mask)
    machine = open_machine("fake://ascend910b1?devices=4")
    with pytest.raises(errors.InvalidArgument) as caught:
        machine.set_device(index)
    assert caught.value.code == 107001
    for part in (repr(mask), *told):
        assert part in caught.value.hint


@pytest.mark.parametrize(
    ("mask", "rule"), [("2,1", "ascend"), ("1,1", "twice"), ("9", "names no device"), ("", "names no device")]
)
def test_a_useless_mask_is_named_by_the_count(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, mask: str, rule: str
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", mask)
    machine = open_machine("fake://ascend910b1?devices=4")
    with pytest.raises(errors.DeviceUnavailable, match=rule) as caught:
        _ = machine.device_count
    assert (caught.value.code, caught.value.message_id) == (207004, "EE2002")
    assert "[0, 4)" in caught.value.hint
    with pytest.raises(errors.InvalidArgument, match="unusable"):
        machine.set_device(0)


def test_a_device_of_another_soc_than_the_one_fixed_is_not_opened(machine: Runtime) -> None:
    machine.soc_name = "Ascend310P3"
    with pytest.raises(errors.DeviceUnavailable, match="Ascend310P3 was fixed") as caught:
        machine.set_device(0)
    assert caught.value.code == 507033
    machine.soc_name = machine.machine.soc_name
    machine.set_device(0)


def test_a_runtime_that_cannot_be_closed_stays_usable(
    machine: Runtime, make_stuck: Callable[[Runtime], object]
) -> None:
    make_stuck(machine)
    with pytest.raises(errors.RuntimeFault, match="stuck"):
        machine.close()
    assert not machine.closed
    machine.device(1).create_stream().synchronize()
    machine.close(force=True)
    assert machine.closed


@pytest.fixture
def make_stuck(monkeypatch: pytest.MonkeyPatch) -> Callable[[Runtime], object]:
    """Return a function that gives a runtime a stream which ends only by force."""

    def make(machine: Runtime) -> object:
        stream = machine.device(0).create_stream()
        real = type(stream).close

        def close(self: object, *, force: bool = False) -> None:
            if not force and self is stream:
                raise errors.fault("ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", "stuck")
            real(self, force=force)  # type: ignore[arg-type]

        monkeypatch.setattr(type(stream), "close", close)
        return stream

    return make


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_refused_and_takes_nothing_away(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b1")
    machine.set_device(0)
    device, stream = machine.device(0), machine.device(0).create_stream()
    buffer = device.alloc(64)
    child = os.fork()
    if child == 0:
        os._exit(_what_a_child_finds(machine, device, stream, buffer))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    stream.synchronize()
    assert not device.closed


def _what_a_child_finds(machine: Runtime, device: object, stream: object, buffer: object) -> int:
    """Return 0 when every use is refused by name; the number of the first that is not."""
    uses = [
        lambda: machine.device(0), lambda: machine.set_device(0), machine.current_context,
        lambda: device.alloc(64), lambda: device.create_stream(),  # type: ignore[attr-defined]
        lambda: stream.synchronize(),  # type: ignore[attr-defined]
    ]  # fmt: skip
    for number, use in enumerate(uses, 1):
        try:
            use()
        except errors.RuntimeFault as fault:
            if number < len(uses) and "forked" not in str(fault):
                return number
            continue
        return number
    del buffer
    machine.close(force=True)
    return 0 if machine.hal.fake.device(0).queues else 100
