"""A device's memory over time: who held how much when, the high-water mark, fragmentation, and who is not asked."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest

from runtime import errors
from runtime.api import Device, Runtime
from runtime.memory.journal import Change
from runtime.memory.ledger import SEGMENT
from runtime.memory.ordered import OrderedPool
from runtime.trace import page, tracing
from runtime.trace.chrome import thread_names
from runtime.trace.memory import CACHED, MemoryLane, lanes_of

MIB = 1 << 20


def change(when: int, taken: bool, owner: str, address: int, size: int, site: str = "job.py:1") -> Change:
    return Change(0, when * 1000, taken, owner, address, size, size, site)


def lane(*changes: Change) -> MemoryLane:
    (found,) = lanes_of(changes, 0)
    return found


def test_owners_high_water_and_fragmentation_are_those_of_the_changes() -> None:
    seen = lane(
        change(0, True, "device", 0x9000, 10, ""), change(1, True, SEGMENT, 0x1000, 100),
        change(2, True, "pool", 0x1000, 30), change(3, True, "graph 7", 0x1000 + 40, 20, "job.py:2"),
        change(4, True, "host", 0x5000, 1000), change(5, False, "pool", 0x1000, 30),
        change(6, False, SEGMENT, 0x1000, 100),
    )  # fmt: skip
    assert seen.at(-1) == {}
    assert seen.at(4) == {"device": 10, "pool": 30, "graph 7": 20, CACHED: 50, "host": 1000}
    assert seen.high_water == (3.0, 110), "host memory is none of the device's"
    assert seen.owners == ("device", "pool", "graph 7", CACHED, "host")
    assert seen.by_site(4.5) == [
        ("host", "job.py:1", 1000, 1), ("pool", "job.py:1", 30, 1), ("graph 7", "job.py:2", 20, 1),
        ("device", "", 10, 1),
    ]  # fmt: skip
    cut = seen.fragmentation(4)
    assert cut == (50, 2, 40)
    assert cut.share == pytest.approx(0.2)
    assert seen.fragmentation(5) == (80, 2, 40)
    assert seen.fragmentation(6) == (0, 0, 0)
    assert seen.fragmentation(6).share == 0


def test_what_was_there_before_and_what_stays_have_open_ends() -> None:
    seen = lane(change(1, False, "device", 1, 8), change(2, True, "device", 2, 8), change(2, True, "device", 2, 8))
    before, after = seen.allocations
    assert (before.began_us, before.ended_us) == (0, 1)
    assert (after.began_us, after.ended_us) == (2, None)
    assert seen.at(3) == {"device": 8}, "a block that is told of twice counts once"


@pytest.mark.parametrize("times", [1, 2])
def test_a_trace_knows_each_block_its_owner_and_who_asked(machine: Runtime, device: Device, times: int) -> None:
    early = device.alloc(3 * MIB)
    trace = tracing(runtime=machine, memory=True)
    for _ in range(times):  # a trace that is used again is made anew
        with trace:
            with device.pool.alloc(MIB), device.alloc_host(4096):
                late = device.alloc(2 * MIB)
            late.close()
            device.pool.trim()
            with device.create_physical(2 * MIB):
                pass
    early.close()
    (seen,) = trace.memory
    assert seen.device == device.user_id
    owners = [(one.owner, one.requested, bool(one.site), one.ended_us is None) for one in seen.allocations]
    assert owners == [
        ("device", early.size, False, True), ("pool", MIB, True, False), ("host", 4096, True, False),
        ("device", 2 * MIB, True, False), ("physical", 2 * MIB, True, False),
    ]  # fmt: skip
    assert all(re.search(r"test_memory\.py:\d+$", one.site) for one in seen.allocations[1:])
    when, most = seen.high_water
    assert most == sum(size for owner, size in seen.at(when).items() if owner != "host")
    assert most >= 3 * MIB + 2 * MIB + 2 * MIB
    text = "\n".join(trace.verdict())
    assert f"memory: device {device.user_id} held at most" in text
    assert "test_memory.py:" in text


def test_a_snapshot_has_every_block_of_the_device(device: Device) -> None:
    before = {block.address for block in device.memory_snapshot()}
    buffer, block = device.alloc(4096), device.pool.alloc(512)
    with device.create_physical(2 * MIB):
        seen = [one for one in device.memory_snapshot() if one.address not in before]
    assert [(one.owner, one.requested) for one in seen if one.owner != SEGMENT] == [
        ("device", 4096), ("pool", 512), ("physical", 2 * MIB)
    ]  # fmt: skip
    (segment,) = [one for one in seen if one.owner == SEGMENT]
    assert segment.address <= block.address < segment.address + segment.size
    buffer.close()
    assert buffer.address not in [one.address for one in device.memory_snapshot()]


def test_nobody_is_asked_when_nobody_looks(machine: Runtime, device: Device) -> None:
    before = device.ledger.traces
    plain, looked = tracing(runtime=machine), tracing(runtime=machine, memory=True)
    with plain:
        assert device.pool._annotate is device.pool._source.annotate
        with looked:
            assert device.ledger.traces
            device.pool.alloc(64).close()
    assert plain.memory == ()
    assert looked.memory
    assert device.ledger.traces is before
    assert device.ledger.journals == ()
    assert device.pool._annotate is device.pool._source.annotate
    count = len(looked.memory[0].allocations)
    device.pool.alloc(64).close()
    assert len(looked.memory[0].allocations) == count


def test_devices_that_open_later_and_traces_that_overlap_see_everything(machine: Runtime) -> None:
    one, two = tracing(runtime=machine, memory=True), tracing(runtime=machine, memory=True)
    with one:
        device = machine.device(0)
        kept = device.alloc(4096)
        with two:
            worker = threading.Thread(target=lambda: device.pool.alloc(512).close())
            worker.start()
            worker.join()
        kept.close()
        device.close(force=True)
    assert [each.owner for each in one.memory[0].allocations] == ["device", "pool"]
    assert [each.owner for each in two.memory[0].allocations] == ["device", "pool"]
    assert all(each.ended_us is not None for each in one.memory[0].allocations)


def test_a_device_takes_what_was_not_given_back_with_it(machine: Runtime) -> None:
    with tracing(runtime=machine, memory=True) as trace:
        device = machine.device(0)
        kept = [device.alloc(4096), device.pool.alloc(4096), device.create_physical(2 * MIB)]
        device.close(force=True)
        del kept
    (seen,) = trace.memory
    assert seen.at(seen.times[-1]) == {}


def test_pools_of_the_c_api_and_graphs_are_owners_too(machine: Runtime, device: Device) -> None:
    stream = device.create_stream()
    with tracing(runtime=machine, memory=True) as trace:
        with stream.capture() as graph:
            block = device.pool.alloc(4096, stream)
            stream.fill(block, 1)
            block.close()
        graph.launch(stream)
        stream.synchronize()
        graph.close()
        pool = OrderedPool(device.memory, device.device_id, 8 * MIB, "test", device.ledger)
        address, _ = pool.alloc(100, stream.handle)
        pool.alloc(100, stream.handle)
        pool.free(address)
        pool.close()
    (seen,) = trace.memory
    assert seen.owners == ("ordered pool", f"graph {graph.model_id}", CACHED)
    assert [(one.owner, one.ended_us is None) for one in seen.allocations[1:]] == [("ordered pool", False)] * 2
    assert pool not in device.ledger.parts


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_traced(machine: Runtime, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "t.html", tmp_path / ("n" * 300)):
        with pytest.raises(errors.InvalidArgument, match=r"tracing: path '.*' cannot be written: "):
            tracing(path, runtime=machine)
    good = tmp_path / "t.html"
    trace = tracing(good, runtime=machine)
    assert not good.exists(), "asking leaves nothing behind"
    assert list(tmp_path.iterdir()) == []
    good.mkdir()
    with pytest.raises(errors.InvalidArgument, match="cannot be written"):
        trace.__enter__()
    assert machine.tracer is None


def test_a_page_tells_of_memory_in_numbers_that_do_not_break(machine: Runtime, device: Device) -> None:
    with tracing(runtime=machine, memory=True) as trace:
        device.alloc(5 * MIB).close()
    text = page.render(trace.result)
    assert "<h2>Memory of device 0</h2>" in text
    assert re.search(r"5\.0\N{NO-BREAK SPACE}MiB", text)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text).group(1))  # type: ignore[union-attr]
    (drawn,) = data["memory"]
    assert drawn["most"] == max(sum(point[1:]) for point in drawn["points"])


def test_threads_keep_a_row_each_when_the_system_uses_their_numbers_again(machine: Runtime, device: Device) -> None:
    buffer = device.alloc(64)
    with tracing(runtime=machine) as trace:
        for number in range(3):  # one after the other: they may all have the same number
            worker = threading.Thread(target=device.default_stream.fill, args=(buffer, 1), name=f"worker {number % 2}")
            worker.start()
            worker.join()
    assert thread_names(trace.result) == ["worker 0", "worker 1", "worker 0 (3)"]
