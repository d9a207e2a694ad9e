"""What the vendor's own tests of pyACL do with devices, events, threads and logs, call by call, with what they expect.

The order of the calls is theirs, as it is public; the texts are ours. `NPUHAL_PYACL_TESTS` may name a folder with files
of theirs (test_*.py that import a module `utils`): these are run as they are, with a stand-in for that module.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import threading
import time
import types
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.unit.runtime.capi.acl_module import PAIR, opened

FOLDER = Path(os.environ.get("NPUHAL_PYACL_TESTS", "/nowhere"))
FILES = sorted(FOLDER.glob("test_*.py")) if FOLDER.is_dir() else []

TIME_LINE, COMPLETE, REPORT_MS = 8, 1, 20
RATES = {"cube_utilization", "vector_utilization", "aicpu_utilization", "memory_utilization", "utilization_extend"}


@pytest.fixture(params=PAIR)
def bare(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module, of which nothing was called."""
    with opened(request.param) as module:
        yield module


@pytest.fixture
def acl(bare: Any) -> Iterator[Any]:
    """The module, initialised and finalised as the vendor's classes of tests do."""
    assert bare.init() == 0
    yield bare
    assert bare.finalize() == 0


def made(answer: tuple[Any, int]) -> Any:
    value, status = answer
    assert status == 0
    return value


# -- devices -----------------------------------------------------------------------------------------------------------


def test_devices_without_init(bare: Any) -> None:
    rt = bare.rt
    count = made(rt.get_device_count())
    for number in range(count):
        assert made(rt.get_device_utilization_rate(number)).keys() >= RATES
        assert made(rt.query_device_status(number)) == 0
    assert rt.set_device(-1) != 0
    first = rt.peek_at_last_error(0)
    assert first != 0
    assert rt.peek_at_last_error(0) == first
    assert rt.set_device(0) == 0
    assert rt.synchronize_device_with_timeout(5) == 0
    assert rt.set_device(0) == 0
    assert rt.reset_device(0) == 0
    assert rt.set_device(0) == 0
    assert rt.reset_device_force(0) == 0


# -- events ------------------------------------------------------------------------------------------------------------


def test_an_event_that_nobody_uses(acl: Any) -> None:
    assert acl.rt.set_device(0) == 0
    assert acl.rt.destroy_event(made(acl.rt.create_event())) == 0


def test_two_streams_and_a_context_of_their_own(acl: Any) -> None:
    rt = acl.rt
    context = made(rt.create_context(0))
    one, two = made(rt.create_stream()), made(rt.create_stream())
    first, second = made(rt.create_event()), made(rt.create_event())
    assert rt.record_event(first, one) == 0
    assert rt.record_event(second, one) == 0
    assert rt.synchronize_event(first) == 0
    assert rt.stream_wait_event(two, first) == 0
    made(rt.query_event_wait_status(first))
    assert rt.synchronize_event(second) == 0
    assert made(rt.query_event_status(second)) == COMPLETE
    assert rt.synchronize_stream(one) == 0
    assert 0 <= made(rt.event_elapsed_time(first, second)) <= 1000
    for event in (first, second):
        assert rt.destroy_event(event) == 0
    for stream in (one, two):
        assert rt.destroy_stream(stream) == 0
    assert rt.destroy_context(context) == 0


@pytest.mark.parametrize("create", ["create_event_with_flag", "create_event_ex_with_flag"])
def test_the_time_between_two_events(acl: Any, create: str) -> None:
    rt = acl.rt
    context = made(rt.create_context(0))
    stream = made(rt.create_stream())
    first, second = made(getattr(rt, create)(TIME_LINE)), made(getattr(rt, create)(TIME_LINE))
    assert rt.record_event(first, stream) == 0
    assert rt.record_event(second, stream) == 0
    assert rt.synchronize_stream(stream) == 0
    assert made(rt.event_elapsed_time(first, second)) >= 0
    for event in (first, second):
        assert rt.destroy_event(event) == 0
    assert rt.destroy_stream(stream) == 0
    assert rt.destroy_context(context) == 0


# -- threads -----------------------------------------------------------------------------------------------------------


def test_callbacks_of_a_stream_and_of_the_default_stream(acl: Any) -> None:
    rt, told, reporting = acl.rt, [], [True]

    def report(arguments: list[int]) -> None:
        while reporting:
            rt.process_report(arguments[0])

    assert rt.set_device(0) == 0
    stream = made(rt.create_stream())
    thread = made(acl.util.start_thread(report, [REPORT_MS]))
    for target in (stream, 0):
        assert rt.subscribe_report(thread, target) == 0
        for word in ("one", "two"):
            assert rt.launch_callback(told.append, [word, target], 1, target) == 0
        assert rt.synchronize_stream(target) == 0
    assert told == [[word, target] for target in (stream, 0) for word in ("one", "two")]
    reporting.clear()
    assert rt.unsubscribe_report(thread, stream) == 0
    assert rt.unsubscribe_report(thread, 0) == 0
    assert acl.util.stop_thread(thread) == 0
    assert rt.destroy_stream(stream) == 0
    assert rt.reset_device(0) == 0


def test_a_blocking_callback_in_a_thread_of_python(acl: Any) -> None:
    rt, reporting, pause_s = acl.rt, [True], 0.1

    def report() -> None:
        while reporting:
            rt.process_report(REPORT_MS)

    assert rt.set_device(0) == 0
    stream = made(rt.create_stream())
    thread = threading.Thread(target=report)
    thread.start()
    try:
        assert rt.subscribe_report(thread.ident, stream) == 0
        assert rt.synchronize_stream(stream) == 0
        began = time.perf_counter()
        assert rt.launch_callback(lambda pauses: time.sleep(*pauses), [pause_s], 1, stream) == 0
        assert rt.synchronize_stream(stream) == 0
        assert time.perf_counter() - began >= pause_s
    finally:
        reporting.clear()
        thread.join()
    assert rt.unsubscribe_report(thread.ident, stream) == 0
    assert rt.destroy_stream(stream) == 0
    assert rt.reset_device(0) == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_report_without_a_subscription(acl: Any, threads: int) -> None:
    rt, reporting, seen = acl.rt, [True], []

    def report(arguments: list[int]) -> None:
        seen.append(rt.set_context(arguments[0]))
        while reporting:
            rt.process_report(arguments[1])

    assert rt.set_device(0) == 0
    context = made(rt.create_context(0))
    numbers = [made(acl.util.start_thread(report, [context, REPORT_MS])) for _ in range(threads)]
    assert len(set(numbers)) == threads
    reporting.clear()
    for number in numbers:
        assert acl.util.stop_thread(number) == 0
    assert seen == [0] * threads
    assert rt.destroy_context(context) == 0
    assert rt.reset_device(0) == 0


# -- wrong arguments, logs ---------------------------------------------------------------------------------------------


def test_wrong_arguments(bare: Any) -> None:
    with pytest.raises(TypeError, match=r"^function takes exactly 2 arguments \(0 given\)$"):
        bare.util.start_thread()
    with pytest.raises(TypeError, match=r"^parameter must be callable$"):
        bare.util.start_thread("", "")
    for call, wrong in ((bare.util.stop_thread, [(), ("",)]), (bare.app_log, [(), ("", ""), (123, 321)])):
        assert refused(call, wrong) == 0


def test_lines_of_every_level(bare: Any) -> None:
    for level in range(4):
        assert bare.app_log(level, f"a = {[1, 2, 3]}, b = {{}}, c = {1.1111}, level = {level} %s %d") is None


# -- the vendor's files, where they are --------------------------------------------------------------------------------


def refused(call: Callable[..., object], wrong: list[tuple[Any, ...]]) -> int:
    """Return how many lists of arguments a function takes that it should not."""
    taken = 0
    for arguments in wrong:
        try:
            call(*arguments)
        except TypeError:
            continue
        taken += 1
    return taken


def helpers() -> types.ModuleType:
    """A stand-in for the vendor's module `utils`, which is not public."""
    module: Any = types.ModuleType("utils")
    module.switch_cases = lambda cases, _: unittest.defaultTestLoader.loadTestsFromTestCase(cases)
    module.params_check = lambda _, params, call: refused(call, params["params"])
    return module


def run_cases(path: Path, module: Any) -> tuple[int, list[str]]:
    """Run the cases of a file on a module `acl`; returns their number and what went wrong."""
    spec = importlib.util.spec_from_file_location(f"vendor_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    result = unittest.TestResult()
    with mock.patch.dict(sys.modules, {"acl": module, "utils": helpers()}):
        cases = importlib.util.module_from_spec(spec)
        with contextlib.suppress(SystemExit):  # some end themselves, whoever loads them
            spec.loader.exec_module(cases)
        unittest.defaultTestLoader.loadTestsFromModule(cases).run(result)
    return result.testsRun, [text for _, text in (*result.failures, *result.errors)]


def test_files_are_run_with_the_stand_in(bare: Any, tmp_path: Path) -> None:
    path = tmp_path / "test_sample.py"
    path.write_text(
        "import unittest, acl, utils as util\n\n\nclass TestSample(unittest.TestCase):\n"
        "    def test_refusals(self):\n"
        "        params = {'type': 'k', 'params': [(), ('',)]}\n"
        "        self.assertEqual(util.params_check(self, params, acl.util.stop_thread), 0)\n\n"
        "    def test_that_fails(self):\n        self.assertEqual(acl.rt.set_device(-1), 0)\n\n\n"
        "if __name__ == '__main__':\n    util.switch_cases(TestSample, 'all')\nexit(1)\n"
    )
    number, wrong = run_cases(path, bare)
    assert number == 2
    assert len(wrong) == 1
    assert "test_that_fails" in wrong[0]


@pytest.mark.skipif(not FILES, reason="NPUHAL_PYACL_TESTS names no folder with tests of pyACL")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_of_the_vendor(bare: Any, path: Path) -> None:
    number, wrong = run_cases(path, bare)
    assert number
    assert wrong == []
