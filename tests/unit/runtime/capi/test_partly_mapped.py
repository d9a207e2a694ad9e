"""Host memory that is only partly there, or read-only, in every call that touches it: a code, and nothing half done."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out

PAGE = mmap.PAGESIZE
SIZE = 3 * PAGE
TO_DEVICE, TO_HOST = 1, 2
_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Bench:
    """A card with memory and a stream, and three pages of the host."""

    def __init__(self, acl: Acl) -> None:
        self.acl = acl
        assert acl.call("aclrtSetDevice", deviceId=0) == 0
        self.stream = self.made("aclrtCreateStream", "stream")
        self.device = self.made("aclrtMalloc", "devPtr", size=SIZE)
        self.host = self.pages()

    def made(self, call: str, name: str, **arguments: Any) -> int:
        out = Out(0)
        assert self.acl.call(call, **{name: out}, **arguments) == 0
        return int(out.value)

    def pages(self) -> int:
        access = mmap.PROT_READ | mmap.PROT_WRITE
        return int(_libc.mmap(None, SIZE, access, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0))

    def protect(self, access: int) -> None:
        assert _libc.mprotect(self.host + PAGE, PAGE, access) == 0

    def device_bytes(self) -> bytes:
        found = ctypes.create_string_buffer(SIZE)
        assert self.acl.call("aclrtMemcpy", dst=ctypes.addressof(found), destMax=SIZE, src=self.device, count=SIZE,
                             kind=TO_HOST) == 0  # fmt: skip
        return found.raw

    def calls(self, to_host: bool) -> dict[str, dict[str, Any]]:
        """Return every call that reads the host memory, or writes it."""
        dst, src, kind = (self.host, self.device, TO_HOST) if to_host else (self.device, self.host, TO_DEVICE)
        copy = {"dst": dst, "destMax": SIZE, "src": src, "count": SIZE, "kind": kind}
        plane = {"dst": dst, "dpitch": PAGE, "src": src, "spitch": PAGE, "width": PAGE, "height": 3, "kind": kind}
        fill = {"devPtr": self.host, "maxCount": SIZE, "value": 7, "count": SIZE}
        found = {"aclrtMemcpy": copy, "aclrtMemcpyAsync": copy | {"stream": self.stream}, "aclrtMemcpy2d": plane,
                 "aclrtMemcpy2dAsync": plane | {"stream": self.stream}}  # fmt: skip
        if to_host:
            found |= {"aclrtMemset": fill, "aclrtMemsetAsync": fill | {"stream": self.stream}}
        return found


@pytest.fixture(params=["ascend910b3", "ascend950"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    acl = Acl(f"fake://{request.param}?hbm=512m")
    made = Bench(acl)
    yield made
    acl.close()
    _libc.munmap(made.host, SIZE)


@pytest.mark.parametrize("to_host", [True, False])
@pytest.mark.parametrize("access", [0, mmap.PROT_READ])
def test_a_page_in_the_middle_that_may_not_be_used(bench: Bench, access: int, to_host: bool) -> None:
    if access and not to_host:
        bench.protect(access)
        for name, arguments in bench.calls(to_host).items():
            assert bench.acl.call(name, **arguments) == 0, name
        return
    before = bench.device_bytes()
    for name, arguments in bench.calls(to_host).items():
        ctypes.memset(bench.host, 5, SIZE)
        bench.protect(access)
        for _ in range(2):
            assert bench.acl.call(name, **arguments) not in (0, None), name
        bench.protect(mmap.PROT_READ | mmap.PROT_WRITE)
        if "2d" not in name:  # rows are copied one by one
            assert ctypes.string_at(bench.host, SIZE) == b"\5" * SIZE, name
            assert bench.device_bytes() == before, name
        assert bench.acl.call(name, **arguments) == 0, name
        assert bench.acl.call("aclrtSynchronizeStream", stream=bench.stream) == 0
        before = bench.device_bytes()


def test_a_fill_of_more_than_there_is_leaves_what_is_there(bench: Bench) -> None:
    """Such a fill goes by pieces; the first ones would be there."""
    size = 80 << 20
    start = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    _libc.mprotect(start + size - PAGE, PAGE, 0)
    fill = {"devPtr": start, "maxCount": size, "value": 7, "count": size, "stream": bench.stream}
    assert bench.acl.call("aclrtMemsetAsync", **fill) == 107000
    assert ctypes.string_at(start, 8) == bytes(8)
    assert bench.acl.call("aclrtMemsetAsync", **{**fill, "maxCount": 1 << 40, "count": 1 << 40}) == 107000
    assert ctypes.string_at(start, 8) == bytes(8)
    _libc.munmap(start, size)


@pytest.mark.parametrize("gone", [True, False])
def test_registered_memory_that_was_unmapped_or_protected_before_the_task_runs(bench: Bench, gone: bool) -> None:
    assert bench.acl.call("aclrtHostRegister", ptr=bench.host, size=SIZE, type=0, devPtr=Out(0)) == 0
    if gone:
        _libc.munmap(bench.host, SIZE)
    else:
        bench.protect(0)
    copy = {"destMax": SIZE, "count": SIZE}
    upload = copy | {"dst": bench.device, "src": bench.host, "kind": TO_DEVICE}
    for kind, dst, src in ((TO_DEVICE, bench.device, bench.host), (TO_HOST, bench.host, bench.device)):
        assert bench.acl.call("aclrtMemcpy", dst=dst, src=src, kind=kind, **copy) != 0
    told = [
        bench.acl.call("aclrtMemcpyAsync", stream=bench.stream, **upload),
        bench.acl.call("aclrtSynchronizeStream", stream=bench.stream),
    ]
    assert any(told)
