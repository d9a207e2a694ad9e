"""A restore that has failed half-way and is not made again: everything says so, and a close by force still ends."""

from __future__ import annotations

import numpy as np
import pytest

from runtime import errors
from runtime.api import Runtime
from runtime.testing.leaks import holdings
from runtime.testing.sweeps.trial import use

CALLS = ("halDeviceOpen", "halProcessResRestore", "drvMemcpy", "halSqCqAllocate", "halResourceIdAlloc")


@pytest.mark.parametrize("url", ["fake://ascend910b1?check=leak", "fake-abi://ascend950pr_9599?check=leak"])
@pytest.mark.parametrize("call", CALLS)
def test_a_device_whose_restore_failed_is_lost_until_it_is_closed(url: str, call: str) -> None:
    machine = Runtime(url)
    device = machine.device(0)
    buffer, stream = device.upload(np.arange(4)), device.create_stream()
    machine.snapshot.lock()
    machine.snapshot.backup()
    fake = machine.hal.fake
    fake.device(0).exchange()
    fake.faults.on_call(call, "DRV_ERROR_INNER_ERR", times=5)
    with pytest.raises(errors.RuntimeFault):
        machine.snapshot.restore()
    fake.faults.clear()
    machine.snapshot.unlock()
    for _ in range(2):
        with pytest.raises(errors.RuntimeFault, match="restore"):
            stream.write_value(buffer, 1)
    device.close(force=True)
    assert holdings(fake) == {}
    use(machine.device(0))
    machine.close(force=True)
