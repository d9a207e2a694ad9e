"""Arguments that no C program passes, in every place of every function: a code or a TypeError, soon, never a signal.

Addresses lead nowhere, outputs are numbers, functions are none, counts are larger than memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

from runtime.capi.aclrt import Acl, Out, names
from runtime.capi.aclrt.entry import find
from runtime.capi.aclrt.kinds import Parameter
from runtime.memory import caller
from tests.unit.runtime.capi.acl_module import opened

HUGE = 1 << 200
DIGITS = 10**5000  # which Python does not write out
AMBIGUOUS = np.zeros((2, 2))  # neither true nor false
NUMBERS = (0, 1, -1, 5, 1 << 31, (1 << 32) - 1, (1 << 64) - 1, HUGE, None, [None], "x", 0.5, True, DIGITS, AMBIGUOUS,
           np.int64(-1), np.uint8(3))  # fmt: skip
ODD: dict[str, tuple[Any, ...]] = {
    "Callback": (None, 0, 5, "x", [None]),
    "Info": (None, 0, 5, "x", object(), AMBIGUOUS),
    "Text": (None, 0, 5, "x", "x" * 100_000, b"x", "\0", "é", "\ud800", "\udcff"),
    "Dim3": (None, 0, (1, 2), (1, 2, 3), [None], "x"),
    "CondTaskParams": (None, 0, (1, 2), [None], "x"),
    "F32": (0.0, 1, None, "x", float("nan"), [None]),
    "Handle": (0, None, 1, 0xDEAD0000, [None], "x", HUGE, -1),
    "Address": (0, None, 8, 4096, 0xDEAD0000, 1 << 63, (1 << 64) - 1, [None], "x", b"x", HUGE, -1, 0.5, "\ud800",
                DIGITS),
}
ODD |= dict.fromkeys(("IpcEventHandle", "ManagedLocation"), ODD["Address"])
OUTPUTS = (None, 0, 5, Out(), "x", [None], AMBIGUOUS, slice(5), ctypes.c_int(0))
ENDS = {"aclFinalize", "aclFinalizeReference"}
SECONDS = 30.0


def odd(parameter: Parameter) -> tuple[Any, ...]:
    return OUTPUTS if parameter.output else ODD.get(parameter.kind, NUMBERS)


class Program:
    """A process of the C API with a stream, an event and memory, made anew when a call has ended them."""

    def __init__(self, url: str) -> None:
        self.acl = Acl(url)
        self.acl.call("aclInit")
        self.good: dict[str, int] = {}
        self.renew()
        assert all(self.good[name] for name in ("stream", "event", "devPtr"))

    def renew(self) -> None:
        made = {name: Out(0) for name in ("stream", "event", "devPtr")}
        self.acl.call("aclrtSetDevice", deviceId=0)
        self.acl.call("aclrtCreateStream", stream=made["stream"])
        self.acl.call("aclrtCreateEvent", event=made["event"])
        self.acl.call("aclrtMalloc", devPtr=made["devPtr"], size=4096, policy=0)
        self.good = {name: out.value for name, out in made.items()}
        self.good |= dict.fromkeys(("dst", "src", "ptr", "buf", "addr"), self.good["devPtr"])
        self.good |= {"deviceId": 0, "count": 16, "size": 16, "destMax": 64, "timeout": 1, "waitTime": 1}

    def usual(self, parameter: Parameter) -> Any:
        return Out() if parameter.output else self.good.get(parameter.name, 1 if parameter.number else None)

    def call(self, name: str, arguments: dict[str, Any]) -> None:
        for name_of_time in arguments.keys() & {"timeout", "waitTime"}:
            arguments[name_of_time] = 1  # what waits for ever is no mistake
        began = time.perf_counter()
        answer: object
        try:
            answer = self.acl.call(name, **arguments)
        except TypeError as refused:
            answer = str(refused) if "must be" in str(refused) else refused
        assert isinstance(answer, (int, float, str, type(None))), (name, arguments, answer)
        assert time.perf_counter() - began < SECONDS, (name, arguments)


@pytest.fixture
def program(soc: str) -> Iterator[Program]:
    made = Program(f"fake://{soc}?devices=2&hbm=512m")
    yield made
    made.acl.close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("soc", ["ascend950"])
def test_one_odd_argument_each(program: Program) -> None:
    rng = random.Random(1)
    for name in names():
        entry = find(name)
        assert entry is not None
        if name in ENDS:
            continue
        program.renew()
        for parameter in entry.arguments:
            choices = odd(parameter)
            for value in choices if parameter.output else rng.sample(choices, min(3, len(choices))):
                usual = {each.name: program.usual(each) for each in entry.arguments}
                program.call(name, usual | {parameter.name: value})


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950", "ascend310b1"])
def test_many_odd_arguments_at_once(program: Program, seed: int) -> None:
    rng = random.Random(seed)
    for name in names():
        entry = find(name)
        assert entry is not None
        program.renew()
        for _ in range(80):
            share = rng.random()
            program.call(name, {
                each.name: rng.choice(odd(each)) if rng.random() < share else program.usual(each)
                for each in entry.arguments
            })  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "arguments"), [
    ("an Out()", "aclrtMalloc", {"devPtr": 5, "size": 16}),
    ("an Out()", "aclrtCreateStream", {"stream": [None]}),
    ("an Out()", "aclrtGetRunMode", {"runMode": ctypes.c_int(0)}),
    ("an Out()", "aclrtGetDevice", {"deviceId": AMBIGUOUS}),
    ("a function", "aclrtSetExceptionInfoCallback", {"callback": 5}),
    ("what the callback was given", "aclrtGetTaskIdFromExceptionInfo", {"info": 5}),
    ("a str", "aclrtBinaryLoadFromFile", {"binPath": [None], "binHandle": Out()}),
])  # fmt: skip
def test_the_wrong_type_is_named(kind: str, name: str, arguments: dict[str, Any]) -> None:
    acl = Acl("fake://ascend910b3")
    acl.call("aclrtSetDevice", deviceId=0)
    try:
        for _ in range(2):
            with pytest.raises(TypeError, match=rf"{name}: .*must be {kind}".replace("()", r"\(\)")):
                acl.call(name, **arguments)
    finally:
        acl.close()


@pytest.mark.parametrize(("told", "name", "arguments"), [
    ("flag is 0x", "aclmdlRIBindStream", {"flag": DIGITS}),
    ("configType is 0x", "aclprofSetConfig", {"configType": DIGITS}),
    ("src is '", "aclrtCmoAsync", {"src": "\ud800", "size": 1}),
    ("msg is '", "aclprofMarkEx", {"msg": "\ud800", "msgLen": 3}),
])  # fmt: skip
def test_numbers_and_texts_that_cannot_be_written_out(told: str, name: str, arguments: dict[str, Any]) -> None:
    acl = Acl("fake://ascend950")
    acl.call("aclrtSetDevice", deviceId=0)
    stream, model = Out(), Out()
    acl.call("aclrtCreateStream", stream=stream)
    acl.call("aclmdlRIBuildBegin", modelRI=model, flag=0)
    takes = {each.name for each in find(name).arguments}  # type: ignore[union-attr]
    given = {"stream": stream.value, "modelRI": model.value, "config": "x", "configLength": 1} | arguments
    try:
        for _ in range(2):
            assert acl.call(name, **{key: value for key, value in given.items() if key in takes}) == 107000
            assert told in acl.reports.take_text()
    finally:
        acl.close()


# -- addresses ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def nowhere() -> Iterator[int]:
    """A page that nobody may touch, as device memory is for the host."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(None, ctypes.c_size_t(mmap.PAGESIZE), 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    yield page
    libc.munmap(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE))


@pytest.mark.parametrize("touch", [
    lambda at: caller.read(at, 8), lambda at: caller.text(at), lambda at: caller.write(at, b"12345678", 8),
    lambda at: caller.array(ctypes.c_uint64, 2, at), lambda at: caller.view(ctypes.c_char, 8, at),
    lambda at: caller.at(ctypes.c_uint32, at).value,
], ids=["read", "text", "write", "array", "view", "at"])  # fmt: skip
def test_addresses_are_tried_before_they_are_touched(touch: Callable[[int], object], nowhere: int) -> None:
    caller.take_care(True)
    try:
        for place in (nowhere, 8, 0xDEAD0000, (1 << 64) - 4):
            with pytest.raises(Exception, match="this process has no memory there that it may use") as told:
                touch(place)
            assert told.value.code == 107000  # type: ignore[attr-defined]
    finally:
        caller.take_care(False)


@pytest.mark.parametrize("careful", [True, False])
def test_what_is_there_is_read_and_written(careful: bool) -> None:
    caller.take_care(careful)
    try:
        for size in (1, 8, 4096, 1 << 17):
            data = os.urandom(size - 1) + b"\0"
            block = ctypes.create_string_buffer(size)
            at = ctypes.addressof(block)
            caller.write(at, data, size)
            assert caller.read(at, size) == block.raw == data
            assert caller.text(at) == data.partition(b"\0")[0]
            assert bytes(caller.array(ctypes.c_uint64, size // 8, at)) == data[: size // 8 * 8]
            caller.view(ctypes.c_char, size, at)[0] = b"!"
            assert block.raw[:1] == b"!"
        word = ctypes.c_uint32(7)
        place = caller.at(ctypes.c_uint32, ctypes.addressof(word))
        place.value += 1
        assert word.value == place.value == 8
        assert caller.text(caller.address_of("text é")) == "text é".encode()
    finally:
        caller.take_care(False)


def test_pyacl_refuses_bytes_that_are_not_there() -> None:
    with mock.patch.dict(os.environ), opened("fake://ascend910b3") as acl:
        assert acl.init() == acl.rt.set_device(0) == 0
        pointer, _ = acl.rt.malloc(4096, 0)
        with pytest.raises(Exception, match="no memory there"):
            acl.util.ptr_to_bytes(pointer, 16)
        assert acl.util.ptr_to_bytes(acl.util.bytes_to_ptr(b"there"), 5) == b"there"
