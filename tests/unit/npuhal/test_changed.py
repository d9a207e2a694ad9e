"""Threads that are started under interrupts, on every supported Python."""

from __future__ import annotations

import _thread
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any

import pytest

import npuhal
from npuhal import changed
from npuhal.changed import start_thread
from runtime.core.device.monitor import Monitor
from runtime.core.submission.reclaim import Recycler
from tests.tools.interrupts import Interrupter

pytestmark = pytest.mark.timeout(60)
ROOT = Path(npuhal.__file__).parents[1]
MOST_PLACES = 500


@pytest.fixture
def alone() -> Iterator[Callable[[], None]]:
    """What waits until every thread has ended that was begun since, those that `threading` does not know among them."""
    before = _thread._count()

    def wait() -> None:
        while _thread._count() > before:
            time.sleep(0.001)

    yield wait
    wait()


@pytest.mark.parametrize("raises", [KeyboardInterrupt, ValueError])
def test_a_thread_whose_start_is_interrupted_runs_to_its_end_or_not_at_all(
    alone: Callable[[], None], raises: type[BaseException]
) -> None:
    ran: SimpleQueue[int] = SimpleQueue()
    interrupter = Interrupter("npuhal/changed.py", "threading.py", raises=raises)
    places = interrupter.everywhere(lambda: start_thread(ran.put, "worker", 1), lambda _: alone(), MOST_PLACES)
    assert places > 5
    assert 1 < ran.qsize() <= places + 1


def test_a_monitor_whose_start_is_interrupted_watches_on(alone: Callable[[], None]) -> None:
    device: Any = object()

    def check(_place: int) -> None:
        nonlocal watching
        watching.forget(device)
        watching = Monitor(threaded=True)
        alone()

    watching = Monitor(threaded=True)
    interrupter = Interrupter("npuhal/changed.py", "core/device/monitor.py", "threading.py")
    assert interrupter.everywhere(lambda: watching.watch(device), check, MOST_PLACES) > 5


def test_a_thread_that_reclaims_is_started_again_when_its_start_was_interrupted(alone: Callable[[], None]) -> None:
    looked: SimpleQueue[None] = SimpleQueue()

    def streams() -> tuple[()]:
        looked.put(None)
        return ()

    def check(_place: int) -> None:
        nonlocal recycler
        recycler.wake()
        looked.get()
        recycler.close()
        recycler = made()
        alone()

    made = partial(Recycler, streams, "recycler", threaded=True)
    recycler = made()
    interrupter = Interrupter("npuhal/changed.py", "submission/reclaim.py", "threading.py")
    assert interrupter.everywhere(lambda: recycler.wake(), check, MOST_PLACES) > 5


def test_a_helper_that_ends_before_its_first_line_is_replaced(
    alone: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As before CPython 3.12 an exception ends it that another thread has set for the one that starts it."""
    ran: SimpleQueue[int] = SimpleQueue()
    begun: list[int] = []

    def begin(function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        begun.append(len(begun))
        if len(begun) > 2:
            _thread.start_new_thread(function, arguments)

    monkeypatch.setattr(changed, "start_new_thread", begin)
    start_thread(ran.put, "worker", 7).join()
    assert (ran.get_nowait(), begun) == (7, [0, 1, 2])
    alone()


@pytest.mark.parametrize("module", [threading, changed])
def test_a_system_without_threads_says_so(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    def refuse(*_arguments: Any, **_others: Any) -> None:
        raise RuntimeError("can't start new thread")

    for name in ("start_new_thread", "_start_new_thread", "_start_joinable_thread"):  # the last from 3.13 on
        monkeypatch.setattr(module, name, refuse, raising=False)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        start_thread(int, "worker")


def test_the_packages_start_threads_nowhere_else() -> None:
    starts = re.compile(r"\b(threading\.(Thread|Timer)|start_new_thread)\(")
    found = {
        str(path.relative_to(ROOT))
        for package in ("npuhal", "chips", "runtime", "fakes")
        for path in (ROOT / package).rglob("*.py")
        if starts.search(path.read_text("utf-8"))
    }
    assert found == {"npuhal/changed.py", "runtime/cli/bench/growth.py"}  # the latter measures threads of a program
