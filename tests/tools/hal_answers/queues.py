"""Calls about queues: allocation, questions, settings, sending, reports, and the task scheduler's messages."""

from __future__ import annotations

import ctypes
import time
from typing import Any

from tests.tools.hal_answers.cards import groups, normal_queue
from tests.tools.hal_answers.session import (
    ABSURD_QUEUE,
    UNKNOWN_QUEUE,
    Answer,
    Call,
    Calls,
    Session,
    c,
    pointer,
    s,
    u64,
)

_NOP = bytes.fromhex("03006700" + "00" * 8 + "0000fe00" + "00" * 48)
"""An entry that does nothing, in the layout of STARS v1."""
_WRONG_REQUESTS: tuple[dict[str, int], ...] = (
    {"type": -1}, {"type": 6}, {"type": 99}, {"sqeSize": 0}, {"sqeSize": 2048}, {"sqeSize": 1024}, {"sqeSize": 4096},
    {"cqeSize": 4096}, {"tsId": 1}, {"tsId": 2}, {"tsId": 9}, {"sqeDepth": 0}, {"cqeDepth": 0},
)  # fmt: skip
_PAUSE_S = 0.02
_STATUS = c.DRV_SQCQ_PROP_SQ_STATUS


def _with(request: Any, changed: dict[str, int]) -> Any:
    for name, value in changed.items():
        setattr(request, name, value)
    return request


def _allocate(session: Session, request: Any) -> tuple[int, Any]:
    made = s.halSqCqOutputInfo()
    return session.hal.halSqCqAllocate(0, pointer(request), pointer(made)), made


def allocation(session: Session) -> Calls:
    """Queues of a stream and for reports."""

    def normal() -> Answer:
        code, made = _allocate(session, normal_queue(session))
        session.queue, session.completions = made.sqId, made.cqId
        return [code, hex(made.flag)]

    def logic() -> Answer:
        request = s.halSqCqInputInfo(type=c.DRV_LOGIC_TYPE, cqeSize=32, cqeDepth=1024)
        request.info[0] = session.stream
        code, made = _allocate(session, request)
        session.logic = made.cqId
        return [code]

    yield session.call("halSqCqAllocate NULL in", "halSqCqAllocate", 0, None, pointer(s.halSqCqOutputInfo()))
    yield session.call("halSqCqAllocate NULL out", "halSqCqAllocate", 0, pointer(normal_queue(session)), None)
    for changed in _WRONG_REQUESTS:
        yield Call(
            f"halSqCqAllocate {changed}",
            lambda changed=changed: [_allocate(session, normal_queue(session, **changed))[0]],
        )
    yield Call("SQ", normal)
    yield Call("LOGIC", logic)


def _query(session: Session, what: int, **changed: int) -> Answer:
    request = s.halSqCqQueryInfo(type=c.DRV_NORMAL_TYPE, sqId=session.queue, cqId=session.completions, prop=what)
    return session.code("halSqCqQuery", 0, pointer(_with(request, changed)))


def questions(session: Session) -> Calls:
    """Properties of queues."""
    for what in range(-1, 30):
        yield Call(f"halSqCqQuery prop {what}", lambda what=what: _query(session, what))
    for what in range(30):
        yield Call(
            f"halSqCqQuery LOGIC prop {what}",
            lambda what=what: _query(session, what, type=c.DRV_LOGIC_TYPE, cqId=session.logic),
        )
    for text, number in (("unknown sq", UNKNOWN_QUEUE), ("sq 70000", ABSURD_QUEUE)):
        for what in (0, 2, 3, 4, 5):
            yield Call(
                f"halSqCqQuery {text} prop {what}",
                lambda what=what, number=number: _query(session, what, sqId=number),
            )
    for ts in (1, 2):
        yield Call(f"halSqCqQuery ts {ts}", lambda ts=ts: _query(session, 0, tsId=ts))
    yield session.call("halSqCqQuery NULL", "halSqCqQuery", 0, None)


def _configure(session: Session, what: int, value: int = 0, **changed: int) -> Answer:
    request = s.halSqCqConfigInfo(type=c.DRV_NORMAL_TYPE, sqId=session.queue, cqId=session.completions, prop=what)
    request.value[0] = value
    return session.code("halSqCqConfig", 0, pointer(_with(request, changed)))


def settings(session: Session) -> Calls:
    """Settings of queues."""
    for what in range(-1, 30):
        yield Call(f"halSqCqConfig prop {what}", lambda what=what: _configure(session, what))
    yield Call("resume", lambda: _configure(session, c.DRV_SQCQ_PROP_SQ_RESUME))
    yield session.call("halSqCqConfig NULL", "halSqCqConfig", 0, None)
    for what in (0, 1, 2, 3, 9, 10):
        yield Call(
            f"halSqCqConfig unknown sq prop {what}", lambda what=what: _configure(session, what, sqId=UNKNOWN_QUEUE)
        )
    for what in (c.DRV_SQCQ_PROP_SQ_PAUSE, c.DRV_SQCQ_PROP_SQ_RESUME):
        yield Call(f"halSqCqConfig all sq prop {what}", lambda what=what: _configure(session, what, sqId=0xFFFFFFFF))
        yield Call(
            f"halSqCqConfig LOGIC pause/resume prop {what}",
            lambda what=what: _configure(session, what, type=c.DRV_LOGIC_TYPE),
        )


def _send(session: Session, count: int = 1, *, address: bool = True, **changed: int) -> Answer:
    request = s.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=session.queue, sqe_num=count, timeout=0)
    entries = ctypes.create_string_buffer(_NOP * max(1, count), 64 * max(1, count))
    session.kept.append(entries)
    request.sqe_addr = ctypes.addressof(entries) if address else None
    return [session.hal.halSqTaskSend(0, pointer(_with(request, changed))), request.pos]


def _code(answer: Answer) -> Answer:
    return answer[:1]


def _wait() -> Answer:
    time.sleep(_PAUSE_S)
    return [0]


def sending(session: Session) -> Calls:
    """Entries, to queues that work and to those that do not."""
    yield Call("send 1", lambda: _send(session))
    yield Call("send 2", lambda: _send(session, 2))
    yield Call("w", _wait)
    yield Call("send 0", lambda: _send(session, 0))
    yield Call("send 1023", lambda: _send(session, 1023))
    yield Call("w", _wait)
    for count in (1024, 1025, 2000):
        yield Call(f"send {count}", lambda count=count: _send(session, count))
    yield Call("send NULL addr", lambda: _send(session, address=False))
    yield Call("send NULL addr n 0", lambda: _send(session, 0, address=False))
    for text, number in (("unknown sq", UNKNOWN_QUEUE), ("sq 70000", ABSURD_QUEUE)):
        yield Call(f"send {text}", lambda number=number: _send(session, sqId=number))
    for ts in (1, 2):
        yield Call(f"send ts {ts}", lambda ts=ts: _send(session, tsId=ts))
    yield session.call("send NULL", "halSqTaskSend", 0, None)
    for kind in (-1, 1, 2, 3, 4, 5, 6, 99):
        yield Call(f"send type {kind}", lambda kind=kind: _code(_send(session, type=kind)))
    yield from _stopping(session)


def _stopping(session: Session) -> Calls:
    pause, resume, head = c.DRV_SQCQ_PROP_SQ_PAUSE, c.DRV_SQCQ_PROP_SQ_RESUME, c.DRV_SQCQ_PROP_SQ_HEAD
    yield Call("pause", lambda: _configure(session, pause))
    yield Call("send paused", lambda: _code(_send(session)))
    yield Call("query head paused", lambda: _query(session, head))
    yield Call("config head paused", lambda: _configure(session, head))
    yield Call("config status paused", lambda: _configure(session, _STATUS, 1))
    yield Call("pause twice", lambda: _configure(session, pause))
    yield Call("resume", lambda: _configure(session, resume))
    yield Call("send resumed", lambda: _code(_send(session)))
    yield Call("resume twice", lambda: _configure(session, resume))
    yield Call("disable", lambda: _configure(session, _STATUS, 0))
    yield Call("send disabled", lambda: _code(_send(session)))
    yield Call("enable", lambda: _configure(session, _STATUS, 1))
    yield Call("w", _wait)
    yield Call("config tail", lambda: _configure(session, c.DRV_SQCQ_PROP_SQ_TAIL, 5))
    yield Call("send after config tail", lambda: _send(session))


def _receive(session: Session, *, address: bool = True, **changed: int) -> Answer:
    request = s.halReportRecvInfo(type=c.DRV_LOGIC_TYPE, cqId=session.logic, timeout=0, cqe_num=4, report_cqe_num=99)
    room = ctypes.create_string_buffer(32 * 64)
    session.kept.append(room)
    request.cqe_addr = ctypes.addressof(room) if address else None
    return [
        session.hal.halCqReportRecv(0, pointer(_with(request, changed))), request.report_cqe_num, request.res[0]
    ]  # fmt: skip


def reports(session: Session) -> Calls:
    """Reports, where there are none."""
    yield Call("recv empty", lambda: _receive(session))
    yield session.call("recv NULL", "halCqReportRecv", 0, None)
    yield Call("recv unknown", lambda: _receive(session, cqId=UNKNOWN_QUEUE))
    yield Call("recv 70000", lambda: _receive(session, cqId=ABSURD_QUEUE))
    yield Call("recv NORMAL", lambda: _receive(session, type=c.DRV_NORMAL_TYPE, cqId=session.completions))
    yield Call("recv n 0", lambda: _receive(session, cqe_num=0))
    yield Call("recv addr NULL", lambda: _receive(session, address=False))
    yield Call("recv ts 2", lambda: _receive(session, tsId=2))
    for kind in (-1, 1, 3, 4, 5, 6, 99):
        yield Call(f"recv type {kind}", lambda kind=kind: _code(_receive(session, type=kind)))


def _free(session: Session, kind: int, **changed: int) -> Answer:
    request = s.halSqCqFreeInfo(type=kind, sqId=session.queue, cqId=session.completions)
    return session.code("halSqCqFree", 0, pointer(_with(request, changed)))


def freeing(session: Session) -> Calls:
    """A queue given back, and used afterwards."""
    yield session.call("free sqcq NULL", "halSqCqFree", 0, None)
    for kind in (99, -1):
        yield Call(f"free type {kind}", lambda kind=kind: _free(session, kind, sqId=0, cqId=0))
    yield Call("free ts 2", lambda: _free(session, c.DRV_NORMAL_TYPE, tsId=2))
    yield Call("free ok", lambda: _free(session, c.DRV_NORMAL_TYPE))
    yield Call("send freed", lambda: _code(_send(session)))
    yield Call("query freed", lambda: _query(session, c.DRV_SQCQ_PROP_SQ_HEAD))
    yield Call("config freed", lambda: _configure(session, c.DRV_SQCQ_PROP_SQ_HEAD))
    yield Call("status freed", lambda: _query(session, _STATUS))
    yield Call("cfg status freed", lambda: _configure(session, _STATUS))
    yield Call("pause freed", lambda: _configure(session, c.DRV_SQCQ_PROP_SQ_PAUSE))


def messages(session: Session) -> Calls:
    """What the task scheduler is told and asked."""
    out = (ctypes.c_char * 512)()

    def control(command: int) -> Answer:
        size = u64(64)
        return session.code("halTsdrvCtl", 0, command, None, 0, ctypes.addressof(out), pointer(size))

    for command in range(-1, 12):
        yield Call(f"halTsdrvCtl cmd {command} no param", lambda command=command: control(command))
    yield Call("ctl CB out NULL", lambda: groups(session, 0, out=False)[::2])
    for size in (0, 3, 8):
        yield Call(f"ctl CB size {size}", lambda size=size: groups(session, 0, size=size)[::2])
    yield Call("ctl CB outsize NULL", lambda: groups(session, 0, room=False)[:1])
