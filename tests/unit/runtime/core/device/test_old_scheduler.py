"""Task schedulers that are too old for what is asked of them, by version and by capability."""

from __future__ import annotations

import pytest

from runtime import Runtime
from runtime.core.sync.notify import Notify, clear
from runtime.driver.queues.scheduler import CAPABILITIES, VERSIONS, capabilities
from runtime.errors import NotSupported
from runtime.feature.graph import Model

V100, V200 = "ascend910b1", "ascend950pr_9599"


def _refused(call, *arguments, message="EE1015"):
    with pytest.raises(NotSupported) as caught:
        call(*arguments)
    assert caught.value.code == 207000
    assert caught.value.message_id == message


@pytest.mark.parametrize("soc", [V100, V200])
def test_failure_modes_need_version_13(soc) -> None:
    for version in (12, 13):
        with Runtime(f"fake://{soc}?ts_version={version}") as runtime:
            device = runtime.device(0)
            with device.create_stream() as stream:
                if version == 13:
                    stream.set_failure_mode(1)
                    device.set_failure_mode(1)
                    continue
                for _ in range(2):
                    _refused(stream.set_failure_mode, 1)
                    _refused(device.set_failure_mode, 1)
                stream.synchronize()


def test_only_stars_v1_asks_before_it_ends_models_and_resets_notifies() -> None:
    for soc in (V100, V200):
        with Runtime(f"fake://{soc}?ts_version=1&ts_capability=00000000000000") as runtime:
            device = runtime.device(0)
            model, notify, stream = Model(device.context), device.create_notify(), device.create_stream()
            if soc == V100:
                _refused(model.abort)
                _refused(clear, [notify], stream)
            else:
                clear([notify], stream)
            stream.synchronize()
            for made in (model, notify, stream):
                made.close()


def test_without_a_bitmap_the_version_decides() -> None:
    assert capabilities(b"", 29) >= {"FLIPTASK", "SET_STREAM_MODE"}
    assert "MC2_ENHANCE" not in capabilities(b"", 29)
    assert "MC2_ENHANCE" in capabilities(b"", 30)
    assert "STREAM_ABORT" not in capabilities(b"", 80)  # newer than the table: only bits say so
    assert capabilities(b"", 7 << 16 | 80) == frozenset(VERSIONS)  # sources of a branch that nobody knows
    assert "TASK_ABORT" not in capabilities(b"", 5 << 16 | 80)
    assert capabilities(b"\x00" * 7, 80) == frozenset(VERSIONS)
    assert capabilities(b"", 1, complete=True) == frozenset(CAPABILITIES)


def test_a_scheduler_without_core_signals_refuses_what_cores_would_feed() -> None:
    with Runtime(f"fake://{V100}?ts_capability=ffff7fffffffff") as runtime:
        device = runtime.device(0)
        _refused(lambda: device.create_stream(flags=0x800), message="")
        _refused(lambda: Notify(device, device_only=True), message="")


def test_waits_of_an_old_310p_take_no_limit() -> None:
    with Runtime("fake://ascend310p3?ts_version=31") as runtime:
        runtime.device(0)
        _refused(runtime.timeouts.set_wait, 5, message="")
