"""What an error advises is possible at that moment: it depends on what the program knows then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fakes.faults import Effect
from npuhal import constants as c
from npuhal.errors import PermissionDenied, error_code
from runtime import errors
from runtime.api import Device, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.launch.copy import copy_batch
from runtime.memory.location import Location, MemoryLocation
from tests.reports.calls import Caller
from tests.unit.runtime.machines import CHIPS, OpenMachine

_GIB = 1 << 30


def causes(fault: BaseException | None) -> Iterator[BaseException]:
    while fault is not None:
        yield fault
        fault = fault.__cause__


# -- a card that is down -------------------------------------------------------------------------------------------


def refusal(call: Callable[[], object]) -> errors.RuntimeFault | None:
    try:
        call()
    except errors.RuntimeFault as fault:
        return fault
    return None


def ways_in(device: Device, stream: Any, buffer: Any, graph: Any) -> dict[str, Callable[[], object]]:
    """What programs do on, not knowing that the card is down."""
    return {
        "copy": lambda: device.copy(buffer, bytes(8)), "download": lambda: device.download(buffer),
        "upload": lambda: device.upload(np.zeros(4)), "fill": lambda: device.fill(buffer, 1),
        "load": lambda: device.load(minimal_kernel("late", 1)).only, "synchronize": lambda: device.synchronize(30_000),
        "stream": lambda: stream.synchronize(30_000), "graph": lambda: graph.launch(stream),
    }  # fmt: skip


@pytest.mark.parametrize("status", [c.DRV_STATUS_EXCEPTION, c.DRV_STATUS_COMMUNICATION_LOST])
@pytest.mark.parametrize("chip", CHIPS)
def test_what_is_refused_of_a_card_that_is_down_is_chained_to_its_first_fault(
    open_machine: OpenMachine, chip: str, status: int
) -> None:
    machine = open_machine(f"fake://{chip}")
    device = machine.device(0)
    stream, buffer = device.create_stream(), device.alloc(64)
    with stream.capture() as graph:
        stream.fill(buffer, 1)
    device.hal.fake.device(0).fail(status, sticky=True)
    told = {name: refusal(call) for name, call in ways_in(device, stream, buffer, graph).items()}
    assert all(told[name] for name in ("copy", "download", "upload", "load", "synchronize")), told
    first = device.health.first
    for name, fault in told.items():
        assert fault is None or first in causes(fault), name
        assert fault is None or "no longer answers" in fault.message, name
        assert fault is None or "reset the device" in fault.hint, (name, fault.hint)
    device.close(force=True)
    with pytest.raises(errors.DeviceUnavailable, match="no longer answers") as again:
        machine.device(0)
    assert first in causes(again.value)


@pytest.mark.parametrize("chip", CHIPS)
def test_memory_that_a_dead_card_refuses_is_not_called_full(open_machine: OpenMachine, chip: str) -> None:
    device = open_machine(f"fake://{chip}").device(0)
    device.hal.fake.device(0).fail(c.DRV_STATUS_EXCEPTION)
    device.hal.fake.faults.on_call("halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY", times=0)
    for take in (lambda: device.alloc(100), lambda: device.alloc_host(100), lambda: device.pool.alloc(100)):
        with pytest.raises(errors.OutOfMemory, match="no longer answers") as caught:
            take()
        assert "left" not in caught.value.message
        assert "close" not in caught.value.hint
    device.hal.fake.faults.clear()


@pytest.mark.parametrize("chip", CHIPS)
def test_the_c_api_tells_the_first_fault(chip: str) -> None:
    api = Caller(f"fake://{chip}")
    assert api.aclrtSetDevice(deviceId=0) == 0
    block = api.make("aclrtMalloc", "devPtr", size=64, policy=0)
    api.fake.device(0).fail(c.DRV_STATUS_EXCEPTION)
    data = np.zeros(8)
    assert api.aclrtMemcpy(dst=block, destMax=64, src=data.ctypes.data, count=64, kind=1) == 507899
    assert "no longer answers" in api.text
    api.acl.runtime.close(force=True)


# -- memory --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    machine = Runtime("fake://ascend910b3?devices=2")
    yield machine.device(0)
    machine.close(force=True)


def test_who_holds_nothing_is_not_told_to_close_something(open_machine: OpenMachine) -> None:
    device = open_machine("fake://ascend910b3").device(0)
    _, total = device.memory_info()
    with pytest.raises(errors.OutOfMemory) as caught:
        device.alloc(2 * total)
    assert "ask for less: the device has" in caught.value.hint
    device.hal.fake.faults.on_call("halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY", times=0)
    with pytest.raises(errors.OutOfMemory) as caught:
        device.alloc(_GIB)
    assert "this process holds no memory that it could give" in caught.value.hint
    with pytest.raises(errors.OutOfMemory) as caught:
        device.alloc_host(_GIB)
    assert "pinned nothing" in caught.value.hint
    with pytest.raises(errors.OutOfMemory) as caught:
        device.pool.alloc(_GIB)
    assert "close buffers" not in caught.value.hint
    assert "pool.limit" not in caught.value.hint
    device.hal.fake.faults.clear()
    with device.alloc_host(64):
        device.hal.fake.faults.on_call("halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY", times=0)
        with pytest.raises(errors.OutOfMemory, match="pinned") as caught:
            device.alloc_host(_GIB)
        device.hal.fake.faults.clear()
    assert "close host buffers" in caught.value.hint


def test_a_full_pool_names_its_limit_where_that_is_why(device: Device) -> None:
    device.pool.limit = 2 << 20
    with pytest.raises(errors.OutOfMemory) as caught:
        device.pool.alloc(64 << 20)
    device.pool.limit = None
    assert "raise `pool.limit`" in caught.value.hint


# -- ids -----------------------------------------------------------------------------------------------------------


def test_ids_that_others_hold_are_not_this_programs_to_close(open_machine: OpenMachine) -> None:
    device = open_machine("fake://ascend910b1?notifys=64").device(0)
    pool = device.hal.fake.device(0).ids["notify"]
    own = device.create_notify()
    while len(pool.used) < pool.limit:
        pool.take()
    with pytest.raises(errors.ResourceExhausted) as caught:
        device.create_notify()
    assert "pair each create" not in caught.value.hint
    assert "not held by" in caught.value.hint
    own.close()


def test_ids_that_this_program_holds_are(open_machine: OpenMachine) -> None:
    device = open_machine("fake://ascend910b1?notifys=64").device(0)
    kept = [device.create_notify() for _ in range(64)]
    with pytest.raises(errors.ResourceExhausted, match=f"this process holds {len(kept)}") as caught:
        device.create_notify()
    assert "pair each create with a close" in caught.value.hint


# -- lists of processes --------------------------------------------------------------------------------------------


def test_who_is_on_no_list_is_not_sent_to_device_nodes() -> None:
    code = error_code("DRV_ERROR_OPER_NOT_PERMITTED")
    for call in ("halShmemOpenHandleByDevId", "halShrIdOpen", "halMemImportFromShareableHandle"):
        told = errors.from_hal(PermissionDenied(code, call))
        assert "not on the owner's list" in told.hint
        assert "device nodes" not in told.hint
    assert "device nodes" in errors.from_hal(PermissionDenied(code, "halDeviceOpen")).hint


# -- batches of copies ---------------------------------------------------------------------------------------------


def test_each_mistake_of_a_batch_copy_has_its_own_cure(device: Device) -> None:
    block, host = device.alloc(64), device.alloc_host(64)
    at_host, at_device = MemoryLocation(Location.HOST), MemoryLocation(Location.DEVICE, device.device_id)
    fits, nowhere = copy_batch.Claim(at_host, at_device), copy_batch.Claim(at_host, at_host)
    pair, told = copy_batch.Pair, []
    for one, claim in (
        (pair(0, 64, host.address, 8), fits), (pair(block.address, 64, host.address, 65), fits),
        (pair(host.address, 64, host.address, 8), nowhere), (pair(block.address, 64, block.address, 8), fits),
    ):
        with pytest.raises(copy_batch.BadPair) as caught:
            copy_batch.directions(device.memory, "aclrtMemcpyBatch", [one], [claim], queued=True)
        told.append(caught.value.fault)
    with pytest.raises(errors.InvalidArgument) as refused:
        copy_batch.check_counts("aclrtMemcpyBatch", 1, 2)
    told.append(refused.value)
    with pytest.raises(errors.InvalidArgument) as refused:
        copy_batch.assign("aclrtMemcpyBatch", 3, [fits, fits], [0, 0])
    told.append(refused.value)
    assert len({fault.hint for fault in told}) == len(told)
    for fault, word in zip(told, ("NULL", "between 1 and 64", "HOST to HOST", "its source", "1 copy", "not between"),
                           strict=True):  # fmt: skip
        assert word in fault.message


# -- the thread, the handle, the kernel ----------------------------------------------------------------------------


def test_a_thread_without_a_device_is_told_the_one_in_use(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b3?devices=2")
    device, second = machine.device(0), machine.device(1)
    device.close()
    with pytest.raises(errors.ContextError) as caught:
        machine.current_context()
    assert "runtime.set_device(1)" in caught.value.hint
    second.close()
    with pytest.raises(errors.ContextError) as caught:
        machine.current_context()
    assert "runtime.set_device(0)" in caught.value.hint


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("chip", CHIPS)
def test_who_launches_one_by_one_is_not_told_to(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, chip: str, blocking: bool
) -> None:
    monkeypatch.setenv("ASCEND_RT_LAUNCH_BLOCKING", str(int(blocking)))
    device = open_machine(f"fake://{chip}").device(0)
    kernel = device.load(minimal_kernel("bad", 1)).only
    device.hal.fake.attach(kernel.code, lambda _context: None, name="bad", grid=True)
    device.hal.fake.faults.on_task(Effect.EXCEPTION, kernel="bad")
    fault = refusal(lambda: (kernel[1](0), device.synchronize(30_000)))
    assert isinstance(fault, errors.KernelFault)
    assert "tiling data" in fault.hint
    assert ("ASCEND_RT_LAUNCH_BLOCKING" in fault.hint) is not blocking


def test_memory_of_a_card_that_is_not_linked_needs_another_way(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b3?devices=2")
    one, two = machine.device(0), machine.device(1)
    stream, here, there = one.create_stream(), one.alloc(64), two.alloc(64)
    fault = refusal(lambda: stream.copy(here, there))
    assert fault is not None
    assert "runtime.device(0).enable_peer_access(runtime.device(1))" in fault.hint
    one.enable_peer_access(two)
    stream.copy(here, there)
    stream.synchronize(30_000)
