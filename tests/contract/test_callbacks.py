"""Functions on the host: subscriptions, host functions, order, failures; values in memory; notifies between owners."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from chips.tasks import WaitFor
from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.core.sync.notify import CountNotify, Notify, RecordMode, WaitMode, clear
from tests.contract.holdings import holdings, tasks_sent

COMMANDS = True

MakeKernel = Callable[..., Kernel]
ME = threading.get_ident


def test_host_function_runs_between_its_neighbours(device: Device, make_kernel: MakeKernel) -> None:
    log: list[object] = []
    note = make_kernel("note", lambda context: log.append(context.args[0]), 1, grid=True)
    with device.create_stream() as stream:
        for number in range(20):
            note[1](number, stream=stream)
            stream.host_function(log.append, f"host {number}")
        stream.synchronize(20_000)
    assert log == [entry for number in range(20) for entry in (number, f"host {number}")]


@pytest.mark.hardware_safe
def test_host_functions_run_in_a_thread_without_a_device(device: Device) -> None:
    seen: list[object] = []

    def look() -> None:
        seen.append(ME())
        seen.append(device.runtime.find_context())

    with device.create_stream() as one, device.create_stream() as two:
        one.host_function(look)
        two.host_function(look)
        one.synchronize(30_000)
        two.synchronize(30_000)
    assert seen[0] == seen[2] != ME()
    assert seen[1] is seen[3] is None


@pytest.mark.hardware_safe
def test_failing_host_function_fails_its_stream_and_lets_it_go_on(device: Device) -> None:
    with device.create_stream() as stream:
        stream.host_function(lambda: 1 / 0)
        with pytest.raises(errors.RuntimeFault, match="host function") as caught:
            stream.synchronize(30_000)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        done: list[int] = []
        stream.host_function(done.append, 1)
        stream.synchronize(30_000)
        assert done == [1]


@pytest.mark.hardware_safe
def test_blocking_callback_waits_for_process(device: Device) -> None:
    calls, log = device.runtime.callbacks, []
    with device.create_stream() as stream:
        calls.subscribe(ME(), stream)
        calls.launch(stream, log.append, 7, block=True)
        assert not stream.query()
        with pytest.raises(errors.Timeout):
            stream.synchronize(5)
        calls.process(ME(), 1000)
        stream.synchronize(30_000)
        assert log == [7]
        calls.unsubscribe(ME(), stream)
    with pytest.raises(errors.RuntimeFault) as caught:
        calls.process(ME(), 10)
    assert caught.value.code == 107012


@pytest.mark.hardware_safe
def test_one_process_makes_one_call_in_order(device: Device) -> None:
    calls, log = device.runtime.callbacks, []
    with device.create_stream() as one, device.create_stream() as two:
        calls.subscribe(ME(), one)
        calls.subscribe(ME(), two)
        for number in range(3):
            calls.launch(one, log.append, number, block=False)
        one.synchronize(30_000)
        calls.launch(two, log.append, 3, block=False)
        for number in range(4):
            calls.process(ME(), 1000)
            assert log == list(range(number + 1))
        with pytest.raises(errors.Timeout) as caught:
            calls.process(ME(), 10)
        assert caught.value.code == 507012


@pytest.mark.hardware_safe
@pytest.mark.parametrize(
    ("case", "code", "message"),
    [
        ("launch unsubscribed", 107015, "EE1018"), ("subscribe twice", 107011, ""), ("other thread", 107011, ""),
        ("unsubscribe unknown", 107011, ""), ("unsubscribe as another", 107012, ""),
        ("host function on a subscribed stream", 107011, "EE1016"),
        ("subscribe a stream with host functions", 107011, "EE1016"),
    ],
)
def test_wrong_uses(device: Device, case: str, code: int, message: str) -> None:
    calls = device.runtime.callbacks
    with device.create_stream() as stream, device.create_stream() as other:
        if case not in ("launch unsubscribed", "unsubscribe unknown", "subscribe a stream with host functions"):
            calls.subscribe(ME(), stream)
        if case == "subscribe a stream with host functions":
            other.host_function(int)
            other.synchronize(30_000)
        uses: dict[str, Callable[[], object]] = {
            "launch unsubscribed": lambda: calls.launch(stream, print, block=False),
            "subscribe twice": lambda: calls.subscribe(ME(), stream),
            "other thread": lambda: calls.subscribe(1, stream),
            "unsubscribe unknown": lambda: calls.unsubscribe(ME(), stream),
            "unsubscribe as another": lambda: calls.unsubscribe(1, stream),
            "host function on a subscribed stream": lambda: stream.host_function(print),
            "subscribe a stream with host functions": lambda: calls.subscribe(ME(), other),
        }
        with pytest.raises(errors.RuntimeFault) as caught:
            uses[case]()
        assert caught.value.code == code
        v100 = device.chip.traits.counts_ids
        assert caught.value.message_id == (message if v100 or case != "launch unsubscribed" else "")


def test_groups_run_out_and_come_back(url: str) -> None:
    machine = Runtime(url + "&callback_groups=2")
    try:
        device, calls = machine.device(0), machine.callbacks
        streams = [device.create_stream() for _ in range(3)]
        calls.subscribe(1, streams[0])
        calls.subscribe(2, streams[1])
        with pytest.raises(errors.RuntimeFault, match="callback groups") as caught:
            calls.subscribe(3, streams[2])
        assert caught.value.code == 507000
        calls.unsubscribe(1, streams[0])
        calls.subscribe(3, streams[2])
    finally:
        machine.close(force=True)


def test_closed_stream_leaves_nothing_behind(device: Device) -> None:
    before = holdings(device.hal.fake)
    with device.create_stream() as stream:
        device.runtime.callbacks.subscribe(ME(), stream)
    with device.create_stream() as stream:
        stream.host_function(int)
        stream.synchronize(30_000)
    device.signals.ids.trim()
    assert holdings(device.hal.fake) == before
    assert device.hal.fake.device(0).host_calls.groups == {}


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.stars
@pytest.mark.hardware_safe
@pytest.mark.parametrize(
    ("test", "value", "early", "late"),
    [
        (WaitFor.GREATER_OR_EQUAL, 5, 4, 6), (WaitFor.EQUAL, 5, 6, 5), (WaitFor.AND, 6, 1, 2),
        (WaitFor.NOR, 0xFFFF_FFFF_FFFF_FF00, 0xFF, 0xF0), (WaitFor.GREATER_OR_EQUAL, 0, (1 << 64) - 1, 0),
    ],
)  # fmt: skip
def test_stream_waits_for_a_value(device: Device, test: WaitFor, value: int, early: int, late: int) -> None:
    word = device.upload(np.array([early], np.uint64))
    target = device.upload(np.zeros(1, np.uint64))
    with device.create_stream() as waiting, device.create_stream() as writing:
        waiting.wait_value(word, value, test)
        waiting.write_value(target, 1)
        for _ in range(5):
            assert not waiting.query()
        assert device.download(target, "u8")[0] == 0
        writing.write_value(word, late)
        waiting.synchronize(30_000)
    assert device.download(target, "u8")[0] == 1


@pytest.mark.stars
def test_waits_give_their_programs_back(device: Device) -> None:
    word = device.upload(np.array([1], np.uint64))
    with device.create_stream() as stream:
        held = 0
        for _ in range(6):
            for _ in range(50):
                stream.wait_value(word, 1)
            stream.synchronize(20_000)
            held = held or len(device.hal.fake.memory.blocks)
        assert len(device.hal.fake.memory.blocks) == held


# -- notifies ----------------------------------------------------------------------------------------------------------


@pytest.mark.hardware_safe
def test_opened_notify_is_the_same_flag(device: Device) -> None:
    import os

    with device.create_stream() as one, device.create_stream() as two, device.create_notify() as notify:
        name = notify.export()
        with pytest.raises(errors.RuntimeFault):
            device.open_notify(name)  # nobody was allowed
        notify.allow([os.getpid()])
        with device.open_notify(name) as opened:
            assert opened.notify_id == notify.notify_id
            notify.wait(two)
            assert not two.query()
            opened.record(one)
            two.synchronize(30_000)
            with pytest.raises(errors.NotSupported, match="cannot be shared on"):
                opened.export()


@pytest.mark.hardware_safe
def test_exported_to_everyone(device: Device) -> None:
    with device.create_notify() as notify, device.open_notify(notify.export(everyone=True)) as opened:
        assert opened.notify_id == notify.notify_id


def test_a_notify_of_another_card_is_recorded_there(url: str) -> None:
    machine = Runtime(url + "&devices=2")
    try:
        near, far = machine.device(0), machine.device(1)
        with far.create_notify() as notify, near.open_notify(notify.export(everyone=True)) as opened:
            for _ in range(2):
                with near.create_stream() as records, far.create_stream() as waits:
                    if not near.chip.traits.records_on_other_cards:
                        with pytest.raises(errors.NotSupported, match="of their own card"):
                            opened.record(records)
                        continue
                    notify.wait(waits)
                    assert not waits.query()
                    opened.record(records)
                    records.synchronize(30_000)
                    waits.synchronize(30_000)
    finally:
        machine.close(force=True)


def test_only_a_notify_of_another_card_asks_for_the_way_there() -> None:
    machine = Runtime("fake://ascend950?devices=2&fault=halDeviceEnableP2PNotify:1:DRV_ERROR_NOT_SUPPORT")
    try:
        near, far = machine.device(0), machine.device(1)
        with far.create_notify() as notify:
            name = notify.export(everyone=True)
            far.open_notify(name).close()
            before = holdings(machine.hal.fake)
            with pytest.raises(errors.RuntimeFault, match="physical cards") as raised:
                near.open_notify(name)
            assert raised.value.code == 207000
            assert holdings(machine.hal.fake) == before
            near.open_notify(name).close()
    finally:
        machine.close(force=True)


@pytest.mark.stars
@pytest.mark.hardware_safe
def test_cleared_notify_holds_a_wait(device: Device) -> None:
    with device.create_stream() as stream, device.create_notify() as notify:
        notify.record(stream)
        clear([notify], stream)
        notify.wait(stream)
        with pytest.raises(errors.Timeout):
            stream.synchronize(5)
        stream.close(force=True)


def test_notifies_run_out_with_a_resource_report(url: str) -> None:
    machine = Runtime(url + "&notifys=4")
    try:
        device = machine.device(0)
        held = [Notify(device) for _ in range(4)]
        with pytest.raises(errors.ResourceExhausted) as caught:
            Notify(device)
        assert (caught.value.code, caught.value.message_id) == (207009, "EE1023")
        held.pop().close()
        held.append(Notify(device))
    finally:
        machine.close(force=True)


@pytest.mark.stars
@pytest.mark.hardware_safe
@pytest.mark.parametrize(
    ("before", "wait", "after"),
    [
        ((RecordMode.STORE, 5), (WaitMode.LESS, 5), (RecordMode.STORE, 4)),
        ((RecordMode.STORE, 4), (WaitMode.EQUAL, 5), (RecordMode.ADD, 1)),
        ((RecordMode.STORE, 5), (WaitMode.GREATER, 5), (RecordMode.ADD, 1)),
        ((RecordMode.STORE, 4), (WaitMode.GREATER_OR_EQUAL, 5), (RecordMode.SET_BITS, 1)),
        ((RecordMode.STORE, 0b100), (WaitMode.ALL_BITS, 0b110), (RecordMode.SET_BITS, 0b010)),
        ((RecordMode.STORE, 7), (WaitMode.EQUAL, 5), (RecordMode.CLEAR_BITS, 0b010)),
    ],
)
def test_count_notify(
    device: Device, before: tuple[RecordMode, int], wait: tuple[WaitMode, int], after: tuple[RecordMode, int]
) -> None:
    if device.chip.traits.counts_ids:
        with pytest.raises(errors.NotSupported) as caught:
            device.create_count_notify()
        assert (caught.value.code, caught.value.message_id) == (207000, "EE1001")
        return
    with device.create_stream() as one, device.create_stream() as two, device.create_count_notify() as count:
        count.record(one, before[1], before[0])
        one.synchronize(30_000)
        count.wait(two, wait[1], wait[0])
        assert not two.query()
        count.record(one, after[1], after[0])
        two.synchronize(30_000)
        count.reset(one)
        one.synchronize(30_000)


@pytest.mark.stars
@pytest.mark.hardware_safe
def test_count_notify_refuses_unknown_modes(device: Device) -> None:
    if device.chip.traits.counts_ids:
        pytest.skip("STARS v1 has no count-notifies")
    with device.create_stream() as stream, CountNotify(device) as count:
        for use in (lambda: count.record(stream, 1, 9), lambda: count.wait(stream, 1, 9)):  # type: ignore[arg-type]
            with pytest.raises(errors.InvalidArgument) as caught:
                use()
            assert caught.value.message_id == "EE1003"
        assert tasks_sent(stream) == 0
