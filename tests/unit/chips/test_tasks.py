"""Task descriptions: one frozen, slotted dataclass per kind, with a type each."""

from __future__ import annotations

import dataclasses

import pytest

from chips import tasks
from chips.registry import sample
from chips.tasks import AicKernel, BareTask, MixKernel, MixKind, Task, TaskType

KINDS = [
    kind
    for kind in vars(tasks).values()
    if isinstance(kind, type) and issubclass(kind, Task) and kind is not Task and hasattr(kind, "type")
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_is_frozen_slotted_and_typed(kind: type[Task]) -> None:
    task = sample(kind) if kind is not BareTask else BareTask(TaskType.NOP)
    assert isinstance(task.type, TaskType)
    assert not hasattr(task, "__dict__")
    field = dataclasses.fields(kind)[0].name if dataclasses.fields(kind) else "type"
    # CPython 3.11 answers TypeError for a frozen, slotted dataclass without fields
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        setattr(task, field, 0)
    assert kind.__doc__


@pytest.mark.parametrize(
    ("name", "number"),
    [("KERNEL_AICORE", 0), ("MEMCPY", 5), ("NOTIFY_WAIT", 14), ("WRITE_VALUE", 55), ("KERNEL_AIVEC", 66),
     ("GET_STARS_VERSION", 97), ("NOP", 103), ("MEM_WAIT_VALUE", 114), ("MODEL_SERIAL_SCHED_POSTPROC", 138)],
)  # fmt: skip
def test_numbers_are_the_vendors(name: str, number: int) -> None:
    assert TaskType[name] == number


def test_numbers_are_unique() -> None:
    assert len(TaskType.__members__) == len(set(TaskType))


def test_descriptions_compare_by_value() -> None:
    first = AicKernel(pc=1, args=2, block_dim=3)
    assert first == AicKernel(pc=1, args=2, block_dim=3)
    assert len({first, AicKernel(pc=1, args=2, block_dim=3)}) == 1
    assert first != MixKernel(pc=1, args=2, block_dim=3, mix=MixKind.AIC)
