"""Calls about memory: allocation, attributes, copies, sharing, registration, advice, DMA chains."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from tests.tools.hal_answers.session import (
    FAR,
    HUGE_PAGE,
    UNTOUCHED,
    Answer,
    Call,
    Calls,
    Session,
    c,
    outcome,
    pointer,
    s,
    u64,
)

_FLAGS = (
    "MEM_DEV", "MEM_HOST", "MEM_SVM", "MEM_DVPP", "MEM_TYPE_HBM", "MEM_TYPE_DDR", "MEM_PAGE_NORMAL", "MEM_PAGE_HUGE",
    "MEM_PAGE_GIANT", "MEM_READONLY", "MEM_CONTIGUOUS_PHY", "MEM_ADVISE_P2P", "MEM_ADVISE_4G", "MEM_ADVISE_TS",
    "MEM_ADVISE_BAR", "MEM_ADVISE_NONE", "MEM_HOST_UVA", "MEM_AGENT_HOST", "MEM_RESERVED", "MEM_SVM_NORMAL",
    "MEM_SVM_HUGE", "MEM_DEV_CP_ONLY",
)  # fmt: skip
_DEVICE = c.MEM_DEV | c.MEM_TYPE_HBM
_SIZES = (
    0, 1, 511, 4097, HUGE_PAGE, HUGE_PAGE + 1, 1 << 30, 1 << 40, 1 << 44, 1 << 63, (1 << 64) - 1, (1 << 64) - 4096,
)  # fmt: skip
_BLOCK = 8 * HUGE_PAGE
_PAGE = 4096
_NAME_LENGTH = 65


def _allocate(session: Session, size: int, flag: int, key: str = "") -> Answer:
    address = ctypes.c_void_p(UNTOUCHED)
    code = session.hal.halMemAlloc(pointer(address), size, flag)
    if key:
        session.addresses[key] = address.value or 0
    return [code, outcome(address.value)]


def allocation(session: Session) -> Calls:
    """Blocks of every kind and size."""
    flags = [(name, getattr(c, name)) for name in sorted(_FLAGS) if hasattr(c, name)]
    for name, flag in flags:
        for text, more in (("", 0), ("|MEM_DEV|HBM", _DEVICE), ("|MEM_HOST", c.MEM_HOST)):
            yield Call(
                f"halMemAlloc 4096 {name}{text}",
                lambda flag=flag, more=more: _allocate(session, _PAGE, flag | more),
            )
    for size in _SIZES:
        yield Call(f"halMemAlloc size {size:#x} dev", lambda size=size: _allocate(session, size, _DEVICE))
        yield Call(f"halMemAlloc size {size:#x} host", lambda size=size: _host(session, size))
    for number in (1, 62, 63, 64, 65):
        yield Call(f"halMemAlloc dev {number}", lambda number=number: _allocate(session, _PAGE, _DEVICE | number))
    for bit in range(64):
        yield Call(f"halMemAlloc dev flag bit {bit}", lambda bit=bit: _allocate(session, _PAGE, _DEVICE | 1 << bit))
    yield session.call("halMemAlloc pp NULL", "halMemAlloc", None, _PAGE, _DEVICE)
    yield Call("ALLOC", lambda: _allocate(session, _BLOCK, _DEVICE, "device"))
    yield Call("HALLOC", lambda: _allocate(session, HUGE_PAGE, c.MEM_HOST, "host"))
    heap = mmap.mmap(-1, 1 << 16)  # begins on a page, so that no answer depends on where it lies
    session.kept.append(ctypes.c_char.from_buffer(heap))
    session.addresses["heap"] = ordinary = ctypes.addressof(session.kept[-1])
    yield session.call("halMemFree NULL", "halMemFree", None)
    yield session.call("halMemFree 1", "halMemFree", 1)
    yield session.call("halMemFree host heap", "halMemFree", ordinary)
    yield session.call("halMemFree inside", "halMemFree", session.addresses["device"] + _PAGE)
    yield session.call("halMemFree far", "halMemFree", FAR)


def _host(session: Session, size: int) -> Answer:
    """Sizes in between are not asked for: a host might really give them."""
    return _allocate(session, size, c.MEM_HOST) if size < 1 << 33 or size > 1 << 42 else [0]


def attribute(session: Session, address: int) -> Answer:
    """Ask what an address is."""
    answer = s.DVattribute()
    code = session.hal.drvMemGetAttribute(address, pointer(answer))
    return [code, answer.memType if code == 0 else ""]


def access(session: Session) -> Calls:
    """Attributes, copies, fills and totals."""
    device, host, heap = (session.addresses[key] for key in ("device", "host", "heap"))
    yield session.call("attr NULL ptr", "drvMemGetAttribute", device, None)
    for text, address in (
        ("dev", device), ("dev inside", device + 5), ("dev past", device + _BLOCK), ("host", host), ("heap", heap),
        ("0", 0), ("1", 1), ("far", FAR), ("high", 1 << 60),
    ):  # fmt: skip
        yield Call(f"attr {text}", lambda address=address: attribute(session, address))
    for text, to, room, origin, count in (
        ("h2d", device, 64, heap, 64), ("n 0", device, 64, heap, 0), ("max 0", device, 0, heap, 64),
        ("max<n", device, 63, heap, 64), ("dst 0", 0, 64, heap, 64), ("src 0", device, 64, 0, 64),
        ("h2h", heap, 64, heap + 64, 64), ("overlap", device, 64, device + 32, 64),
        ("d2d", device + _PAGE, 64, device, 64), ("past", device + _BLOCK - 32, 64, heap, 64),
        ("far", FAR, 64, heap, 64),
        ("same", device, 64, device, 64), ("n huge", device, 1 << 62, heap, 1 << 61),
        ("h2d inner host", host, 64, heap, 64), ("dev->hostalloc", host, 64, device, 64),
    ):  # fmt: skip
        yield session.call(f"cpy {text}", "drvMemcpy", to, room, origin, count)
    for text, to, room, count in (
        ("ok", device, 64, 64), ("n 0", device, 64, 0), ("max<n", device, 63, 64), ("max 0", device, 0, 0),
        ("0", 0, 64, 64), ("host heap", heap, 64, 64), ("hostalloc", host, 64, 64),
        ("past", device + _BLOCK - 32, 64, 64), ("far", FAR, 64, 64),
    ):  # fmt: skip
        yield session.call(f"set {text}", "drvMemsetD8", to, room, 1, count)
    for kind in range(-1, 22):
        yield session.call(f"halMemGetInfo type {kind}", "halMemGetInfo", 0, kind & 0xFFFFFFFF, pointer(s.MemInfo()))
    yield session.call("halMemGetInfo NULL", "halMemGetInfo", 0, 3, None)
    for number in (1, 63, 64, 65):
        yield session.call(f"halMemGetInfo dev {number} type 3", "halMemGetInfo", number, 3, pointer(s.MemInfo()))


def sharing(session: Session) -> Calls:
    """Names for other processes, and registration of host memory."""
    device, host, heap = (session.addresses[key] for key in ("device", "host", "heap"))

    def name(address: int, size: int, length: int) -> Answer:
        text = ctypes.create_string_buffer(128)
        return session.code("halShmemCreateHandle", address, size, text, length)

    for text, address, size, length in (
        ("0 ptr", 0, 64, _NAME_LENGTH), ("n 0", device, 0, _NAME_LENGTH), ("len 0", device, 64, 0),
        ("len 64", device, 64, 64), ("len 65", device, 64, 65), ("len 66", device, 64, 66),
        ("heap", heap, 64, _NAME_LENGTH), ("host", host, 64, _NAME_LENGTH), ("off", device + _PAGE, 64, _NAME_LENGTH),
        ("past", device, 64 * HUGE_PAGE, _NAME_LENGTH),
    ):  # fmt: skip
        yield Call(
            f"shm {text}",
            lambda address=address, size=size, length=length: name(address, size, length),
        )
    yield session.call("shm NULL name", "halShmemCreateHandle", device, 64, None, _NAME_LENGTH)
    yield session.call("shm open NULL", "halShmemOpenHandle", None, pointer(u64()))
    yield session.call("shm destroy NULL", "halShmemDestroyHandle", None)
    empty = ctypes.create_string_buffer(_NAME_LENGTH)
    yield session.call("shm open empty", "halShmemOpenHandle", empty, pointer(u64()))
    yield from _registration(session, device, host, heap & ~(_PAGE - 1))


def _registration(session: Session, device: int, host: int, page: int) -> Calls:
    def register(address: int | None, size: int, flag: int, number: int = 0) -> Answer:
        mapped = ctypes.c_void_p(UNTOUCHED)
        code = session.hal.halHostRegister(address, size, flag, number, pointer(mapped))
        return [code, "untouched" if mapped.value == UNTOUCHED else "set"]

    for flag in range(12):
        yield Call(f"register flag {flag}", lambda flag=flag: register(page, _PAGE, flag))
    yield Call("register NULL", lambda: register(None, _PAGE, 0))
    yield Call("register size 0", lambda: register(page, 0, 0))
    yield Call("register dev 64", lambda: register(page, _PAGE, 0, 64))
    yield session.call("register dst NULL", "halHostRegister", page, _PAGE, 0, 0, None)
    yield Call("register devmem", lambda: register(device, _PAGE, 0))
    yield Call("register hostalloc", lambda: register(host, _PAGE, 0))
    yield session.call("unregister unknown", "halHostUnregister", 0x1000, 0)
    yield session.call("unregister NULL", "halHostUnregister", None, 0)


def advice(session: Session) -> Calls:
    """Advice, physical addresses, DMA chains and asynchronous copies."""
    device, host, heap = (session.addresses[key] for key in ("device", "host", "heap"))
    call = session.call
    for kind in range(8):
        yield call(f"advise {kind}", "halMemAdvise", device, _PAGE, kind, 0)
    yield call("advise 0 ptr", "halMemAdvise", 0, _PAGE, 0, 0)
    yield call("prefetch", "drvMemPrefetchToDevice", device, _PAGE, 0)
    yield call("prefetch 0", "drvMemPrefetchToDevice", 0, _PAGE, 0)
    yield call("prefetch dev 64", "drvMemPrefetchToDevice", device, _PAGE, 64)
    for text, address in (("dev", device), ("0", 0), ("heap", heap)):
        yield call(f"translate {text}", "drvMemAddressTranslate", address, pointer(u64()))
    yield call("translate NULL out", "drvMemAddressTranslate", device, None)
    for text, origin, to, count in (
        ("h2d", host, device, 64), ("heap2d", heap, device, 64), ("n 0", host, device, 0), ("0 src", 0, device, 64),
        ("d2d", device, device + _PAGE, 64),
    ):  # fmt: skip
        yield call(f"convert {text}", "drvMemConvertAddr", origin, to, count, pointer(s.DMA_ADDR()))
    yield call("convert NULL", "drvMemConvertAddr", host, device, 64, None)
    yield call("destroy NULL", "drvMemDestroyAddr", None)
    yield call("convert past", "drvMemConvertAddr", host, device + _BLOCK - 32, 64, pointer(s.DMA_ADDR()))
    yield call("2d zero", "halMemcpy2D", pointer(s.MEMCPY2D()))
    yield call("2d NULL", "halMemcpy2D", None)
    for text, room, count in (("0", 64, 0), ("", 64, 64), ("max<n", 63, 64)):
        yield call(f"async {text}".strip(), "halMemCpyAsync", device, room, heap, count, pointer(u64()))
    yield call("async NULL fd", "halMemCpyAsync", device, 64, heap, 64, None)
    yield call("asyncwait bad", "halMemCpyAsyncWaitFinish", 12345)
    for kind in range(12):
        yield Call(f"halMemCtl {kind}", lambda kind=kind: _control(session, kind))
    yield call("halMemCtl NULL", "halMemCtl", 0, None, 0, None, None)


def _control(session: Session, kind: int) -> Answer:
    given: Any = ctypes.create_string_buffer(64)
    out: Any = ctypes.create_string_buffer(64)
    return session.code("halMemCtl", kind, ctypes.addressof(given), 8, ctypes.addressof(out), pointer(u64(64)))


def freeing(session: Session) -> Calls:
    """Blocks given back, and used afterwards."""
    device, host, heap = (session.addresses[key] for key in ("device", "host", "heap"))
    for text, address in (("host", host), ("dev", device)):
        yield session.call(f"free {text}", "halMemFree", address)
        yield session.call(f"free {text} twice", "halMemFree", address)
    yield Call("attr freed", lambda: attribute(session, device))
    yield session.call("cpy freed", "drvMemcpy", device, 64, heap, 64)
