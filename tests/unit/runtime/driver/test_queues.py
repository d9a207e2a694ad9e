"""Queues through the HAL: what the scheduler is told, failed bus reads, mapped rings, and codes."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from chips.tasks import Nop
from npuhal import constants as c
from runtime import errors
from runtime.api import Device, Stream
from runtime.driver.queues import READ_FAILED, MappedRing, QueueOptions
from tests.unit.runtime.machines import CHIPS, V100, V200, OpenMachine


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        (QueueOptions(5), 0b1010), (QueueOptions(5, overflow=True), 0b1011), (QueueOptions(5, inf_nan=False), 0b1000),
        (QueueOptions(5, software_queue=False, group_id=0xFF), 0xFF2),
        (QueueOptions(5, software_queue=False, group_id=0xFF, control=True), 0x100FF2),
    ],
    ids=["v1", "overflow", "saturation", "v2", "v2 control"],
)  # fmt: skip
def test_the_five_words_of_a_queue(options: QueueOptions, flags: int) -> None:
    assert options.words() == (5, 0, flags, 1, 0xFFFFFFFF)


@pytest.mark.parametrize(("soc", "depth", "cqe", "words"), [
    (V100, 2048, 16, [0xA]), (V200, 2049, 32, [0xFF2]),
])  # fmt: skip
def test_a_streams_queue_is_made_as_the_vendor_makes_it(open_machine: OpenMachine, soc: str, depth: int, cqe: int,
                                                        words: list[int]) -> None:
    machine = open_machine(f"trace+fake://{soc}")
    device = machine.device(0)
    records: Any = machine.hal.records  # type: ignore[attr-defined]
    before = len(records)
    stream = device.create_stream(priority=3)
    made = [record.before["in"] for record in list(records)[before:] if record.name == "halSqCqAllocate"]
    pair, logic = made
    assert (pair["sqeSize"], pair["sqeDepth"], pair["cqeSize"], pair["cqeDepth"]) == (64, depth, cqe, depth)
    assert pair["info"] == [stream.stream_id, 3, *words, 1, 0xFFFFFFFF]
    assert pair["ext_info_len"] == (0 if soc == V100 else 108)
    assert (logic["type"], logic["cqeSize"], logic["cqeDepth"]) == (c.DRV_LOGIC_TYPE, 32, 4096)
    assert logic["info"][0] == stream.stream_id


@pytest.mark.parametrize("soc", CHIPS)
def test_failed_bus_reads_are_repeated(open_machine: OpenMachine, soc: str) -> None:
    device = open_machine(f"fake://{soc}?transient=2").device(0)
    with device.create_stream() as stream:
        for _ in range(200):
            stream.submit(Nop())
            assert device.queues.tail(stream.queues.sq_id) == stream.ring.tail
        stream.synchronize(30_000)
        assert device.queues.head(stream.queues.sq_id) == 200


def test_a_bus_that_stays_dead_is_an_error_and_no_position(device: Device, stream: Stream,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def dead(_self: object, sq_id: int, _prop: str) -> tuple[int, int]:
        asked.append(sq_id)
        return READ_FAILED, 0

    monkeypatch.setattr(type(device.queues), "query", dead)
    with pytest.raises(errors.RuntimeFault, match="reads 0xFFFF again and again") as caught:
        device.queues.head(stream.queues.sq_id)
    assert len(asked) == 100
    assert caught.value.hal_call == "halSqCqQuery"


def test_questions_about_queues_that_are_not_there(device: Device) -> None:
    for ask in (device.queues.head, device.queues.enabled, device.queues.report_asker(2047),
                device.queues.head_reader(2047)):
        with pytest.raises(errors.RuntimeFault) as caught:
            ask(2047) if ask in (device.queues.head, device.queues.enabled) else ask()  # type: ignore[operator]
        assert caught.value.hal_call == "halSqCqQuery"


def test_receiving_nothing_takes_no_time(device: Device, stream: Stream) -> None:
    assert device.queues.receive(stream.queues.logic_cq_id, stream.stream_id) == []
    assert device.queues.receive(stream.queues.logic_cq_id, stream.stream_id, timeout_ms=1) == []


class Driver:
    """The driver's side of a mapped ring: where it was told that SQEs are."""

    def __init__(self, depth: int) -> None:
        self.memory = ctypes.create_string_buffer(64 * depth)
        self.base = ctypes.addressof(self.memory)
        self.info = ctypes.c_uint64()
        self.places: list[int | str] = []
        self.rc = 0

    def send(self, _device: int, _reference: object) -> int:
        address = self.info.sqe_addr  # type: ignore[attr-defined]
        offset, inside = divmod(address - self.base, 64)
        self.places.append(offset if 0 <= address - self.base < len(self.memory) else "staging")
        assert inside == 0 or self.places[-1] == "staging"
        return self.rc


class Info:
    """Stands for halTaskSendInfo."""

    sqe_addr = 0
    sqe_num = 2


def test_sqes_are_built_where_the_tail_is_and_wrapping_ones_by_the_driver() -> None:
    driver = Driver(5)
    driver.info = Info()  # type: ignore[assignment]
    ring = MappedRing(driver.base, 5)
    staging = bytearray(128)
    send = ring.through(driver.send, driver.info, staging)
    for number in range(4):
        staging[:] = bytes([number]) * 128
        assert send(0, None) == 0
    assert driver.places == [0, 2, "staging", 1]
    assert driver.memory.raw[64 : 3 * 64] == b"\x03" * 128
    driver.rc = 5
    assert send(0, None) == 5
    assert ring.tail == 3


def test_exhausted_queues_say_what_to_do(device: Device) -> None:
    device.hal.fake.faults.on_call("halSqCqAllocate", "DRV_ERROR_NO_RESOURCES", times=3)
    with pytest.raises(errors.ResourceExhausted) as caught:
        device.create_stream()
    assert caught.value.code == 207005
    assert "close" in caught.value.hint
