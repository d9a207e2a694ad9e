"""Contexts: what they own, in which order it goes, and which one a thread works in (core_spec 2.7, 3.3, 4)."""

from __future__ import annotations

import threading

import pytest

from runtime import errors
from runtime.api import Device, Runtime
from runtime.core.process.context import ContextState
from tests.unit.runtime.machines import holdings


def test_a_context_has_a_default_stream_of_its_own(machine: Runtime, device: Device) -> None:
    context = machine.create_context(0)
    own = context.default_stream
    assert own is not device.default_stream
    assert own.is_default
    with pytest.raises(errors.InvalidArgument, match="cannot be closed on its own"):
        own.close()
    machine.destroy_context(context)
    assert own.closed
    assert not device.default_stream.closed


def test_destroying_ends_streams_and_gives_everything_back(machine: Runtime) -> None:
    context = machine.create_context(0)
    streams = [context.create_stream() for _ in range(3)]
    machine.hal.fake.device(0).hold(streams[0].stream_id)
    machine.destroy_context(context)
    assert all(stream.closed for stream in streams)
    assert context.state is ContextState.NOT_INITIALIZED
    assert holdings(machine) == {}


def test_a_destroyed_context_refuses_everything(machine: Runtime) -> None:
    context = machine.create_context(0)
    machine.device(0)
    machine.destroy_context(context)
    for use in (context.create_stream, context.synchronize, lambda: context.default_stream):
        with pytest.raises(errors.InvalidHandle) as caught:
            use()
        assert caught.value.code == 107017
    with pytest.raises(errors.ContextError, match="destroyed before") as again:
        machine.destroy_context(context)
    assert (again.value.code, again.value.message_id) == (507007, "EE1017")


def test_the_primary_context_cannot_be_destroyed(machine: Runtime) -> None:
    context = machine.set_device(0).context
    with pytest.raises(errors.ContextError, match="goes with the device's reset") as caught:
        machine.destroy_context(context)
    assert (caught.value.code, caught.value.message_id) == (107002, "EE1017")
    assert machine.current_context() is context


def test_after_the_end_of_its_context_a_thread_has_none(machine: Runtime) -> None:
    """It does not fall back to the primary context of an earlier set."""
    machine.set_device(0)
    context = machine.create_context(0)
    machine.destroy_context(context)
    assert machine.find_context() is None


def test_a_thread_whose_context_another_one_destroyed_is_told_once(machine: Runtime) -> None:
    context = machine.create_context(0)
    codes: list[int] = []

    def worker() -> None:
        machine.current.use_context(context)
        destroyed.wait(60)
        for _ in range(2):
            try:
                machine.current_context()
            except errors.ContextError as fault:
                codes.append(fault.code)

    destroyed = threading.Event()
    thread = threading.Thread(target=worker)
    thread.start()
    machine.destroy_context(context)
    destroyed.set()
    thread.join(60)
    assert codes == [507007, 107002]


def test_a_thread_without_a_context_is_told_who_it_is_and_what_there_is(machine: Runtime) -> None:
    machine.set_device(1)
    messages: list[str] = []

    def worker() -> None:
        try:
            machine.current_context()
        except errors.ContextError as fault:
            messages.append(str(fault))

    thread = threading.Thread(target=worker, name="reader")
    thread.start()
    thread.join(60)
    assert "thread 'reader'" in messages[0]
    assert f"the primary context {machine.slots[1].primary.handle:#x} of device 1" in messages[0]
    assert "set_device(1) in it" in messages[0]


def test_threads_on_one_device_share_its_context(machine: Runtime) -> None:
    first = machine.set_device(0).context
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(machine.set_device(0).context))
    thread.start()
    thread.join(60)
    assert found == [first]


def test_the_default_device_helps_threads_without_one(machine: Runtime) -> None:
    machine.default_device = 1
    assert machine.find_context() is None
    assert machine.current_context().device.user_id == 1
    assert machine.slots[1].references == 1
    assert machine.find_context() is machine.current_context()
    assert machine.slots[1].references == 1


def test_no_memory_for_the_overflow_buffer_is_tolerated(machine: Runtime) -> None:
    machine.device(0)
    machine.hal.fake.faults.on_call("halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY")
    context = machine.create_context(0)
    assert context.overflow_address == 0
    context.default_stream.synchronize()


def test_a_context_that_cannot_be_set_up_leaves_nothing(machine: Runtime) -> None:
    context = machine.create_context(0)
    machine.hal.fake.faults.on_call("halResourceIdAlloc", "DRV_ERROR_NO_STREAM_RESOURCES")
    with pytest.raises(errors.ResourceExhausted):
        machine.create_context(0)
    assert machine.current_context() is context
    machine.destroy_context(context)
    assert holdings(machine) == {}


def test_the_handle_of_the_default_stream_comes_back_after_it_was_given_up(machine: Runtime) -> None:
    context = machine.set_device(0).context
    first = context.default_handle()
    assert context.default_handle() == first
    machine.handles.remove(first)
    second = context.default_handle()
    assert second != first
    assert machine.handles.get(second, type(context.default_stream)) is context.default_stream
