"""A task of a graph fails: who is told which one, made where, in which stream."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from fakes.errors import Hang, TaskFault
from runtime import errors
from runtime.api import Device, Kernel, Runtime, Stream
from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from runtime.core.callbacks.exceptions import ExceptionInfo
from runtime.core.diagnostics.hang import describe
from runtime.core.stream.stream import StreamFlag
from runtime.feature import graph as graphs
from runtime.feature.graph import Condition, ConditionKind, Graph, GraphBuilder, Handle, Model
from tests.unit.runtime.capi.kernel_calls import Caller
from tests.unit.runtime.machines import OpenMachine

URLS = ("fake://ascend910b3", "fake-abi://ascend910b1?swsq=0", "fake-abi://ascend950?seed=3", "fake://ascend950?swsq=0")
MakeKernel = Callable[..., Kernel]


@pytest.fixture(params=URLS)
def machine(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Runtime:
    return open_machine(request.param)


@pytest.fixture
def told(device: Device) -> list[ExceptionInfo]:
    """What exception callbacks are told."""
    events: list[ExceptionInfo] = []
    device.runtime.exceptions.add(events.append)
    return events


@pytest.fixture
def make(device: Device) -> MakeKernel:
    """Makes kernels of one argument that do nothing, raise a fault of the device, or never end."""

    def kernel(name: str, problem: type[Exception] | None = None) -> Kernel:
        def run(_context: Any) -> None:
            if problem is not None:
                raise problem(f"{name} went wrong")

        made = device.load(minimal_kernel(name, 1), name=name).only
        device.hal.fake.attach(made.code, run, name=name, grid=True)
        return made

    return kernel


def line() -> int:
    """Return the line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def failure(graph: Model, stream: Stream) -> errors.RuntimeFault:
    """Execute once and return what that fails with."""
    graph.execute(stream)
    with pytest.raises(errors.ModelFault) as caught:
        stream.synchronize(30_000)
    assert isinstance(caught.value, errors.DeviceFault)
    return caught.value


def test_the_node_is_named_each_time_and_the_callback_gets_the_task_inside(
    device: Device, make: MakeKernel, told: list[ExceptionInfo]
) -> None:
    good, bad, word = make("good"), make("bad", TaskFault), device.alloc(64)
    captured, runner = device.create_stream(name="captured"), device.create_stream(name="runner")
    with captured.capture(sites=True) as graph:
        for _ in range(3):
            good[1](word, stream=captured)
        bad[2](word, stream=captured); at = line()  # noqa: E702
        good[1](word, stream=captured)
    graph.name = "step"
    node = graph.kernels[3]
    for _ in range(2):
        fault = failure(graph, runner)
        for words in (
            "kernel bad", f"node {node.index} of graph {graph.model_id} 'step'",
            f"captured in stream {captured.stream_id} 'captured' at {__file__}:{at}",
            f"failed on stream {runner.stream_id}", "bad went wrong",
        ):
            assert words in str(fault)
        assert (fault.code, fault.details["task"], fault.details["node"]) == (507011, "kernel bad", node.index)
        assert fault.details["captured_at"] == f"{__file__}:{at}"
        event = told.pop()
        assert (event.kernel, event.node, event.fault) == (bad, node, fault)
        assert (event.stream_id, event.task_id) == (node.stream.stream_id, node.ids.task_id)
        assert device.memory.read(event.arguments[0], 8) == word.address.to_bytes(8, "little")
    assert not told
    graph.close()


def test_without_lines_the_cure_says_how_to_get_them(device: Device, make: MakeKernel) -> None:
    bad, stream = make("bad", TaskFault), device.create_stream()
    with stream.capture() as graph:
        bad[1](0, stream=stream)
    fault = failure(graph, stream)
    assert "kernel bad (node 0 of graph" in str(fault)
    assert "NPUHAL_TRACE_CREATION=1" in fault.hint
    assert "set a device first" not in fault.hint, "no cure for what is known"
    assert "was captured with" in fault.hint


def test_a_copy_is_named_like_a_kernel(device: Device, make: MakeKernel) -> None:
    good, stream = make("good"), device.create_stream()
    there, gone = device.alloc(64), device.alloc(64)
    with stream.capture() as graph:
        good[1](there, stream=stream)
        stream.copy(there, gone)
    gone.close()
    fault = failure(graph, stream)
    node = next(node for node in graph.nodes if "copy" in node.name)
    assert f"node {node.index} of graph" in str(fault)
    assert fault.details["task"] == node.label.name


def test_another_branch_of_the_capture_is_told_apart(device: Device, make: MakeKernel) -> None:
    good, bad = make("good"), make("bad", TaskFault)
    main, side = device.create_stream(), device.create_stream(name="side")
    with main.capture() as graph:
        side.wait(main.record(device.create_event()))
        for stream, kernel in ((main, good), (side, good), (side, bad)):
            kernel[1](0, stream=stream)
        main.wait(side.record(device.create_event()))
    for _ in range(2):
        assert f"captured in stream {side.stream_id} 'side'" in str(failure(graph, main))


def test_after_an_update_and_another_capture_it_is_what_is_executed_now(
    device: Device, make: MakeKernel, told: list[ExceptionInfo]
) -> None:
    good, bad, worse = make("good"), make("bad", TaskFault), make("worse", TaskFault)
    stream = device.create_stream()
    with stream.capture() as graph:
        for kernel in (good, bad, good):
            kernel[1](1, stream=stream)
    assert "kernel bad (node 1" in str(failure(graph, stream))
    first, second, _ = graph.kernels
    if device.hal.url != "fake://ascend950?swsq=0":  # its entries cannot be changed
        graph.update(second, kernel=worse, args=(2,))
        assert "kernel worse (node 1" in str(failure(graph, stream))
        assert told[-1].kernel is worse
        assert device.memory.read(told[-1].arguments[0], 8) == (2).to_bytes(8, "little")
        graph.update(second, enabled=False)
        graph.launch(stream)
        stream.synchronize(30_000)
        graph.update(first, kernel=bad, args=(3,))
        assert "kernel bad (node 0" in str(failure(graph, stream))
    graph.close()
    with stream.capture() as again:
        for kernel in (good, good, worse):
            kernel[1](1, stream=stream)
    assert "kernel worse (node 2" in str(failure(again, stream))


def test_the_graph_is_closed_before_anybody_looks(device: Device, make: MakeKernel) -> None:
    """What can still be said is said: the failure itself."""
    bad, stream = make("bad", TaskFault), device.create_stream()
    with stream.capture() as graph:
        bad[1](0, stream=stream)
    graph.launch(stream)
    graph.close()  # waits for the execution
    with pytest.raises(errors.ModelFault, match="kernel bad"):
        stream.synchronize(30_000)


def test_a_branch_of_a_condition(device: Device, make: MakeKernel) -> None:
    if not device.chip.has("MODEL_ACL_GRAPH_SOFTWARE_ENABLE") or "swsq=0" in device.hal.url:
        pytest.skip("conditional nodes need queues that are lent")
    good, bad = make("good"), make("bad", TaskFault)
    main, side = device.create_stream(), device.create_stream(name="then")
    outer: Graph = graphs.begin(main)
    good[1](0, stream=main)
    branch = Condition(main, Handle(outer, 1, assigned=True), ConditionKind.IF, 1).branches[0]
    graphs.begin(side, into=branch)
    good[1](0, stream=side)
    bad[1](0, stream=side)
    graphs.end(side)
    good[1](0, stream=main)
    graphs.end(main)
    where = f"kernel bad (node 1 of graph {branch.model_id}, captured in stream {side.stream_id} 'then'"
    for _ in range(2):
        assert where in str(failure(outer, main))


def test_built_graphs_know_the_line_of_each_step(device: Device, make: MakeKernel) -> None:
    good, bad, builder = make("good"), make("bad", TaskFault), GraphBuilder(device)
    first = builder.kernel(good, 1, 0)
    builder.kernel(good, 1, 0)
    builder.kernel(bad, 1, 0, after=[first]); at = line()  # noqa: E702
    assert f"at {__file__}:{at})" in str(failure(builder.instantiate(), device.create_stream()))


def test_models_made_by_hand(
    device: Device, make: MakeKernel, told: list[ExceptionInfo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUHAL_TRACE_CREATION", "1")
    good, bad, runner = make("good"), make("bad", TaskFault), device.create_stream()
    model, kept = Model(device.context), device.create_stream(flags=StreamFlag.PERSISTENT)
    model.bind(kept)
    good[1](0, stream=kept)
    bad[1](0, stream=kept); at = line()  # noqa: E702
    model.end(kept)
    model.load()
    for _ in range(2):
        text = str(failure(model, runner))
        assert f"kernel bad (node 1 of model {model.model_id}, submitted in stream {kept.stream_id}" in text
        assert f"at {__file__}:{at}" in text
    assert [event.kernel for event in told] == [bad] * 2
    with pytest.raises(errors.ModelFault, match="kernel bad"):
        model.execute_now(5000)
    model.close()


def test_a_graph_that_does_not_get_on_says_where_it_stands(device: Device, make: MakeKernel) -> None:
    good, stuck, stream = make("good"), make("stuck", Hang), device.create_stream()
    with stream.capture(sites=True) as graph:
        good[1](0, stream=stream)
        stuck[1](0, stream=stream); at = line()  # noqa: E702
    graph.launch(stream)
    with pytest.raises(errors.Timeout):
        stream.synchronize(20)
    text = describe(stream)
    assert f"kernel stuck (node 1 of graph {graph.model_id}" in text
    assert f"{__file__}:{at}" in text
    assert "kernel good" not in text


@pytest.mark.parametrize("soc", ["910B1", "950"])
def test_the_c_api_tells_the_same(soc: str) -> None:
    api = Caller(soc)
    bad = api.function(minimal_kernel("bad", 1), "bad")
    api.fake.attach(api.code(bad), _fail, grid=True)
    told: list[Any] = []
    api.step("aclrtSetExceptionInfoCallback", 0, callback=told.append)
    api.step("aclmdlRICaptureBegin", 0, stream=api.stream, mode=2)
    api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=bad, numBlocks=1, stream=api.stream, cfg=None,
             hostArgs=api.memory(b"before.."), argsSize=8, placeHolderArray=None, placeHolderNum=0)
    graph = api.step("aclmdlRICaptureEnd", 0, stream=api.stream, modelRI=Out())
    for _ in range(2):
        api.step("aclmdlRIExecuteAsync", 0, modelRI=graph, stream=api.stream)
        assert api.acl.call("aclrtSynchronizeStream", stream=api.stream) == 507011
        assert "kernel bad (node 0 of graph" in api.acl.reports.take_text()
        info = told.pop()
        assert api.acl.call("aclrtGetErrorCodeFromExceptionInfo", info=info) == 507011
        assert api.acl.call("aclrtGetStreamIdFromExceptionInfo", info=info) == info.node.stream.stream_id
        assert api.acl.call("aclrtGetTaskIdFromExceptionInfo", info=info) == info.node.ids.task_id
        assert api.step("aclrtGetFuncHandleFromExceptionInfo", 0, info=info, func=Out()) == bad
    api.acl.close()


def _fail(_context: Any) -> None:
    raise TaskFault("went wrong")
