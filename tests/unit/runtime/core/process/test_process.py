"""The process's runtime: one of it, none in a child, and an end without a crash in any order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator

import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.process import lifetime
from tests.unit.runtime.machines import V100, V200, OpenMachine, holdings

URL = f"fake://{V100}?seed=1"


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process without a runtime, before and after."""
    monkeypatch.setattr(lifetime, "_the_one", None)
    yield
    lifetime.shutdown(force=True)


def in_child(check: Callable[[], bool]) -> bool:
    """Fork, run a check in the child, and return what it says."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0


def refused(use: Callable[[], object]) -> bool:
    """Whether a call is refused because this process was forked."""
    try:
        use()
    except errors.RuntimeFault as fault:
        return "was forked from" in str(fault) and "spawn" in fault.hint
    return False


# -- one runtime --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("clean")
def test_the_first_use_makes_it_and_later_ones_find_it() -> None:
    first = lifetime.get(Runtime, URL)
    assert lifetime.get(Runtime) is first
    assert lifetime.get(Runtime, URL) is first
    with pytest.raises(errors.RuntimeFault, match="already runs on") as caught:
        lifetime.get(Runtime, f"fake://{V200}")
    assert "shutdown" in caught.value.hint


@pytest.mark.usefixtures("clean")
def test_shutdown_makes_room_for_another() -> None:
    first = lifetime.get(Runtime, URL)
    device = first.device(0)
    lifetime.shutdown()
    lifetime.shutdown()
    assert device.closed
    assert lifetime.get(Runtime, f"fake://{V200}") is not first
    with pytest.raises(errors.RuntimeFault, match="was closed"):
        first.device(0)


@pytest.mark.usefixtures("clean")
def test_a_runtime_that_cannot_be_made_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Exception, match="nosuchchip"):
        lifetime.get(Runtime, "fake://nosuchchip")
    assert lifetime.get(Runtime, URL).device_count == 1


@pytest.mark.usefixtures("clean")
def test_threads_that_come_at_once_get_the_same_one() -> None:
    found: list[object] = []
    barrier = threading.Barrier(4)

    def ask() -> None:
        barrier.wait()
        found.append(lifetime.get(Runtime, URL))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1


@pytest.mark.usefixtures("clean")
def test_a_shutdown_that_fails_leaves_a_usable_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime.core.device import teardown

    monkeypatch.setattr(teardown, "_TRIES", 3)
    one = lifetime.get(Runtime, URL)
    device = one.device(0)
    fake = one.hal.fake.device(0)
    stream = device.context.create_stream()
    fake.hold()
    stream.submit(process_task())
    with pytest.raises(errors.Timeout, match="cannot be closed"):
        lifetime.shutdown()
    assert lifetime.get(Runtime) is one
    fake.release()
    stream.synchronize()
    lifetime.shutdown()
    assert one.closed


def process_task() -> object:
    from chips.tasks import Nop

    return Nop()


def test_each_thread_has_its_own_device(open_machine: OpenMachine) -> None:
    machine = open_machine(f"{URL}&devices=2")
    machine.set_device(0)
    seen: list[int] = []

    def work() -> None:
        with pytest.raises(errors.ContextError) as caught:
            machine.current_context()
        seen.append(caught.value.code)
        machine.set_device(1)
        seen.append(machine.current_context().device.user_id)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [107002, 1]
    assert machine.current_context().device.user_id == 0


@pytest.mark.parametrize(
    ("index", "code", "told"),
    [(index, 107001, "valid are 0 to 0") for index in (-1, 1, 64)]
    + [(index, 107000, "must be a whole number") for index in ("0", None, 1.0)],
)
def test_indices_of_no_device(open_machine: OpenMachine, index: object, code: int, told: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=told) as caught:
        open_machine(URL).device(index)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.message_id) == (code, "EE1003")


# -- fork ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("clean")
def test_a_child_of_fork_is_told_what_is_wrong() -> None:
    one = lifetime.get(Runtime, URL)
    device = one.device(0)
    stream = device.context.create_stream()
    assert in_child(lambda: refused(lambda: lifetime.get(Runtime)))
    assert in_child(lambda: refused(lambda: one.device(0)))
    assert in_child(lambda: refused(lambda: one.set_device(0)))
    assert in_child(lambda: refused(lambda: one.current_context()))
    assert in_child(lambda: refused(device.check_open))
    assert in_child(lambda: refused(lambda: device.alloc(8)))  # type: ignore[attr-defined]
    assert in_child(lambda: refused(lifetime.shutdown))
    assert in_child(lambda: stream.closed)
    stream.submit(process_task())
    stream.synchronize()


def test_a_child_of_fork_ends_without_touching_the_driver(open_machine: OpenMachine) -> None:
    machine = open_machine(f"trace+{URL}")
    device = machine.device(0)
    buffer, stream = device.alloc(8), device.create_stream()
    records = machine.hal.records  # type: ignore[attr-defined]
    before = len(records)

    def leave() -> bool:
        nonlocal buffer
        stream.close()
        stream.close(force=True)
        device.close(force=True)
        machine.close(force=True)
        del buffer
        return len(records) == before

    assert in_child(leave)
    stream.close()
    device.close()
    assert holdings(machine) == {}


@pytest.mark.usefixtures("clean")
def test_a_child_of_a_parent_that_opened_no_device_goes_on() -> None:
    one = lifetime.get(Runtime, URL)
    assert one.device_count == 1
    assert in_child(lambda: lifetime.get(Runtime) is one and one.device(0).core_counts[0] > 0)
    assert not one.opened
    one.device(0).create_stream().synchronize()


@pytest.mark.usefixtures("clean")
def test_a_fork_while_work_is_under_way_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    one = lifetime.get(Runtime, URL)
    stream = one.device(0).context.create_stream()
    one.hal.fake.device(0).hold()
    stream.submit(process_task())
    assert in_child(lambda: stream.closed)
    assert "1 streams have work under way" in caplog.text
    one.hal.fake.device(0).release()
    stream.synchronize()
    caplog.clear()
    assert in_child(lambda: stream.closed)
    assert caplog.text == ""


@pytest.mark.usefixtures("clean")
def test_a_fork_before_the_first_use_is_fine() -> None:
    assert in_child(lambda: lifetime.get(Runtime, URL).device(0).core_counts[0] > 0)


# -- the end ------------------------------------------------------------------------------------------------------

PREAMBLE = f"""
import gc, sys, threading
import runtime
from chips.tasks import Nop
machine = runtime.start({URL!r})
device = runtime.device(0)
stream = device.create_stream()
buffer, host = device.alloc(64), device.alloc_host(64)
event = device.create_event()
stream.record(event)
"""

ENDINGS = {
    "nothing is closed": "",
    "a queue that hangs": "machine.hal.fake.device(0).hold(stream.stream_id); stream.submit(Nop())",
    "the default stream hangs": "machine.hal.fake.device(0).hold(); device.default_stream.submit(Nop())",
    "names are deleted upwards": "del buffer, host, event, stream, device, machine; gc.collect()",
    "names are deleted downwards": "del machine, device, stream, event, host, buffer; gc.collect()",
    "device closed, objects left": "device.close(); del machine; gc.collect(); buffer.close(); event.close()",
    "runtime shut down, objects left": "runtime.shutdown(force=True); stream.close(); buffer.close(); host.close()",
    "a cycle with everything": "class C: pass\nc = C(); c.all = [c, buffer, stream, event]; del buffer, stream, event",
    "closed twice": "runtime.shutdown(force=True); runtime.shutdown(); device.close()",
    "an exception on the way out": "raise SystemExit(0)",
    "a daemon thread that launches": """
def work():
    while True:
        try:
            stream.submit(Nop())
        except runtime.RuntimeFault:
            return
threading.Thread(target=work, daemon=True).start()
""",
    "modules go first": "import builtins; builtins.keep = (buffer, stream, device)",
    "exit in a thread": "threading.Thread(target=lambda: stream.submit(Nop())).start()",
    "numpy views of host memory": "view = host.numpy(); del host; gc.collect()",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_exits_cleanly(ending: str) -> None:
    script = PREAMBLE + textwrap.dedent(ENDINGS[ending])
    done = subprocess.run([sys.executable, "-X", "dev", "-c", script], capture_output=True, text=True, timeout=250)
    problems = [line for line in done.stderr.splitlines() if "hangs" not in line]
    assert (done.returncode, problems, done.stdout) == (0, [], "")


def test_an_exit_by_force_gives_everything_back() -> None:
    script = PREAMBLE + textwrap.dedent(
        """
        import atexit
        fake = machine.hal.fake
        close = fake.close
        def look():
            card = fake.device(0)
            print(sorted(card.queues), [hex(block.base) for block in fake.memory.blocks], card.daemon_open, card.opened)
            close()
        fake.close = look
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[] [] False False\n")


@pytest.mark.usefixtures("clean")
def test_nothing_starts_once_the_process_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    leaving = threading.Event()
    leaving.set()
    monkeypatch.setattr(lifetime, "_leaving", leaving)
    with pytest.raises(errors.RuntimeFault, match="is exiting"):
        lifetime.get(Runtime, URL)


@pytest.mark.parametrize("sends", ["as they are", "python"])
def test_a_child_does_not_wait_for_what_a_thread_of_its_parent_held(
    sends: str, request: pytest.FixtureRequest, open_machine: OpenMachine
) -> None:
    if sends == "python":
        request.getfixturevalue("python_sends")
    stream = open_machine(f"null://{V100}").device(0).create_stream()
    kernel = stream.device.load(minimal_kernel("k", 1)).only
    launch = kernel.bind(stream, 1)
    launch(1)
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with stream.lock, stream.reports.lock:
            held.set()
            go_on.wait(30)

    def is_closed() -> bool:
        signal.alarm(20)  # ends a child that hangs
        for use in (lambda: launch(2), lambda: stream.submit(Nop()), stream.synchronize):
            with pytest.raises(errors.InvalidHandle, match="no live stream"):
                use()
        return True

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    try:
        assert in_child(is_closed)
    finally:
        go_on.set()
        thread.join()
    launch(3)
