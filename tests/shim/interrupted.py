"""A Python program on libascendcl.so that is interrupted: in calls, in waits, before calls begin, and at its end.

Arguments: the library, a library with `strike`. A result is kept by a C function that ctypes calls with it, because an
interrupt behind the call takes its place.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

acl = ctypes.CDLL(sys.argv[1])
strike = ctypes.PyDLL(sys.argv[2]).strike
codes: list[int] = []
memory, stream, notify = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
number = ctypes.c_int32()
size = ctypes.c_size_t(4)
for code in (
    acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclrtCreateStream(ctypes.byref(stream)),
    acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(4096), 0),
    acl.aclrtMemset(memory, ctypes.c_size_t(4096), 0, ctypes.c_size_t(4096)),
    acl.aclrtCreateNotify(ctypes.byref(notify), ctypes.c_uint64(0)),
):  # fmt: skip
    assert code == 0, code
one = ctypes.c_void_p(memory.value + 1024)
assert acl.aclrtMemcpy(one, size, ctypes.byref(ctypes.c_int32(1)), size, 1) == 0
for function in (acl.aclrtReduceAsync, acl.aclrtSynchronizeStream, strike):
    function.restype = codes.append


class OutOfTimeError(Exception):
    """What the handler of this program raises."""


def out_of_time(*_: object) -> None:
    raise OutOfTimeError


def met(function: Callable[[], object], *kinds: type[BaseException]) -> str:
    """What a function raises, once it has come: a pending one comes with the next step."""
    try:
        function()
        sum(range(3))
    except kinds as problem:
        return type(problem).__name__
    return "nothing"


def add() -> None:
    acl.aclrtReduceAsync(memory, one, ctypes.c_uint64(4), 10, 3, stream, None)


def wait() -> None:
    acl.aclrtSynchronizeStream(stream)


def during(function: Callable[[], None], press: Callable[[], object]) -> str:
    """Press in the middle of a call: in Python code of the library, in front of what the call does."""
    from runtime.capi.pyacl.binding import process

    state: Any = process()
    real = state.call

    def call(name: str, **given: Any) -> Any:
        press()
        return real(name, **given)

    state.call = call
    try:
        return met(function, KeyboardInterrupt, OutOfTimeError)
    finally:
        del state.call


def strike_add(waits: bool = False) -> None:
    """Set an exception in this thread, by C code that goes on to add, or to wait."""
    function = acl.aclrtSynchronizeStream if waits else acl.aclrtReduceAsync
    strike(
        ctypes.cast(function, ctypes.c_void_p),
        ctypes.cast(ctypes.pythonapi.PyThreadState_SetAsyncExc, ctypes.c_void_p),
        ctypes.c_ulong(threading.get_ident()), ctypes.c_void_p(id(KeyboardInterrupt)), stream,
        None if waits else memory, one,
    )  # fmt: skip


def in_a_thread() -> None:
    found = ["nothing"]

    def run() -> None:
        assert acl.aclrtSetDevice(0) == 0
        found[0] = met(strike_add, KeyboardInterrupt)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    print("in a thread", found[0], codes)


def storm(presses: int) -> None:
    """Launch while another thread presses Ctrl-C again and again, each time when this one launches."""
    ready = threading.Semaphore(0)

    def press() -> None:
        for _ in range(presses):
            ready.acquire()
            os.kill(os.getpid(), signal.SIGINT)

    def launch() -> None:
        ready.release()
        while True:
            add()

    thread = threading.Thread(target=press)
    thread.start()
    came = [met(launch, KeyboardInterrupt) for _ in range(presses)]
    thread.join()
    print("interrupts", came.count("KeyboardInterrupt"), "refused", len(codes) - codes.count(0))


def value() -> int:
    acl.aclrtMemcpy(ctypes.byref(number), size, memory, size, 2)
    return number.value


def counted(what: str, raised: str) -> None:
    """Say what a call gave, and by how much it changed the memory."""
    before, result = sums[-1], codes.copy()
    codes.clear()
    wait()
    codes.clear()
    sums.append(value())
    print(what, raised, result, sums[-1] - before)


sums = [0]
signal.signal(signal.SIGALRM, out_of_time)
INTERRUPT, ALARM = signal.SIGINT, signal.SIGALRM
for _ in range(2):
    counted("signal", during(add, lambda: signal.raise_signal(INTERRUPT)))
    counted("own handler", during(add, lambda: signal.raise_signal(ALARM)))
    counted("set by Python", during(add, _thread.interrupt_main))
    counted("before the first line", met(strike_add, KeyboardInterrupt))
in_a_thread()
counted("afterwards", met(add, KeyboardInterrupt))
storm(40)
done = codes.count(0)
wait()
print("sum agrees", value() - sums[-1] == done)
codes.clear()

acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
acl.aclGetRecentErrMsg(None)  # what there was until now
assert acl.aclrtWaitAndResetNotify(notify, stream, 0) == 0
for _ in range(2):
    for press in (lambda: signal.raise_signal(INTERRUPT), lambda: signal.raise_signal(ALARM)):
        print("wait", during(wait, press), codes)
        codes.clear()
print(acl.aclGetRecentErrMsg(None).decode().partition(" [")[0])
print("wait before the first line", met(lambda: strike_add(waits=True), KeyboardInterrupt), codes)
codes.clear()
signal.setitimer(signal.ITIMER_REAL, 0.01)
print("wait without end", met(wait, OutOfTimeError), codes)
other = ctypes.c_void_p()
print("goes on", acl.aclrtCreateStream(ctypes.byref(other)), acl.aclrtRecordNotify(notify, other), end=" ")
codes.clear()
wait()
print(codes, flush=True)
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(ALARM, signal.default_int_handler)
assert acl.aclrtWaitAndResetNotify(notify, stream, 0) == 0
signal.setitimer(signal.ITIMER_REAL, 0.01)
wait()  # ends this program
