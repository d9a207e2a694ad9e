"""The recording machines: which chip, what the stand-in driver decided, and the environment of a vector."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chips import yaml_file
from chips.catalog import find_chip
from chips.chip import Chip
from chips.env import EncodeEnv, TaskIds
from chips.tasks import NEVER_TIMEOUT_US
from npuhal.records import dataclass

Inputs = Mapping[str, Any]
"""Inputs of one vector by name."""


class UnknownMachine(LookupError):
    """A vector names a recording machine that ``machines.yaml`` does not list."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One recording: its chip and what its stand-in decided."""

    chip: Chip
    facts: Mapping[str, Any]

    def physical(self, address: int) -> int:
        """Physical address of a device address, as the stand-in translated it."""
        return address + int(constants()["physical_offset"])

    def debug_address(self, address: int) -> int:
        """Address of a debug buffer as the chip wants it told: virtual where it can."""
        return address if self.chip.has("TASK_DEBUG_REGISTER_WITH_VA_ADDR") else self.physical(address)

    def sq_id(self, stream_id: int) -> int:
        """Queue of a stream of the recording program."""
        return int(self._stream(stream_id).get("sq", 0))

    def page(self, stream_id: int) -> int:
        """Register page of a stream's queue; 0 where none was mapped."""
        if "queue_pages" in self.facts:
            first, step = self.facts["queue_pages"]
            return int(first + step * self.sq_id(stream_id))
        return int(self._stream(stream_id).get("page", 0))

    def exec_times(self, stream_id: int) -> int:
        """Address of a stream's execution counter; 0 where it has none."""
        return self._shifted(self._stream(stream_id).get("starts", 0))

    def address_of(self, name: str) -> int:
        """Address of a thing the machine names (label_count, model_trace, profiling_switch); 0 if it has none."""
        return self._shifted(self.facts.get(name, 0))

    def _stream(self, stream_id: int) -> Mapping[str, Any]:
        stream: Mapping[str, Any] = self.facts["streams"].get(stream_id, {})
        return stream

    def _shifted(self, address: int) -> int:
        return address + int(self.facts.get("shift", 0)) if address else 0


@functools.cache
def constants() -> dict[str, Any]:
    """Return what ``machines.yaml`` states for all recordings."""
    data: dict[str, Any] = yaml_file.load(Path(__file__).with_name("machines.yaml"))
    return data


@functools.cache
def machine(name: str) -> Machine:
    """Return a recording machine by the name its vectors carry; raises UnknownMachine."""
    machines = constants()["machines"]
    if name not in machines:
        raise UnknownMachine(f"no recording machine {name!r}; known: {', '.join(machines)}")
    entry = dict(machines[name])
    if "like" in entry:
        entry = {**machine(entry["like"]).facts, **entry}
    return Machine(find_chip(entry["soc"]), entry)


def machine_in(text: str) -> Machine:
    """Return the machine whose name stands in a text, the longest if there are several; raises UnknownMachine."""
    found = [str(name) for name in constants()["machines"] if str(name) in text]
    return machine(max(found, key=len)) if found else machine(text)


def env(inputs: Inputs, at: Machine) -> EncodeEnv:
    """Environment of a vector: the stream and device state among its inputs, the rest from its machine."""
    facts = at.facts
    has_limit = inputs.get("global_op_exec_timeout_us") or inputs.get("global_timeout_is_ms")
    never = inputs.get("timeout_us") == NEVER_TIMEOUT_US and "pc_addr" in inputs
    return EncodeEnv(
        chip=at.chip,
        stream_id=inputs["stream_id"],
        sq_id=inputs["sq_id"],
        sq_depth=facts.get("sq_depth", 0),
        bound=bool(inputs["bind_flag"]),
        dvpp_group=bool(inputs["dvpp_group"]),
        overflow_enabled=bool(inputs["overflow_en"]),
        debug_registered=bool(inputs["debug_register"]),
        separate_recycle=at.chip.has("TASK_RECYCLE_THREAD"),
        phy_chip_id=inputs["env_phy_chip_id"],
        phy_die_id=inputs["env_phy_die_id"],
        die_count=inputs.get("die_num", facts.get("die_count", 1)),
        flat_addresses=bool(inputs["env_addr_mode"]),
        ub_connected=bool(inputs["env_ub"]),
        ts_version=inputs["tsch_version"],
        ts_features=frozenset({"AICORE_NEVER_TIMEOUT"} if never else ()),
        tsd_qos=inputs.get("tsd_qos", 0),
        stack_base_32k=inputs.get("stack_phy_base_32k", facts["stack_base_32k"]),
        stack_base_16k=inputs.get("stack_phy_base_16k", facts.get("stack_base_16k", 0)),
        custom_stack_size=constants()["custom_stack_size"],
        stars_base=constants()["stars_base"],
        sq_register_base=at.page(inputs["stream_id"]),
        sq_address_table=constants()["sq_address_table"],
        profiling_switch=at.address_of("profiling_switch"),
        op_timeout_us=inputs.get("global_op_exec_timeout_us", 0) if has_limit else None,
        op_timeout_fine=bool(inputs.get("global_timeout_is_ms")),
    )


def ids(inputs: Inputs, at: Machine) -> TaskIds:
    """Numbers of a vector's task: STARS v2 takes the task id for the ring position, v1 was recorded at position 0."""
    depth = at.facts.get("sq_depth") or at.chip.limits.rtsq_depth
    position = 0 if at.chip.generation == "v100" else inputs["task_id"] % depth
    return TaskIds(inputs["task_id"], inputs["task_sn"], position, 0)
