"""Launches with kept arguments: what the kernel gets, and what is refused."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Stream
from tests.unit.runtime.machines import MakeKernel


def test_the_same_arguments_again_and_again(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    seen: list[Any] = []
    kernel = make_kernel("kept", lambda context: seen.append([context.args[n] for n in range(3)]), arguments=3)
    buffer = device.alloc(64)
    kept = kernel.keep(stream, 2, buffer, -1, np.float32(0.5))
    for _ in range(70):  # also past a reclaim
        kept()
    kernel[2](buffer, -1, np.float32(0.5), stream=stream)
    stream.synchronize()
    assert len({repr(each) for each in seen}) == 1
    assert seen[0][0] == buffer.address
    pending = stream.ring.submitted
    del kept, buffer  # its buffers live as long as it does; what was launched is done
    gc.collect()
    stream.synchronize()
    assert stream.ring.submitted == pending


def test_wrong_uses_are_refused(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("refused", lambda context: None, arguments=1)
    buffer = device.alloc(64)
    kept = kernel.keep(stream, 1, buffer)
    before = stream.ring.submitted
    with stream.capture() as graph, pytest.raises(errors.CaptureError, match="kept arguments"):
        kept()
    graph.close()
    with pytest.raises(errors.InvalidArgument, match="takes 1 argument"):
        kernel.keep(stream, 1, buffer, buffer)
    with pytest.raises(errors.InvalidArgument, match="0 blocks"):
        kernel.keep(stream, 0, buffer)
    buffer.close()
    with pytest.raises(errors.InvalidArgument, match="was freed"):
        kept()
    with kernel.keep(stream, 1, device.alloc(64)) as other:
        other()
    assert other.closed
    assert "closed" in repr(other)
    other.close()
    with pytest.raises(errors.RuntimeFault, match="given up"):
        other()
    again = kernel.keep(stream, 1, 5)
    stream.synchronize()
    assert stream.ring.submitted == before + 1
    kernel.program.close()
    with pytest.raises(errors.RuntimeFault, match="unloaded"):
        again()
