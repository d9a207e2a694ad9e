"""FFTS+ contexts: 128-byte nodes of a task graph that the scheduler of STARS v1 reads from device memory.

An FFTS_PLUS task hands over a whole graph of them; a mix kernel on v100 is a graph of one.

Source: rt_external_ffts_define.h (``rtFftsPlus*Ctx_t``, ``rtFftsPlusContextType_t``); fill rules of the mix context:
FillFftsAicAivCtxForDavinciTask, sqe_fill_rules 2.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

from chips.layout import Layout, LayoutSet, Template, load_layouts
from chips.registry import Decoded
from chips.tasks import MixKernel
from chips.tasks.kernel import MixKind
from chips.tasks.types import TaskType
from chips.yaml_file import beside

if TYPE_CHECKING:
    from chips.env import CoreQos, EncodeEnv

CONTEXT_BYTES = 128
"""Size and alignment of a context in device memory."""

MAX_SUCCESSORS = 26
"""Successors of one context (``RT_CTX_SUCCESSOR_NUM``); a condition has half of them for each outcome."""

_STACK_STEP = 16384
_DEFAULT_STACK = 32768  # stacks above it come from the custom pool


class ContextType(IntEnum):
    """Kinds of context (``rtFftsPlusContextType_t``)."""

    AIC = 0x000
    AIV = 0x001
    NOTIFY_WAIT = 0x003
    NOTIFY_RECORD = 0x004
    WRITE_VALUE = 0x005
    MIX_AIC = 0x006
    MIX_AIV = 0x007
    SDMA = 0x008
    FLUSH_DATA = 0x009
    INVALIDATE_DATA = 0x00A
    WRITEBACK_DATA = 0x00B
    AICPU = 0x00C
    COND_SWITCH = 0x10D
    CASE_SWITCH = 0x20D
    AT_START = 0x300
    AT_END = 0x400
    LABEL = 0x500
    PERSISTENT_CACHE = 0x600
    DSA = 0x700
    WRITE_VALUE_RDMA = 0x805


@cache
def layouts() -> LayoutSet:
    """Return the context layouts by name: the lower-case names of ``ContextType``, and the parts they share."""
    return load_layouts(beside(__file__, "ffts.yaml"))


def layout(kind: ContextType) -> Layout:
    """Return the layout of a kind of context."""
    return layouts()[kind.name.lower()]


def encode(kind: ContextType, **fields: int) -> bytes:
    """Return the 128 bytes of a context; fields not given are zero.  Raises FieldOverflow or UnknownField."""
    return layout(kind).encode(**fields)


def decode(raw: bytes) -> Decoded:
    """Name the fields of one context; what is wrong with it is listed, never raised.

    Raises ValueError unless ``raw`` has 128 bytes.
    """
    if len(raw) != CONTEXT_BYTES:
        raise ValueError(f"an FFTS+ context has {CONTEXT_BYTES} bytes, got {len(raw)}")
    number = int.from_bytes(raw[:2], "little")
    if number not in ContextType._value2member_map_:
        common = layout(ContextType.LABEL)
        return Decoded(common.name, None, common.decode(raw), (f"context type {number:#x} is unknown",))
    table = layout(ContextType(number))
    fields = table.decode(raw)
    problems = []
    stray = table.reserved_bits(raw)
    if stray:
        bits = ", ".join(str(bit) for bit in range(CONTEXT_BYTES * 8) if stray >> bit & 1)
        problems.append(f"reserved bits are set: {bits}")
    for count, most in (("successor_count", MAX_SUCCESSORS), ("true_count", 13), ("false_count", 13)):
        if fields.get(count, 0) > most:
            problems.append(f"{count} = {fields[count]} is more than the {most} a context has space for")
    return Decoded(table.name, TaskType.FFTS_PLUS, fields, tuple(problems))


def mix_context(task: MixKernel, env: EncodeEnv) -> bytes:
    """Return the context of a mix kernel on v100.

    The SQE points to it (``MixKernel.context``); it holds entries, argument address and block dimension.
    """
    kind = ContextType.MIX_AIC if task.mix in (MixKind.AIC, MixKind.MAIN_AIC) else ContextType.MIX_AIV
    both = task.mix in (MixKind.MAIN_AIC, MixKind.MAIN_AIV)
    ratio = task.ratio if both else 0
    qos = env.aic_qos if kind is ContextType.MIX_AIC else env.aiv_qos
    offset = task.args_size & 0xFFFF  # the field keeps 16 bits of the size, and so do we
    fields = {
        "schem": task.schem_mode if env.chip.has("TASK_FFTS_PLUS") else 0,
        "ns": 1,
        "block_ratio": ratio,
        "tail_block_ratio": ratio,
        "thread_id": _stack_level(task, env),
        "thread_dim": 1,
        "block_dim": task.block_dim,
        "tail_block_dim": task.block_dim,
        "aic_param": task.args,
        "aic_param_offset": offset,
        "aiv_param": task.args,
        "aiv_param_offset": offset,
    }
    if both or task.mix is MixKind.AIC:
        fields |= _entry("aic", task.pc, task.prefetch)
    if both or task.mix is MixKind.AIV:
        fields |= _entry("aiv", task.pc2 if both else task.pc, task.prefetch2)
    return encode(kind, **fields, **_qos(qos))


def mix_template(task: MixKernel, env: EncodeEnv) -> Template:
    """Return the mix context with holes for the argument address, once for each kind of core (args, args2)."""
    row = mix_context(task, env)
    table = layout(ContextType(row[0]))
    return table.template(row, {"args": task.args, "args2": task.args2})


def _entry(core: str, pc: int, prefetch: int) -> dict[str, int]:
    """Entry point of one kind of core, for whole and for tail threads."""
    return {
        f"{core}_pc": pc,
        f"tail_{core}_pc_high": pc >> 32,
        f"tail_{core}_pc_low": pc & 0xFFFF_FFFF,
        f"{core}_icache_prefetch": prefetch,
    }


def _stack_level(task: MixKernel, env: EncodeEnv) -> int:
    """Mix kernels do not use the thread id; it carries the level of a custom stack instead."""
    if task.min_stack_size <= _DEFAULT_STACK:
        return 0
    return env.custom_stack_size // _STACK_STEP - 2


def _qos(qos: CoreQos | None) -> dict[str, int]:
    return {"qos": qos.qos, "part_id": qos.part_id, "pmg": qos.pmg} if qos is not None else {}
