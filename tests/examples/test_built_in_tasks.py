"""Work that the card does without a kernel: reductions by the copy engine, random numbers by its generator."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.api import Device, Stream

COUNT = 1024


def test_reduction(device: Device, stream: Stream) -> None:
    total = device.upload(np.array([1, 2, 3, 4], "f4"))
    stream.reduce(total, device.upload(np.array([1, 2, 3, 4], "f4")), "add", "float32")
    stream.synchronize()
    assert device.download(total, "f4").tolist() == [2, 4, 6, 8]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_random_numbers(device: Device, stream: Stream, dtype: str) -> None:
    code = np.dtype(dtype)
    first, second = (device.alloc(COUNT * code.itemsize) for _ in range(2))
    with device.create_generator(seed=7) as generator:
        generator.uniform(stream, first, 0, 100, dtype)
        generator.uniform(stream, second, 0, 100, dtype)
        stream.synchronize()
    drawn = [device.download(buffer, code) for buffer in (first, second)]
    for numbers in drawn:
        assert 0 <= numbers.min() < 20
        assert 80 < numbers.max() <= 100
    assert drawn[0].tolist() != drawn[1].tolist()


def test_normal_numbers(device: Device, stream: Stream) -> None:
    result = device.alloc(COUNT * 4)
    with device.create_generator() as generator:
        generator.normal(stream, result, 5, 2)
        stream.synchronize()
    drawn = device.download(result, "f4")
    assert abs(float(drawn.mean()) - 5) < 0.3
    assert abs(float(drawn.std()) - 2) < 0.3


def test_truncated_normal_numbers(device: Device, stream: Stream) -> None:
    result = device.alloc(COUNT * 2)
    with device.create_generator() as generator:
        generator.normal(stream, result, dtype="bfloat16", truncated=True)
        stream.synchronize()
    drawn = (device.download(result, "<u2").astype("u4") << 16).view("f4")
    assert -2 <= drawn.min() < 0 < drawn.max() <= 2


def test_dropout_mask(device: Device, stream: Stream) -> None:
    result = device.alloc(COUNT // 8)
    with device.create_generator() as generator:
        generator.dropout_mask(stream, result, 0.25)
        stream.synchronize()
    assert abs(float(np.unpackbits(device.download(result)).mean()) - 0.75) < 0.06
