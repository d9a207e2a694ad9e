"""Segments of the UB link, and the copies of kernel arguments between them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import Rig

SIZE = 4096


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig("fake://ascend950pr_9599?args=ub&seed=1")
    yield made
    made.close()


def segment(rig: Rig, address: int, host: bool) -> Any:
    info = s.halTsegInfo()
    assert rig.hal.halGetTsegInfoByVa(0, address, SIZE, int(host), ctypes.byref(info)) == 0
    return info


def test_copies_of_arguments_and_what_is_refused(rig: Rig) -> None:
    host, device = rig.alloc_host(SIZE), rig.alloc(SIZE)
    near, far = segment(rig, host, True), segment(rig, device, False)
    ctypes.memmove(host + 8, b"arguments", 9)
    whole = {"sqId": rig.stream().sq_id, "size": 9, "src": host + 8, "dst": device,
             "srcTsegInfo": ctypes.addressof(near), "dstTsegInfo": ctypes.addressof(far)}  # fmt: skip
    for change in (
        {"size": 0}, {"sqId": 77}, {"srcTsegInfo": None}, {"src": host + SIZE - 8},
        {"dstTsegInfo": ctypes.addressof(near)}, {},
    ):  # fmt: skip
        assert rig.get(device, 9) == bytes(9)
        info = s.halSqTaskArgsInfo(**{**whole, **change})
        rc = rig.hal.halSqTaskArgsAsyncCopy(0, ctypes.byref(info))
        assert rc == (c.DRV_ERROR_INVALID_VALUE if change else 0)
    assert rig.get(device, 9) == b"arguments"


def test_segments_end_once(rig: Rig) -> None:
    device = rig.alloc(SIZE)
    for info in (segment(rig, device, False), segment(rig, device, False)):
        assert rig.hal.halPutTsegInfo(0, ctypes.byref(info)) == 0
        assert rig.hal.halPutTsegInfo(0, ctypes.byref(info)) == c.DRV_ERROR_INVALID_VALUE
    for address, size, flag in ((device, 0, 0), (device, SIZE, 2), (device, SIZE << 20, 0)):
        info = s.halTsegInfo()
        rc = rig.hal.halGetTsegInfoByVa(0, address, size, flag, ctypes.byref(info))
        assert rc == c.DRV_ERROR_INVALID_VALUE


def test_without_the_link_there_are_no_segments() -> None:
    rig = Rig("fake://ascend950pr_9599?seed=1")
    info = s.halTsegInfo()
    assert rig.hal.halGetTsegInfoByVa(0, 1, 1, 0, ctypes.byref(info)) == c.DRV_ERROR_NOT_SUPPORT
    assert rig.hal.halPutTsegInfo(0, ctypes.byref(info)) == c.DRV_ERROR_NOT_SUPPORT
    copy = s.halSqTaskArgsInfo(src=1, dst=1, size=1)
    assert rig.hal.halSqTaskArgsAsyncCopy(0, ctypes.byref(copy)) == c.DRV_ERROR_NOT_SUPPORT
    copy.size = 0
    assert rig.hal.halSqTaskArgsAsyncCopy(0, ctypes.byref(copy)) == c.DRV_ERROR_INVALID_VALUE
    rig.close()
