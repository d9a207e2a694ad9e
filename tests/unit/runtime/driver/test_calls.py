"""Codes of the driver become faults that keep the call, the code and what was asked."""

from __future__ import annotations

import pickle

import pytest

from npuhal import constants as c
from npuhal.errors import HalError
from runtime import errors
from runtime.api import Device
from runtime.driver.calls import HalCalls


@pytest.fixture
def calls(device: Device) -> HalCalls:
    return HalCalls(device.hal, 0)


def test_zero_passes(calls: HalCalls) -> None:
    calls.check(0, "halMemAlloc")


@pytest.mark.parametrize(
    ("code", "kind", "public"),
    [
        ("DRV_ERROR_OUT_OF_MEMORY", errors.OutOfMemory, 207001),
        ("DRV_ERROR_INVALID_VALUE", errors.InvalidArgument, 107000),
        ("DRV_ERROR_NOT_SUPPORT", errors.NotSupported, 207000),
        ("DRV_ERROR_NO_RESOURCES", errors.ResourceExhausted, 207005),
    ],
)  # fmt: skip
def test_a_code_becomes_the_fault_of_its_meaning(calls: HalCalls, code: str, kind: type[Exception],
                                                 public: int) -> None:
    fault = calls.fault(getattr(c, code), "halMemAlloc", "16 bytes")
    assert isinstance(fault, kind)
    assert (fault.code, fault.hal_call, fault.hal_code, fault.hal_name) == (
        public, "halMemAlloc", getattr(c, code), code
    )
    assert "16 bytes" in str(fault)
    assert fault.hint
    assert isinstance(fault.__cause__, HalError)
    assert pickle.loads(pickle.dumps(fault)).hal_name == code


def test_a_code_that_no_header_names_is_kept(calls: HalCalls) -> None:
    fault = calls.fault(12345, "halMemAlloc")
    assert fault.hal_code == 12345
    assert "12345" in str(fault)


def test_success_is_no_failure(calls: HalCalls) -> None:
    assert isinstance(calls.fault(0, "halMemAlloc"), errors.InternalError)


def test_a_call_gets_the_device_and_is_checked(device: Device, calls: HalCalls) -> None:
    device.hal.fake.faults.on_call("halDeviceClose", "DRV_ERROR_INNER_ERR")
    with pytest.raises(errors.RuntimeFault, match="halDeviceClose") as caught:
        calls.call("halDeviceClose", None)
    assert caught.value.hal_name == "DRV_ERROR_INNER_ERR"


def test_features_that_the_library_cannot_be_asked_for_are_not_there(calls: HalCalls, monkeypatch: pytest.MonkeyPatch,
                                                                    ) -> None:
    assert calls.supports("FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND") in (True, False)
    monkeypatch.setattr(type(calls.hal), "has", lambda _self, name: name != "halSupportFeature")
    assert calls.supports("FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND") is False
