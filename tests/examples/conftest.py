"""What the sample programs stand on: a fake card, kernels whose code a Python function stands for, and the C API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from runtime.api import Device, Kernel, Runtime, Stream
from runtime.capi.aclrt import Acl, Out
from runtime.cli.sample import minimal_kernel

StandIn = Callable[..., Kernel]
MACHINE = "fake://ascend910b3?devices=2&seed=1"


@pytest.fixture
def machine() -> Iterator[Runtime]:
    """Two cards."""
    made = Runtime(MACHINE)
    yield made
    made.close(force=True)


@pytest.fixture
def device(machine: Runtime) -> Device:
    return machine.device(0)


@pytest.fixture
def stream(device: Device) -> Stream:
    return device.create_stream()


@pytest.fixture
def stand_in(device: Device) -> StandIn:
    """Return a function that makes a kernel of a Python function; on a card it would be `device.load(file).only`."""

    def make(function: Callable[[Any], object], arguments: int = 1, *, grid: bool = True) -> Kernel:
        name = getattr(function, "__name__", "kernel")
        kernel = device.load(minimal_kernel(name, arguments), name=name).only
        device.hal.fake.attach(kernel.code, function, name=name, grid=grid)
        return kernel

    return make


class CApi:
    """The C API by name: `c("aclrtMalloc", devPtr=Out(), size=8, policy=0)` checks the code and returns the output."""

    def __init__(self, acl: Acl) -> None:
        self.acl = acl

    def __call__(self, name: str, /, *, code: Any = 0, **given: Any) -> Any:
        assert self.acl.call(name, **given) == code, f"{name}: {self.acl.call('aclGetRecentErrMsg')}"
        outputs = [value.value for value in given.values() if isinstance(value, Out)]
        return outputs[0] if len(outputs) == 1 else outputs

    def answer(self, name: str, /, **given: Any) -> Any:
        """Return what a function returns that is no code."""
        return self.acl.call(name, **given)


@pytest.fixture
def c() -> Iterator[CApi]:
    """A process that has called aclInit and aclrtSetDevice(0)."""
    with closing(Acl(MACHINE)) as acl:
        made = CApi(acl)
        made("aclInit", configPath=None)
        made("aclrtSetDevice", deviceId=0)
        yield made
        made("aclrtResetDeviceForce", deviceId=0)
        made("aclFinalize")
