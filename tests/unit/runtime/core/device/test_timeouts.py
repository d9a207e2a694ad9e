"""Time limits on their way to the task scheduler, and how fine it counts."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from chips import credit
from runtime import errors
from runtime.api import Runtime
from tests.unit.runtime.machines import CHIPS, V100, V200, OpenMachine

MESSAGE = {V100: "command 13", V200: "command 8"}


def told(machine: Runtime) -> list[str]:
    """What the control messages with limits said."""
    return [entry.detail for entry in machine.hal.fake.log if entry.kind == "aicpu_message" and "limit" in entry.detail]


@pytest.mark.parametrize("chip", CHIPS)
def test_schedulers_are_told_at_once_and_when_a_device_opens(open_machine: OpenMachine, chip: str) -> None:
    machine = open_machine(f"fake://{chip}?devices=2")
    first = machine.device(0)
    machine.timeouts.set_wait(7)
    machine.timeouts.set_operator(3_999_999)
    message = MESSAGE[chip]
    assert told(machine) == [f"{message}, wait limit 7", f"{message}, execute limit 3"]
    assert first.env.op_timeout_us == first.create_stream().env.op_timeout_us == 3_999_999
    machine.device(1)
    assert told(machine)[2:] == [f"{message}, wait limit 7, execute limit 3"]
    assert machine.device(1).env.op_timeout_us == 3_999_999


@pytest.mark.parametrize("chip", CHIPS)
def test_a_limit_of_0_seconds_is_told_as_the_longest(open_machine: OpenMachine, chip: str) -> None:
    machine = open_machine(f"fake://{chip}")
    machine.device(0)
    machine.timeouts.set_operator(0)
    assert told(machine) == [f"{MESSAGE[chip]}, execute limit 28"]


def test_a_scheduler_that_does_not_answer_leaves_the_limits_as_they_were(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.core.device import timeouts

    monkeypatch.setattr(timeouts, "_TOLD_MS", 20)
    machine = open_machine(f"fake://{V100}")
    device = machine.device(0)
    machine.hal.fake.device(0).hold()
    with pytest.raises(errors.Timeout):
        machine.timeouts.set_operator(5_000_000)
    assert device.env.op_timeout_us is None
    machine.hal.fake.device(0).release()


def _write_result(calls: list[int], result: int) -> Any:
    """Stand for the built-in kernel that switches the AICPU's monitor off."""
    def close(context: Any) -> None:
        address = context.args.address
        pointer = context.memory.device_pointer(address, 4, "order")
        calls.append(ctypes.c_uint8.from_address(pointer).value)
        ctypes.c_uint8.from_address(pointer + 1).value = result

    return close


def test_nobody_is_told_where_stars_watches_alone(open_machine: OpenMachine) -> None:
    machine = open_machine(f"fake://{V100}")
    kernels = machine.hal.fake.kernels
    calls: list[int] = []
    kernels.attach_aicpu("", "CloseAicpuMonitor", _write_result(calls, 0))
    device = machine.device(0)
    machine.timeouts.set_wait(7)
    assert (calls, told(machine), device.scheduler.aicpu_monitor_off) == ([1], [], True)


def test_a_monitor_that_does_not_end_keeps_the_device_closed(open_machine: OpenMachine) -> None:
    machine = open_machine(f"fake://{V100}")
    machine.hal.fake.kernels.attach_aicpu("", "CloseAicpuMonitor", _write_result([], 3))
    with pytest.raises(errors.RuntimeFault, match="does not switch its monitor off: result 3") as caught:
        machine.device(0)
    assert caught.value.code == 507900


@pytest.mark.parametrize(
    ("interval_ns", "fine", "least_us"),
    [(1 << 32, False, 4294967.296), (1_000_000, True, 1000), (99_999_999, True, 99_999.999),
     (100_000_000, False, 100_000), (5_000_000_000_000, False, 5e9)],
)  # fmt: skip
@pytest.mark.parametrize("chip", CHIPS)
def test_how_fine_operators_are_counted_is_the_schedulers_matter(
    open_machine: OpenMachine, chip: str, interval_ns: int, fine: bool, least_us: float
) -> None:
    machine = open_machine(f"fake://{chip}?op_interval={interval_ns}")
    env = machine.device(0).create_stream().env
    assert env.op_timeout_fine is fine
    counted = credit.interval_us(env)
    assert counted == pytest.approx(least_us if env.chip.has("TASK_EXEC_TIMEOUT_SCALE_MODIFY") else 4294967.296)
    machine.timeouts.set_operator(0)
    limit = machine.timeouts.operator_us(machine.device(0).env)
    assert (limit == float("inf")) is fine
    never = credit.aicore(0, machine.device(0).env)
    assert (never == credit.started(credit.NEVER_CREDIT, env)) is fine


@pytest.mark.parametrize("capability", ["00000000000000", "none"])
def test_a_scheduler_without_the_capability_is_not_asked(open_machine: OpenMachine, capability: str) -> None:
    machine = open_machine(f"fake://{V200}?ts_capability={capability}&op_interval=1000000")
    env = machine.device(0).env
    assert not env.op_timeout_fine
    assert "OP_EXEC_TIMEOUT_MS" not in env.ts_features
    assert credit.interval_us(env) == pytest.approx(4294967.296)


@pytest.mark.parametrize("chip", CHIPS)
def test_builders_know_what_the_scheduler_can_do(open_machine: OpenMachine, chip: str) -> None:
    device = open_machine(f"fake://{chip}").device(0)
    assert "AICORE_NEVER_TIMEOUT" in device.env.ts_features
    for stream in (*device.own_streams, device.create_stream()):
        assert stream.env.ts_features == device.scheduler.features
