"""Small tables in device memory: SQ registers, executed-times words, names, the error ring."""

from __future__ import annotations

import struct

import pytest

from runtime.api import Device, Runtime
from runtime.core.device.device_tables import ErrorRing, NamePool
from tests.unit.runtime.machines import V100, OpenMachine, holdings

HEADER = struct.Struct("<IIII16x")
MAGIC = 0xA55A2022


def test_each_queue_publishes_its_registers(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V100}?seed=3").device(0)
    for _ in range(3):
        stream = device.create_stream()
        entry = device.memory.read(device.sq_registers.address + 8 * stream.queues.sq_id, 8)
        assert int.from_bytes(entry, "little") == stream.queues.register_base != 0


def test_executed_words_start_as_ones_and_go_with_their_stream(open_machine: OpenMachine) -> None:
    machine = open_machine(f"fake://{V100}?seed=3")
    device = machine.device(0)
    before = holdings(machine)
    stream = device.create_stream()
    assert device.executed_words.holds(stream.stream_id)
    stream.close()
    assert not device.executed_words.holds(stream.stream_id)
    assert holdings(machine) == before


def test_names_are_written_once(device: Device) -> None:
    pool = NamePool(device.memory)
    first = pool.address_of("libone.so")
    assert pool.address_of("") == 0
    assert pool.address_of("libone.so") == first
    assert pool.address_of("two") == first + 64
    assert device.memory.read(first, 10) == b"libone.so\0"
    pool.close()


@pytest.mark.parametrize(
    ("magic", "head", "tail", "wanted"),
    [(MAGIC, 0, 5, 5), (MAGIC, 0, 0, 0), (0, 0, 5, 0), (MAGIC, 3, 1, None)],
    ids=["written", "empty", "an old firmware", "full"],
)
def test_capabilities_of_the_scheduler(machine: Runtime, device: Device, magic: int, head: int, tail: int,
                                       wanted: int | None) -> None:
    before = holdings(machine)
    ring = ErrorRing(device.memory, 2 << 20)
    body = 10 * 1024 - HEADER.size
    where = ring.address + ring.size - 17 * 1024 - 10 * 1024
    device.memory.write(where, HEADER.pack(magic, head, tail, body) + b"\x5a" * body)
    found = ring.scheduler_capabilities()
    assert len(found) == (body if wanted is None else wanted)
    assert set(found) <= {0x5A}
    ring.close()
    assert holdings(machine) == before
