"""What the fake may cost: wide fences in CPU time and memory, so that using it stays cheap."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from npuhal import structs as s
from tests.tools.pace import slowness
from tests.unit.fakes.rig import Rig

TASKS = 100_000


@pytest.mark.perf
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_a_hundred_thousand_no_ops_take_two_seconds_at_most(open_rig: Callable[..., Rig], soc: str) -> None:
    rig = open_rig(soc)
    stream = rig.stream()
    buffer = ctypes.create_string_buffer(rig.nop(stream), 64)
    info = s.halTaskSendInfo(sqId=stream.sq_id, sqe_addr=ctypes.addressof(buffer), sqe_num=1)
    send, reference = rig.hal.raw("halSqTaskSend"), ctypes.byref(info)
    best = float("inf")
    for _ in range(6):  # a machine that is busy with something else gets further attempts
        began, sent = time.process_time(), 0
        while sent < TASKS:
            sent += send(0, reference) == 0
        stream.drain()
        best = min(best, time.process_time() - began)
        if best < 2.0:
            return
    assert best < 2.0 * slowness()


@pytest.mark.perf
def test_opening_eight_cards_is_cheap() -> None:
    program = (
        "import time, npuhal\n"
        "npuhal.open_hal('fake://ascend910b3').close()\n"
        "began = time.process_time()\n"
        "hal = npuhal.open_hal('fake://ascend910b3?devices=8')\n"
        "print(time.process_time() - began, open('/proc/self/statm').read().split()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=250)
    seconds, pages = done.stdout.split()
    assert float(seconds) < 0.1 * slowness()
    assert int(pages) * 4096 < 60 << 20
