"""Ranges of this process's memory: usable throughout, or refused, and no signal."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from npuhal import process_memory
from npuhal.process_memory import readable, writable

PAGE = mmap.PAGESIZE
PAGES = 5
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


@pytest.fixture(params=["touched", "looked up", "looked up by an old system"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    few = 1 << 30 if request.param == "touched" else 1
    old = request.param.endswith("system")
    touch = {"_can_touch": lambda: False} if old else {}
    with mock.patch.multiple(process_memory, _MANY=few, **touch):
        yield


@pytest.fixture
def pages() -> Iterator[int]:
    start = _libc.mmap(None, PAGES * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                       -1, 0)  # fmt: skip
    yield start
    _libc.munmap(start, PAGES * PAGE)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("access", "read", "write"), [
    (mmap.PROT_READ | mmap.PROT_WRITE, True, True), (mmap.PROT_READ, True, False), (0, False, False),
    (None, False, False),
])  # fmt: skip
def test_every_page_of_a_range_counts(pages: int, access: int | None, read: bool, write: bool) -> None:
    middle = pages + 2 * PAGE
    if access is None:
        _libc.munmap(middle, PAGE)
    else:
        assert _libc.mprotect(middle, PAGE, access) == 0
    for start, size in ((pages, PAGES * PAGE), (middle, 1), (middle - 1, 2), (middle + PAGE - 1, 2), (pages + 9, 9999)):
        assert (readable(start, size), writable(start, size)) == (read, write), (start - pages, size)
    for start, size in ((pages, 2 * PAGE), (middle + PAGE, 2 * PAGE), (middle - 1, 1)):
        assert readable(start, size)
        assert writable(start, size)


@pytest.mark.usefixtures("way")
def test_sizes_that_wrap_or_reach_out_of_all_memory_are_refused(pages: int) -> None:
    for start, size in ((pages, 0), (pages, -1), (pages, (1 << 64) - pages), (pages, 1 << 64), (0, 8), (-8, 16),
                        ((1 << 64) - 4, 8), (1 << 63, 8), (pages, 1 << 46)):  # fmt: skip
        assert not readable(start, size)
        assert not writable(start, size)


@pytest.mark.parametrize("few", [1, 1 << 30])
def test_a_file_that_was_cut_ends_where_its_bytes_end(tmp_path: Path, few: int) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(3 * PAGE))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 3 * PAGE) as mapped:
        start = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        os.truncate(path, PAGE)
        with mock.patch.object(process_memory, "_MANY", few):
            assert readable(start, PAGE)
            assert writable(start, PAGE)
            assert not readable(start, 3 * PAGE)
            assert not writable(start, 2 * PAGE)


def test_blank_memory_is_zero_and_this_process_own() -> None:
    made = process_memory.blank(3 * mmap.PAGESIZE + 1)
    assert len(made) == 3 * mmap.PAGESIZE + 1
    assert not any(made)
    made[mmap.PAGESIZE : mmap.PAGESIZE + 3] = b"abc"
    if (child := os.fork()) == 0:
        made[0] = 1  # the parent's stays
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (made[0], bytes(made[mmap.PAGESIZE :][:3])) == (0, b"abc")
