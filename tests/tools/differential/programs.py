"""Programs as data: steps that name a C function, and its arguments as numbers, variables, outputs and buffers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Argument = Any
"""A number, text or None; {"var": name}: what an output gave; {"out": name}: an output, compared where "compare" says
so, and with "handle" only whether it is NULL; {"data": name, "size": bytes, "fill": byte}: a buffer of the host, made
with its first mention and compared, or with all its bytes in "hex"; {"words": [...], "name": name}: the address of
64-bit words; {"struct": type, "fields": {...}, "name": name}: that of a struct; {"callback": true}: a function that
does nothing."""

SIZE = 256
"""Bytes of each buffer."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call."""

    function: str
    arguments: dict[str, Argument]
    thread: str = ""
    """The thread that makes the call; "" is the main one."""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_shown(value)}" for name, value in self.arguments.items())
        return f"{self.function}({given}){f' on {self.thread}' if self.thread else ''}"


def _shown(value: Argument) -> str:
    if not isinstance(value, dict):
        return "NULL" if value is None else repr(value)
    if "out" in value:
        return f"&{value['out']}"
    if "data" in value:
        return f"{value['data']}[{value['size']}]"
    if "words" in value:
        return f"[{', '.join(map(_shown, value['words']))}]"
    if "struct" in value:
        return f"{value['struct']}{value['fields']}"
    return str(value.get("var") or "function")


@dataclass(slots=True)
class _State:
    """What a program has made, by kind: names of variables."""

    draw: random.Random
    steps: list[Step] = field(default_factory=list)
    live: dict[str, list[str]] = field(default_factory=dict)
    dead: list[str] = field(default_factory=list)
    count: int = 0

    def new(self, kind: str) -> str:
        self.count += 1
        name = f"{kind}{self.count}"
        self.live.setdefault(kind, []).append(name)
        return name

    def one(self, kind: str) -> Argument:
        """Return an object of a kind; now and then NULL, one that is gone, or one of another kind."""
        chance = self.draw.random()
        if chance < 0.04:
            return None
        if chance < 0.07 and self.dead:
            return {"var": self.draw.choice(self.dead)}
        names = self.live.get(kind, [])
        return {"var": self.draw.choice(names)} if names else None

    def take(self, kind: str) -> Argument:
        """Return an object that the step ends."""
        value = self.one(kind)
        if isinstance(value, dict) and value["var"] in self.live.get(kind, []):
            self.live[kind].remove(value["var"])
            self.dead.append(value["var"])
        return value

    def add(self, function: str, **arguments: Argument) -> None:
        self.steps.append(Step(function, arguments))

    def number(self, *usual: int) -> int:
        """Return one of the usual values, now and then a wrong one."""
        return self.draw.choice((-1, 0x7FFFFFFF, 99, 0)) if self.draw.random() < 0.08 else self.draw.choice(usual)


def _out(name: str, compare: bool = False) -> Argument:
    return {"out": name, "compare": compare}


def _value(state: _State) -> Argument:
    """An output whose value both must give."""
    state.count += 1
    return _out(f"v{state.count}", compare=True)


def _malloc(state: _State) -> None:
    size = state.draw.choice((SIZE, SIZE, 4096, 1, 0))
    state.add("aclrtMalloc", devPtr=_out(state.new("memory" if size >= SIZE else "small")), size=size,
              policy=state.number(0, 1, 2))  # fmt: skip


def _copy(state: _State) -> None:
    asynchronous = state.draw.random() < 0.5
    down = state.draw.random() < 0.5
    state.count += 1
    host = {"data": f"h{state.count}", "size": SIZE, "fill": state.draw.randrange(256)}
    memory, size = state.one("memory"), state.draw.choice((SIZE, 17, 0, SIZE + 1))
    ends = {"dst": host, "destMax": SIZE, "src": memory} if down else {"dst": memory, "destMax": SIZE, "src": host}
    rest = {"count": size, "kind": (2 if down else 1) if state.draw.random() < 0.9 else state.number(0, 3, 4)}
    if not asynchronous:
        state.add("aclrtMemcpy", **ends, **rest)
        return
    stream = state.one("stream")
    state.add("aclrtMemcpyAsync", **ends, **rest, stream=stream)
    state.add("aclrtSynchronizeStream", stream=stream)


def _query(state: _State) -> None:
    state.draw.choice((
        lambda: state.add("aclrtGetDevice", deviceId=_value(state)),
        lambda: state.add("aclrtGetDeviceCount", count=_value(state)),
        lambda: state.add("aclrtGetRunMode", runMode=_value(state)),
        lambda: state.add("aclrtGetDeviceInfo", deviceId=state.number(0, 1), attr=state.number(101, 201, 501),
                          value=_value(state)),
        lambda: state.add("aclrtGetStreamAvailableNum", streamCount=_out("unused")),
        lambda: state.add("aclrtPeekAtLastError", level=0),
        lambda: state.add("aclrtGetLastError", level=0),
        lambda: state.add("aclDataTypeSize", dataType=state.number(0, 1, 3, 9, 12)),
        lambda: state.add("aclrtStreamGetFlags", stream=state.one("stream"), flags=_value(state)),
        lambda: state.add("aclrtPointerGetAttributes", ptr=state.one("memory"),
                          attributes={"data": f"p{len(state.steps)}", "size": 64, "fill": 0}),
    ))()  # fmt: skip


def _status(state: _State) -> None:
    """Ask how far something is, once nothing is under way: before that both answers are right."""
    state.add("aclrtSynchronizeDevice")
    if state.draw.random() < 0.5:
        state.add("aclrtQueryEventStatus", event=state.one("event"), status=_value(state))
    else:
        state.add("aclrtStreamQuery", stream=state.one("stream"), status=_value(state))


def _on_stream(state: _State) -> None:
    """Let the device write memory, and wait for it: what is read before that is a matter of time."""
    stream = state.one("stream")
    state.draw.choice((
        lambda: state.add("aclrtGetOverflowStatus", outputAddr=state.one("memory"), outputSize=64, stream=stream),
        lambda: state.add("aclmdlRIExecuteAsync", modelRI=state.one("model"), stream=stream),
        lambda: state.add("aclrtMemsetAsync", devPtr=state.one("memory"), maxCount=SIZE,
                          value=state.draw.randrange(256), count=state.number(SIZE, 32), stream=stream),
    ))()  # fmt: skip
    state.add("aclrtSynchronizeStream", stream=stream)


def _capture(state: _State) -> None:
    stream, memory = state.one("stream"), state.one("memory")
    state.add("aclmdlRICaptureBegin", stream=stream, mode=state.number(0, 1, 2))
    for _ in range(state.draw.randrange(3)):
        state.add("aclrtMemsetAsync", devPtr=memory, maxCount=SIZE, value=state.draw.randrange(256), count=SIZE,
                  stream=stream)  # fmt: skip
    state.add("aclmdlRICaptureGetInfo", stream=stream, status=_value(state), modelRI=None)
    state.add("aclmdlRICaptureEnd", stream=stream, modelRI=_out(state.new("model")))


_ACTIONS: tuple[tuple[int, Callable[[_State], None]], ...] = (
    (4, _malloc),
    (6, _copy),
    (4, _query),
    (3, _status),
    (3, _on_stream),
    (2, _capture),
    (3, lambda s: s.add("aclrtFree", devPtr=s.take("memory"))),
    (3, lambda s: s.add("aclrtCreateStream", stream=_out(s.new("stream")))),
    (1, lambda s: s.add("aclrtCreateStreamWithConfig", stream=_out(s.new("stream")), priority=s.number(0, 1, 7),
                        flag=s.number(0, 1, 3))),
    (2, lambda s: s.add("aclrtDestroyStream", stream=s.take("stream"))),
    (3, lambda s: s.add("aclrtCreateEvent", event=_out(s.new("event")))),
    (1, lambda s: s.add("aclrtCreateEventWithFlag", event=_out(s.new("event")), flag=s.number(1, 2, 8, 9))),
    (2, lambda s: s.add("aclrtDestroyEvent", event=s.take("event"))),
    (4, lambda s: s.add("aclrtRecordEvent", event=s.one("event"), stream=s.one("stream"))),
    (3, lambda s: s.add("aclrtSynchronizeStream", stream=s.one("stream"))),
    (1, lambda s: s.add("aclrtSynchronizeDevice")),
    (2, lambda s: s.add("aclrtMemset", devPtr=s.one("memory"), maxCount=SIZE, value=s.number(0, 7, 255),
                        count=s.number(SIZE, 16))),
    (1, lambda s: s.add("aclrtCreateNotify", notify=_out(s.new("notify")), flag=s.number(0, 1))),
    (1, lambda s: s.add("aclrtDestroyNotify", notify=s.take("notify"))),
    (1, lambda s: s.add("aclrtRecordNotify", notify=s.one("notify"), stream=s.one("stream"))),
    (1, lambda s: s.add("aclmdlRIDestroy", modelRI=s.take("model"))),
    (1, lambda s: s.add("aclrtCreateContext", context=_out(s.new("context")), deviceId=s.number(0))),
    (1, lambda s: s.add("aclrtDestroyContext", context=s.take("context"))),
    (1, lambda s: s.add("aclrtSetDevice", deviceId=s.number(0, 0, 1))),
)  # fmt: skip
"""What a program does, by how often."""

BEGINNING = (Step("aclInit", {"configPath": None}), Step("aclrtSetDevice", {"deviceId": 0}),
             Step("aclrtGetLastError", {"level": 0}))
END = (Step("aclrtResetDeviceForce", {"deviceId": 0}), Step("aclrtResetDeviceForce", {"deviceId": 1}),
       Step("aclFinalize", {}))  # fmt: skip
"""What every program begins and ends with; the end is not compared."""


def generate(seed: str, length: int) -> list[Step]:
    """Return a program; the same one for the same seed."""
    state = _State(random.Random(seed))
    for kind, function in (("stream", "aclrtCreateStream"), ("event", "aclrtCreateEvent")):
        state.add(function, **{kind: _out(state.new(kind))})
    state.add("aclrtMalloc", devPtr=_out(state.new("memory")), size=SIZE, policy=0)
    weights, actions = zip(*_ACTIONS, strict=True)
    while len(state.steps) < length:
        state.draw.choices(actions, weights)[0](state)
    return state.steps
