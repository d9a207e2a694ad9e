"""What can be fused, and the rules for it: which parts go together, and how missions have to be arranged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn

from chips.catalog import families_with
from chips.tasks import AicpuKind, CcuPart, FusionAic, FusionAicpu
from chips.tasks.kernel import AivKernel, MixKernel, MixKind
from npuhal.records import dataclass, replace
from runtime import errors
from runtime.launch.options import PLAIN, LaunchOptions

if TYPE_CHECKING:
    from chips import Chip
    from runtime.launch.kernel import Kernel

CALL = "fusion launch"
MOST_PARTS = 2
MOST_MISSIONS = 8
_LAST_MISSION = 15
_INSTRUCTIONS = 32768
_SHORT, _LONG = 1, 13
"""Arguments of a mission in the form of 32 bytes, and in that of 128."""
_BOTH_DIES = 2
_MISSION_ENTRIES = 4
"""SQEs that missions take, however few they are."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """An AICPU kernel: library and function by name, on `blocks` threads."""

    library: str
    function: str
    blocks: int = 1
    kind: int = AicpuKind.KFC
    flags: int = 0

    name: ClassVar[str] = "AICPU"
    entries: ClassVar[int] = 1

    def bits(self, *, hcom: bool) -> int:
        """Return the bits of the engine in the first SQE; `hcom`: the device has a processor for communication."""
        return 1 << 1

    def described(self, library: int, function: int, args: int, format_offset: int) -> FusionAicpu:
        """Return the part as the SQE builder takes it, with the addresses of names and arguments."""
        return FusionAicpu(
            so_name=library, func_name=function, args=args, block_dim=self.blocks, kind=self.kind, flags=self.flags,
            args_format_offset=format_offset,
        )


@dataclass(frozen=True, slots=True)
class HcomCpu(Cpu):
    """A kernel of the processor for communication; a device without one runs it on the AICPU."""

    name: ClassVar[str] = "HCOM"

    def bits(self, *, hcom: bool) -> int:
        """Return the bits of the engine in the first SQE."""
        return 1 if hcom else 1 << 1


@dataclass(frozen=True, slots=True)
class Core:
    """A kernel of the AI cores, on `blocks` cores."""

    kernel: Kernel
    blocks: int
    options: LaunchOptions = PLAIN
    qos: int = 0
    part_id: int = 0

    name: ClassVar[str] = "AIC"
    entries: ClassVar[int] = 1

    def bits(self, *, hcom: bool) -> int:
        """Return the bits of the engine in the first SQE."""
        return 1 << 2

    def described(self, args: int, size: int) -> FusionAic:
        """Return the part as the SQE builder takes it."""
        task = replace(
            self.kernel.task(self.blocks, self.options), args=args, args_size=size, qos=self.qos, part_id=self.part_id
        )
        vector = isinstance(task, AivKernel) or (
            isinstance(task, MixKernel) and task.mix in (MixKind.AIV, MixKind.MAIN_AIV)
        )
        return FusionAic(kernel=task, vector=vector)


@dataclass(frozen=True, slots=True)
class Missions:
    """Missions of the collective communication unit, on one die or on both."""

    missions: tuple[CcuPart, ...]

    name: ClassVar[str] = "CCU"
    entries: ClassVar[int] = _MISSION_ENTRIES

    def bits(self, *, hcom: bool) -> int:
        """Return the bits of the engine in the first SQE: one per die."""
        dies = {mission.die_id for mission in self.missions}
        return sum(1 << 3 + die for die in dies)

    @property
    def long(self) -> bool:
        """Whether the missions have the form of 128 bytes."""
        return len(self.missions[0].args) == _LONG

    @property
    def both_dies(self) -> bool:
        """Whether both dies have some."""
        return len({mission.die_id for mission in self.missions}) == _BOTH_DIES


Part = Cpu | Core | Missions

_ALLOWED = (("HCOM", "AIC"), ("AICPU", "AIC"), ("CCU", "AIC"), ("CCU",))
"""What goes together, in this order."""
_ONLY = ("AICPU", "AIC")
"""All that some chips fuse."""


def check_supported(chip: Chip) -> None:
    """Raise where the chip fuses nothing: 207000."""
    if not chip.has("TASK_FUSION"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{CALL}: {chip.soc} fuses no tasks",
            hint=f"launch the kernels one by one; fusion exists on {', '.join(families_with('TASK_FUSION'))}",
        )


def check(parts: Sequence[Part], chip: Chip) -> None:
    """Raise where parts do not go together on a chip, or one of them is not as it must be: 107000."""
    if not 1 <= len(parts) <= MOST_PARTS:
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{CALL}: {len(parts)} parts; 1 or {MOST_PARTS} can be fused", ee="EE1012",
            params=(CALL, len(parts), "number of parts", f"allowed are 1 to {MOST_PARTS}"), hint="fuse two at most",
        )
    names = tuple(part.name for part in parts)
    allowed = (_ONLY,) if chip.has("TASK_FUSION_DOT_ONLY_AICPUAIC") else _ALLOWED
    if names not in allowed:
        rule = " or ".join(" + ".join(each) for each in allowed)
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{CALL}: {' + '.join(names)} is not fused; {chip.soc} fuses {rule}, in this "
            "order", ee="EE1006", params=(CALL, " + ".join(names), f"allowed are {rule}"),
            hint="put the part of the AI cores last",
        )
    for part in parts:
        if isinstance(part, HcomCpu) and part.blocks != 1:
            raise _out_of_range("blocks of the HCOM part", part.blocks, "1")
        if isinstance(part, Missions):
            _check_missions(part, int(chip.prop("ioDieNum")) or _BOTH_DIES)
            if len(parts) == 1 and not (part.both_dies and part.long):
                _unfit("missions", "missions alone need both dies, and 13 arguments each")


def _check_missions(part: Missions, dies: int) -> None:
    missions = part.missions
    if not 1 <= len(missions) <= MOST_MISSIONS:
        raise _out_of_range("number of missions", len(missions), f"[1, {MOST_MISSIONS}]")
    for mission in missions:
        limits = (
            ("args", len(mission.args), len(mission.args) in (_SHORT, _LONG), f"{_SHORT} or {_LONG} of them"),
            ("die_id", mission.die_id, 0 <= mission.die_id < dies, f"[0, {dies})"),
            ("mission_id", mission.mission_id, 0 <= mission.mission_id <= _LAST_MISSION, f"[0, {_LAST_MISSION}]"),
            ("instruction_count", mission.instruction_count, mission.instruction_count != 0, "not 0"),
            ("start_id", mission.start_id, 0 <= mission.start_id < _INSTRUCTIONS, f"[0, {_INSTRUCTIONS})"),
        )
        for name, value, fits, expected in limits:
            if not fits:
                raise _out_of_range(f"{name} of a mission", value, expected)
    if len({len(mission.args) for mission in missions}) > 1:
        _unfit("args", "all missions have 1 argument, or all have 13")
    _check_arrangement(part)


def _check_arrangement(part: Missions) -> None:
    """Check what a die has of missions, in which order they come, and that their ids grow."""
    missions, count, step = part.missions, len(part.missions), 1
    if part.both_dies:
        if count % _BOTH_DIES:
            raise _wrong("number of missions", count, "it must be even when both dies have some")
        if any(mission.die_id != index % _BOTH_DIES for index, mission in enumerate(missions)):
            _unfit("die_id", "missions on both dies alternate: 0, 1, 0, 1")
        count, step = count // _BOTH_DIES, _BOTH_DIES
    if not part.long and count == 1:
        raise _wrong("number of missions", count, "missions with 1 argument come in twos at least, on each die")
    if part.long and count > 1:
        raise _out_of_range("missions with 13 arguments on a die", count, "1")
    if any(later.mission_id <= earlier.mission_id for earlier, later in zip(missions, missions[step:], strict=False)):
        _unfit("mission_id", "the ids of missions on a die must grow")


def _out_of_range(what: str, value: object, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "RT_ERROR_INVALID_VALUE", f"{CALL}: {what} is {value}; expected {expected}", ee="EE1003",
        params=(CALL, value, what, expected), hint=f"pass {expected}",
    )


def _wrong(what: str, value: object, reason: str) -> errors.RuntimeFault:
    return errors.fault(
        "RT_ERROR_INVALID_VALUE", f"{CALL}: {what} is {value}: {reason}", ee="EE1011",
        params=(CALL, value, what, reason),
    )


def _unfit(what: str, reason: str) -> NoReturn:
    raise errors.fault(
        "RT_ERROR_INVALID_VALUE", f"{CALL}: {what} cannot be used: {reason}", ee="EE1017", params=(CALL, what, reason)
    )
