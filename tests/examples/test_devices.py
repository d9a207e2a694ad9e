"""Contexts and devices: what is current, core limits, threads, two cards."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from fakes.kernels import add
from runtime import errors
from runtime.api import Device, Runtime
from runtime.capi.aclrt import Out
from tests.examples.conftest import CApi, StandIn

CUBE, VECTOR = 0, 1


def test_contexts(c: CApi) -> None:
    created = c("aclrtCreateContext", context=Out(), deviceId=0)
    c("aclrtSetCurrentContext", context=created)
    assert c("aclrtGetCurrentContext", context=Out()) == created
    assert c("aclrtCtxGetCurrentDefaultStream", stream=Out())
    cores = [c("aclrtGetResInCurrentThread", type=kind, value=Out()) for kind in (CUBE, VECTOR)]
    assert cores == [20, 40]
    c("aclrtDestroyContext", context=created)


def test_life_of_a_device(machine: Runtime, stand_in: StandIn) -> None:
    first = np.array([1, 2, 3, 5, 6, 7, 9, 10], "f4")
    second = np.array([0.2, 0.2, 0.2, 0.4, 0.4, 0.4, 0.6, 0.6], "f4")
    operator = stand_in(add(), 3)
    with machine.device(0) as device, device.create_stream() as stream:
        result = device.alloc(first.nbytes)
        operator[1](device.upload(first), device.upload(second), result, stream=stream)
        stream.synchronize()
        device.synchronize()
        assert np.allclose(device.download(result, "f4"), [1.2, 2.2, 3.2, 5.4, 6.4, 7.4, 9.6, 10.6])
    assert device.closed


def test_device_and_threads(c: CApi) -> None:
    """The main thread caps the cores; a worker asks about the device."""
    c("aclrtSetDeviceResLimit", deviceId=0, type=VECTOR, value=1)
    seen: dict[str, Any] = {}

    def work() -> None:
        c("aclrtSetDevice", deviceId=0)
        seen["cap"] = c("aclrtGetDeviceResLimit", deviceId=0, type=VECTOR, value=Out())
        seen["status"] = c("aclrtQueryDeviceStatus", deviceId=0, deviceStatus=Out())
        seen["mode"] = c("aclrtGetRunMode", runMode=Out())
        seen["count"] = c("aclrtGetDeviceCount", count=Out())
        seen["priorities"] = c("aclrtDeviceGetStreamPriorityRange", leastPriority=Out(), greatestPriority=Out())
        seen["soc"] = c.answer("aclrtGetSocName")

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert seen == {
        "cap": 1, "status": 0, "mode": 1, "count": 2, "priorities": [7, 0], "soc": "Ascend910B3",
    }  # fmt: skip
    c("aclrtResetDeviceResLimit", deviceId=0)
    assert c("aclrtGetDeviceResLimit", deviceId=0, type=VECTOR, value=Out()) == 40


def test_a_worker_launches(device: Device, stand_in: StandIn) -> None:
    def double(context: Any) -> None:
        context.args.array(0, "i4", 16)[:] = 2 * np.arange(16)

    kernel, results = stand_in(double), device.alloc_host(64)

    def work() -> None:
        with device.create_stream() as stream:
            target = device.pool.alloc(64, stream)
            kernel[1](target, stream=stream)
            stream.copy(results, target, 64)
            stream.synchronize()

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert results.numpy("i4").tolist() == [2 * number for number in range(16)]


def test_copy_between_two_cards(machine: Runtime) -> None:
    first, second = machine.device(0), machine.device(1)
    first.enable_peer_access(second)
    second.enable_peer_access(first)
    source, target = first.alloc(64), second.alloc(64)
    first.fill(source, 103)
    with first.create_stream() as stream:
        stream.copy(target, source)
        stream.synchronize()
    assert second.download(target).tolist() == [103] * 64


def test_cards_that_are_not_linked() -> None:
    machine = Runtime("fake://ascend910b3?devices=2&topology=pcie")
    with pytest.raises(errors.NotSupported) as caught:
        machine.device(0).enable_peer_access(machine.device(1))
    assert "pinned host memory" in caught.value.hint
    machine.close()


def test_name_of_the_soc(machine: Runtime) -> None:
    assert machine.device(0).chip.soc == "Ascend910B3"
