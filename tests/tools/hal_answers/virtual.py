"""Calls about virtual memory: addresses reserved, physical memory made, one mapped to the other."""

from __future__ import annotations

import ctypes
from typing import Any

from npuhal import prototypes
from tests.tools.hal_answers.memory import attribute
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

_VERSION = 0x72418
_HANDLE: Any = prototypes.prototype("halMemCreate", _VERSION).args[0].ctype._type_
_PROPERTIES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("side", (0, 1, 2, 3, 9)), ("devid", (0, 1, 64, 65)), ("module_id", (0, 7, 63, 64, 200, 255)),
    ("pg_type", (0, 1, 2, 3, 9)), ("mem_type", (0, 1, 2, 3, 4, 5, 9)), ("reserve", (0, 1)),
)  # fmt: skip
_RANGE = 8 * HUGE_PAGE


def _reserve(session: Session, size: int, align: int = 0, address: int | None = None, flag: int = 0,
             key: str = "") -> Answer:  # fmt: skip
    made = ctypes.c_void_p(UNTOUCHED)
    code = session.hal.halMemAddressReserve(pointer(made), size, align, address, flag)
    if key and code == 0:
        session.addresses[key] = made.value or 0
    said = outcome(made.value)
    return [code, f"aligned {(made.value or 0) % HUGE_PAGE == 0}" if said == "set" else said]


def _property(**changed: int) -> Any:
    made = s.drv_mem_prop(side=c.MEM_DEV_SIDE, devid=0, module_id=7, pg_type=c.MEM_HUGE_PAGE_TYPE,
                          mem_type=c.MEM_HBM_TYPE)  # fmt: skip
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def _create(session: Session, size: int, *, key: str = "", flag: int = 0, **changed: int) -> Answer:
    made = ctypes.c_void_p(UNTOUCHED)
    wanted = _property(**changed)
    out = ctypes.cast(ctypes.pointer(made), ctypes.POINTER(_HANDLE))
    code = session.hal.halMemCreate(out, size, pointer(wanted), flag)
    if key and code == 0:
        session.addresses[key] = made.value or 0
    return [code, outcome(made.value)]


def making(session: Session) -> Calls:
    """Reservations and physical memory."""
    yield session.call("reserve NULL", "halMemAddressReserve", None, HUGE_PAGE, 0, None, 0)
    yield Call("reserve 0", lambda: _reserve(session, 0))
    yield Call("reserve M", lambda: _reserve(session, HUGE_PAGE))
    yield Call("reserve align 3", lambda: _reserve(session, HUGE_PAGE, 3))
    yield Call("reserve align M", lambda: _reserve(session, HUGE_PAGE, HUGE_PAGE))
    yield Call("reserve addr", lambda: _reserve(session, HUGE_PAGE, 0, FAR))
    for flag in (1, 2, 3, 4, 8, 16):
        yield Call(f"reserve flag {flag}", lambda flag=flag: _reserve(session, HUGE_PAGE, 0, None, flag))
    yield Call("reserve 1<<50", lambda: _reserve(session, 1 << 50))
    yield Call("RES", lambda: _reserve(session, _RANGE, key="range"))
    out = ctypes.cast(ctypes.pointer(ctypes.c_void_p()), ctypes.POINTER(_HANDLE))
    yield session.call("create NULL prop", "halMemCreate", out, HUGE_PAGE, None, 0)
    for size in (0, 1, HUGE_PAGE + 1):
        text = "M+1" if size > HUGE_PAGE else str(size)
        yield Call(f"create {text}", lambda size=size: _create(session, size))
    yield Call("create flag 1", lambda: _create(session, HUGE_PAGE, flag=1))
    for name, values in _PROPERTIES:
        for value in values:
            yield Call(
                f"create {name}={value}",
                lambda name=name, value=value: _create(session, HUGE_PAGE, **{name: value}),
            )
    yield Call("MK", lambda: _create(session, 2 * HUGE_PAGE, key="handle"))


def _handle(session: Session) -> Any:
    return ctypes.cast(ctypes.c_void_p(session.addresses["handle"]), _HANDLE)


def _map(session: Session, address: int | None, size: int, *, offset: int = 0, handle: bool = True,
         flag: int = 0) -> Answer:  # fmt: skip
    return session.code("halMemMap", address, size, offset, _handle(session) if handle else None, flag)


def mapping(session: Session) -> Calls:
    """Physical memory mapped, unmapped and given back, in right and wrong orders."""
    base, heap = session.addresses["range"], session.addresses["heap"]
    size = 2 * HUGE_PAGE
    yield Call("map NULL", lambda: _map(session, None, HUGE_PAGE))
    yield Call("map handle NULL", lambda: _map(session, base, size, handle=False))
    yield Call("map size 0", lambda: _map(session, base, 0))
    yield Call("map off", lambda: _map(session, base, size, offset=1))
    yield Call("map flag 1", lambda: _map(session, base, size, flag=1))
    yield Call("map less", lambda: _map(session, base, HUGE_PAGE))
    yield Call("map more", lambda: _map(session, base, 2 * size))
    yield Call("map unreserved", lambda: _map(session, FAR, size))
    yield Call("map unaligned", lambda: _map(session, base + 4096, size))
    yield Call("map past", lambda: _map(session, base + _RANGE - HUGE_PAGE, size))
    yield Call("MP", lambda: _map(session, base, size))
    yield Call("map again same va", lambda: _map(session, base, size))
    yield Call("map handle twice", lambda: _map(session, base + 2 * size, size))
    yield Call("attr mapped", lambda: attribute(session, base))
    yield Call("attr reserved not mapped", lambda: attribute(session, base + 3 * size))
    yield session.call("cpy mapped", "drvMemcpy", base, 64, heap, 64)
    yield session.call("free mapped", "halMemFree", base)
    yield session.call("addrfree mapped", "halMemAddressFree", base)
    yield session.call("release mapped", "halMemRelease", _handle(session))
    yield session.call("unmap inside", "halMemUnmap", base + HUGE_PAGE)
    yield session.call("unmap NULL", "halMemUnmap", None)
    yield session.call("unmap", "halMemUnmap", base)
    yield session.call("unmap twice", "halMemUnmap", base)
    yield session.call("release NULL", "halMemRelease", None)
    yield session.call("addrfree inside", "halMemAddressFree", base + HUGE_PAGE)
    yield session.call("addrfree NULL", "halMemAddressFree", None)
    yield session.call("addrfree dev", "halMemAddressFree", session.addresses["device"])
    yield session.call("addrfree", "halMemAddressFree", base)
    yield session.call("addrfree twice", "halMemAddressFree", base)
    yield from _granularity(session)


def _granularity(session: Session) -> Calls:
    def ask(option: int, **changed: int) -> Answer:
        wanted, unit = _property(**changed), u64(7)
        code = session.hal.halMemGetAllocationGranularity(pointer(wanted), option, pointer(unit))
        return [code, unit.value]

    for option in (0, 1, 2):
        for pages in (0, 1, 2):
            yield Call(f"granularity {option} pg {pages}", lambda o=option, p=pages: ask(o, pg_type=p))
    yield Call("granularity host", lambda: ask(0, side=0))
    yield session.call("granularity NULL", "halMemGetAllocationGranularity", None, 0, pointer(u64()))
