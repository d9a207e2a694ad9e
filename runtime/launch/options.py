"""How a launch is to be made, and the attributes of the C API that say it (core_spec 8.2)."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from chips.tasks.kernel import NEVER_TIMEOUT_US, SIMT_MEMORY_BYTES
from npuhal.records import dataclass
from runtime import errors
from runtime.errors.arguments import whole

if TYPE_CHECKING:
    from chips import Chip
    from chips.binary import MixType
    from chips.registry import Plugin

_MICROSECONDS = 1_000_000
_MOST_OFFSET = (1 << 32) - 1
_FLAG = (0, 1)
_ALWAYS = ("timeout_us", "dynamic_ub_bytes")
"""Options whose "nothing said" is 0, not None."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """How a kernel is launched.

    Attributes:
        timeout_us: time limit of the task in microseconds; 0 takes the device's default, NEVER_TIMEOUT_US sets none.
        schedule: 0 normal, 1 batch (all blocks must be resident at once); None is as the kernel was compiled.
        dynamic_ub_bytes: unified-buffer bytes beyond what the kernel was compiled with (950).
        dump: let the task scheduler dump data around the task.
        profile: keep the hardware's log of the kernel while profiling is on.
        prefetch_blocks: put so many empty tasks before the kernel that the hardware has fetched its code in time.
        engine: the kind of core that runs a mix kernel on 310P, where it cannot run on both (aclrtEngineType).
        block_offset: number of the first block, for a kernel that 310P runs in two parts, one on each kind of core.
        empty_ok: a launch on 0 blocks does nothing, instead of failing.
    """

    timeout_us: int = 0
    schedule: int | None = None
    dynamic_ub_bytes: int = 0
    dump: bool = False
    profile: bool = False
    prefetch_blocks: bool = False
    engine: int | None = None
    block_offset: int | None = None
    empty_ok: bool = False

    def __post_init__(self) -> None:
        """Refuse values that no chip takes."""
        value: Any
        for name, value, low, high in (
            ("timeout_us", self.timeout_us, 0, NEVER_TIMEOUT_US), ("schedule", self.schedule, 0, 1),
            ("dynamic_ub_bytes", self.dynamic_ub_bytes, 0, SIMT_MEMORY_BYTES),
            ("engine", self.engine, 0, _MOST_OFFSET), ("block_offset", self.block_offset, 0, _MOST_OFFSET),
        ):
            if value is None and name not in _ALWAYS:
                continue
            if not low <= (value if type(value) is int else whole("LaunchOptions", name, value)) <= high:
                raise _out_of_range("LaunchOptions", f"LaunchOptions.{name}", value, f"{low} to {high}")


PLAIN = LaunchOptions()
VECTOR_ENGINE = 1
"""aclrtEngineType: the vector cores; 0 are the AI cores."""


class LaunchAttribute(enum.IntEnum):
    """What a launch may be told (acl_rt.h, aclrtLaunchKernelAttrId)."""

    SCHEM_MODE = 1
    DYN_UBUF_SIZE = 2
    ENGINE_TYPE = 3
    BLOCKDIM_OFFSET = 4
    BLOCK_TASK_PREFETCH = 5
    DATA_DUMP = 6
    TIMEOUT = 7
    TIMEOUT_US = 8
    ENABLE_PROFILING = 9


def from_attributes(call: str, attributes: Iterable[tuple[int, int, int]]) -> LaunchOptions:
    """Return the options that attributes say: (id, first word of the value, second word); the last of an id counts.

    Engine type and block offset are not in the SQEs of STARS chips and change nothing there.

    Raises:
        InvalidArgument 107000: an unknown id (EE1001), a value out of range (EE1003), both time limits (EE1017).
    """
    given: dict[LaunchAttribute, tuple[int, int]] = {}
    for number, first, second in attributes:
        try:
            given[LaunchAttribute(number)] = first, second
        except ValueError:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: there is no launch attribute {number}", ee="EE1001",
                hint=", ".join(f"{each.value} {each.name}" for each in LaunchAttribute),
            ) from None
    if LaunchAttribute.TIMEOUT in given and LaunchAttribute.TIMEOUT_US in given:
        why = "TIMEOUT and TIMEOUT_US cannot both be set"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {why}", ee="EE1017", params=(call, "cfg", why),
            hint="give the limit once: in seconds, or in microseconds",
        )
    words = {each: value[0] for each, value in given.items()}
    for each in (LaunchAttribute.SCHEM_MODE, LaunchAttribute.BLOCK_TASK_PREFETCH, LaunchAttribute.DATA_DUMP,
                 LaunchAttribute.ENABLE_PROFILING):  # fmt: skip
        if words.get(each, 0) not in _FLAG:
            raise _out_of_range(call, each.name, words[each], "0 or 1")
    dynamic = words.get(LaunchAttribute.DYN_UBUF_SIZE, 0)
    if dynamic > SIMT_MEMORY_BYTES:
        raise _out_of_range(call, LaunchAttribute.DYN_UBUF_SIZE.name, dynamic, f"0 to {SIMT_MEMORY_BYTES}")
    return LaunchOptions(
        timeout_us=_timeout(given), schedule=words.get(LaunchAttribute.SCHEM_MODE), dynamic_ub_bytes=dynamic,
        dump=bool(words.get(LaunchAttribute.DATA_DUMP)), profile=bool(words.get(LaunchAttribute.ENABLE_PROFILING)),
        prefetch_blocks=bool(words.get(LaunchAttribute.BLOCK_TASK_PREFETCH)),
        engine=words.get(LaunchAttribute.ENGINE_TYPE), block_offset=words.get(LaunchAttribute.BLOCKDIM_OFFSET),
    )


def check_engine(call: str, chip: Chip, mix: MixType, options: LaunchOptions) -> LaunchOptions:
    """Return options with which a kernel can be launched on a chip.

    Raises:
        InvalidArgument 107000: a mix kernel on a chip with vector cores of their own (310P) whose launch does not say
            which kind of core runs it, and from which block on (EE1017).
    """
    missing = options.engine is None or options.block_offset is None
    if missing and mix and chip.has("DEVICE_EXTRA_VECTOR_CORE"):
        why = f"on {chip.soc} a mix kernel needs the attributes ENGINE_TYPE and BLOCKDIM_OFFSET"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {why}", ee="EE1017", params=(call, "cfg->attrs", why),
            hint="launch it once for the AI cores and once for the vector cores, each with its blocks",
        )
    return options


def check_mix(call: str, plugin: Plugin, chip: Chip, kernel: str) -> None:
    """Refuse a kernel on both kinds of core where none can be described.

    Raises:
        NotSupported 207000: the chip takes commands, and these name one kind of core (910A, 310, 610, 035).
    """
    if plugin.commands is not None:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {kernel} is a mix kernel, and {chip.soc} has no launch that "
            "runs on cube and vector cores at once", layer="launch",
            hint="compile it for one kind of core, or use a chip that has both, such as Ascend910B3",
        )


def _timeout(given: dict[LaunchAttribute, tuple[int, int]]) -> int:
    """Return the time limit in microseconds: none given is the default, a given 0 is none at all."""
    if LaunchAttribute.TIMEOUT in given:
        limit = (given[LaunchAttribute.TIMEOUT][0] & 0xFFFF) * _MICROSECONDS
    elif LaunchAttribute.TIMEOUT_US in given:
        low, high = given[LaunchAttribute.TIMEOUT_US]
        limit = min(high << 32 | low, NEVER_TIMEOUT_US - 1)
    else:
        return 0
    return limit or NEVER_TIMEOUT_US


def _out_of_range(call: str, what: str, value: Any, allowed: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{what} is {value}; allowed are {allowed}", ee="EE1003",
        params=(call, value, what, allowed), hint=f"pass {allowed}",
    )
