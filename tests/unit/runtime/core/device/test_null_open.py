"""Opening a device of null://: what the boot asks the task scheduler for is answered."""

from __future__ import annotations

import pytest

from npuhal.compiler import find_compiler as compiler
from runtime import Runtime


@pytest.mark.parametrize("query", ["", "?compiled=1"])
def test_null_reports_a_queues_first_task(query: str) -> None:
    """The scheduler's version is asked for by the first task of a queue; nobody waits for a report that never comes."""
    if query and compiler() is None:
        pytest.skip("this machine has no C compiler")
    for _ in range(2):
        machine = Runtime(f"null://ascend910b1{query}")
        try:
            fake = machine.hal.fake  # type: ignore[attr-defined]
            for _ in range(2):  # queues are made anew, under ids that others had
                device = machine.device(0)
                assert device.env.ts_version == fake.devices[0].identity.ts_version
                assert not device.control_stream.reports.expected
                device.close()
        finally:
            machine.close(force=True)
