"""References on devices: set, reset, own, explicit contexts, and every order of letting go (core_spec 3)."""

from __future__ import annotations

import itertools
import threading
from contextlib import nullcontext
from typing import Any

import pytest

from runtime import errors
from runtime.api import Runtime
from runtime.core.device.slot import DeviceState
from tests.unit.runtime.machines import OpenMachine, holdings


def test_each_set_adds_one_and_only_the_last_reset_closes(machine: Runtime) -> None:
    device = machine.set_device(0)
    assert machine.set_device(0) is device
    machine.reset_device(0)
    assert machine.current_context().device is device
    machine.reset_device(0)
    assert device.closed
    assert machine.find_context() is None
    assert holdings(machine) == {}
    with pytest.raises(errors.ContextError) as caught:
        machine.reset_device(0)
    assert (caught.value.code, caught.value.message_id) == (507007, "EE1018")


def test_draining_takes_all_references_at_once(machine: Runtime) -> None:
    for _ in range(3):
        device = machine.set_device(0)
    machine.reset_device(0, drain=True)
    assert device.closed
    assert machine.slots[0].references == 0


def test_any_thread_may_give_a_reference_back(machine: Runtime) -> None:
    device = machine.set_device(0)
    _in_thread(lambda: machine.reset_device(0))
    assert device.closed
    assert machine.find_context() is None


def test_threads_follow_the_device_that_they_have_set(machine: Runtime) -> None:
    """A thread that set a device finds it again after another thread reset it and set it anew."""
    machine.set_device(0)
    _in_thread(lambda: machine.reset_device(0))
    with pytest.raises(errors.ContextError):
        machine.current_context()
    _in_thread(lambda: machine.set_device(0))
    assert machine.current_context() is machine.slots[0].primary


def test_the_last_reset_leaves_the_thread_without_a_device_even_another_one(machine: Runtime) -> None:
    machine.set_device(0)
    machine.set_device(1)
    machine.reset_device(0)
    assert machine.find_context() is None
    assert machine.slots[1].references == 1


def test_an_explicit_context_outlives_the_reset(machine: Runtime) -> None:
    machine.set_device(0)
    context = machine.create_context(0)
    machine.reset_device(0)
    assert machine.current_context() is context
    context.create_stream().synchronize()
    machine.destroy_context(context)
    assert holdings(machine) == {}


def test_the_primary_context_can_be_set_up_again_while_the_device_stays_open(machine: Runtime) -> None:
    context = machine.create_context(0)
    device = machine.set_device(0)
    first = device.context.handle
    machine.reset_device(0)
    with pytest.raises(errors.InvalidHandle):
        device.context.check_open()
    assert machine.set_device(0) is device
    assert device.context.handle != first
    device.create_stream().synchronize()
    assert context.device is device


def test_an_owned_device_stays_open_beside_the_counts(machine: Runtime) -> None:
    device = machine.device(0)
    with pytest.raises(errors.ContextError):
        machine.reset_device(0)
    machine.set_device(0)
    machine.reset_device(0, drain=True)
    assert not device.closed
    device.create_stream().synchronize()
    device.close()
    assert holdings(machine) == {}


def test_closing_a_device_ends_it_for_everybody(machine: Runtime) -> None:
    context = machine.create_context(0)
    machine.set_device(0)
    machine.device(0).close()
    assert context.closed
    assert machine.find_context() is None
    assert (machine.slots[0].references, machine.slots[0].contexts) == (0, [])
    assert holdings(machine) == {}


@pytest.mark.parametrize("order", list(itertools.permutations(["reset 0", "reset 1", "context", "device"])))
def test_every_order_of_letting_go_leaves_nothing(open_machine: OpenMachine, order: tuple[str, ...]) -> None:
    machine = open_machine("fake://ascend910b1?devices=2")
    machine.set_device(0)
    machine.set_device(1)
    context = machine.create_context(1)
    owned = machine.device(1)
    held = [context.create_stream(), owned.create_stream(), owned.alloc(4096), owned.create_event()]
    steps = {
        "reset 0": lambda: machine.reset_device(0), "reset 1": lambda: machine.reset_device(1),
        "context": lambda: machine.destroy_context(context), "device": lambda: owned.close(),
    }  # fmt: skip
    for position, step in enumerate(order):
        gone = "device" in order[:position] and step in ("reset 1", "context")
        with pytest.raises(errors.ContextError) if gone else nullcontext():
            steps[step]()
    assert holdings(machine, 0) == holdings(machine, 1) == {}
    assert all(thing.closed for thing in held)


def test_a_reset_that_fails_leaves_the_device_usable(machine: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    device = machine.set_device(0)
    machine.set_device(0)
    stream = device.create_stream()
    trouble = errors.fault("ACL_ERROR_RT_STREAM_MODEL", "bound")

    def refuse(*_: Any, **__: Any) -> None:
        raise trouble

    monkeypatch.setattr(type(stream), "close", refuse)
    with pytest.raises(errors.RuntimeFault) as caught:
        machine.reset_device(0, drain=True)
    assert caught.value is trouble
    assert machine.slots[0].references == 2
    monkeypatch.undo()
    stream.synchronize()
    machine.reset_device(0, drain=True)
    assert holdings(machine) == {}


def test_a_device_that_does_not_open_says_why_and_can_be_tried_again(machine: Runtime) -> None:
    machine.hal.fake.faults.on_call("halDeviceOpen", "DRV_ERROR_BUSY", times=0)
    with pytest.raises(errors.DeviceUnavailable, match=r"device 1 cannot be opened: .*halDeviceOpen") as caught:
        machine.set_device(1)
    assert caught.value.code == 507033
    assert machine.slots[1].references == 0
    assert machine.find_context() is None
    machine.hal.fake.faults.clear()
    assert machine.set_device(1).user_id == 1


def test_threads_that_set_a_device_together_open_it_once(open_machine: OpenMachine) -> None:
    machine = open_machine("trace+fake://ascend910b1")
    start = threading.Barrier(4)
    devices: list[Any] = []

    def set_it() -> None:
        start.wait(60)
        devices.append(machine.set_device(0))

    threads = [threading.Thread(target=set_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(set(map(id, devices))) == 1
    assert machine.slots[0].references == 4


def test_observers_hear_of_first_set_every_set_and_last_reset(machine: Runtime) -> None:
    told: list[tuple[int, DeviceState]] = []
    machine.device_observers.register("mine", lambda device, state: told.append((device, state)))
    machine.set_device(1)
    machine.set_device(1)
    machine.reset_device(1)
    assert told == [(1, DeviceState.SET_PRE), (1, DeviceState.SET_POST), (1, DeviceState.SET_POST)]
    machine.reset_device(1)
    assert told[3:] == [(1, DeviceState.RESET_PRE), (1, DeviceState.RESET_POST)]


def test_a_name_is_taken_once_and_free_again_after_removal(machine: Runtime) -> None:
    observers = machine.device_observers
    observers.register("mine", print)
    with pytest.raises(errors.InvalidArgument, match="'mine' exists already") as caught:
        observers.register("mine", repr)
    assert (caught.value.code, caught.value.message_id) == (107000, "EE1011")
    observers.register("mine", None)
    observers.register("mine", repr)
    observers.register("nobody", None)


def test_a_callback_of_the_opening_must_not_open(machine: Runtime) -> None:
    machine.device_observers.register("greedy", lambda device, state: machine.set_device(device))
    with pytest.raises(errors.RuntimeFault, match="by this very thread"):
        machine.set_device(0)
    machine.device_observers.register("greedy", None)
    machine.set_device(0)


def test_streams_are_announced_default_ones_too(machine: Runtime) -> None:
    told: list[tuple[bool, int]] = []
    machine.stream_observers.register("mine", lambda stream, state: told.append((stream.is_default, int(state))))
    device = machine.set_device(0)
    device.create_stream().close()
    machine.reset_device(0)
    assert told == [(True, 1), (False, 1), (False, 2), (True, 2)]


def _in_thread(work: Any) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    if failures:
        raise failures[0]
