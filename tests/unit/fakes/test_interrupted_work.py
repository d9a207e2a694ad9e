"""Ctrl-C at each place of the fake's own loop and waits: the card goes on afterwards, and nobody is kept out of it."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

from fakes.errors import FakeError
from fakes.faults import Effect
from fakes.machine.card import Device as Card
from npuhal.changed import Changed
from runtime.api import Device, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.errors import RuntimeFault
from tests.tools.interrupts import Interrupter, all_free

MOST_PLACES = 1000
WORKING = (
    "machine/card.py", "machine/begun.py", "schedule/scheduler.py", "executor/executor.py", "executor/fast_path.py",
    "executor/plain_signals.py", "executor/event.py", "executor/kernel.py", "executor/together.py", "executor/task.py",
)
CHIPS = ("ascend910b3", "ascend950")


def opened(chip: str) -> tuple[Runtime, Device, Any, Card]:
    """Return a machine, its first device, and the fake and the card behind it."""
    machine = Runtime(f"fake://{chip}?seed=1")
    device = machine.device(0)
    fake: Any = device.hal.fake
    return machine, device, fake, fake.devices[0]


@pytest.mark.parametrize("chip", CHIPS)
def test_queues_run_on(chip: str) -> None:
    machine, device, fake, card = opened(chip)
    one, two = device.create_stream(), device.create_stream()
    event, ran = device.create_event(), list[int]()
    kernel = device.load(minimal_kernel("note", 1)).only
    fake.attach(kernel.code, lambda context: ran.append(context.args[0]), name="note", grid=True)

    def queue() -> None:
        ran.clear()
        card.hold()
        for number in range(3):
            kernel[1](number, stream=one)
        one.record(event)
        two.wait(event)
        for number in range(3, 6):
            kernel[1](number, stream=two)
        card.release()

    def check(_place: int) -> None:
        assert not card.busy, interrupter.at
        assert all_free(fake.lock), interrupter.at
        for stream in (one, two):
            stream.synchronize(10_000)
        assert ran == list(range(6)), interrupter.at
        queue()

    queue()
    interrupter = Interrupter(*WORKING, never_inside="fakes/kernels.py")
    place = CHIPS.index(chip)
    while interrupter.run(lambda: two.synchronize(10_000), place):  # on the two chips not the same
        check(place)
        place += 3
    check(place)
    assert place > 100
    for stream in (one, two):
        stream.synchronize(10_000)
    machine.close(force=True)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_hanging_task_keeps_the_lock_free(chip: str) -> None:
    machine, device, fake, card = opened(chip)
    stream = device.create_stream()
    card.hold()
    kernel = device.load(minimal_kernel("note", 1)).only
    fake.attach(kernel.code, lambda _: None, name="note", grid=True)
    kernel[1](1, stream=stream)
    interrupter = Interrupter("machine/card.py")
    card.held = False  # time goes by, and the queue stays as it is

    def check(_place: int) -> None:
        assert all_free(fake.lock), interrupter.at

    assert interrupter.everywhere(lambda: card.pass_time(1), check, MOST_PLACES) > 2
    stream.synchronize(10_000)
    machine.close(force=True)


def test_waits_give_the_lock_back_as_they_had_it() -> None:
    lock = threading.RLock()
    changed = Changed(lock)

    def wait() -> None:
        with lock, lock:
            changed.wait(0.0)

    def check(_place: int) -> None:
        assert all_free(lock), interrupter.at

    interrupter = Interrupter("npuhal/changed.py")
    assert interrupter.everywhere(wait, check, MOST_PLACES) > 5


def test_a_notification_reaches_all_who_wait_or_nobody() -> None:
    lock = threading.RLock()
    changed = Changed(lock)
    for place in range(MOST_PLACES):
        waiters = [threading.Lock() for _ in range(3)]
        for each in waiters:
            each.acquire()
        changed.waiting = list(waiters)
        with lock:
            interrupted = Interrupter("npuhal/changed.py").run(changed.notify_all, place)
        told = {not each.locked() for each in waiters}
        assert told == {True} or (told == {False} and changed.waiting == waiters), place
        if not interrupted:
            break


def test_an_interrupt_in_a_c_call_is_raised_in_its_thread() -> None:
    machine = Runtime("fake-abi://ascend950?seed=1")
    hal: Any = machine.device(0).hal
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            hal.drvGetDevNum(ctypes.byref(ctypes.c_uint32()))
        except BaseException as error:
            raised.append(error)

    hal.fake.pending.append((threading.get_ident(), KeyboardInterrupt()))  # from C
    other = threading.Thread(target=ask)
    other.start()
    other.join()
    assert raised == []
    hal.fake.pending.append((0, FakeError("of a card's thread")))  # both are kept
    ask()
    assert [type(error) for error in raised] == [KeyboardInterrupt]
    ask()
    assert [type(error) for error in raised] == [KeyboardInterrupt, FakeError]
    ask()
    assert len(raised) == 2


@pytest.mark.parametrize("chip", CHIPS)
def test_ctrl_c_before_the_first_line_of_a_callback_is_raised_by_its_call(
    chip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctypes drops what is raised there and answers with whatever lies on the stack."""
    machine = Runtime(f"fake-abi://{chip}?seed=1")
    stream = machine.device(0).create_stream()
    heard: list[Any] = []

    def strike(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_name == "entry" and frame.f_globals["__name__"] == "fakes.tiers.abi":
            sys.settrace(None)
            raise KeyboardInterrupt

    for _ in range(2):  # a hook that was set when the machine was open: pytest, IPython, the program
        monkeypatch.setattr(sys, "unraisablehook", lambda lost: heard.append(lost.exc_type))
        tracing = sys.gettrace()
        try:
            sys.settrace(strike)
            with pytest.raises(KeyboardInterrupt):
                stream.synchronize()
        finally:
            sys.settrace(tracing)
    stream.synchronize()
    machine.close()
    assert KeyboardInterrupt not in heard
    machine.close(force=True)


@pytest.mark.parametrize("chip", CHIPS)
def test_functions_of_blocks_are_called_once_each(chip: str) -> None:
    machine, device, fake, card = opened(chip)
    stream, ran = device.create_stream(), list[int]()
    kernel = device.load(minimal_kernel("note", 1)).only
    fake.attach(kernel.code, lambda context: ran.append(context.block), name="note")
    for _ in range(3):
        kernel[4](1, stream=stream)
        stream.synchronize(10_000)  # from now on by the fast path

    def queue() -> None:
        ran.clear()
        card.hold()
        kernel[4](1, stream=stream)
        card.release()

    def check(_place: int) -> None:
        stream.synchronize(10_000)
        assert ran == [0, 1, 2, 3], interrupter.at
        queue()

    queue()
    interrupter = Interrupter("executor/fast_path.py", never_inside="fakes/kernels.py")
    assert interrupter.everywhere(lambda: stream.synchronize(10_000), check, MOST_PLACES) > 12
    machine.close(force=True)


@pytest.mark.parametrize(("function", "message"), [
    (lambda: None, "takes 0 positional arguments"), (partial(divmod, 1, 2), "divmod expected 2 arguments"),
    (partial(int, base=-1), "int"),
], ids=["no parameters", "a call in C", "a class"])  # fmt: skip
def test_a_call_that_fails_by_itself_fails_its_task(function: Callable[..., object], message: str) -> None:
    machine = Runtime("fake://ascend910b3?seed=1")
    device = machine.device(0)
    fake: Any = device.hal.fake
    stream, ran = device.create_stream(), list[int]()
    kernel = device.load(minimal_kernel("note", 1)).only
    fake.attach(kernel.code, partial(lambda seen, context: seen.append(context.block), ran), name="note")
    for _ in range(3):
        kernel[2](1, stream=stream)
        stream.synchronize(10_000)
    assert ran == [0, 1] * 3
    fake.attach(kernel.code, function, name="note")
    kernel[2](1, stream=stream)
    with pytest.raises(RuntimeFault, match=message):
        stream.synchronize(10_000)
    machine.close(force=True)


class OutOfTimeError(Exception):
    """What a signal handler raises."""


def out_of_time(number: int, frame: FrameType | None) -> None:
    raise OutOfTimeError


@pytest.mark.parametrize("raises", [True, False])
def test_what_a_signal_handler_raises_in_a_task_ends_the_wait(raises: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`raises`: whether the program hears of mistakes of the fake; C programs and torch_npu do not."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    machine, device, fake, _ = opened("ascend950")
    fake.raises = raises
    stream, kernel = device.create_stream(), device.load(minimal_kernel("note", 1)).only
    kept = signal.signal(signal.SIGALRM, out_of_time)
    try:
        fake.attach(kernel.code, lambda _context: signal.raise_signal(signal.SIGALRM), name="note")
        for _ in range(2):
            kernel[1](1, stream=stream)
            with pytest.raises(OutOfTimeError):
                stream.synchronize(10_000)
            with pytest.raises(RuntimeFault):  # its task has failed
                stream.synchronize(10_000)
        fake.faults.on_task(Effect.LOST, nth=1000)  # so that the fake asks for each task
        monkeypatch.setattr(type(fake.faults), "strike", lambda _faults, _task: signal.raise_signal(signal.SIGALRM))
        kernel[1](1, stream=stream)
        with pytest.raises(OutOfTimeError):
            stream.synchronize(10_000)
        monkeypatch.undo()
        fake.attach(kernel.code, lambda _context: None, name="note")
        stream.synchronize(10_000)  # the task is begun again
    finally:
        signal.signal(signal.SIGALRM, kept)
    machine.close(force=True)
