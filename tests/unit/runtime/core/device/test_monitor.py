"""The monitor: lost devices, reported faults, what failed streams leave, and its one thread (core_spec 2.5)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from fakes.hal.faults import FaultEvent
from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.device import monitor
from tests.unit.runtime.machines import OpenMachine

LINK_LOST, EXCEPTION = 4, 2


@pytest.mark.parametrize(
    ("status", "code"), [(LINK_LOST, 507010), (EXCEPTION, 507899)], ids=["link lost", "exception"]
)
def test_a_device_that_no_longer_answers_stops_all_its_contexts(
    machine: Runtime, device: Device, status: int, code: int
) -> None:
    context = machine.create_context(0)
    streams = [device.create_stream(), context.create_stream()]
    machine.hal.fake.device(0).fail(status)
    machine.monitor.look()
    assert device.health.lost is not None
    for stream in streams:
        with pytest.raises(errors.RuntimeFault, match="no longer answers") as caught:
            stream.synchronize(10)
        assert caught.value.code == code


def test_other_devices_go_on(machine: Runtime) -> None:
    lost, sound = machine.device(0), machine.device(1)
    machine.hal.fake.device(0).fail(LINK_LOST)
    machine.monitor.look()
    assert (lost.health.lost is None, sound.health.lost is None) == (False, True)
    sound.create_stream().synchronize()


def test_what_the_device_has_reported_is_told_with_its_loss(machine: Runtime, device: Device) -> None:
    card = machine.hal.fake.device(0)
    card.raise_fault(FaultEvent(0x80E01801, "memory ECC", severity=3))
    machine.monitor.look()
    (fault,) = device.health.faults
    assert (fault.event_id, fault.name, fault.severity) == (0x80E01801, "memory ECC", 3)
    assert device.health.lost is None
    card.fail(EXCEPTION)
    with pytest.raises(errors.RuntimeFault, match="0x80e01801 memory ECC"):
        device.health.check()


@pytest.mark.parametrize(("event", "code"), [(0x80E18400, 507054), (0x81AFAA06, 507914)], ids=["memory", "UB network"])
def test_a_fatal_fault_stops_every_context_of_the_device_with_its_own_code(
    open_machine: OpenMachine, event: int, code: int
) -> None:
    machine = open_machine("fake://ascend910b1?devices=2")
    device, other = machine.device(0), machine.device(1)
    context = machine.create_context(0)
    streams = [device.create_stream(), context.create_stream()]
    machine.hal.fake.device(0).raise_fault(FaultEvent(event, "uncorrectable", severity=3))
    machine.monitor.look()
    for stream in streams:
        for use in (stream.query, lambda: stream.synchronize(10)):  # noqa: B023
            with pytest.raises(errors.RuntimeFault, match=f"{event:#x} uncorrectable") as caught:
                use()
            assert caught.value.code == code
    assert device.health.lost is None
    other.create_stream().synchronize(30_000)
    machine.hal.fake.device(0).raise_fault(FaultEvent(event, "over", assertion=0))
    machine.destroy_context(context)
    device.close()
    machine.device(0).create_stream().synchronize(30_000)


def test_a_fatal_fault_from_before_the_opening_counts_when_it_returns(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b1")
    card, event = machine.hal.fake.device(0), 0x80E18400
    card.raise_fault(FaultEvent(event, "old", severity=3))
    stream = machine.device(0).create_stream()
    machine.monitor.look()
    stream.synchronize(30_000)
    card.raise_fault(FaultEvent(event, "over", assertion=0))
    machine.monitor.look()
    card.raise_fault(FaultEvent(event, "new", severity=3))
    machine.monitor.look()
    with pytest.raises(errors.RuntimeFault, match="new") as caught:
        stream.synchronize(30_000)
    assert caught.value.code == 507054


def test_a_chip_that_does_not_report_such_faults_goes_on(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend310b1")
    stream = machine.device(0).create_stream()
    machine.hal.fake.device(0).raise_fault(FaultEvent(0x80E18400, "uncorrectable"))
    machine.monitor.look()
    stream.synchronize(30_000)


def test_a_fault_that_is_over_is_no_longer_listed(machine: Runtime, device: Device) -> None:
    card = machine.hal.fake.device(0)
    card.raise_fault(FaultEvent(7, "hot"))
    machine.monitor.look()
    card.raise_fault(FaultEvent(7, "hot", assertion=0))
    machine.monitor.look()
    assert device.health.faults == ()


def test_a_lost_device_stays_lost_until_it_is_closed(machine: Runtime, device: Device) -> None:
    card = machine.hal.fake.device(0)
    card.fail(LINK_LOST)
    machine.monitor.look()
    card.repair()
    with pytest.raises(errors.RuntimeFault, match="no longer answers"):
        device.health.check()
    device.close(force=True)
    machine.device(0).create_stream().synchronize()


def test_a_device_that_cannot_be_asked_is_asked_again(machine: Runtime, device: Device) -> None:
    machine.hal.fake.faults.on_call("drvDeviceStatus", "DRV_ERROR_IOCRL_FAIL")
    machine.monitor.look()
    assert device.health.lost is None
    machine.hal.fake.device(0).fail(LINK_LOST)
    machine.monitor.look()
    assert device.health.lost is not None


def test_closed_devices_are_not_looked_at(machine: Runtime, device: Device) -> None:
    device.close()
    machine.hal.fake.device(0).fail(LINK_LOST)
    machine.monitor.look()
    assert device.health.lost is None


class _Watched:
    """A device that tells when it is looked at."""

    def __init__(self, looked: Callable[[], object]) -> None:
        self.health = self
        self.look = looked
        self.signals = SimpleNamespace(ids=SimpleNamespace(release_idle=lambda: None))

    def streams(self) -> list[object]:
        return []


def test_one_thread_looks_at_all_devices_until_the_last_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "_PERIOD_S", 1e-3)
    seen = [threading.Event(), threading.Event()]
    devices = [_Watched(event.set) for event in seen]
    threads: set[str] = set()
    devices[0].look = lambda: (threads.add(threading.current_thread().name), seen[0].set())
    watching = monitor.Monitor(threaded=True)
    for device in devices:
        watching.watch(device)  # type: ignore[arg-type]
    assert all(event.wait(60) for event in seen)
    (thread,) = [thread for thread in threading.enumerate() if thread.name in threads]
    watching.forget(devices[0])  # type: ignore[arg-type]
    assert thread.is_alive()
    watching.forget(devices[1])  # type: ignore[arg-type]
    assert not thread.is_alive()
    watching.watch(devices[0])  # type: ignore[arg-type]
    seen[0].clear()
    assert seen[0].wait(60)
    watching.forget(devices[0])  # type: ignore[arg-type]
    assert not [left for left in threading.enumerate() if left.name in threads]


def test_a_device_is_let_go_only_between_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "_PERIOD_S", 1e-3)
    inside, leave = threading.Event(), threading.Event()

    def slow() -> None:
        inside.set()
        leave.wait(60)

    device = _Watched(slow)
    watching = monitor.Monitor(threaded=True)
    watching.watch(device)  # type: ignore[arg-type]
    assert inside.wait(60)
    gone = threading.Thread(target=watching.forget, args=(device,))
    gone.start()
    gone.join(0.05)
    assert gone.is_alive()
    leave.set()
    gone.join(60)
    assert not gone.is_alive()


def test_doors_that_move_only_during_calls_get_no_thread(machine: Runtime, device: Device) -> None:
    assert not device.closed
    assert not [thread for thread in threading.enumerate() if thread.name == "npuhal-monitor"]


def test_a_free_running_machine_gets_one_thread(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b1?devices=2&free_run=1")
    for index in range(2):
        machine.device(index)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "npuhal-monitor"]
    machine.close(force=True)
    assert not thread.is_alive()
