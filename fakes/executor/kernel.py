"""AIC, AIV and mix kernels: find the function by its code, run it for its blocks, charge the cores."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import MemoryFault, NotModelled, TaskFault
from fakes.executor import together
from fakes.faults import Effect
from fakes.kernels import Arguments, Context, Kernel
from fakes.schedule.scheduler import AIC, AIV, kernel_ns
from npuhal.records import replace
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.ports import Machine


class Parts(NamedTuple):
    """What an entry says of a kernel for one kind of core; `arguments` is the field with the address of its block."""

    pc: int
    arguments: str
    blocks: int
    engines: tuple[str, ...]
    taken: int


def charge(machine: Machine, blocks: int, engines: tuple[str, ...]) -> tuple[str, int]:
    """Return what a kernel's function is told of its cores, and what so many blocks cost on them."""
    core = engines[0] if len(engines) == 1 else "MIX"
    return core, kernel_ns(blocks, min(machine.cores[engine] for engine in engines))


def perform(task: Task, pc: int, args: int, blocks: int, engines: tuple[str, ...]) -> int | None:
    """Run the kernel at `pc` with the argument block at `args`; returns what it costs, None when a fault ate it."""
    machine = task.machine
    kernel = machine.kernels.find(machine.memory, pc)
    core, cost = charge(machine, blocks, engines)
    if kernel is None:
        task.kernel_name = f"at {pc:#x}"
        if not machine.options.noop_kernels:
            if cores := machine.kernels.foreign_cores(pc):
                raise TaskFault(
                    f"its first instruction is one of {cores}, which this card has not", Effect.EXCEPTION.value,
                    cure="compile the kernel for this card; a function that is attached for it runs all the same",
                )
            raise TaskFault(
                f"no function is attached for it on this fake (its code lies at {pc:#x})", Effect.EXCEPTION.value,
                cure="attach what it computes: device.hal.fake.attach(kernel.code, function), where kernel.code are "
                "the bytes of the function in its ELF file; or open the fake with kernels=noop",
            )
        task.detail = f"noop {pc:#x} blocks={blocks}"
        return cost
    task.kernel_name = kernel.name
    if machine.faults.tasks and machine.faults.strike(task):
        return None
    arguments = Arguments(machine.memory, args, task, kernel)
    context = Context(0, blocks, core, task.device.index, arguments, machine.memory)
    call(task, kernel, context, 0)
    if task.parts is None:
        arguments.finish()
    task.detail = told(kernel, blocks)
    task.device.wrote()
    return cost if context.cost_ns is None else context.cost_ns


def told(kernel: Kernel, blocks: int) -> str:
    """Return what the log says of a kernel that has run."""
    return f"{kernel.name} blocks={blocks}"


def call(task: Task, kernel: Kernel, context: Context, first: int) -> None:
    """Run the function of a kernel for its blocks from `first` on; what it has yet to do goes with the task."""
    for block in range(first, 1 if kernel.grid else context.blocks):
        context = replace(context, block=block) if task.parts else context  # functions that wait keep theirs
        context.block = block
        together.call(task, kernel.function, context)


def run(task: Task, pc: int, args: int, blocks: int, engines: tuple[str, ...]) -> int:
    """Run a kernel and charge the cores for it; returns the SQEs taken, 0 while it has to wait."""
    begun = together.resumed(task)
    if begun is None and together.taken(task.device, engines):
        return 0
    return settle(task, engines, perform(task, pc, args, blocks, engines) if begun is None else begun.cost)


def settle(task: Task, engines: tuple[str, ...], cost: int | None) -> int:
    """Charge the cores for a kernel whose functions were called, if none of them waits; returns as `run` does."""
    if not together.finished(task, engines, cost or 0):
        return 0
    if cost is not None:
        task.occupy(cost, *engines)
    return 1


def plain_v1(task: Task) -> int:
    """Kernel SQE of STARS v1 for one kind of core."""
    return _run(task, parts_v1(task))


def parts_v1(task: Task) -> Parts:
    """Return what a kernel SQE of STARS v1 says."""
    fields = task.fields
    return Parts(fields["pc"], "param", fields["block_dim"], (AIV if task.layout == "kernel_aiv" else AIC,), 1)


def _run(task: Task, parts: Parts) -> int:
    return run(task, parts.pc, task.fields[parts.arguments], parts.blocks, parts.engines) and parts.taken


def mix_v1(task: Task) -> int:
    """Mix kernel of STARS v1: an FFTS+ entry around one context in device memory."""
    return run_mix(task, _mix_context(task))


def _mix_context(task: Task) -> Mapping[str, int]:
    memory, form = task.machine.memory, task.machine.plugin.contexts
    assert form is not None  # the generation has the entry, so it has contexts
    pointer = memory.device_pointer(task.fields["contexts"], form.size_bytes, "context read")
    context = form.decode(ctypes.string_at(pointer, form.size_bytes))
    if context.layout not in ("mix_aic", "mix_aiv"):
        raise TaskFault(f"the context of a mix kernel is one of {context.layout}", Effect.SQE_ERROR.value)
    return context.fields


def run_mix(task: Task, context: Mapping[str, int]) -> int:
    """Run the kernel of a mix context on the core kinds it has an entry for; returns as `run` does."""
    aic, aiv = context["aic_pc"], context["aiv_pc"]
    engines = (AIC, AIV) if aic and aiv else (AIC,) if aic else (AIV,)
    return run(task, *_mix_start(context), context["block_dim"], engines)


def _mix_start(context: Mapping[str, int]) -> tuple[int, int]:
    core = "aic" if context["aic_pc"] else "aiv"
    return context[f"{core}_pc"], context[f"{core}_param"]


def plain_v2(task: Task) -> int:
    """Kernel SQE of STARS v2 for one kind of core."""
    return _run(task, parts_v2(task.fields, mix=False))


def mix_v2(task: Task) -> int:
    """Kernel SQE of STARS v2 for both kinds of core; the type says which one leads."""
    return _run(task, parts_v2(task.fields, mix=True))


def parts_v2(fields: Mapping[str, int], mix: bool) -> Parts:
    """Return what a kernel SQE of STARS v2 says."""
    core, engine = ("aic", AIC) if fields["type"] == 0 else ("aiv", AIV)
    pc = fields[f"{core}_pc_high"] << 32 | fields[f"{core}_pc_low"]
    return Parts(
        pc, f"{core}_param", fields["block_dim"], (AIC, AIV) if mix else (engine,), 1 + fields["sqe_length"]
    )


def of_command(task: Task) -> int:
    """Kernel command: entry, arguments and blocks as they are."""
    fields = task.fields
    if fields["literal_src"]:
        raise NotModelled("kernel whose blocks begin at another number than 0", "blocks are counted from 0 here")
    engine = AIV if task.layout == "kernel_aivec" else AIC
    return run(task, fields["func"], fields["args"], fields["block_dim"], (engine,))


def parts(task: Task) -> Parts | None:
    """Return what the entry of a task says if it is a kernel whose arguments it names itself; None for all others."""
    if task.handler is plain_v1:
        return parts_v1(task)
    if task.handler in (plain_v2, mix_v2):
        return parts_v2(task.fields, mix=task.handler is mix_v2)
    return None


def start(task: Task) -> tuple[int, int]:
    """Return the addresses of the code and of the argument block of a kernel task; 0 where its entry leads nowhere."""
    if task.handler is mix_v1:
        try:
            return _mix_start(_mix_context(task))
        except (TaskFault, MemoryFault):
            return 0, 0
    entry = parts(task)
    return (0, 0) if entry is None else (entry.pc, task.fields[entry.arguments])


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {
    "kernel_aic": ("kernel", plain_v1), "kernel_aiv": ("kernel", plain_v1), "kernel_one_core": ("kernel", plain_v1),
    "kernel_mix": ("kernel", mix_v1), "kernel_mix_aiv": ("kernel", mix_v1), "kernel_mix_locked": ("kernel", mix_v1),
}  # fmt: skip
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    "kernel_aic": ("kernel", plain_v2), "kernel_aiv": ("kernel", plain_v2),
    "kernel_aic_mix": ("kernel", mix_v2), "kernel_aiv_mix": ("kernel", mix_v2),
}  # fmt: skip
COMMANDS: Mapping[str, tuple[str, Handler]] = {
    "kernel_aicore": ("kernel", of_command), "kernel_aivec": ("kernel", of_command),
}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {"kernel": ("kernel", plain_v1)}
