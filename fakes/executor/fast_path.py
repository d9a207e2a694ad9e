"""The fast path of kernels that nothing checks, that no fault can strike, and that do not wait for each other.

Such a task is what queues hold most of. Its entry is known by its bits without the number of the task and the address
of the arguments; what is left to do is to compare the code, to run the function, and to charge the cores. Whatever is
unusual is left to the slow path, `fakes.executor.kernel`, or handed to it where the function has begun: both give the
same log.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from fakes.errors import FakeError, MemoryFault
from fakes.executor import kernel as slow_path
from fakes.executor.reader import MOST_KEPT, TYPE
from fakes.executor.together import wrong
from fakes.kernels import Arguments, Context, with_body
from fakes.machine.begun import NOT_PLAIN, RAN, STOPPED, WAITS
from fakes.machine.journal import Executed, new_entry
from fakes.machine.queues import SQE_BYTES

if TYPE_CHECKING:
    from chips.layout import Field
    from fakes.executor.executor import Executor
    from fakes.executor.task import Handler, Task
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine
    from fakes.machine.queues import SubmissionQueue

_MOST_OF_MODELS = 1 << 16
"""Entries of models that are remembered at a time: more than one model has, or none would be there again in time."""


class Plain:
    """A kernel entry, as far as it is the same for all its launches, and the function that stood for its code last."""

    __slots__ = (
        "blocks", "body", "calls", "code", "core", "cost", "detail", "engines", "first", "function", "kernel",
        "kernels_version", "last", "mask", "memory_version", "never", "pc", "shift", "taken", "there",
    )  # fmt: skip

    def __init__(self, parts: slow_path.Parts, field: Field) -> None:
        self.pc, self.blocks, self.engines, self.taken = parts.pc, parts.blocks, parts.engines, parts.taken
        self.first, self.last = parts.engines[0], parts.engines[-1]  # there are no more than two
        self.shift, self.mask = field.offset, (1 << field.width) - 1
        self.kernels_version = self.memory_version = -1
        """The states of the registry and of memory in which what follows holds."""
        self.never = False
        """Whether its kernel waits for others, and is left to the slow path from the start."""

    def find(self, machine: Machine) -> bool:
        """Look what stands for the code; False if that is to be looked for at each launch, or fails."""
        kernels, memory = machine.kernels, machine.memory
        try:
            kernel = kernels.find(memory, self.pc)
            if kernel is None or not kernels.alone(kernel):
                return False
            at = memory.device_pointer(self.pc, len(kernel.code), "instruction fetch")
        except MemoryFault:
            return False
        self.kernel, self.calls = kernel, range(1 if kernel.grid else self.blocks)
        self.function, self.body = with_body(kernel.function)
        self.code, self.there = kernel.code, (ctypes.c_char * len(kernel.code)).from_address(at)
        self.core, self.cost = slow_path.charge(machine, self.blocks, self.engines)
        self.detail = slow_path.told(kernel, self.blocks)
        self.kernels_version, self.memory_version = kernels.version, memory.version
        return True

    def has_raised(self, error: BaseException) -> bool:
        """Whether an exception comes from the function, rather than from a signal behind it.

        It has the function's frame then. A call that fails by itself, of a function without parameters say, adds no
        frame, and neither does Python's own handler of Ctrl-C.
        """
        trace = error.__traceback__
        inner = None if trace is None else trace.tb_next
        if inner is None:
            return not isinstance(error, KeyboardInterrupt)
        return inner.tb_frame.f_code is self.body


class PlainKernels:
    """The plain kernels of a machine."""

    def __init__(self, executor: Executor, without_number: int) -> None:
        self._executor, self._machine = executor, executor.machine
        self._without_number = without_number
        self._masks: list[int | None] = [None] * (TYPE + 1)
        """By type of the entry: the bits that tell plain kernels from each other; None until there was one."""
        self._plains: dict[int, Plain] = {}
        self._kept: dict[bytes, tuple[Plain, int]] = {}
        """By all bits of an entry of a model, which is executed again as it is: the kernel, and its arguments."""

    def learn(self, task: Task) -> bool:
        """Remember a kernel that has run on the slow path; False if the fast one will not do for it."""
        parts = slow_path.parts(task)
        if parts is None or task.fields["wr_cqe"] or task.parts is not None:
            return False
        field = self._machine.plugin.layouts[task.layout].field(parts.arguments)
        kind = task.raw[0] & TYPE
        mask = self._masks[kind] = self._without_number & ~(((1 << field.width) - 1) << field.offset)
        key = int.from_bytes(task.raw, "little") & mask
        if key not in self._plains:
            if len(self._plains) >= MOST_KEPT:
                self._plains.clear()
            self._plains[key] = Plain(parts, field)
        return True

    def run(self, device: Device, sq: SubmissionQueue, raw: bytes, end: int) -> int:
        """Execute the task at the head of a queue, an SQE, if it is a plain kernel; returns what became of it.

        Those behind it are executed, too, until the card has executed `end` tasks, as long as they are plain kernels
        and nothing has changed that concerns other queues. What became of the last one is returned then.
        """
        machine, masks, plains, executed = self._machine, self._masks, self._plains, NOT_PLAIN
        memory, kernels, faults, active = machine.memory, machine.kernels, machine.faults, device.active
        clocks, append, memo, count = device.engines.clocks, machine.log.append, sq.memo, len(active)
        waiting, kept = device.waiting, self._kept if sq in device.models else None
        context: Any = None
        arguments: Any = None
        alone = 0
        device.disturbed = False
        while True:
            mask = masks[raw[0] & TYPE]
            if mask is None or memo:  # it was broken off
                return executed
            if machine.checks is not None or faults.tasks or device.spinning or memory.caller is not None:
                return executed
            found = None if kept is None else kept.get(raw)
            if found is None:
                word = int.from_bytes(raw, "little")
                if (plain := plains.get(word & mask)) is None:
                    return executed
                address = word >> plain.shift & plain.mask
                if kept is not None:
                    if len(kept) >= _MOST_OF_MODELS:
                        kept.clear()
                    kept[raw] = plain, address
            else:
                plain, address = found
            if plain.memory_version != memory.version or plain.kernels_version != kernels.version:
                if plain.never or not plain.find(machine):
                    return executed
            elif plain.never or (plain.there.raw != plain.code and not plain.find(machine)):
                return executed
            if getrefcount(context) != alone or getrefcount(arguments) != alone + 1:
                # the first one, or the function before has kept what it was given: else it is used again
                arguments = Arguments.plain(memory, 0, device)
                context = Context(0, 0, "", 0, arguments, memory)
                alone = getrefcount(context)
            arguments.address = address
            context.blocks, context.core, context.device = plain.blocks, plain.core, device.index
            context.memory, context.cost_ns = memory, None
            function, first, last, position = plain.function, plain.first, plain.last, sq.head
            made: Any = None
            block = 0
            try:
                for block in plain.calls:
                    context.block = block
                    made = function(context)
                    if made is not None and isinstance(made, Generator):
                        break
                    made = None  # no condition before the jump back, see `npuhal.changed` on interrupts
                else:
                    if waiting:
                        waiting.clear()  # `Device.wrote`, which most of what runs here would call
                    began = sq.clock  # as `Engines.occupy` does
                    if clocks[first] > began:
                        began = clocks[first]
                    if clocks[last] > began:
                        began = clocks[last]
                    ended = began + (plain.cost if context.cost_ns is None else context.cost_ns)
                    entry = new_entry(
                        Executed, (began, ended, device.index, sq.stream_id, position, "kernel", plain.detail)
                    )
            except BaseException as error:
                if plain.has_raised(error):
                    memo += (None,) * block
                    return self._failed(device, sq, raw, plain, error)
                memo += (*(None,) * block, made)  # broken off behind the function of a block, see `task.once`
                raise
            if made is not None:
                memo += (*(None,) * block, made)
                return self._yielded(device, sq, raw, plain, context, made)
            # nothing from here on can be interrupted, but behind the one call
            clocks[first] = clocks[last] = sq.clock = ended
            sq.wait_since = -1
            sq.head = (position + plain.taken) % sq.depth
            sq.done += plain.taken
            device.executed += 1
            append(entry)
            executed = RAN
            if device.executed >= end or device.disturbed or len(active) != count:
                return RAN
            if not sq.enabled or sq.head == sq.tail or sq.paused or sq.held or sq.hung:  # SubmissionQueue.runnable
                return RAN
            if sq.arrivals and sq.arrivals[0][0] <= sq.done:
                sq.arrive()
            at = sq.head * SQE_BYTES
            raw = sq.entries[at : at + SQE_BYTES]

    def _failed(self, device: Device, sq: SubmissionQueue, raw: bytes, plain: Plain, error: BaseException) -> int:
        """The function has raised."""

        def fail(task: Task) -> int:
            failure = error if isinstance(error, FakeError) else wrong(error)
            sq.memo += (failure,)
            task.steps = len(sq.memo)
            raise failure

        return self._slow_path(device, sq, raw, plain, fail)

    def _yielded(
        self, device: Device, sq: SubmissionQueue, raw: bytes, plain: Plain, context: Context,
        made: Generator[object, None, object],
    ) -> int:  # fmt: skip
        """The function has begun and waits for others; its kernel takes the slow path from the start next time."""

        written = False

        def go_on(task: Task) -> int:
            nonlocal written
            task.parts, task.steps = [made], len(sq.memo)
            slow_path.call(task, plain.kernel, context, context.block + 1)
            task.detail = plain.detail
            device.wrote()
            written = True
            cost = plain.cost if context.cost_ns is None else context.cost_ns
            return slow_path.settle(task, plain.engines, cost) and plain.taken

        plain.never = True
        ended = self._slow_path(device, sq, raw, plain, go_on)
        return RAN if ended == STOPPED and written else ended

    def _slow_path(self, device: Device, sq: SubmissionQueue, raw: bytes, plain: Plain, rest: Handler) -> int:
        task = self._executor.read(device, sq, sq.head, raw)
        task.kernel_name = plain.kernel.name
        if not self._executor.carry_out(task, rest):
            return WAITS
        device.executed += 1
        return STOPPED
