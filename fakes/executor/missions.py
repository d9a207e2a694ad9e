"""Entries of CCU missions (STARS v2): where they lie in a task, and what becomes of them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fakes.errors import TaskFault
from fakes.executor import together
from fakes.faults import Effect
from fakes.machine.missions import COST_NS, Mission
from npuhal.records import replace

if TYPE_CHECKING:
    from fakes.executor.task import Task

ENTRIES = 4
"""Entries that missions take in a fused task in front of AI cores, however few they are."""
_BOTH_DIES = 0x18
"""Sub type bits of missions on both dies."""
_HALF = 32
_FRONT_WORDS = 10
_LONG = struct.Struct("<13Q")


def of_task(task: Task) -> list[Mission]:
    """Return the missions of a task of their own, or of the fused task that begins with them."""
    fields = task.fields
    if task.layout == "ccu":  # two entries, whatever its size
        alone = _long(task, 0)
        return [replace(alone, args=alone.args[:1])] if fields["ccu_size"] else [alone]
    dies = 2 if fields["sub_type"] & _BOTH_DIES == _BOTH_DIES else 1
    if not fields["ccu_size"]:
        return [_long(task, 2 * index) for index in range(dies)]
    half = task.machine.executor.layouts["ccu_half"]
    made = []
    for index in range((fields["task_cnt"] + 1) * dies):
        raw = task.following(index // 2)[index % 2 * _HALF :][:_HALF]
        found = half.decode(raw)
        made.append(_mission(task, found, (found["args[0]"] | found["args[1]"] << 32,)))
    return made


def _long(task: Task, index: int) -> Mission:
    """Return the mission of two entries: ten words of its arguments are in the first one."""
    first, second = task.following(index), task.following(index + 1)
    fields = task.machine.executor.layouts["ccu"].decode(first)
    return _mission(task, fields, _LONG.unpack(first[-4 * _FRONT_WORDS :] + second))


def _mission(task: Task, fields: Mapping[str, int], args: tuple[int, ...]) -> Mission:
    return Mission(
        fields["mission_id"], fields["die_id"], fields["inst_start_id"], fields["inst_cnt"], fields["inst_key"], args,
        task.device.index, task.machine.memory,
    )


def perform(task: Task, mission: Mission) -> int:
    """Run the function attached to a mission's instructions; returns what it costs."""
    machine, where = task.machine, f"mission {mission.number} of die {mission.die}"
    found = machine.kernels.missions.find(mission.die, mission.start)
    if found is None and not machine.options.noop_kernels:
        raise TaskFault(
            f"no function is attached to instruction {mission.start} of die {mission.die}, where {where} begins. "
            f"Attach one with hal.fake.attach_mission({mission.start}, function, die={mission.die}), or open the fake "
            "with kernels=noop", Effect.EXCEPTION.value,
        )
    task.detail = where
    if found is not None:
        task.kernel_name, function = found
        task.detail = f"{task.kernel_name} as {where}"
        together.call(task, function, mission)
        task.device.wake()
    return COST_NS if mission.cost_ns is None else mission.cost_ns
