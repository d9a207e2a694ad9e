"""Host functions: called by graphs again and again, and waits inside of them that could never end."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from fakes.checkers import CheckFailed, waits
from runtime import errors
from runtime.api import Device, GraphBuilder, Stream
from runtime.capi.aclrt import Out
from runtime.core.callbacks import inside
from runtime.core.diagnostics import hang
from tests.reports.calls import Caller
from tests.unit.runtime.machines import OpenMachine

URLS = ["fake://ascend910b3", "fake-abi://ascend950?policy=random&seed=2", *(
    pytest.param(url, marks=pytest.mark.soak)
    for url in ("fake://ascend910_9391", "fake://ascend950", "fake-abi://ascend910b3")
)]  # fmt: skip
LIMIT_MS = 20_000
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=URLS)
def device(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Device:
    """A card."""
    return open_machine(request.param).device(0)


# -- in graphs ---------------------------------------------------------------------------------------------------------


def captured(device: Device, function: Callable[..., object], *arguments: object) -> Callable[[Stream], object]:
    stream = device.create_stream()
    with stream.capture() as graph:
        stream.host_function(function, *arguments)
    stream.close()
    return graph.execute


def built(device: Device, function: Callable[..., object], *arguments: object) -> Callable[[Stream], object]:
    builder = GraphBuilder(device)
    builder.host_function(function, *arguments)
    return builder.instantiate().execute


@pytest.mark.parametrize("make", [captured, built])
def test_a_graph_calls_its_function_with_every_execution(device: Device, make: Callable[..., object]) -> None:
    ran: list[str] = []
    execute = make(device, ran.append, "called")
    assert callable(execute)
    with device.create_stream() as stream, device.create_stream() as other:
        for count in (1, 2, 3):
            execute(stream)
            stream.synchronize(LIMIT_MS)
            assert len(ran) == count
        for each in (stream, other, stream, other):
            execute(each)
        stream.synchronize(LIMIT_MS)
        other.synchronize(LIMIT_MS)
        assert ran == ["called"] * 7


def test_what_a_function_needs_lives_as_long_as_its_graph(device: Device) -> None:
    class Kept:
        pass

    ran: list[bool] = []
    kept = Kept()
    known = weakref.ref(kept)
    with device.create_stream() as stream:
        with stream.capture() as graph:
            stream.host_function(lambda given: ran.append(given is known()), kept)
        del kept
        for _ in range(2):
            graph.execute(stream)
            stream.synchronize(LIMIT_MS)
            gc.collect()
        assert ran == [True, True]
        graph.close()
        gc.collect()
        assert known() is None


def test_a_function_of_a_graph_may_fail_and_is_called_again(device: Device) -> None:
    ran: list[int] = []

    def divide() -> None:
        ran.append(1)
        if len(ran) == 1:
            raise ZeroDivisionError("a mistake of the function")

    with device.create_stream() as stream:
        with stream.capture() as graph:
            stream.host_function(divide)
        for _ in range(3):
            graph.execute(stream)
        stream.device.synchronize(LIMIT_MS)
        assert len(ran) == 3


def test_a_callback_that_was_captured_is_made_by_its_thread_with_every_execution(device: Device) -> None:
    callbacks, ran = device.runtime.callbacks, []
    me = threading.get_ident()
    with device.create_stream() as stream:
        callbacks.subscribe(me, stream)
        with stream.capture() as graph:
            callbacks.launch(stream, ran.append, 7, block=True)
            callbacks.launch(stream, ran.append, 8, block=False)
        for count in (1, 2):
            graph.execute(stream)
            for _ in range(2):
                callbacks.process(me, LIMIT_MS)
            stream.synchronize(LIMIT_MS)
            assert sorted(ran) == sorted([7, 8] * count)
        callbacks.unsubscribe(me, stream)
        graph.close()


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_a_model_made_by_name_calls_its_function_again(soc: str) -> None:
    caller = Caller(f"fake://{soc}")
    assert caller.aclrtSetDevice(deviceId=0) == 0
    stream, ran = caller.make("aclrtCreateStream", "stream"), []
    assert caller.aclmdlRICaptureBegin(stream=stream, mode=0) == 0
    assert caller.aclrtLaunchHostFunc(stream=stream, fn=ran.append, args=5) == 0
    graph = Out()
    assert caller.aclmdlRICaptureEnd(stream=stream, modelRI=graph) == 0
    for _ in range(3):
        assert caller.aclmdlRIExecuteAsync(modelRI=graph.value, stream=stream) == 0
        assert caller.aclrtSynchronizeStreamWithTimeout(stream=stream, timeout=LIMIT_MS) == 0
    assert ran == [5, 5, 5]
    assert caller.aclmdlRIDestroy(modelRI=graph.value) == 0
    caller.acl.runtime.close(force=True)


# -- waits inside ------------------------------------------------------------------------------------------------------

Wait = Callable[[Stream, Stream, object], object]


def fill_the_ring(stream: Stream, _other: Stream, event: object) -> None:
    for _ in range(stream.ring.depth + 1):
        stream.record(event)  # type: ignore[arg-type]


WAITS: dict[str, tuple[int, Wait]] = {
    "stream": (507046, lambda stream, _other, _event: stream.synchronize()),
    "stream with a limit": (507046, lambda stream, _other, _event: stream.synchronize(LIMIT_MS)),
    "device": (507046, lambda stream, _other, _event: stream.device.synchronize()),
    "event": (507047, lambda _stream, _other, event: event.synchronize()),  # type: ignore[attr-defined]
    "a stream that waits for this one": (507046, lambda _stream, other, _event: other.synchronize()),
    "close": (507046, lambda stream, _other, _event: stream.close()),
    "close of a stream that waits for this one": (507046, lambda _stream, other, _event: other.close()),
    "copy of pageable memory": (
        507046, lambda stream, _other, _event: stream.copy(stream.device.alloc(1 << 20), bytearray(1 << 20))
    ),
    "a full ring": (507046, fill_the_ring),
}


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_that_leads_back_to_the_function_is_refused(device: Device, name: str) -> None:
    code, wait = WAITS[name]
    raised: list[errors.RuntimeFault] = []
    queued = threading.Event()
    event = device.create_event()
    stream, other = device.create_stream(), device.create_stream()

    def impatient() -> None:
        assert queued.wait(20)
        try:
            wait(stream, other, event)
        except errors.RuntimeFault as fault:
            raised.append(fault)

    for _ in range(2):
        queued.clear()
        stream.host_function(impatient)
        stream.record(event)
        other.wait(event)
        queued.set()
        stream.synchronize(LIMIT_MS)
        other.synchronize(LIMIT_MS)
    assert [fault.code for fault in raised] == [code, code]
    assert "impatient" in raised[0].message
    assert f"of stream {stream.stream_id} of device 0 would never end" in raised[0].message


def test_a_stream_whose_own_function_the_same_thread_has_to_call_is_not_waited_for(device: Device) -> None:
    raised: list[BaseException] = []
    queued = threading.Event()
    with device.create_stream() as stream, device.create_stream() as other:
        def first() -> None:
            assert queued.wait(20)
            with pytest.raises(errors.Timeout) as caught:
                other.synchronize()
            raised.append(caught.value)

        stream.host_function(first)
        other.host_function(lambda: None)
        queued.set()
        stream.synchronize(LIMIT_MS)
        other.synchronize(LIMIT_MS)
    assert len(raised) == 1


def test_a_stream_that_has_nothing_to_do_with_the_function_may_be_waited_for(device: Device) -> None:
    done: list[bool] = []
    with device.create_stream() as stream, device.create_stream() as other:
        event = device.create_event(timing=True)

        def patient() -> None:
            other.record(event)
            other.synchronize()
            done.append(event.query())

        stream.host_function(patient)
        stream.synchronize(LIMIT_MS)
    assert done == [True]


def test_the_report_of_a_hang_names_the_function(device: Device) -> None:
    leave, entered = threading.Event(), threading.Event()

    def slow() -> None:
        entered.set()
        leave.wait(20)

    with device.create_stream() as stream, device.create_stream() as other:
        stream.host_function(slow)
        while not entered.wait(0):
            stream.drain()
        other.host_function(lambda: None)
        with pytest.raises(errors.Timeout, match=r"waiting for the host function .*slow of stream \d+ of device 0, "
                           "which has not returned"):
            stream.synchronize(30)
        assert "whose thread still makes another call: the host function " in hang.describe(other)
        leave.set()
        stream.synchronize(LIMIT_MS)
        other.synchronize(LIMIT_MS)


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_the_fake_names_the_deadlock_of_a_runtime_that_does_not_refuse(
    open_machine: OpenMachine, soc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = open_machine(f"fake://{soc}?check=deadlock").device(0)
    monkeypatch.setattr(inside, "check_wait", lambda *_: None)
    monkeypatch.setattr(waits, "PATIENCE", 200)
    raised: list[BaseException] = []
    returned = threading.Event()
    stream = device.create_stream()

    def impatient() -> None:
        with pytest.raises(CheckFailed) as caught:
            stream.synchronize()
        raised.append(caught.value)
        returned.set()

    stream.host_function(impatient)
    assert returned.wait(20)
    stream.synchronize(LIMIT_MS)
    assert "whose thread waits inside of such a function for what comes behind it" in str(raised[0])
    device.hal.fake.checks.reports.take()
