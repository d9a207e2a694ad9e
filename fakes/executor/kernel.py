"""AIC, AIV and mix kernels: find the function by its code, run it for its blocks, charge the cores."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import TaskFault
from fakes.faults import Effect
from fakes.kernels import Arguments, Context
from fakes.scheduler import AIC, AIV, kernel_ns

if TYPE_CHECKING:
    from fakes.executor import Task


_CONTEXT_BYTES = 128


def run(task: Task, pc: int, args: int, blocks: int, engines: tuple[str, ...]) -> int:
    """Run the kernel at `pc` with the argument block at `args`; returns the SQEs taken."""
    machine, device = task.machine, task.device
    kernel = machine.kernels.find(machine.memory, pc)
    cores = min(machine.cores[engine] for engine in engines)
    if kernel is None:
        task.kernel_name = f"at {pc:#x}"
        if not machine.options.noop_kernels:
            raise TaskFault(
                f"no function is attached to the kernel code at {pc:#x}. Attach one with "
                "hal.fake.attach(code, function) where code are the bytes of the kernel function in its ELF file, "
                "or open the fake with kernels=noop",
                Effect.EXCEPTION.value,
            )
        task.detail = f"noop {pc:#x} blocks={blocks}"
        task.occupy(kernel_ns(blocks, cores), *engines)
        return 1
    task.kernel_name = kernel.name
    core = engines[0] if len(engines) == 1 else "MIX"
    arguments = Arguments(machine.memory, args)
    context = Context(0, blocks, core, device.index, arguments, machine.memory)
    for block in range(1 if kernel.grid else blocks):
        context.block = block
        kernel.function(context)
    cost = context.cost_ns if context.cost_ns is not None else kernel_ns(blocks, cores)
    task.detail = f"{kernel.name} blocks={blocks}"
    task.occupy(cost, *engines)
    return 1


def plain_v1(task: Task) -> int:
    """Kernel SQE of STARS v1 for one kind of core."""
    fields = task.fields
    engine = AIV if task.layout == "kernel_aiv" else AIC
    return run(task, fields["pc"], fields["param"], fields["block_dim"], (engine,))


def mix_v1(task: Task) -> int:
    """Mix kernel of STARS v1: an FFTS+ entry around one context in device memory (rtFftsPlusMixAicAivCtx_t)."""
    from chips.v100.tables import CONTEXTS

    memory = task.machine.memory
    raw = ctypes.string_at(memory.device_pointer(task.fields["contexts"], _CONTEXT_BYTES, "context read"), _CONTEXT_BYTES)
    context = CONTEXTS["mix"].decode(raw)
    aic, aiv = context["aic_pc"], context["aiv_pc"]
    args = context["aic_param"] if aic else context["aiv_param"]
    engines = (AIC, AIV) if aic and aiv else (AIC,) if aic else (AIV,)
    return run(task, aic or aiv, args, context["block_dim"], engines)


def plain_v2(task: Task) -> int:
    """Kernel SQE of STARS v2 for one kind of core."""
    fields = task.fields
    core, engine = ("aic", AIC) if fields["type"] == 0 else ("aiv", AIV)
    return run(task, _entry(fields, core), fields[f"{core}_param"], fields["block_dim"], (engine,)) + fields["sqe_length"]


def mix_v2(task: Task) -> int:
    """Kernel SQE of STARS v2 for both kinds of core; the type says which one leads."""
    fields = task.fields
    core = "aic" if fields["type"] == 0 else "aiv"
    return run(task, _entry(fields, core), fields[f"{core}_param"], fields["block_dim"], (AIC, AIV)) + fields["sqe_length"]


def _entry(fields: Mapping[str, int], core: str) -> int:
    return fields[f"{core}_pc_high"] << 32 | fields[f"{core}_pc_low"]


Handler = Callable[["Task"], int]

V1: Mapping[str, tuple[str, Handler]] = {
    "kernel_aic": ("kernel", plain_v1), "kernel_aiv": ("kernel", plain_v1), "kernel_one_core": ("kernel", plain_v1),
    "kernel_mix": ("kernel", mix_v1), "kernel_mix_aiv": ("kernel", mix_v1), "kernel_mix_locked": ("kernel", mix_v1),
}  # fmt: skip
V2: Mapping[str, tuple[str, Handler]] = {
    "kernel_aic": ("kernel", plain_v2), "kernel_aiv": ("kernel", plain_v2),
    "kernel_aic_mix": ("kernel", mix_v2), "kernel_aiv_mix": ("kernel", mix_v2),
}  # fmt: skip
