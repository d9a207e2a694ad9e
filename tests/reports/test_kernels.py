"""What users met when they launched kernels: grids, buffers that are too small, arguments of model-owned streams."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest

from runtime import errors
from runtime.api import Device, Kernel, LaunchOptions, Stream
from runtime.capi.aclrt import Out
from tests.unit.runtime.capi.kernel_calls import Caller, api, function, soc
from tests.unit.runtime.machines import MakeKernel

__all__ = ["api", "function", "soc"]


# -- a grid of no blocks, or of too many ---------------------------------------------------------------------------


def test_grids_outside_the_limits_are_refused_by_name_and_leave_the_stream_as_it_was(
    stream: Stream, make_kernel: MakeKernel
) -> None:
    ran: list[int] = []
    kernel = make_kernel("idle_rank", lambda context: ran.append(context.blocks))
    for blocks in (0, 65536):
        with pytest.raises(errors.InvalidArgument) as caught:
            kernel[blocks](0, stream=stream)
        assert (caught.value.code, caught.value.message_id) == (107000, "EE1003")
        for part in ("idle_rank", str(blocks), "1 to 65535"):
            assert part in str(caught.value)
        assert stream.ring.submitted == 0
    kernel[0](0, stream=stream, options=LaunchOptions(empty_ok=True))
    assert stream.ring.submitted == 0
    kernel[65535](0, stream=stream)
    stream.synchronize()
    assert ran == [65535]


# -- a buffer with room for fewer elements than the kernel writes --------------------------------------------------


def _fills(kernel_name: str, make_kernel: MakeKernel) -> Kernel:
    def fill(context: Any) -> None:
        context.args.array(0, "f4", context.args[1])[:] = 1.0

    return make_kernel(kernel_name, fill, arguments=2)


def test_a_write_past_a_buffer_shows_at_the_next_wait_with_the_kernel_and_the_argument(
    device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    kernel, buffer = _fills("fill_tail", make_kernel), device.alloc(100)
    kernel[1](buffer, 25, stream=stream)
    stream.synchronize()
    assert device.download(buffer, "f4").tolist() == [1.0] * 25
    kernel[1](buffer, 1 << 20, stream=stream)  # the launch itself is fine
    with pytest.raises(errors.KernelFault, match="kernel fill_tail failed"):
        stream.synchronize()
    assert "argument 0 of a kernel" in device.hal.fake.problems[-1]


# -- arguments on the host, launched in a stream that a model owns -------------------------------------------------


@pytest.mark.parametrize("owned", [False, True])
def test_arguments_are_taken_at_the_launch_whoever_owns_the_stream(api: Caller, function: int, owned: bool) -> None:
    seen = api.listen(function, 16)
    model, stream = 0, api.stream
    if owned:
        stream = api.step("aclrtCreateStreamWithConfig", 0, stream=Out(), priority=0, flag=4)  # persistent
        model = api.step("aclmdlRIBuildBegin", 0, modelRI=Out(), flag=0)
        api.step("aclmdlRIBindStream", 0, modelRI=model, stream=stream, flag=0)
    block = api.memory(struct.pack("<QQ", 1, 2))
    api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=function, numBlocks=1, stream=stream, hostArgs=block,
             argsSize=16)
    ctypes.memset(block, 0xFF, 16)
    if owned:
        api.step("aclmdlRIEndTask", 0, modelRI=model, stream=stream)
        api.step("aclmdlRIBuildEnd", 0, modelRI=model)
        assert seen == []
        for _ in range(2):
            api.step("aclmdlRIExecuteAsync", 0, modelRI=model, stream=api.stream)
    api.wait()
    assert seen == [struct.pack("<QQ", 1, 2)] * (2 if owned else 1)
    if owned:
        api.step("aclmdlRIUnbindStream", 0, modelRI=model, stream=stream)
        api.step("aclmdlRIDestroy", 0, modelRI=model)
