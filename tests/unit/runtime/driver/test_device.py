"""Opening devices: the vendor's order of calls, failures at every one of them, and the daemon."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pytest

from fakes.machine.daemon import FakeDaemon
from npuhal import constants as c
from npuhal.trace import Record
from runtime import errors
from runtime.api import Runtime
from tests.unit.runtime.machines import V100, V200, OpenMachine, holdings

# What the vendor's runtime does at the first use of a process and at rtSetDevice, as recorded (hal_trace 4). A call in
# direct succession to itself is written once. Marked are calls that only one side makes: `-` the vendor (it asks
# version and argument path again and again; SPM pool, device limits, shared flags and a profiling word are not ours),
# `+` we (we shake hands, and poll for completions before each look at the head).
START = {
    V100: """info(0,1) soc info(0,3) info(1,3) feature(4) control(0) platform +version api -platform count""",
    V200: """info(0,1) soc +info(0,40) -info(0,1) -info(4,3) -info(0,40) info(0,3) info(1,3) control(0) platform
             +version api -platform count""",
}
OPEN = """platform info(0,0) count info(0,31) info(0,30) count open ssid feature(2) feature(11) feature(13)
    info(0,30) """
STREAM_V100 = """id alloc fill queue(0) queue(2) bind query(5) copy """
STREAM_V200 = """id queue(0) query(9) +query(6) queue(2) bind """
SEND = """send +query(4) query(1) """
AICPU = "-platform alloc copy " + SEND + "copy free"
DEVICE = {
    V100: OPEN + """memctl(2) capability alloc fill info(0,18) info(0,19) info(0,64) -alloc memctl(2)
        +halGetFaultEvent alloc dma
        -memctl(2) alloc dma -memctl(2) alloc dma alloc -memctl(8) -memctl(6) """ + STREAM_V100 + "-memctl(2) "
    + STREAM_V100 + SEND + "+query(4) +receive +query(1) "  # the answer of the task scheduler
    + """memctl(0) info(4,3) info(7,3) alloc copy translate send +query(4) query(1) copy
        +control(4) -feature(9) -alloc -copy alloc """ + AICPU,
    V200: OPEN + """control(4) info(4,41) +info(0,40) memctl(2) capability alloc fill info(0,18) info(0,19) info(0,64)
        -alloc memctl(2) +halGetFaultEvent alloc -memctl(2) -create -alloc -memctl(2) """
    + STREAM_V200 + "-info(16,3) " + STREAM_V200 + "control(4) info(4,3) info(7,3) alloc copy " + SEND
    + "copy +control(4) -feature(9) " + SEND + "-alloc -copy alloc " + AICPU,
}  # fmt: skip
_SHORT = {
    "halGetSocVersion": "soc", "drvGetPlatformInfo": "platform", "halGetAPIVersion": "version",
    "drvGetDevNum": "count",
    "halSetRuntimeApiVer": "api", "halDeviceOpen": "open", "drvMemSmmuQuery": "ssid",
    "halGetChipCapability": "capability",
    "halMemAlloc": "alloc", "halMemFree": "free", "drvMemsetD8": "fill", "drvMemcpy": "copy",
    "drvMemConvertAddr": "dma",
    "drvMemAddressTranslate": "translate", "halResourceIdAlloc": "id", "halResourceConfig": "bind",
    "halSqTaskSend": "send", "halCqReportRecv": "receive",
}  # fmt: skip


def short(record: Record) -> str:
    """Write a call as one word."""
    given = record.before
    if record.name == "halGetDeviceInfo":
        return f"info({given['moduleType']},{given['infoType']})"
    if record.name == "halSupportFeature":
        return f"feature({given['type']})"
    if record.name == "halTsdrvCtl":
        return f"control({given['cmd']})"
    if record.name == "halSqCqAllocate":
        return f"queue({given['in']['type']})"
    if record.name == "halSqCqQuery":
        return f"query({given['info']['prop']})"
    if record.name == "halMemCtl":
        return f"memctl({given['type']})"
    return _SHORT.get(record.name, record.name)


def words(records: Iterable[Record]) -> list[str]:
    return [word for word, _ in groupby(short(record) for record in records)]


def ours(order: str) -> list[str]:
    """Return what we do of an order: all but what only the vendor does."""
    return [word for word, _ in groupby(word.lstrip("+") for word in order.split() if not word.startswith("-"))]


@pytest.mark.parametrize("soc", [V100, V200])
def test_calls_come_in_the_vendors_order(open_machine: OpenMachine, soc: str) -> None:
    machine = open_machine(f"trace+fake://{soc}?seed=1")
    records: Any = machine.hal.records  # type: ignore[attr-defined]
    start = list(records)
    machine.device(0)
    assert words(start) == ours(START[soc])
    assert words(list(records)[len(start) :]) == ours(DEVICE[soc])


# -- failures -----------------------------------------------------------------------------------------------------


def calls_of(machine: Runtime) -> list[str]:
    """Return the names of the calls that opening a device makes; what gives something back cannot help to keep it."""
    records: Any = machine.hal.records  # type: ignore[attr-defined]
    before = len(records)
    machine.device(0)
    return [record.name for record in list(records)[before:] if record.name != "halMemFree"]


def places(names: list[str]) -> list[tuple[str, int]]:
    """Return (name, how many-th call of it) for the first and the last call of each run of equal ones."""
    found, count = [], dict.fromkeys(names, 0)
    for name, run in groupby(names):
        length = len(list(run))
        first = count[name] + 1
        count[name] += length
        found += [(name, number) for number in sorted({first, count[name]})]
    return found


@pytest.mark.parametrize(
    ("soc", "code"),
    [(V100, "DRV_ERROR_INNER_ERR"), (V200, "DRV_ERROR_INNER_ERR"), (V200, "DRV_ERROR_NO_RESOURCES")],
)
def test_a_failure_at_any_call_leaves_nothing_behind(open_machine: OpenMachine, soc: str, code: str) -> None:
    tried = places(calls_of(open_machine(f"trace+fake://{soc}?seed=1")))
    assert len(tried) > 50
    machine = open_machine(f"fake://{soc}?seed=1")
    faults = machine.hal.fake.faults
    left: list[str] = []
    for name, number in tried:
        faults.clear()
        rule = faults.on_call(name, code, nth=number)
        with contextlib.suppress(errors.RuntimeFault):  # some answers are not needed: the boot goes on
            machine.device(0).close()
        faults.clear()
        if machine.open_devices():
            machine.device(0).close(force=True)
        if rule.seen < number:
            left.append(f"{name} {number}: not reached")
        if held := holdings(machine):
            left.append(f"{name} {number}: holds {held}")
            machine.hal.fake.device(0).reset()
    assert left == []
    assert machine.device(0).upload(b"works").size == 5


def test_a_device_that_is_open_already_is_named(open_machine: OpenMachine) -> None:
    machine = open_machine(f"fake://{V100}?seed=1")
    machine.hal.fake.faults.on_call("halDeviceOpen", "DRV_ERROR_REPEATED_INIT")
    with pytest.raises(errors.DeviceUnavailable, match="another runtime lives here") as caught:
        machine.device(0)
    assert caught.value.code == 507033
    assert "one process, one runtime" in caught.value.hint


def test_the_daemon_starts_before_the_device_and_ends_after_it(open_machine: OpenMachine,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    for name in ("open", "close"):
        inner = getattr(FakeDaemon, name)

        def call(self: FakeDaemon, *arguments: Any, name: str = name, inner: Any = inner) -> Any:
            log.append(f"daemon {name}")
            return inner(self, *arguments)

        monkeypatch.setattr(FakeDaemon, name, call)
    machine = open_machine(f"fake://{V100}?seed=1")
    for name in ("halDeviceOpen", "halDeviceClose"):
        function = getattr(machine.hal, name)

        def noted(*arguments: Any, name: str = name, function: Any = function) -> Any:
            log.append(name)
            return function(*arguments)

        monkeypatch.setattr(machine.hal, name, noted)
    machine.device(0).close()
    assert log == ["daemon open", "halDeviceOpen", "halDeviceClose", "daemon close"]
    log.clear()
    machine.hal.fake.faults.on_call("halDeviceClose", c.DRV_ERROR_INNER_ERR)
    with pytest.raises(errors.RuntimeFault, match="halDeviceClose"):
        machine.device(0).close()
