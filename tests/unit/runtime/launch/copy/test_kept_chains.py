"""DMA chains that are kept for copies that come again: used while both blocks stay, and given back before one goes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from runtime.api import Device, Stream
from runtime.launch.copy import kept_chains
from runtime.launch.copy.kept_chains import MOST
from tests.tools.interrupts import Interrupter
from tests.unit.runtime.machines import V200, OpenMachine

BYTES = 64
COPIES = 100


@pytest.fixture(params=["swsq=1", "swsq=0"])
def device(open_machine: OpenMachine, request: pytest.FixtureRequest) -> Device:
    """A card whose driver makes the chains."""
    return open_machine(f"fake://{V200}?args=dma&hbm=1g&seed=3&{request.param}").device(0)


@pytest.fixture
def stream(device: Device) -> Iterator[Stream]:
    """One that has copied before, so that its copies are prepared."""
    with device.create_stream() as stream, device.alloc_host(8) as host, device.alloc(8) as buffer:
        stream.copy(buffer, host)
        stream.copy(host, buffer)
        stream.synchronize()
        yield stream


def chains(device: Device) -> dict[int, Any]:
    found: dict[int, Any] = device.hal.fake.device(0).dma  # type: ignore[attr-defined]
    return found


def watched(device: Device, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list that a 1 is added to for each chain that the driver makes."""
    made: list[int] = []
    convert = device.memory.convert
    monkeypatch.setattr(type(device.memory), "convert", lambda _, *given: made.append(1) or convert(*given))
    return made


@pytest.mark.parametrize("to_device", [True, False])
def test_one_chain_does_for_copies_that_come_again(
    device: Device, stream: Stream, to_device: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, before = watched(device, monkeypatch), dict(chains(device))
    with device.alloc_host(BYTES) as host, device.alloc(BYTES) as buffer:
        for number in range(COPIES):
            if to_device:
                host.memory[:] = bytes([number]) * BYTES
            else:
                device.fill(buffer, number)
            stream.copy(buffer, host) if to_device else stream.copy(host, buffer)
            if number % 10 == 9:
                stream.synchronize()
                copied = device.download(buffer).tobytes() if to_device else host.memory.tobytes()
                assert copied == bytes([number]) * BYTES
        assert len(made) == 2  # what is copied once makes and frees its own
        assert len(chains(device)) == len(before) + 1
        stream.copy(buffer, host, 8) if to_device else stream.copy(host, buffer, 8)
        assert len(made) == 3
    assert chains(device) == before


@pytest.mark.parametrize("end", ["host", "buffer"])
def test_a_chain_goes_before_its_memory(device: Device, stream: Stream, end: str) -> None:
    """Another block at the same address gets a chain of its own: what was copied through the old one stays there."""
    before = dict(chains(device))
    host, buffer = device.alloc_host(BYTES), device.alloc(BYTES)
    for number in range(1, 6):
        host.memory[:] = bytes([number]) * BYTES
        for _ in range(4):
            stream.copy(buffer, host)
        stream.synchronize()
        assert device.download(buffer).tobytes() == bytes([number]) * BYTES
        assert len(chains(device)) == len(before) + 1
        if end == "host":
            host.close()
            assert chains(device) == before
            host = device.alloc_host(BYTES)
        else:
            buffer.close()
            assert chains(device) == before
            buffer = device.alloc(BYTES)
    host.close()
    buffer.close()


@pytest.mark.parametrize("dropped", [False, True])
def test_memory_that_goes_while_copies_are_under_way(device: Device, stream: Stream, dropped: bool) -> None:
    fake, before = device.hal.fake, dict(chains(device))  # type: ignore[attr-defined]
    with device.alloc_host(BYTES) as host:
        buffer, sees = device.alloc(BYTES), device.alloc(BYTES)
        host.memory[:] = b"a" * BYTES
        for _ in range(4):
            stream.copy(buffer, host)
        stream.synchronize()
        fake.device(0).hold()
        for _ in range(4):
            stream.copy(buffer, host)
        stream.copy(sees, buffer)
        if not dropped:
            buffer.close()
        del buffer
        fake.device(0).release()
        stream.synchronize()
        device.synchronize()
        assert device.download(sees).tobytes() == b"a" * BYTES
        assert not fake.problems
        sees.close()
    device.synchronize()
    assert chains(device) == before


def test_a_chain_that_is_not_taken_back_is_asked_for_again(device: Device, stream: Stream) -> None:
    before = dict(chains(device))
    with device.alloc_host(BYTES) as host:
        buffer = device.alloc(BYTES)
        for _ in range(4):
            stream.copy(buffer, host)
        stream.synchronize()
        device.hal.fake.faults.on_call("drvMemDestroyAddr", "DRV_ERROR_INNER_ERR")  # type: ignore[attr-defined]
        buffer.close()
        assert len(chains(device)) == len(before) + 1
        device.synchronize()
        assert chains(device) == before


def test_so_many_are_kept_and_no_more(device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    made, before = watched(device, monkeypatch), dict(chains(device))
    count = MOST + 8
    with device.alloc_host(8 * count) as host, device.alloc(8 * count) as buffer:
        pairs = [(buffer.view(8 * number, 8), host.view(8 * number, 8)) for number in range(count)]
        for part in (pairs[:MOST], pairs[MOST:], pairs[:4]):
            for _ in range(3):
                for to, start in part:
                    stream.copy(to, start)
            stream.synchronize()
            assert len(chains(device)) <= len(before) + MOST
        assert len(made) <= 2 * count + 8
    assert chains(device) == before


def test_the_stream_goes_first(device: Device) -> None:
    followers = device.resource_table.followers
    with device.alloc_host(BYTES) as host, device.alloc(BYTES) as buffer:
        before, listed = dict(chains(device)), list(followers)
        stream = device.create_stream()
        for _ in range(5):
            stream.copy(buffer, host)
        stream.synchronize()
        assert len(chains(device)) == len(before) + 1
        stream.close()
        assert chains(device) == before
        assert followers == listed


def test_only_blocks_of_the_driver_have_one(device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range can be unmapped without a word to anybody; and where there are many blocks, nobody looks for theirs."""
    made, before = watched(device, monkeypatch), dict(chains(device))
    with (
        device.reserve(2 << 20) as reserved, device.create_physical(2 << 20) as physical,
        reserved.map(physical) as mapped, device.alloc_host(BYTES) as host,
    ):  # fmt: skip
        for _ in range(5):
            stream.copy(mapped.view(0, BYTES), host)
        stream.synchronize()
        assert (len(made), dict(chains(device))) == (5, before)
    monkeypatch.setattr(kept_chains, "_MOST_BLOCKS", 0)
    with device.alloc_host(8) as host, device.alloc(BYTES) as buffer:
        for _ in range(5):
            stream.copy(buffer.view(8, 8), host)
            stream.copy(buffer.view(0, 8), host)
        stream.synchronize()
        assert len(made) == 5 + 5 + 2
    assert chains(device) == before


def test_a_snapshot_has_none(device: Device, stream: Stream) -> None:
    snapshot = device.runtime.snapshot
    with device.alloc_host(BYTES) as host, device.alloc(BYTES) as buffer:
        for text in (b"a", b"b"):
            host.memory[:] = text * BYTES
            for _ in range(4):
                stream.copy(buffer, host)
            stream.synchronize()
            assert device.download(buffer).tobytes() == text * BYTES
            snapshot.lock()
            snapshot.backup()
            assert not chains(device)
            snapshot.restore()
            snapshot.unlock()


def test_interrupts_leave_copies_right(device: Device, stream: Stream) -> None:
    """At places of a copy that makes a chain, of one that has it, and of the free: the next copies are right."""
    for step in range(3):
        for place in range(1, 400, 23):
            interrupter = Interrupter()
            host, buffer = device.alloc_host(BYTES), device.alloc(BYTES)
            host.memory[:] = bytes([place % 251]) * BYTES
            for _ in range(step + 1):
                stream.copy(buffer, host)
            interrupter.run(buffer.close if step == 2 else partial(stream.copy, buffer, host), place)
            buffer.close()
            buffer = device.alloc(BYTES)
            for _ in range(3):
                stream.copy(buffer, host)
            stream.synchronize(20_000)
            assert device.download(buffer).tobytes() == host.memory.tobytes(), f"interrupted at {interrupter.at}"
            assert not device.hal.fake.problems  # type: ignore[attr-defined]
            host.close()
            buffer.close()
