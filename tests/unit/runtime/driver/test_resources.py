"""Ids of the task scheduler: taken, given back, refused, exhausted."""

from __future__ import annotations

import pytest

from runtime import errors
from runtime.api import Device, Runtime
from runtime.driver import resources as ids
from tests.unit.runtime.machines import holdings

KINDS = (ids.STREAM, ids.EVENT, ids.MODEL, ids.NOTIFY)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_different_and_come_back(machine: Runtime, device: Device, kind: str) -> None:
    before = holdings(machine)
    taken = [device.ids.alloc(kind) for _ in range(5)]
    assert len(set(taken)) == 5
    for number in taken:
        device.ids.free(kind, number)
    assert holdings(machine) == before


def test_an_id_that_is_not_ours_cannot_be_freed(device: Device) -> None:
    number = device.ids.alloc(ids.NOTIFY)
    device.ids.free(ids.NOTIFY, number)
    with pytest.raises(errors.RuntimeFault, match=f"notify id {number}"):
        device.ids.free(ids.NOTIFY, number)


@pytest.mark.parametrize(("kind", "code", "word"), [
    (ids.STREAM, 207008, "streams"), (ids.EVENT, 207007, "events"), (ids.NOTIFY, 207009, "notifies"),
])  # fmt: skip
def test_an_exhausted_kind_has_its_own_code_and_cure(device: Device, kind: str, code: int, word: str) -> None:
    names = {207008: "DRV_ERROR_NO_STREAM_RESOURCES", 207007: "DRV_ERROR_NO_EVENT_RESOURCES",
             207009: "DRV_ERROR_NO_NOTIFY_RESOURCES"}
    device.hal.fake.faults.on_call("halResourceIdAlloc", names[code])
    with pytest.raises(errors.ResourceExhausted) as caught:
        device.ids.alloc(kind)
    assert caught.value.code == code
    assert f"too many {word} are alive on device 0" in caught.value.hint


def test_a_logic_queue_is_bound_and_unbound(device: Device) -> None:
    stream = device.create_stream()
    device.ids.unbind_logic_cq(stream.stream_id)
    device.ids.bind_logic_cq(stream.stream_id, stream.queues.logic_cq_id)
    device.hal.fake.faults.on_call("halResourceConfig", "DRV_ERROR_INNER_ERR")
    with pytest.raises(errors.RuntimeFault, match="DRV_STREAM_BIND_LOGIC_CQ"):
        device.ids.bind_logic_cq(stream.stream_id, stream.queues.logic_cq_id)
