"""What users met with memory: captures and plain host memory, graphs that keep memory, early frees, links, padding."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Stream
from runtime.capi.aclrt import Out
from runtime.feature import graph
from tests.reports.calls import Caller
from tests.unit.runtime.machines import CHIPS, V100, OpenMachine

MiB = 1 << 20
HUGE_FIRST, HUGE_ONLY, NORMAL_ONLY = range(3)


@pytest.fixture(params=CHIPS)
def caller(request: pytest.FixtureRequest) -> Any:
    made = Caller(f"fake://{request.param}?devices=2&seed=3")
    assert made.aclrtSetDevice(deviceId=0) == 0
    yield made
    made.acl.close()


# -- plain host memory in a copy beside a capture ------------------------------------------------------------------


def test_plain_host_memory_is_refused_in_a_capture_and_beside_it_and_the_capture_goes_on(caller: Caller) -> None:
    plain = ctypes.create_string_buffer(64)
    pinned = caller.make("aclrtMallocHost", "hostPtr", size=64)
    target = caller.make("aclrtMalloc", "devPtr", size=64)
    first, second = (caller.make("aclrtCreateStream", "stream") for _ in range(2))
    copy: dict[str, Any] = {"dst": target, "destMax": 64, "count": 64, "kind": 1}
    assert caller.aclmdlRICaptureBegin(stream=first, mode=0) == 0
    assert caller.aclrtMemcpyAsync(**copy, src=ctypes.addressof(plain), stream=first) == 107000
    assert "EE1016" in caller.text
    assert "pageable" in caller.text
    assert caller.aclrtMemcpyAsync(**copy, src=pinned, stream=first) == 0
    assert caller.aclrtMemcpyAsync(**copy, src=ctypes.addressof(plain), stream=second) == 107041
    assert "pinned" in caller.text
    made = Out()
    assert caller.aclmdlRICaptureEnd(stream=first, modelRI=made) == 0
    ctypes.memset(pinned, 7, 64)
    assert caller.aclmdlRIExecuteAsync(modelRI=made.value, stream=second) == 0
    assert caller.aclrtSynchronizeStream(stream=second) == 0
    copies = [entry for entry in caller.fake.log if entry.kind == "copy"]
    assert len(copies) == 1
    assert caller.fake.memory.read(target, 64) == b"\7" * 64


# -- graphs keep the memory that was taken for them ----------------------------------------------------------------


def test_memory_of_graphs_is_told_apart_and_goes_with_them(device: Device, stream: Stream) -> None:
    made = []
    for _ in range(3):
        graph.begin(stream)
        workspace = device.pool.alloc(MiB - 64, stream)
        stream.fill(workspace, 1)
        workspace.close()
        made.append(graph.end(stream))
    before = device.memory_report()
    assert before.graphs == {each.model_id: MiB for each in made}
    assert before.graph == 3 * MiB
    other = device.pool.alloc(MiB - 64, stream)
    assert device.memory_report().graph == 3 * MiB  # not lent to other work of the stream
    made.pop().close()
    after = device.memory_report()
    assert after.graph == 2 * MiB
    free, total = device.memory_info()
    for report in (before, after):
        assert report.user + report.pool + report.graph + report.ordered_pools + report.rest == report.used
    assert after.used == total - free
    assert f"graph {made[0].model_id}" in str(after)
    other.close()
    for each in made:
        each.close()
    device.pool.empty_cache()
    assert device.pool.memory_reserved() == 0


def test_a_graph_uses_its_workspace_at_every_execution_whatever_the_stream_takes_meanwhile(
    device: Device, stream: Stream
) -> None:
    result = device.alloc(64)
    graph.begin(stream)
    first = device.pool.alloc(64, stream)
    address = first.address
    first.close()
    scratch = device.pool.alloc(64, stream)
    assert scratch.address == address  # in one capture, the order of its stream holds
    stream.fill(scratch, 5)
    stream.copy(result, scratch)
    scratch.close()
    made = graph.end(stream)
    taken = device.pool.alloc(64, stream)
    assert taken.address != address
    stream.fill(taken, 9)
    for _ in range(2):
        device.fill(result, 0)
        made.execute(stream)
        stream.synchronize()
        assert device.download(result).tobytes() == b"\5" * 64
    assert device.download(taken).tobytes() == b"\x09" * 64
    made.close()


# -- memory freed while a copy is pending --------------------------------------------------------------------------


def test_buffers_closed_while_a_copy_is_queued_are_freed_when_it_is_done(device: Device, stream: Stream) -> None:
    fake = device.hal.fake  # type: ignore[attr-defined]
    pinned, target = device.alloc_host(64), device.alloc(64)
    pinned.numpy()[:] = 3
    addresses = (pinned.address, target.address)
    fake.device(0).hold(stream.stream_id)
    stream.copy(target, pinned)
    pinned.close()
    target.close()
    for use in (lambda: device.download(target), lambda: stream.copy(target, pinned)):
        with pytest.raises(errors.InvalidArgument, match=r"the block of device 0 at 0x\w+ \(64 bytes\) was freed"):
            use()
    assert all(fake.memory.find(address) is not None for address in addresses)
    fake.device(0).release(stream.stream_id)
    stream.synchronize()
    device.alloc(64).close()
    assert not set(addresses) & set(device.ledger.addresses())
    assert len(device.ledger) == 0


# -- padding and pages ---------------------------------------------------------------------------------------------


def test_what_an_allocation_really_takes_can_be_asked(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V100}?hbm=64m").device()
    taken = {}
    for size in (1, 32, 33):
        buffer = device.alloc(size)
        assert buffer.address % 64 == 0
        taken[size] = device.ledger.find(buffer.address).size  # type: ignore[union-attr]
    assert taken == {1: 64, 32: 64, 33: 96}
    caller = Caller(f"fake://{V100}?hbm=64m")
    assert caller.aclrtSetDevice(deviceId=0) == 0
    block = ctypes.create_string_buffer(64)
    for size, policy, huge in ((4096, 0, False), (4 * MiB, 0, True), (1, 1, True)):
        address = caller.make("aclrtMalloc", "devPtr", size=size, policy=policy)
        assert caller.aclrtPointerGetAttributes(ptr=address, attributes=ctypes.addressof(block)) == 0
        assert (ctypes.c_uint32.from_buffer(block, 8).value == 2 * MiB) is huge
    caller.acl.close()


def test_huge_pages_that_run_out_are_told_apart_from_memory(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V100}?hbm=64m").device()
    kept: list[object] = []

    def fill() -> None:
        while True:
            kept.append(device.alloc(1024, HUGE_ONLY))

    with pytest.raises(errors.OutOfMemory) as caught:
        fill()
    assert caught.value.code == 207001
    for part in ("on huge pages", "of normal pages are free", " 0 of ", "of huge pages are free"):
        assert part in caught.value.message
    kept.append(device.alloc(4 * MiB, HUGE_FIRST))  # falls back
    kept.append(device.alloc(1024, NORMAL_ONLY))
    kept.clear()  # dropped buffers go back
    device.alloc(1024, HUGE_ONLY).close()


# -- addresses of which the driver knows nothing -------------------------------------------------------------------


@pytest.mark.parametrize("soc", CHIPS)
def test_a_driver_that_classifies_nothing_says_so_and_copies_work_as_asked(soc: str) -> None:
    caller = Caller(f"fake://{soc}?features=0x950")
    assert caller.aclrtSetDevice(deviceId=0) == 0
    stream = caller.make("aclrtCreateStream", "stream")
    pinned = caller.make("aclrtMallocHost", "hostPtr", size=64)
    target = caller.make("aclrtMalloc", "devPtr", size=64)
    block = ctypes.create_string_buffer(64)
    for address in (pinned, target, ctypes.addressof(block)):
        assert caller.aclrtPointerGetAttributes(ptr=address, attributes=ctypes.addressof(block)) == 207000
    ctypes.memset(pinned, 4, 64)
    assert caller.aclrtMemcpyAsync(dst=target, destMax=64, src=pinned, count=64, kind=1, stream=stream) == 0
    assert caller.aclrtSynchronizeStream(stream=stream) == 0
    assert caller.fake.memory.read(target, 64) == b"\4" * 64
    caller.acl.close()


# -- cards that are joined by PCIe only ----------------------------------------------------------------------------


@pytest.mark.parametrize("topology", ["pcie", "mixed"])
def test_sharing_across_cards_names_the_link_and_what_works_instead(open_machine: OpenMachine, topology: str) -> None:
    machine = open_machine(f"fake://{V100}?devices=2&topology={topology}")
    one, two = machine.device(0), machine.device(1)
    buffer = one.alloc(2 * MiB)
    with one.share(buffer, None) as shared:
        if topology == "pcie":
            with pytest.raises(errors.RuntimeFault, match="joined by PHB") as caught:
                two.open_shared(shared.key)
            assert caught.value.code == 507899
            assert "PhysicalMemory.export" in caught.value.hint
            with pytest.raises(errors.NotSupported, match="cannot reach the memory of device 1"):
                one.enable_peer_access(two)
        else:
            two.open_shared(shared.key).close()
            one.enable_peer_access(two)
    physical = one.create_physical(2 * MiB)
    again = two.import_physical(physical.export(None), 2 * MiB)
    again.close()
    physical.close()


# -- one workspace for two threads ---------------------------------------------------------------------------------


def test_a_workspace_that_threads_renew_under_a_lock_stays_whole(device: Device) -> None:
    lock, failures = threading.Lock(), []
    held = [device.alloc(64)]

    def work(value: int) -> None:
        with device.create_stream() as stream:
            source = device.alloc_host(256)
            source.numpy()[:] = value
            for number in range(20):
                size = 64 + 8 * (number % 7)
                with lock:
                    held.pop().close()
                    held.append(device.alloc(size))
                    stream.copy(held[0], source, size)
                    stream.synchronize()
                    found = device.download(held[0])
                if not np.array_equal(found, np.full(size, value, np.uint8)):
                    failures.append((value, number))

    threads = [threading.Thread(target=work, args=(value,)) for value in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    held.pop().close()
    device.alloc(64).close()
    assert len(device.ledger) <= 2  # what the threads have dropped may wait for its sweep


# -- out of memory -------------------------------------------------------------------------------------------------


def test_out_of_memory_names_numbers_driver_call_and_the_places_that_hold_most(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUHAL_TRACE_CREATION", "1")
    device = open_machine(f"fake://{V100}?hbm=256m").device()
    kept = [device.alloc(4 * MiB) for _ in range(3)]
    pooled = device.pool.alloc(3 * MiB)
    for ask in (lambda: device.alloc(1 << 30), lambda: device.pool.alloc(1 << 30)):
        with pytest.raises(errors.OutOfMemory, match="are free") as caught:
            ask()
        fault = caught.value
        assert (fault.code, fault.hal_call, fault.hal_name) == (207001, "halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY")
        assert f"{__file__}:" in fault.message
        assert "12583008 bytes in 3" in fault.message or f"({3 * 4 * MiB + 96} in 3)" in fault.message
        assert fault.details["asked"] == 1 << 30
    assert kept
    assert pooled
