"""Random numbers by the public generator: they repeat by seed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Stream
from tests.unit.runtime.machines import V100, V200, OpenMachine

COUNT = 256


@pytest.fixture
def device(open_machine: OpenMachine) -> Device:
    """A card that has a generator."""
    return open_machine(f"fake://{V100}").device(0)


@pytest.fixture
def stream(device: Device) -> Stream:
    return device.create_stream()


def drawn(device: Device, stream: Stream, seed: int) -> list[list[float]]:
    buffers = [device.alloc(4 * COUNT) for _ in range(3)]
    with device.create_generator(seed) as generator:
        for buffer in buffers:
            generator.uniform(stream, buffer)
        stream.synchronize()
        assert repr(generator) == f"<RandomGenerator with seed {seed} on device 0, {3 * COUNT} numbers drawn>"
    return [device.download(buffer, "f4").tolist() for buffer in buffers]


def test_draws_repeat_by_seed_and_differ_from_each_other(device: Device, stream: Stream) -> None:
    first, again, other = (drawn(device, stream, seed) for seed in (7, 7, 8))
    assert first == again
    assert len({tuple(numbers) for numbers in (*first, *other)}) == 6


def test_buffers_live_until_they_are_filled(device: Device, stream: Stream) -> None:
    before = len(device.buffers)
    with device.create_generator() as generator:
        generator.normal(stream, device.alloc(4 * COUNT))
        assert len(device.buffers) == before + 2
    assert len(device.buffers) == before + 2
    stream.synchronize()
    assert len(device.buffers) == before


def test_what_is_refused(device: Device, stream: Stream) -> None:
    target = device.alloc(64)
    with device.create_generator() as generator:
        with pytest.raises(errors.InvalidArgument, match=r"dtype 'float64' (?s:.*)there are int32, int64"):
            generator.uniform(stream, target, dtype="float64")
        with pytest.raises(errors.InvalidArgument, match="-1 as a bound of random uint32"):
            generator.uniform(stream, target, -1, 5, "uint32")
        with pytest.raises(errors.InvalidArgument, match="dataType"):
            generator.normal(stream, target, dtype="int32")
    with pytest.raises(errors.InvalidHandle):
        generator.dropout_mask(stream, target, 0.5)
    with pytest.raises(errors.InvalidArgument, match="seed -1"):
        device.create_generator(-1)


def test_chips_without_a_generator_say_so(open_machine: OpenMachine) -> None:
    with pytest.raises(errors.NotSupported, match="no generator"):
        open_machine(f"fake://{V200}").device(0).create_generator()


def test_integers_reach_their_bounds(device: Device, stream: Stream) -> None:
    target = device.alloc(8 * COUNT)
    with device.create_generator(3) as generator:
        generator.uniform(stream, target, -(1 << 40), 1 << 40, "int64")
        stream.synchronize()
    numbers = device.download(target, np.int64)
    assert numbers.min() < -(1 << 39) < 1 << 39 < numbers.max()
