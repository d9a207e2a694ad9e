"""AICPU: kernels by library and function name in device memory, control messages, host callbacks."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import TaskFault
from fakes.executor import together
from fakes.executor.task import once
from fakes.faults import Effect
from fakes.kernels import Arguments, Context
from fakes.machine.scheduled import OPERATORS
from fakes.schedule.scheduler import AICPU

if TYPE_CHECKING:
    from fakes.executor.task import Task

KERNEL_NS = 12_000
"""Cost of an AICPU kernel."""
MESSAGE_NS = 4_000
"""Cost of a message to the AICPU scheduler."""
_LONGEST_NAME = 512


def _text(task: Task, address: int, use: str) -> str:
    """Read a C string from device memory."""
    memory = task.machine.memory
    pointer = memory.device_pointer(address, 1, use)
    block = memory.find(address)
    most = _LONGEST_NAME if block is None else min(_LONGEST_NAME, block.base + block.size - address)
    return ctypes.string_at(pointer, most).split(b"\0", 1)[0].decode("utf-8", "replace")


def perform(task: Task, fields: Mapping[str, int]) -> None:
    """Run the function attached under the names in device memory."""
    machine = task.machine
    library = _text(task, fields["so_name"], "name of the AICPU library") if fields["so_name"] else ""
    function = _text(task, fields["func_name"], "name of the AICPU function")
    task.kernel_name = f"{library}:{function}"
    if not library and function in OPERATORS:
        OPERATORS[function](task, fields["param"])
        task.detail = task.kernel_name
        return
    if (task.device.index, library) in machine.kernels.given_up:
        raise TaskFault(
            f"AICPU kernel {function!r}: library {library!r} was sent and given up again. Keep its program loaded "
            "until the last launch is done, or send it again",
            Effect.EXCEPTION.value,
        )
    attached = machine.kernels.aicpu.get((library, function))
    if attached is None and not machine.options.noop_kernels:
        raise TaskFault(
            f"no function is attached for AICPU kernel {function!r} of library {library!r} on this fake",
            Effect.EXCEPTION.value,
            cure=f"attach what it computes: device.hal.fake.attach_aicpu({library!r}, {function!r}, function); or open "
            "the fake with kernels=noop",
        )
    if attached is not None:
        blocks = max(fields["block_dim"], 1)
        arguments = Arguments(machine.memory, fields["param"], task)
        for block in range(blocks):
            context = Context(block, blocks, AICPU, task.device.index, arguments, machine.memory)
            together.call(task, attached, context)
    task.detail = task.kernel_name
    task.device.wake()


def kernel(task: Task) -> int:
    """AICPU kernel."""
    if together.resumed(task) is None:
        if together.taken(task.device, (AICPU,)):
            return 0
        perform(task, task.fields)
    if not together.finished(task, (AICPU,), KERNEL_NS):
        return 0
    task.occupy(KERNEL_NS, AICPU)
    return 1 + task.fields.get("sqe_length", 0)


def of_command(task: Task) -> int:
    """AICPU kernel command: names and arguments lie in fields that AI-core kernels use otherwise."""
    if together.resumed(task) is None:
        if together.taken(task.device, (AICPU,)):
            return 0
        fields = task.fields
        perform(task, {"so_name": fields["literal_src"], "func_name": fields["func"], "param": fields["args"],
                       "block_dim": fields["block_dim"]})  # fmt: skip
    if not together.finished(task, (AICPU,), KERNEL_NS):
        return 0
    task.occupy(KERNEL_NS, AICPU)
    return 1


def time_limits(task: Task) -> int:
    """Limits for all operators and waits of the device, in seconds."""
    fields = task.fields
    if fields["execute_enable"]:
        task.device.commands.operator_limit_s = fields["execute"]
    if fields["wait_enable"]:
        task.device.commands.wait_limit_s = fields["wait"]
    task.occupy(MESSAGE_NS, AICPU)
    return 1


def message(task: Task) -> int:
    """Control message to the AICPU scheduler: accepted, nothing in the fake depends on it."""
    fields = task.fields
    task.detail = f"command {fields['message'] if 'message' in fields else fields['cmd_type']}"
    for what in ("wait", "execute"):
        if fields.get(f"{what}_en"):
            limit = fields.get(f"{what}_timeout", fields.get(what))
            task.detail += f", {what} limit {limit}"
    task.occupy(MESSAGE_NS, AICPU)
    return 1


_CALLBACK = struct.Struct("<HHHHHHBxHQQ")
"""trs_cb_cqe: phase and part bits with the CQ id, stream, task, SQ, head, sequence, blocking, event, both pointers."""
_WHOLE_MESSAGE = 0b1010
"""Start and end of a message in one report (SOP, EOP)."""


def callback_command(task: Task) -> int:
    """Hand a host function to the threads that wait for its CQ; a command names no event."""
    fields, number = task.fields, task.machine.executor.task_id(task)
    return _call(task, fields["cq_id"], fields["stream_id"], number, 0, fields["block"], fields["function"])


def callback_small(task: Task) -> int:
    """Hand a host function to the threads that wait for its CQ (small STARS)."""
    fields = task.fields
    return _call(task, fields["cq_id"], fields["stream_id_copy"], fields["task_id_copy"], fields["event_id"],
                 fields["is_block"], fields["callback"])  # fmt: skip


def host_callback(task: Task) -> int:
    """Hand a host function to the threads that wait for its CQ."""
    fields = task.fields
    first = "callback_stream_id" in fields
    stream = fields["callback_stream_id"] if first else fields["stream_id"]
    number = fields["callback_task_id"] if first else fields["task_id"] & 0xFFFF
    event = fields["event_id"] if first else fields["notify_id"] & 0xFFFF
    block = fields["block"] if first else fields["is_block"]
    function = fields["function"] if first else fields["callback"]
    return _call(task, fields["cq_id"], stream, number, event, block, function)


def _call(task: Task, cq_id: int, stream: int, number: int, event: int, block: int, function: int) -> int:
    device = task.device
    group = device.host_calls.groups.get(cq_id)
    if group is None:
        raise TaskFault(f"callback CQ {cq_id} does not exist", Effect.SQE_ERROR.value)
    waiting = device.host_calls.waiting(group)
    once(task, waiting.append, _CALLBACK.pack(
        1 | _WHOLE_MESSAGE | cq_id << 4, stream, number, task.sq.sq_id, task.position, len(waiting), block, event,
        function, task.fields["data"],
    ))  # fmt: skip
    if task.machine.checks is not None:
        task.machine.checks.calls(task, cq_id)
    task.detail = f"cq {cq_id}"
    task.occupy(MESSAGE_NS, AICPU)
    return 1


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {
    "aicpu": ("aicpu", kernel), "aicpu_timeout": ("aicpu_message", message),
    "host_callback": ("host_callback", host_callback),
}  # fmt: skip
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    "aicpu": ("aicpu", kernel), "aicpu_host": ("aicpu", kernel),
    "host_callback": ("host_callback", host_callback),
    "aicpu_timeout_set": ("aicpu_message", message), "aicpu_msg_version": ("aicpu_message", message),
}  # fmt: skip
COMMANDS: Mapping[str, tuple[str, Handler]] = {
    "kernel_aicpu": ("aicpu", of_command), "hostfunc_callback": ("host_callback", callback_command),
    "timeout_set": ("aicpu_message", time_limits),
}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {"host_callback": ("host_callback", callback_small)}
