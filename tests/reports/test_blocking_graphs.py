"""Blocking launches: executions of graphs are waited for like launches, and their failures come with the call."""

from __future__ import annotations

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from runtime.core.stream.blocking import VARIABLE, LaunchBlocking
from tests.reports.calls import Caller
from tests.unit.runtime.machines import OpenMachine

SOCS = ["fake://ascend910b3", "fake://ascend950", "fake-abi://ascend950"]
pytestmark = pytest.mark.timeout(60)


def load(device: Device) -> Kernel:
    """Return a kernel that does nothing."""
    kernel = device.load(minimal_kernel("k", 1), name="k").only
    device.hal.fake.attach(kernel.code, lambda _context: None, name="k", grid=True)
    return kernel


@pytest.mark.parametrize("url", SOCS)
def test_the_environment_makes_executions_wait(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    device = open_machine(url).device(0)
    kernel = load(device)
    with device.create_stream() as stream:
        with stream.capture() as graph:
            kernel[1](0, stream=stream)
        for _ in range(3):
            graph.execute(stream)
            assert stream.ring.pending == 0
        device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="k")
        with pytest.raises(errors.DeviceFault):
            graph.execute(stream)
        graph.execute(stream)
        with stream.non_blocking():
            graph.execute(stream)
            assert stream.ring.pending > 0
        assert stream.ring.pending == 0


@pytest.mark.parametrize("url", SOCS)
def test_the_setting_of_a_stream_can_change_between_executions(open_machine: OpenMachine, url: str) -> None:
    device = open_machine(url).device(0)
    kernel = load(device)
    with device.create_stream() as stream:
        with stream.capture() as graph:
            kernel[1](0, stream=stream)
        for _ in range(2):
            for mode, waits in ((LaunchBlocking.NON_BLOCKING, False), (LaunchBlocking.BLOCKING, True),
                                (LaunchBlocking.BY_ENVIRONMENT, False)):
                stream.set_launch_blocking(mode)
                for _ in range(2):
                    stream.synchronize(30_000)
                    graph.execute(stream)
                    assert (stream.ring.pending == 0) is waits
        stream.synchronize(30_000)


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_the_call_by_name_returns_the_failure(monkeypatch: pytest.MonkeyPatch, soc: str) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    caller = Caller(f"fake://{soc}")
    assert caller.aclrtSetDevice(deviceId=0) == 0
    stream = caller.make("aclrtCreateStream", "stream")
    machine = caller.acl.runtime
    assert isinstance(machine, Runtime)
    kernel = load(machine.device(0))
    assert caller.aclmdlRICaptureBegin(stream=stream, mode=0) == 0
    kernel[1](0, stream=machine.device(0).stream_of(stream))
    graph = Out()
    assert caller.aclmdlRICaptureEnd(stream=stream, modelRI=graph) == 0
    assert caller.aclmdlRIExecuteAsync(modelRI=graph.value, stream=stream) == 0
    machine.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="k")
    assert caller.aclmdlRIExecuteAsync(modelRI=graph.value, stream=stream) != 0
    assert caller.aclmdlRIExecuteAsync(modelRI=graph.value, stream=stream) == 0
    machine.close(force=True)
