"""Failed accesses of the copy engine: whose memory it was, by what the card has reported."""

from __future__ import annotations

import pytest

from chips.tasks import AicpuKernel, AicpuKind
from fakes.hal.faults import FaultEvent
from fakes.kernels import Fail
from runtime import errors
from tests.unit.runtime.machines import OpenMachine


@pytest.mark.parametrize(("reported", "code", "public"), [
    ((), 1000, 507904), ((), 1001, 507057), ((0x80E01801,), 1001, 507057), ((0x80E18400,), 1001, 507053),
    ((0x80E18400, 0x80CD8008), 1001, 507053), ((0x80CD8008,), 1001, 507001), ((0x80E18400,), 7, 507018),
])  # fmt: skip
def test_a_failed_operator_of_communication(
    open_machine: OpenMachine, reported: tuple[int, ...], code: int, public: int
) -> None:
    device = open_machine("fake://ascend910b1").device(0)
    card, names = device.hal.fake.device(0), device.names

    def fails(_context: object) -> None:
        for event in reported:  # the monitor looks once a second: the failure comes first
            card.raise_fault(FaultEvent(event, "reported", severity=3))
        raise Fail("nothing came over the link", code)

    device.hal.fake.attach_aicpu("libhccl.so", "run", fails)
    with device.create_stream() as stream:
        library, function = names.address_of("libhccl.so"), names.address_of("run")
        stream.submit(AicpuKernel(so_name=library, func_name=function, args=device.alloc(8).address,
                                  kind=AicpuKind.AICPU), owner="operator")  # fmt: skip
        with pytest.raises(errors.RuntimeFault) as caught:
            stream.synchronize(30_000)
        assert caught.value.code == public
