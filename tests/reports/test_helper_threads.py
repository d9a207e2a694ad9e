"""Helper threads on another device than the program's, drivers that are busy, variables that are set too late."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

import runtime as surface
from runtime import errors
from runtime.api import Runtime
from runtime.core.process import lifetime
from runtime.driver.patience import ATTEMPTS
from tests.reports.calls import Caller, in_thread
from tests.unit.runtime.machines import OpenMachine

CHIPS = ("ascend910b3", "ascend950")


@pytest.fixture(params=CHIPS)
def machine(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Runtime:
    return open_machine(f"fake://{request.param}?devices=4")


def outcome(call: Callable[[], object]) -> errors.RuntimeFault | None:
    try:
        call()
    except errors.RuntimeFault as fault:
        return fault
    return None


WAYS: dict[str, tuple[Callable[[Runtime], object], Callable[[Runtime], object]]] = {
    "set_device": (lambda m: m.set_device(3), lambda m: m.set_device(0)),
    "device": (lambda m: m.device(3), lambda m: m.device()),
    "context": (lambda m: m.create_context(3), lambda m: m.create_context(0)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strict", [False, True])
def test_a_helper_that_opens_device_0_while_the_main_thread_works_on_3(
    machine: Runtime, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, way: str, *, strict: bool
) -> None:
    monkeypatch.setenv("NPUHAL_STRICT", str(int(strict)))
    main, helper = WAYS[way]
    main(machine)
    with caplog.at_level(logging.WARNING):
        fault = in_thread(lambda: outcome(lambda: helper(machine)), "loader")
    if strict:
        assert fault is not None
        assert (fault.code, machine.slots[0].device) == (107001, None)
        text = str(fault)
    else:
        assert fault is None
        text = caplog.text
    assert "'loader'" in text
    assert "opens device 0 while the main thread works on device 3" in text
    assert "runtime.set_device(3)" in text
    if way != "device":
        assert "thread 'MainThread'" in text
        assert "device 3" in text.partition("contexts by thread")[2]


@pytest.mark.parametrize("strict", ["0", "1"])
def test_threads_that_mean_it_are_left_alone(
    machine: Runtime, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, strict: str
) -> None:
    monkeypatch.setenv("NPUHAL_STRICT", strict)
    with caplog.at_level(logging.WARNING):
        for index in (2, 0, 1):  # a thread per device, the main one on none
            assert in_thread(lambda index=index: outcome(lambda: machine.set_device(index))) is None  # type: ignore[misc]
        machine.set_device(0)
        assert in_thread(lambda: outcome(lambda: machine.set_device(0))) is None
    assert "opens device" not in caplog.text


def test_a_helper_with_a_device_of_its_own_may_open_another(
    machine: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUHAL_STRICT", "1")
    machine.set_device(3)

    def work() -> errors.RuntimeFault | None:
        machine.set_device(2)
        return outcome(lambda: machine.set_device(0))

    assert in_thread(work) is None


def test_the_list_of_contexts_by_thread(machine: Runtime) -> None:
    machine.set_device(3)
    inside, done = threading.Event(), threading.Event()

    def work() -> None:
        machine.set_device(2)
        inside.set()
        done.wait(30)

    helper = threading.Thread(target=work, name="loader")
    helper.start()
    assert inside.wait(30)
    main, other = machine.contexts_by_thread()
    done.set()
    helper.join(30)
    assert (main.name, main.context) == (threading.main_thread().name, machine.device(3).context)
    assert (other.name, other.ident, other.context) == ("loader", helper.ident, machine.device(2).context)
    assert "device 2" in str(other)
    assert [each.name for each in machine.contexts_by_thread()] == [main.name]
    machine.device(3).close()
    (main,) = machine.contexts_by_thread()
    assert main.context is None
    assert "no context" in str(main)


# -- a driver that is busy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, ATTEMPTS - 1])
def test_a_busy_driver_is_asked_again(machine: Runtime, caplog: pytest.LogCaptureFixture, times: int) -> None:
    machine.hal.fake.faults.on_call("halDeviceOpen", "DRV_ERROR_BUSY", times=times)
    with caplog.at_level(logging.WARNING):
        device = machine.device(1)
    assert not device.closed
    told = [line for line in caplog.messages if "halDeviceOpen answered DRV_ERROR_BUSY" in line]
    assert len(told) == times
    device.create_stream().synchronize(30_000)


def test_a_driver_that_stays_busy_is_not_asked_for_ever(machine: Runtime) -> None:
    machine.hal.fake.faults.on_call("halDeviceOpen", "DRV_ERROR_BUSY", times=ATTEMPTS)
    with pytest.raises(errors.DeviceUnavailable, match="BUSY"):
        machine.device(0)
    assert machine.device(0).user_id == 0  # the rule is used up: so many times it was asked


@pytest.mark.parametrize("answer", ["DRV_ERROR_NO_DEVICE", "DRV_ERROR_OPER_NOT_PERMITTED"])
def test_other_answers_are_not_waited_for(machine: Runtime, answer: str) -> None:
    machine.hal.fake.faults.on_call("halDeviceOpen", answer)
    with pytest.raises(errors.DeviceUnavailable):
        machine.device(0)


# -- variables -----------------------------------------------------------------------------------------------------


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lifetime, "_the_one", None)
    yield
    surface.shutdown(force=True)


@pytest.mark.parametrize("name", ["ASCEND_RT_LAUNCH_BLOCKING", "ASCEND_RT_VISIBLE_DEVICES"])
def test_a_variable_that_is_set_too_late_is_told_once(
    own: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv(name, raising=False)
    surface.start("fake://ascend910b3?devices=2")
    device = surface.device(0)
    with caplog.at_level(logging.WARNING):
        device.create_stream()
        assert name not in caplog.text
        monkeypatch.setenv(name, "1")
        for _ in range(3):
            device.create_stream()
            surface.device(1)
    (told,) = [line for line in caplog.messages if name in line]
    assert "was not set when the runtime started and is '1' now" in told
    surface.shutdown()
    caplog.clear()
    surface.start("fake://ascend910b3?devices=2")
    with caplog.at_level(logging.WARNING):
        surface.device(0).create_stream()
    assert "has no effect" not in caplog.text


def test_the_c_api_is_told_too(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_LAUNCH_BLOCKING", "0")
    api = Caller("fake://ascend950?devices=2")
    assert api.aclrtSetDevice(deviceId=1) == 0
    monkeypatch.setenv("ASCEND_RT_LAUNCH_BLOCKING", "1")
    with caplog.at_level(logging.WARNING):
        api.make("aclrtCreateStream", "stream")
        assert in_thread(lambda: api.aclrtSetDevice(deviceId=0)) == 0
    assert "ASCEND_RT_LAUNCH_BLOCKING was '0'" in caplog.text
    assert "opens device 0 while the main thread works on device 1" in caplog.text
    api.acl.runtime.close(force=True)
