"""Graphs as data, by name: task groups, streams and tasks of a graph, their parameters, debug output (core_spec 14)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from chips.tasks import CoreKernel, MemWaitValue, MemWriteValue, WriteValue
from npuhal.files import write_whole
from npuhal.late import logger
from runtime import errors
from runtime.capi.aclrt.checks import (
    context,
    feature,
    live,
    null,
    null_rt,
    own,
    own_model,
    refuse,
    succeed,
    unbound,
    uncaptured,
)
from runtime.capi.aclrt.entry import Out, entry, handle_of, kept, need_rt
from runtime.capi.aclrt.graph.model import model_of
from runtime.capi.aclrt.kernel.binary import function_of
from runtime.capi.aclrt.kernel.launch import launch_options
from runtime.capi.aclrt.kinds import U32, Address, Enum, Handle, Text
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.feature import graph
from runtime.feature.graph import Graph, Model, Node, NodeKind, TaskGroup, view
from runtime.feature.graph.model.model_sink import bound_model
from runtime.launch.block import HostBlock
from runtime.launch.kernel import Kernel
from runtime.memory import caller

_LOG = logger(__name__)
_COUNT = struct.Struct("<I")
_TASK = struct.Struct("<I12xQQQ32x")
"""aclmdlRITaskParams up to its union: type, task group, address and size of the operator's information."""
_KERNEL = struct.Struct("<QQQI4xQI40x")
"""aclmdlRIKernelTaskParams: function, configuration, arguments, whether they are on the host, size, blocks."""
_EVENT = struct.Struct("<QII")
_VALUE = struct.Struct("<QQI4x")
_UNION_BYTES = 128


# -- task groups -------------------------------------------------------------------------------------------------------


@entry(
    null("stream"), feature("MODEL_ACL_GRAPH"), live("stream", Stream),
    refuse("not is_captured(stream_)", "stream", "a stream that is being captured", "EE1016", code=107029),
    own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRICaptureTaskGrpBegin(acl: Acl, stream: Stream) -> None:
    """Start a task group in a captured stream."""
    graph.begin_group(stream)


@entry(
    null("stream", "handle"), feature("MODEL_ACL_GRAPH"), live("stream", Stream),
    refuse("not is_captured(stream_)", "stream", "a stream that is being captured", "EE1016", code=107029),
    own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRICaptureTaskGrpEnd(acl: Acl, stream: Stream, handle: Out[Handle]) -> None:
    """End a task group and give its handle."""
    handle.value = kept(acl, graph.end_group(stream))


@entry(
    null("stream", "handle"), feature("MODEL_ACL_GRAPH"), live("stream", Stream), uncaptured("stream"),
    unbound("stream", "EE1016"), own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRICaptureTaskUpdateBegin(acl: Acl, stream: Stream, handle: Handle) -> None:
    """Let a stream update a task group."""
    graph.begin_update(stream, handle_of(acl, handle, TaskGroup))


@entry(
    null("stream"), feature("MODEL_ACL_GRAPH"), live("stream", Stream), uncaptured("stream"),
    unbound("stream", "EE1016"), own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclmdlRICaptureTaskUpdateEnd(acl: Acl, stream: Stream) -> None:
    """End the update that a stream makes."""
    graph.end_update(stream)


# -- streams and tasks -------------------------------------------------------------------------------------------------


@entry(
    feature("MODEL_ACL_GRAPH"), live("modelRI", Model), null_rt("numStreams", "modelRI"),
    refuse("is_branch(modelRI_)", "modelRI", "no branch of a conditional node", "", code=207000), context(),
    own_model("modelRI"),
)  # fmt: skip
def aclmdlRIGetStreams(acl: Acl, modelRI: Handle, streams: Out[Handle] | None, numStreams: Address) -> None:
    """Fill an array with the streams of a graph, or count them when there is none."""
    call = "aclmdlRIGetStreams"
    model = model_of(acl, call, modelRI)
    _list(call, [stream.handle for stream in model.streams], "streams", streams, numStreams)


@entry(
    feature("MODEL_ACL_GRAPH"), live("stream", Stream), null_rt("stream", "numTasks"),
    refuse("not is_bound(stream_)", "stream", "a stream of a model", "EE1011"),
)  # fmt: skip
def aclmdlRIGetTasksByStream(acl: Acl, stream: Handle, tasks: Out[Handle] | None, numTasks: Address) -> None:
    """Fill an array with the tasks of a stream of a graph, or count them when there is none."""
    call = "aclmdlRIGetTasksByStream"
    found: Stream = handle_of(acl, stream, Stream)
    model = bound_model(found)
    if model is None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: stream {found.stream_id} is in no model", ee="EE1017",
            params=(call, "stream", "it is in no model"), hint="pass a stream from aclmdlRIGetStreams",
        )
    nodes = [node for node in model.nodes if node.stream is found]
    _list(call, [_handle(acl, node) for node in nodes], "tasks", tasks, numTasks)


def _handle(acl: Acl, node: Node) -> int:
    if not node.handle:
        node.handle = acl.runtime.handles.add(node)
    return node.handle


def _list(call: str, handles: Sequence[int], name: str, array: Out[int] | int | None, count: int) -> None:
    """Give a list in the two-call pattern: no array asks for the number; one that is too short is filled, 107039."""
    (capacity,) = _COUNT.unpack(caller.read(count, _COUNT.size))
    given = len(handles) if array is None else min(capacity, len(handles))
    if isinstance(array, Out):
        array.value = handles[0] if given else None
    elif array is not None:
        words = struct.pack(f"<{capacity}Q", *handles[:given], *(0,) * (capacity - given))
        caller.write(array, words, len(words))
    caller.write(count, _COUNT.pack(given), _COUNT.size)
    if given < len(handles):
        raise errors.fault(
            "RT_ERROR_INSUFFICIENT_INPUT_ARRAY", f"{call}: {name} has space for {capacity}, there are {len(handles)}",
            ee="EE1011", params=(call, capacity, name, f"there are {len(handles)}"),
            hint="call with a NULL array first: it gives the number",
        )


@entry(feature("MODEL_ACL_GRAPH"), null_rt("task", "type"))
def aclmdlRITaskGetType(acl: Acl, task: Handle, type: Out[Enum]) -> None:
    """Tell what a task is (aclmdlRITaskType)."""
    type.value = int(_node(acl, task).kind)


@entry(null_rt("task", "id"))
def aclmdlRITaskGetSeqId(acl: Acl, task: Handle, id: Out[U32]) -> None:
    """Tell the number of a task in the order of the capture."""
    id.value = _node(acl, task).index


def _node(acl: Acl, task: int) -> Node:
    found: Node = handle_of(acl, task, Node)
    model = found.stream.bound
    if isinstance(model, Graph) and model.parent is not None:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{found!r} is in a branch of a conditional node",
            hint="only tasks of the graph itself can be asked for and changed",
        )
    return found


def _graph(acl: Acl, call: str, node: Node) -> Graph:
    """Return the graph of a task; one that holds its tasks in hardware queues cannot be changed, 207000."""
    found = node.stream.bound
    if not isinstance(found, Graph) or not found.software:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {node!r} is in a hardware queue",
            hint="use task groups, or a driver that binds queues dynamically",
        )
    return found


@entry(null_rt("task", "params"))
def aclmdlRITaskGetParams(acl: Acl, task: Handle, params: Address) -> None:
    """Write the parameters of a kernel, event or value task to a struct."""
    call = "aclmdlRITaskGetParams"
    node = _node(acl, task)
    graph = _graph(acl, call, node)
    if node.kind is NodeKind.OTHER:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {node!r} has no parameters", ee="EE1017",
            params=(call, "task", "its type has no parameters"), hint="ask for its type first",
        )
    said = graph.operators.get(node)
    where = (0, 0) if said is None else (ctypes.addressof(said), len(said))
    image = _TASK.pack(node.kind, 0, *where) + _union(acl, node).ljust(_UNION_BYTES, b"\0")
    caller.write(params, image, len(image))


def _union(acl: Acl, node: Node) -> bytes:
    task = node.task
    if isinstance(task, CoreKernel):
        owner = None if node.kernel is None else node.kernel.program.owner
        function = 0 if owner is None else owner.function_of(node.kernel).handle
        return _KERNEL.pack(function, 0, task.args, 0, task.args_size, task.block_dim)
    if node.event is not None:
        return _EVENT.pack(node.event.handle, node.event.flags, int(node.event.external))
    if isinstance(task, WriteValue):
        return _VALUE.pack(task.addr, int.from_bytes(task.data, "little"), 0)
    assert isinstance(task, (MemWriteValue, MemWaitValue))
    return _VALUE.pack(task.addr, task.value, getattr(task, "flag", 0))


@entry(null_rt("task", "params"), waits_for_snapshot=True)
def aclmdlRITaskSetParams(acl: Acl, task: Handle, params: Address) -> None:
    """Give a kernel or value task other parameters; aclmdlRIUpdate puts them in force."""
    call = "aclmdlRITaskSetParams"
    node = _node(acl, task)
    found = _graph(acl, call, node)
    kind, group, said, said_bytes = _TASK.unpack(caller.read(params, _TASK.size))
    union = caller.read(params + _TASK.size, _UNION_BYTES)
    if kind == NodeKind.KERNEL:
        _set_kernel(acl, call, found, node, group, union)
        if said and said_bytes:
            found.operators[node] = ctypes.create_string_buffer(caller.read(said, said_bytes), said_bytes)
    elif kind in (NodeKind.VALUE_WRITE, NodeKind.VALUE_WAIT) and (said or said_bytes):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: opInfoPtr and opInfoSize must be 0 for a value task",
            hint="only kernels have information about an operator",
        )
    elif kind in (NodeKind.VALUE_WRITE, NodeKind.VALUE_WAIT) and kind == node.kind:
        address, value, flag = _VALUE.unpack_from(union)
        found.editing.set_value(node, address, value, flag if kind == NodeKind.VALUE_WAIT else 0)
    else:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: type is {kind}, the task's is {int(node.kind)}", ee="EE1003",
            params=(call, kind, "params->type", "1 kernel, 5 value write or 6 value wait, as the task is"),
            hint="start from what aclmdlRITaskGetParams gives",
        )


def _set_kernel(acl: Acl, call: str, found: Graph, node: Node, group: int, union: bytes) -> None:
    handle, config, arguments, on_host, size, blocks = _KERNEL.unpack_from(union)
    need_rt(call, **{"kernelTaskParams.funcHandle": handle, "kernelTaskParams.args": arguments})
    if group or not size:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: taskGrp is {group:#x}, argsSize {size}", ee="EE1003",
            params=(call, size, "argsSize", "at least 1, with taskGrp NULL"), hint="task groups change by an update",
        )
    function = function_of(acl, handle)
    kernel = function.on(found.device)
    if not isinstance(kernel, Kernel):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {function.name} runs on the AICPU", hint="pass an AI-core kernel",
        )
    data = caller.read(arguments, size) if on_host else found.device.memory.read(arguments, size)
    options = launch_options(acl, call, function, config)
    found.editing.set_kernel(node, kernel, blocks, HostBlock(bytes(data)), options)


@entry(null_rt("task"), waits_for_snapshot=True)
def aclmdlRITaskDisable(acl: Acl, task: Handle) -> None:
    """Leave a task out; aclmdlRIUpdate puts that in force."""
    call = "aclmdlRITaskDisable"
    node = _node(acl, task)
    _graph(acl, call, node).editing.disable(node)


@entry(
    live("modelRI", Model), null_rt("modelRI"),
    refuse("not is_graph(modelRI_)", "modelRI", "a captured graph", "EE1016", code=207000),
    refuse("is_branch(modelRI_)", "modelRI", "no branch of a conditional node", "", code=207000),
)  # fmt: skip
def aclmdlRIUpdate(acl: Acl, modelRI: Handle) -> None:
    """Put the changes of a graph's tasks in force."""
    call = "aclmdlRIUpdate"
    found = model_of(acl, call, modelRI)
    if not isinstance(found, Graph) or not found.software:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {found!r} has its tasks in hardware queues",
            hint="use task groups, or a driver that binds queues dynamically",
        )
    found.editing.apply()


# -- debug output ------------------------------------------------------------------------------------------------------


@entry(null("modelRI"), feature("MODEL_ACL_GRAPH"), live("modelRI", Model), own_model("modelRI"))
def aclmdlRIDebugPrint(acl: Acl, modelRI: Handle) -> None:
    """Write streams and tasks of a model to the log."""
    call = "aclmdlRIDebugPrint"
    model = model_of(acl, call, modelRI)
    for node in model.nodes:
        _LOG.warning(
            "model %d, stream %d, task %d: %s", model.model_id, node.stream.stream_id, node.ids.task_id,
            view.type_name(node),
        )


@entry(
    null("modelRI", "path"), feature("MODEL_ACL_GRAPH"), live("modelRI", Model), own_model("modelRI"),
    succeed("not is_graph(modelRI_)", "a model built by hand has nothing to print"),
)  # fmt: skip
def aclmdlRIDebugJsonPrint(acl: Acl, modelRI: Handle, path: Text, flags: U32) -> None:
    """Write a model as a trace for Chrome's viewer to a file; flag 1 adds the words of kernel arguments."""
    call = "aclmdlRIDebugJsonPrint"
    model = model_of(acl, call, modelRI)
    try:
        write_whole(path, view.debug_json(model, flags))
    except (OSError, ValueError) as failure:  # ValueError: no file can have this name
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {path} cannot be written: {failure}", ee="EE1011",
            params=(call, path, "path", "the file cannot be opened"), hint="pass a path in a folder that exists",
        ) from failure
