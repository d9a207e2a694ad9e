"""pyACL and threads: waits let others run, callbacks, failed tasks; and graphs, allocators, the application's log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fakes.faults import Effect
from runtime.capi.pyacl.binding import process
from tests.unit.runtime.capi.acl_module import PAIR, URLS, opened

SYNC = 1
FOR_EVER, LONG_MS = -1, 20_000

WAITS = {
    "synchronize_stream": lambda rt, stream, _: rt.synchronize_stream(stream),
    "synchronize_stream_with_timeout": lambda rt, stream, _: rt.synchronize_stream_with_timeout(stream, LONG_MS),
    "synchronize_device": lambda rt, *_: rt.synchronize_device(),
    "synchronize_device_with_timeout": lambda rt, *_: rt.synchronize_device_with_timeout(LONG_MS),
    "synchronize_event": lambda rt, _, event: rt.synchronize_event(event),
    "synchronize_event_with_timeout": lambda rt, _, event: rt.synchronize_event_with_timeout(event, LONG_MS),
}  # fmt: skip


@pytest.fixture(params=PAIR)
def acl(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module, initialised and with device 0 set."""
    with opened(request.param) as module:
        assert module.init() == 0
        assert module.rt.set_device(0) == 0
        yield module


@pytest.mark.parametrize("wait", WAITS)
def test_another_thread_can_end_a_wait(acl: Any, wait: str) -> None:
    rt = acl.rt
    context, _ = rt.get_context()
    (waiting, _), (giving, _) = rt.create_stream(), rt.create_stream()
    (signal, _), (over, _) = rt.create_event_with_flag(SYNC), rt.create_event_with_flag(SYNC)
    assert rt.stream_wait_event(waiting, signal) == 0
    assert rt.record_event(over, waiting) == 0
    go = threading.Event()

    def give() -> None:
        assert rt.set_context(context) == 0
        go.wait(60)
        assert rt.record_event(signal, giving) == 0

    other = threading.Thread(target=give)
    other.start()
    assert rt.stream_query(waiting) == (1, 0)
    go.set()
    assert WAITS[wait](rt, waiting, over) == 0
    other.join()
    assert rt.query_event_status(over) == (1, 0)


def test_a_wait_that_is_too_long_answers_its_code(acl: Any) -> None:
    rt = acl.rt
    stream, _ = rt.create_stream()
    (signal, _), (over, _) = rt.create_event_with_flag(SYNC), rt.create_event_with_flag(SYNC)
    assert rt.stream_wait_event(stream, signal) == 0
    assert rt.record_event(over, stream) == 0
    assert rt.synchronize_stream_with_timeout(stream, 5) == 507046
    assert rt.synchronize_event_with_timeout(over, 5) == 507047
    assert rt.destroy_stream_force(stream) == 0


def test_subscriptions_and_reports_answer_their_codes(acl: Any) -> None:
    rt, own = acl.rt, threading.get_ident()
    stream, _ = rt.create_stream()
    assert rt.launch_callback(lambda _: None, None, 0, stream) == 107015
    assert rt.process_report(1) == 107012
    assert rt.subscribe_report(own, stream) == 0
    assert rt.subscribe_report(own, stream) == 107011
    assert rt.process_report(1) == 507012
    assert rt.process_report(0) == 100000
    assert rt.launch_callback(lambda _: None, None, 2, stream) == 100000
    seen: list[object] = []
    data = {"any": "object"}
    assert rt.launch_callback(seen.append, data, 0, stream) == 0
    assert rt.process_report(LONG_MS) == 0
    assert seen[0] is data
    assert rt.unsubscribe_report(own, stream) == 0
    assert rt.unsubscribe_report(own, stream) == 107011
    with pytest.raises(TypeError, match="must be callable"):
        rt.launch_callback(1, None, 0, stream)


def test_exceptions_are_told_by_an_integer_that_lives_as_long_as_the_call(acl: Any) -> None:
    rt = acl.rt
    stream, _ = rt.create_stream()
    number, _ = rt.stream_get_id(stream)
    seen: list[tuple[int, ...]] = []
    kept: list[int] = []

    def told(info: int) -> None:
        kept.append(info)
        fields = ("stream_id", "device_id", "task_id", "thread_id", "error_code")
        seen.append(tuple(getattr(rt, f"get_{field}_from_exception_info")(info) for field in fields))

    assert rt.set_exception_info_callback(told) == 0
    _fail(rt, stream)
    assert len(seen) == 1
    assert type(kept[0]) is int
    assert seen[0][:2] == (number, 0)
    assert seen[0][4] != 0
    assert rt.get_task_id_from_exception_info(kept[0]) == 0xFFFFFFFF
    assert rt.set_exception_info_callback() == 0  # takes it away, as None does
    assert rt.set_exception_info_callback(None) == 0
    with pytest.raises(TypeError, match="args parse failed"):
        rt.set_exception_info_callback(1)


def test_an_exception_callback_that_raises_is_logged_and_taken_away(acl: Any, caplog: pytest.LogCaptureFixture) -> None:
    rt = acl.rt
    calls: list[int] = []

    def told(info: int) -> None:
        calls.append(info)
        raise KeyError("in the callback")

    assert rt.set_exception_info_callback(told) == 0
    for _ in range(2):
        stream, _ = rt.create_stream()
        _fail(rt, stream)
    assert len(calls) == 1
    assert "in the callback" in caplog.text


def _fail(rt: Any, stream: int) -> None:
    machine = process().runtime.hal
    fake = machine.fake  # type: ignore[attr-defined]
    number, _ = rt.stream_get_id(stream)
    fake.faults.on_task(Effect.EXCEPTION, stream=number)
    block, _ = rt.malloc(64, 0)
    assert rt.memset_async(block, 64, 1, 64, stream) == 0
    assert rt.synchronize_stream(stream) != 0


def test_a_graph_is_captured_and_replayed(acl: Any) -> None:
    rt, mdl, size = acl.rt, acl.mdl, 64
    stream, _ = rt.create_stream()
    (source, _), (target, _) = rt.malloc(size, 0), rt.malloc(size, 0)
    if "310b" in process().runtime.hal.url:
        assert mdl.ri_capture_begin(stream, 2) == 207000
        return
    assert mdl.ri_capture_thread_exchange_mode(2) == (0, 0)
    assert mdl.ri_capture_get_info(stream) == (0, 0, 0)
    assert mdl.ri_capture_begin(stream, 2) == 0
    status, model, ret = mdl.ri_capture_get_info(stream)
    assert (status, model != 0, ret) == (1, True, 0)
    assert rt.memcpy_async(target, size, source, size, 3, stream) == 0
    graph, ret = mdl.ri_capture_end(stream)
    assert (graph != 0, ret) == (True, 0)
    for value in (3, 5):
        assert rt.memset(source, size, value, size) == 0
        assert mdl.ri_execute_async(graph, stream) == 0
        assert rt.synchronize_stream(stream) == 0
        back = bytes(size)
        assert rt.memcpy(acl.util.bytes_to_ptr(back), size, target, size, 2) == 0
        assert back == bytes([value]) * size
    assert mdl.ri_destroy(graph) == 0


def test_allocators_are_described_and_registered(acl: Any) -> None:
    rt = acl.rt
    stream, _ = rt.create_stream()
    desc = rt.allocator_create_desc()
    assert rt.allocator_register(stream, desc) == 100000  # nothing is set
    assert rt.allocator_set_obj_to_desc(desc, 0) == 100000
    assert rt.allocator_set_obj_to_desc(desc, 4096) == 0
    for name in ("alloc", "free", "get_addr_from_block"):
        assert getattr(rt, f"allocator_set_{name}_func_to_desc")(desc, lambda *_: None) == 0
    assert rt.allocator_register(stream, desc) == 0
    assert rt.allocator_register(stream, desc) == 0
    assert [rt.allocator_unregister(stream) for _ in range(2)] == [0, 0]
    assert [rt.allocator_destroy_desc(each) for each in (desc, desc, 0)] == [0, 107017, 100000]


@pytest.mark.parametrize(("level", "name"), [(0, "DEBUG"), (1, "INFO"), (2, "WARNING"), (3, "ERROR")])
def test_lines_of_the_application_go_into_the_log(level: int, name: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(URLS[0]) as acl, caplog.at_level(logging.DEBUG, "runtime.application"):
        assert acl.app_log(level, "x" * 2000) is None
    assert caplog.records[-1].levelname == name
    assert caplog.records[-1].getMessage() == "x" * 1021 + "..."
