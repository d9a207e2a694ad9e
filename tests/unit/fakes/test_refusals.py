"""What the driver's library refuses by itself, by the arguments alone: on both drivers, before a card is open."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import npuhal
from npuhal import constants as c
from npuhal import structs as s
from npuhal.api import HalApi

ABSENT, BEYOND = 7, 1200
"""A number that no card has, and one behind the tables of every driver."""
VALUE, DEVICE, PARA = c.DRV_ERROR_INVALID_VALUE, c.DRV_ERROR_INVALID_DEVICE, c.DRV_ERROR_PARA_ERROR
NOT_SUPPORT = c.DRV_ERROR_NOT_SUPPORT
u32, u64, by = ctypes.c_uint32, ctypes.c_uint64, ctypes.byref
TEXT = ctypes.create_string_buffer(65)
"""A name that is empty."""
ROWS = {"src": 1, "dst": 1, "width": 4, "height": 2, "dpitch": 4, "spitch": 4}


def rows(**changed: int) -> Any:
    return by(s.halAsyncDmaInput2DPara(**{**ROWS, **changed}))



REFUSED: list[tuple[str, tuple[Any, ...], int]] = [
    ("halShrIdDestroy", (None,), VALUE), ("halShrIdDestroy", (TEXT,), VALUE),
    ("halShrIdClose", (TEXT,), VALUE), ("drvCloseIpcNotify", (TEXT, by(s.drvIpcNotifyInfo())), VALUE),
    ("halShrIdRecord", (None,), VALUE), ("halShrIdOpen", (TEXT, by(s.drvShrIdInfo())), VALUE),
    ("halShrIdSetAttribute", (TEXT, 7, s.shrIdAttr()), NOT_SUPPORT),
    ("halShrIdCreate", (by(s.drvShrIdInfo(devid=ABSENT)), TEXT, 65), DEVICE),
    ("halShrIdCreate", (by(s.drvShrIdInfo(tsid=2)), TEXT, 65), VALUE),
    ("drvDeviceOpen", (by(ctypes.c_void_p()), ABSENT), DEVICE),
    ("drvDeviceOpen", (by(ctypes.c_void_p()), BEYOND), VALUE),
    ("drvDeviceClose", (ABSENT,), DEVICE), ("drvDeviceClose", (BEYOND,), VALUE),
    ("halAsyncDmaCreate2D", (0, rows(), by(s.halAsyncDmaOutputPara())), NOT_SUPPORT),
    ("halAsyncDmaCreate2D", (0, rows(dir=2), by(s.halAsyncDmaOutputPara())), NOT_SUPPORT),
    ("halAsyncDmaCreate2D", (0, rows(type=1), by(s.halAsyncDmaOutputPara())), VALUE),
    ("halAsyncDmaCreate2D", (0, rows(spitch=3), by(s.halAsyncDmaOutputPara())), VALUE),
    ("halAsyncDmaCreate2D", (0, rows(fixedSize=8), by(s.halAsyncDmaOutputPara())), VALUE),
    ("halAsyncDmaCreateBatch", (0, by(s.halAsyncDmaInputBatchPara()), by(s.halAsyncDmaOutputPara())), VALUE),
    ("halAsyncDmaDestroy2D", (ABSENT, by(s.halAsyncDmaDestroy2DPara())), NOT_SUPPORT),
    ("halAsyncDmaDestroy2D", (0, by(s.halAsyncDmaDestroy2DPara(tsId=2))), VALUE),
    ("halAsyncDmaDestory", (0, by(s.halAsyncDmaDestoryPara(type=1))), VALUE),
    ("halAsyncDmaDestory", (ABSENT, by(s.halAsyncDmaDestoryPara())), DEVICE),
    ("halGetTsegInfoByVa", (0, 1, 1, 0, None), VALUE), ("halPutTsegInfo", (BEYOND, by(s.halTsegInfo())), VALUE),
    ("halSqTaskArgsAsyncCopy", (0, by(s.halSqTaskArgsInfo())), VALUE),
    ("halGetHostID", (None,), PARA), ("halGetDeviceSplitMode", (ABSENT, by(u32())), PARA),
    ("halGetChipFromDevice", (0, None), PARA),
    ("halGetDeviceInfoByBuff", (ABSENT, 0, 99, TEXT, by(ctypes.c_int32(65))), NOT_SUPPORT),
    ("halGetPairPhyDevicesInfo", (ABSENT, ABSENT, 9, by(ctypes.c_int64())), NOT_SUPPORT),
    ("halHostRegisterCapabilities", (ABSENT, 0, by(u32())), DEVICE),
    ("halHostRegisterCapabilities", (0, 99, by(u32())), NOT_SUPPORT),
    ("halHostUnregister", (0x1000, 66), DEVICE),
    ("halMemAdvise", (1, 1, c.ADVISE_ACCESS_READONLY, ABSENT), 0),
    ("halMemExportToShareableHandle", (0, 1, 0, by(u64())), NOT_SUPPORT),
    ("halMemExportToShareableHandleV2", (0, 0, 1, by(s.MemShareHandle())), NOT_SUPPORT),
    ("halMemShareHandleSetAttribute", (0, 7, s.ShareHandleAttr()), NOT_SUPPORT),
    ("halMemHandleGetAttribute", (0, 7, by(s.HandleAttr())), NOT_SUPPORT),
    ("halMemSetAccess", (1, 1, by(s.drv_mem_access_desc()), 1), NOT_SUPPORT),
    ("halShmemOpenHandleByDevId", (ABSENT, TEXT, by(u64())), VALUE),
    ("halShmemSetAttribute", (TEXT, 7, 1), NOT_SUPPORT),
    ("halResourceEnable", (ABSENT, by(s.halResourceIdInputInfo())), DEVICE),
    ("halResourceDisable", (0, by(s.halResourceIdInputInfo(tsId=2))), VALUE),
    ("halCheckProcessStatus", (0, c.PROCESS_CP1, 0, by(ctypes.c_bool())), VALUE),
]  # fmt: skip
ONE_OF_TWO: list[tuple[str, tuple[Any, ...], int, int]] = [
    ("halMemAdvise", (0, 0, 0, 0), VALUE, NOT_SUPPORT),
    ("halHostUnregister", (None, 0), c.DRV_ERROR_NOT_EXIST, PARA),
    ("halHostUnregisterEx", (0x1000, 0, 9), NOT_SUPPORT, c.DRV_ERROR_NOT_EXIST),
    ("halMemHandleGetAttribute", (0, 0, None), PARA, VALUE),
    ("halMemcpy", (None, 0, None, 0, None), VALUE, 0),
    ("halShmemOpenHandle", (TEXT, by(u64())), VALUE, NOT_SUPPORT),
    ("halCheckProcessStatus", (0, c.PROCESS_CP1, c.STATUS_MAX, by(ctypes.c_bool())), NOT_SUPPORT, VALUE),
]  # fmt: skip
"""What the drivers of 910B and 950 refuse differently."""


@pytest.fixture(params=[("ascend910b3", "fake"), ("ascend950", "fake"), ("ascend950", "fake-abi")], ids="-".join)
def machine(request: pytest.FixtureRequest) -> Iterator[tuple[HalApi, bool]]:
    """A machine without an open card, and whether its driver is the first one."""
    soc, scheme = request.param
    hal = npuhal.open_hal(f"{scheme}://{soc}")
    yield hal, soc == "ascend910b3"
    hal.close()


def answers(hal: HalApi, calls: list[tuple[str, tuple[Any, ...], int]]) -> list[tuple[int, str, int]]:
    made: list[Callable[..., int]] = [getattr(hal, name) for name, _, _ in calls]
    return [
        (number, name, function(*args))
        for number, ((name, args, _), function) in enumerate(zip(calls, made, strict=True))
    ]


def test_arguments_alone_are_refused(machine: tuple[HalApi, bool]) -> None:
    expected = [(number, name, code) for number, (name, _, code) in enumerate(REFUSED)]
    assert answers(machine[0], REFUSED) == expected


def test_each_driver_refuses_in_its_own_way(machine: tuple[HalApi, bool]) -> None:
    hal, first = machine
    calls = [(name, args, one if first else other) for name, args, one, other in ONE_OF_TWO]
    assert answers(hal, calls) == [(number, name, code) for number, (name, _, code) in enumerate(calls)]
