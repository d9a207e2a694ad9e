"""Work that the card does without a kernel: reductions by the copy engine, random numbers by its generator."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from runtime.api import Device, Stream
from runtime.launch.random import Distribution, Number, Operand, RandomNumbers, queue_random

COUNT = 1024


def test_reduction(device: Device, stream: Stream) -> None:
    total = device.upload(np.array([1, 2, 3, 4], "f4"))
    stream.reduce(total, device.upload(np.array([1, 2, 3, 4], "f4")), "add", "float32")
    stream.synchronize()
    assert device.download(total, "f4").tolist() == [2, 4, 6, 8]


@pytest.mark.parametrize(("distribution", "number", "first", "second", "code"), [
    (Distribution.NORMAL, Number.FLOAT32, 0.0, 1.0, "<f4"),
    (Distribution.UNIFORM, Number.FLOAT16, 0.0, 1.0, "<f2"),
    (Distribution.UNIFORM, Number.INT32, 0, 100, "<i4"),
])  # fmt: skip
def test_random_numbers(
    device: Device, stream: Stream, distribution: Distribution, number: Number, first: Any, second: Any, code: str
) -> None:
    result, counter = device.alloc(COUNT * number.bytes), device.upload(bytes(16))
    parameters = tuple(Operand(np.array(value, code).tobytes()) for value in (first, second))
    for _ in range(2):  # the same seed and counter: the same numbers
        queue_random(stream, RandomNumbers(
            distribution=distribution, number=number, parameters=parameters, seed=_word(7), count=_word(COUNT),
            result=result.address, counter=counter.address,
        ), "example")
        stream.synchronize()
        drawn = device.download(result, code)
        assert len(set(drawn.tolist())) > COUNT // 16
        if distribution is Distribution.UNIFORM:
            assert first <= drawn.min() < drawn.max() <= second
        else:
            assert abs(float(drawn.mean())) < 0.2


def test_truncated_normal_numbers(device: Device, stream: Stream) -> None:
    result, counter = device.alloc(COUNT * 2), device.upload(bytes(16))
    queue_random(stream, RandomNumbers(
        distribution=Distribution.TRUNCATED_NORMAL, number=Number.BFLOAT16, seed=_word(7), count=_word(COUNT),
        parameters=(Operand(struct.pack("<f", 0)[2:]), Operand(struct.pack("<f", 1)[2:])),
        result=result.address, counter=counter.address,
    ), "example")  # fmt: skip
    stream.synchronize()
    drawn = (device.download(result, "<u2").astype("u4") << 16).view("f4")
    assert -2 <= drawn.min() < 0 < drawn.max() <= 2


def test_dropout_mask(device: Device, stream: Stream) -> None:
    result, counter = device.alloc(COUNT // 8), device.upload(bytes(16))
    queue_random(stream, RandomNumbers(
        distribution=Distribution.DROPOUT_MASK, number=Number.FLOAT32, parameters=(Operand(struct.pack("<f", 0.25)),),
        seed=_word(7), count=_word(COUNT), result=result.address, counter=counter.address,
    ), "example")  # fmt: skip
    stream.synchronize()
    kept = float(np.unpackbits(device.download(result)).mean())
    assert min(abs(kept - 0.25), abs(kept - 0.75)) < 0.06


def _word(value: int) -> Operand:
    return Operand(value.to_bytes(8, "little"))
