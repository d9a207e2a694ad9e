"""Calls about cards, before any is open: counts, facts, features, error codes; then opening, and ids."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.tools.hal_answers.session import Answer, Call, Calls, Session, c, pointer, s, u32, u64

_NUMBERS = (1, 63, 64, 65, 1123, 1124, 0xFFFFFFFF)
"""Device numbers without a card: just in and just out of the ranges of cards, hosts and virtual cards."""
_UNASKED = -77
_CODES = (*range(120), 0xFFFE, 0xFFFF)
_BUILDS = (1, 64, 65, 1124)


def before_open(session: Session) -> Calls:
    """What needs no open card."""
    call = session.call
    for length in (0, 1, 2):
        yield call(f"drvGetDevIDs len {length}", "drvGetDevIDs", (ctypes.c_uint32 * 4)(), length)
    yield call("drvGetDevNum NULL", "drvGetDevNum", None)
    yield call("drvGetDevIDs NULL", "drvGetDevIDs", None, 1)
    yield call("drvGetPlatformInfo NULL", "drvGetPlatformInfo", None)
    yield call("halGetAPIVersion NULL", "halGetAPIVersion", None)
    for number in _NUMBERS:
        yield Call(
            f"halGetDeviceInfo dev {number} SYSTEM/VERSION",
            lambda number=number: _fact(session, number, c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_VERSION),
        )
        yield from _one_card(session, number)
    yield from _facts(session)
    yield from _texts(session)
    for feature in range(40):
        yield call(f"halSupportFeature 0 {feature}", "halSupportFeature", 0, feature)
    for code in _CODES:
        yield call(f"halMapErrorCode {code}", "halMapErrorCode", code)
    yield from _closed(session)


def _one_card(session: Session, number: int) -> Calls:
    call = session.call
    yield call(f"drvDeviceGetPhyIdByIndex {number}", "drvDeviceGetPhyIdByIndex", number, pointer(u32()))
    yield call(f"drvDeviceGetIndexByPhyId {number}", "drvDeviceGetIndexByPhyId", number, pointer(u32()))
    yield call(f"drvDeviceStatus {number}", "drvDeviceStatus", number, pointer(ctypes.c_int32()))
    yield call(f"halGetChipInfo {number}", "halGetChipInfo", number, pointer(s.halChipInfo()))
    yield call(f"halGetChipCapability {number}", "halGetChipCapability", number, pointer(s.halCapabilityInfo()))
    text = ctypes.create_string_buffer(64)
    yield call(f"halGetSocVersion {number}", "halGetSocVersion", number, text, 64)
    yield call(f"halDeviceOpen {number}", "halDeviceOpen", number, pointer(s.hal_dev_open_in()),
               pointer(s.hal_dev_open_out()))  # fmt: skip
    yield call(f"halDeviceClose {number}", "halDeviceClose", number, None)
    yield call(f"drvMemSmmuQuery {number}", "drvMemSmmuQuery", number, pointer(u32()))
    yield call(f"halSupportFeature {number} 0", "halSupportFeature", number, 0)
    yield call(f"halMemGetInfo {number} 0", "halMemGetInfo", number, 0, pointer(s.MemInfo()))


def _fact(session: Session, number: int, module: int, info: int) -> Answer:
    value = ctypes.c_int64(_UNASKED)
    code = session.hal.halGetDeviceInfo(number, module, info, pointer(value))
    return [code, _UNASKED if value.value == _UNASKED else ""]


def _named(prefix: str) -> list[tuple[int, str]]:
    numbers = {getattr(c, name): name.removeprefix(prefix) for name in dir(c) if name.startswith(prefix)}
    return sorted(numbers.items())


def _facts(session: Session) -> Calls:
    for module, name in _named("MODULE_TYPE_"):
        for info, what in _named("INFO_TYPE_"):
            yield Call(
                f"halGetDeviceInfo {name} {what}",
                lambda module=module, info=info: _fact(session, 0, module, info),
            )
    for module in (-1, 99):
        yield Call(f"halGetDeviceInfo module {module}", lambda module=module: _fact(session, 0, module, 0))
    yield session.call("halGetDeviceInfo NULL", "halGetDeviceInfo", 0, 0, 0, None)


def _texts(session: Session) -> Calls:
    def soc(length: int) -> Answer:
        text = ctypes.create_string_buffer(b"?" * 10, 64)
        return [session.hal.halGetSocVersion(0, text, length), text.value.decode()]

    def chip() -> Answer:
        info = s.halChipInfo()
        return [session.hal.halGetChipInfo(0, pointer(info)), bytes(info).hex()[:80]]

    for length in (0, 1, 31, 32, 49, 50, 64):
        yield Call(f"halGetSocVersion len {length}", lambda length=length: soc(length))
    yield session.call("halGetSocVersion NULL", "halGetSocVersion", 0, None, 64)
    yield session.call("halGetChipInfo NULL", "halGetChipInfo", 0, None)
    yield Call("halGetChipInfo 0", chip)
    yield session.call("drvDeviceStatus NULL", "drvDeviceStatus", 0, None)


def ids(number: int, kind: int, *, ts: int = 0, flag: int = 0) -> Any:
    """Return a request about an id."""
    request = s.halResourceIdInputInfo(type=kind, tsId=ts, resourceId=number)
    request.res[1] = flag
    return pointer(request)


def normal_queue(session: Session, **changed: int) -> Any:
    """Return a request for the queue of a stream."""
    request = s.halSqCqInputInfo(type=c.DRV_NORMAL_TYPE, sqeSize=64, cqeSize=16, sqeDepth=1024, cqeDepth=1024)
    request.info[0] = session.stream
    for name, value in changed.items():
        setattr(request, name, value)
    return request


def groups(session: Session, number: int, *, size: int = 4, out: bool = True, room: bool = True) -> Answer:
    """Ask how many groups take callbacks."""
    value, length = (ctypes.c_uint32 * 2)(), u64(size)
    code = session.hal.halTsdrvCtl(
        number, c.TSDRV_CTL_CMD_CB_GROUP_NUM_GET, None, 0, ctypes.addressof(value) if out else None,
        pointer(length) if room else None,
    )  # fmt: skip
    return [code, value[0], length.value]


def _closed(session: Session) -> Calls:
    call = session.call
    yield call("notopen halResourceIdAlloc", "halResourceIdAlloc", 0, ids(0, c.DRV_STREAM_ID),
               pointer(s.halResourceIdOutputInfo()))  # fmt: skip
    yield call("notopen halSqCqAllocate", "halSqCqAllocate", 0, pointer(normal_queue(session)),
               pointer(s.halSqCqOutputInfo()))  # fmt: skip
    for function, request in (
        ("halSqCqQuery", s.halSqCqQueryInfo), ("halSqCqConfig", s.halSqCqConfigInfo),
        ("halSqTaskSend", s.halTaskSendInfo), ("halCqReportRecv", s.halReportRecvInfo),
    ):  # fmt: skip
        yield call(f"notopen {function}", function, 0, pointer(request()))
    for where, flag in (("dev", c.MEM_DEV | c.MEM_TYPE_HBM), ("host", c.MEM_HOST)):
        yield call(f"notopen halMemAlloc {where}", "halMemAlloc", pointer(ctypes.c_void_p()), 4096, flag)
    yield call("notopen halMemFree", "halMemFree", 0x12C000000000)
    yield call("notopen drvMemcpy", "drvMemcpy", 0x12C000000000, 16, 0x12C000001000, 16)
    yield call("notopen halMemGetInfo", "halMemGetInfo", 0, c.MEM_INFO_TYPE_DDR_SIZE, pointer(s.MemInfo()))
    yield Call("notopen halTsdrvCtl CB", lambda: groups(session, 0))
    yield call("notopen halResourceInfoQuery", "halResourceInfoQuery", 0, 0, 0, pointer(s.halResourceInfo()))
    yield call("notopen halMemAddressReserve", "halMemAddressReserve", pointer(ctypes.c_void_p()), 2 << 20, 0, None, 0)
    asked, size = s.supportFeaturePara(), ctypes.sizeof(s.supportFeaturePara)
    yield call("notopen halMemCtl", "halMemCtl", c.CTRL_TYPE_SUPPORT_FEATURE, pointer(asked), size,
               pointer(s.supportFeaturePara()), pointer(u64(size)))  # fmt: skip
    yield call("halDeviceClose not open", "halDeviceClose", 0, None)
    yield call("halDeviceOpen out NULL", "halDeviceOpen", 0, pointer(s.hal_dev_open_in()), None)


def opening(session: Session) -> Calls:
    """Open card 0."""
    call = session.call
    yield call("OPEN", "halDeviceOpen", 0, pointer(s.hal_dev_open_in()), pointer(s.hal_dev_open_out()))
    yield call("halDeviceOpen again", "halDeviceOpen", 0, pointer(s.hal_dev_open_in()), pointer(s.hal_dev_open_out()))
    yield call("halDeviceOpen in NULL", "halDeviceOpen", 0, None, pointer(s.hal_dev_open_out()))
    yield call("drvMemSmmuQuery NULL", "drvMemSmmuQuery", 0, None)


def resource_ids(session: Session) -> Calls:
    """Ids of streams and the like, and every way to name a card wrongly."""
    call = session.call
    out = s.halResourceIdOutputInfo

    def stream() -> Answer:
        made = out()
        code = session.hal.halResourceIdAlloc(0, ids(0, c.DRV_STREAM_ID), pointer(made))
        session.stream = made.resourceId
        return [code]

    for kind in range(-1, 9):
        yield call(f"halResourceIdAlloc type {kind}", "halResourceIdAlloc", 0, ids(0, kind), pointer(out()))
    yield Call("STREAM", stream)
    yield call("halResourceIdAlloc in NULL", "halResourceIdAlloc", 0, None, pointer(out()))
    yield call("halResourceIdAlloc out NULL", "halResourceIdAlloc", 0, ids(0, 0), None)
    for ts in (1, 2, 9):
        yield call(f"halResourceIdAlloc ts {ts}", "halResourceIdAlloc", 0, ids(0, 0, ts=ts), pointer(out()))
    for ts in (1, 2, 9):
        yield call(f"halResourceIdFree ts {ts}", "halResourceIdFree", 0, ids(0, 0, ts=ts))
    for flag in (1, 2, 4, 8, 0x80000000):
        yield call(f"halResourceIdAlloc flag {flag:#x}", "halResourceIdAlloc", 0, ids(3, 0, flag=flag), pointer(out()))
    for number in _BUILDS:
        yield call(f"halResourceIdAlloc dev {number}", "halResourceIdAlloc", number, ids(0, 0), pointer(out()))
        yield call(f"halSqCqAllocate dev {number}", "halSqCqAllocate", number, pointer(normal_queue(session)),
                   pointer(s.halSqCqOutputInfo()))  # fmt: skip
        yield call(f"halSqTaskSend dev {number}", "halSqTaskSend", number, pointer(s.halTaskSendInfo()))
        yield call(f"halCqReportRecv dev {number}", "halCqReportRecv", number, pointer(s.halReportRecvInfo()))
        yield call(f"halSqCqQuery dev {number}", "halSqCqQuery", number, pointer(s.halSqCqQueryInfo()))
        yield Call(f"halTsdrvCtl dev {number}", lambda number=number: groups(session, number)[:1])
        yield call(f"halResourceInfoQuery dev {number}", "halResourceInfoQuery", number, 0, 0,
                   pointer(s.halResourceInfo()))  # fmt: skip
    for kind in range(-1, 14):
        yield call(f"halResourceInfoQuery type {kind}", "halResourceInfoQuery", 0, 0, kind,
                   pointer(s.halResourceInfo()))  # fmt: skip
    for ts in (1, 9):
        yield call(f"halResourceInfoQuery ts {ts}", "halResourceInfoQuery", 0, ts, 0, pointer(s.halResourceInfo()))
    yield call("halResourceInfoQuery NULL", "halResourceInfoQuery", 0, 0, 0, None)


def closing(session: Session) -> Calls:
    """Close card 0."""
    for kind in (1, 9):
        yield session.call(f"close type {kind}", "halDeviceClose", 0, pointer(s.halDevCloseIn(close_type=kind)))
    yield session.call("close again", "halDeviceClose", 0, None)
