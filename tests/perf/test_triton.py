"""A launch of a Triton kernel of four pointers and three scalars costs at most half more than a plain one."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from runtime.api import Runtime
from runtime.cli.bench.groups import CHIPS
from runtime.cli.bench.operations import kernel, triton_kernel
from runtime.core.submission.compiled import extension

pytestmark = pytest.mark.perf

FENCE, CALLS, ROUNDS, ATTEMPTS = 1.5, 1000, 12, 3


@pytest.mark.skipif(extension is not None, reason="the fence is that of Python functions: NPUHAL_COMPILED=0")
@pytest.mark.parametrize("chip", CHIPS)
def test_a_triton_launch_beside_a_plain_one(chip: str) -> None:
    machine = Runtime(f"null://{chip}")
    try:
        device = machine.device(0)
        plain, compiled, stream = kernel(device, 7), triton_kernel(device), device.create_stream()
        a, b, c, d = (device.alloc(4096) for _ in range(4))

        def one() -> None:
            plain[8](a, b, c, d, 3, 7, 5, stream=stream)

        def other() -> None:
            compiled[8,](a, b, c, d, 3, 7, 5, stream=stream)

        ratios = []
        for _ in range(ATTEMPTS):
            both = [(_cost(one), _cost(other)) for _ in range(ROUNDS)]
            ratios.append(min(row[1] for row in both) / min(row[0] for row in both))
            if ratios[-1] <= FENCE:
                return
        pytest.fail(f"a Triton launch takes {min(ratios):.2f} times a plain one, the fence is {FENCE}")
    finally:
        machine.close(force=True)


def _cost(call: Callable[[], None]) -> float:
    start = time.process_time_ns()
    for _ in range(CALLS):
        call()
    return float(time.process_time_ns() - start)
