"""How the blocks of tasks are made (`chips.blocks`): mix contexts and condition programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.blocks import FLAG_BYTES, DeviceBlock
from chips.generations.v100 import ffts
from chips.programs import label, model, rdma, stream, wait
from chips.programs.device import CondDevice
from chips.tasks import (
    CaptureWait,
    CaptureWaitExternal,
    IpcWait,
    LabelSwitchByIndex,
    MemWaitValue,
    MixKernel,
    ModelExecute,
    RdmaPiValueModify,
    StreamActive,
    StreamSwitch,
    Task,
    WaitFor,
)

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

def _mix(task: MixKernel, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.context:
        return ()
    return (DeviceBlock("ffts_context_128B", task.context, ffts.mix_context(task, env)),)


def _start(task: StreamActive | StreamSwitch, sq_id: int, device: CondDevice) -> stream.StreamActive:
    return stream.StreamActive(
        sq_id=sq_id,
        registers=device.registers(task.page),
        starts=task.exec_times_addr,
        dfx=task.function + task.function_bytes,
        sq_mask=device.sq_mask,
    )


def _stream_active(task: StreamActive, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.function:
        return ()
    device = CondDevice.of(env)
    program = _start(task, task.active_sq_id, device)
    return (DeviceBlock("func_call", task.function, program.assemble(device.generation)),)


def _stream_switch(task: StreamSwitch, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.function:
        return ()
    device = CondDevice.of(env)
    program = stream.StreamSwitch(
        variable=task.addr,
        condition=stream.Condition(task.condition),
        target=_start(task, task.true_sq_id, device),
        current_sq=env.sq_id,
        value=task.value,
        value_address=task.value_addr if task.extended else None,
        wide=bool(task.data_type) or not task.extended,
    )
    return (DeviceBlock("func_call", task.function, program.assemble(device.generation)),)


def _label_switch(task: LabelSwitchByIndex, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.function:
        return ()
    device = CondDevice.of(env)
    program = label.LabelSwitch(
        index=task.index_addr,
        count=task.max_index,
        labels=task.labels_addr,
        label_count=task.count_addr,
        queues=env.sq_address_table,
        dfx=task.trace_addr,
        current_sq=env.sq_id,
        tail_offset=device.tail_offset,
    )
    return (DeviceBlock("func_call", task.function, program.assemble(device.generation)),)


def _model_execute(task: ModelExecute, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.function:
        return ()
    device = CondDevice.of(env)
    program = model.ModelExecute(
        address=task.function,
        heads=task.head_sq_ids,
        counters=task.exec_times_addrs,
        start=device.start_queues(queues=env.sq_address_table, dfx=task.trace_addr),
    )
    return (DeviceBlock("func_call", task.function, program.assemble(device.generation)),)


def _memory_wait(task: MemWaitValue, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.function:
        return ()
    device = CondDevice.of(env)
    tail = 0 if device.swap else env.sq_register_base + device.tail_offset
    queue: wait.KnownQueue | wait.BoundQueue = wait.KnownQueue(sq_id=env.sq_id, paused=task.pause_addr, tail=tail)
    if task.sq_id_addr:
        queue = wait.BoundQueue(
            sq_id_address=task.sq_id_addr,
            queues=env.sq_address_table,
            tail_offset=device.tail_offset,
            bound=env.bound,
        )
    program = wait.MemoryWait(
        address=task.addr,
        value=task.value,
        test=WaitFor(task.flag),
        size=task.size_code,
        position=ids.position,
        depth=env.ring_depth,
        profiling=env.profiling_switch,
        queue=queue,
        swap=device.swap,
    )
    return (
        DeviceBlock("write_value_mem", task.flag_addr, bytes(FLAG_BYTES)),
        DeviceBlock("fc_mem2", task.function, program.assemble(device.generation)),
    )


def _external_wait(task: CaptureWaitExternal, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.function:
        return ()
    program = wait.ExternalWait(
        entry=task.addr, sq_id_address=task.sq_id_addr, position=ids.position, depth=env.ring_depth
    )
    return (
        DeviceBlock("write_value_mem", task.flag_addr, bytes(FLAG_BYTES)),
        DeviceBlock("func_call", task.function, program.assemble(CondDevice.of(env).generation)),
    )


def _pi_modify(task: RdmaPiValueModify, env: EncodeEnv, ids: TaskIds) -> tuple[DeviceBlock, ...]:
    if not task.function or not task.table_addr:
        return ()
    table = b"".join(address.to_bytes(8, "little") for address in task.addresses)
    program = rdma.ProducerIndexModify(table=task.table_addr, count=len(task.addresses), dfx=task.trace_addr)
    code = program.assemble(CondDevice.of(env).generation)
    return (DeviceBlock("func_call", task.function, code), DeviceBlock("pi_table", task.table_addr, table))


MAKERS: dict[type[Task], Callable[[Any, EncodeEnv, TaskIds], tuple[DeviceBlock, ...]]] = {
    MixKernel: _mix,
    StreamActive: _stream_active,
    StreamSwitch: _stream_switch,
    LabelSwitchByIndex: _label_switch,
    ModelExecute: _model_execute,
    **dict.fromkeys((MemWaitValue, CaptureWait, IpcWait), _memory_wait),
    CaptureWaitExternal: _external_wait,
    RdmaPiValueModify: _pi_modify,
}
"""Description class -> builder; it gives no block where the task has no address for it."""
