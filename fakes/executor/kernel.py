"""AIC, AIV and mix kernels: find the function by its code, run it for its blocks, charge the cores."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from chips import ffts
from fakes.errors import TaskFault
from fakes.faults import Effect
from fakes.kernels import Arguments, Context
from fakes.scheduler import AIC, AIV, kernel_ns

if TYPE_CHECKING:
    from fakes.executor import Task


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
    if machine.faults.tasks and machine.faults.strike(task):
        return 1
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
    """Mix kernel of STARS v1: an FFTS+ entry around one context in device memory."""
    memory = task.machine.memory
    pointer = memory.device_pointer(task.fields["contexts"], ffts.CONTEXT_BYTES, "context read")
    context = ffts.decode(ctypes.string_at(pointer, ffts.CONTEXT_BYTES))
    if context.layout not in ("mix_aic", "mix_aiv"):
        raise TaskFault(f"the context of a mix kernel is one of {context.layout}", Effect.SQE_ERROR.value)
    aic, aiv = context.fields["aic_pc"], context.fields["aiv_pc"]
    args = context.fields["aic_param" if aic else "aiv_param"]
    engines = (AIC, AIV) if aic and aiv else (AIC,) if aic else (AIV,)
    return run(task, aic or aiv, args, context.fields["block_dim"], engines)


def plain_v2(task: Task) -> int:
    """Kernel SQE of STARS v2 for one kind of core."""
    return _run_v2(task, AIC if task.fields["type"] == 0 else AIV)


def mix_v2(task: Task) -> int:
    """Kernel SQE of STARS v2 for both kinds of core; the type says which one leads."""
    return _run_v2(task, AIC, AIV)


def _run_v2(task: Task, *engines: str) -> int:
    fields = task.fields
    core = "aic" if fields["type"] == 0 else "aiv"
    pc = fields[f"{core}_pc_high"] << 32 | fields[f"{core}_pc_low"]
    return run(task, pc, fields[f"{core}_param"], fields["block_dim"], engines) + fields["sqe_length"]


Handler = Callable[["Task"], int]

V1: Mapping[str, tuple[str, Handler]] = {
    "kernel_aic": ("kernel", plain_v1), "kernel_aiv": ("kernel", plain_v1), "kernel_one_core": ("kernel", plain_v1),
    "kernel_mix": ("kernel", mix_v1), "kernel_mix_aiv": ("kernel", mix_v1), "kernel_mix_locked": ("kernel", mix_v1),
}  # fmt: skip
V2: Mapping[str, tuple[str, Handler]] = {
    "kernel_aic": ("kernel", plain_v2), "kernel_aiv": ("kernel", plain_v2),
    "kernel_aic_mix": ("kernel", mix_v2), "kernel_aiv_mix": ("kernel", mix_v2),
}  # fmt: skip
