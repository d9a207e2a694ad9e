"""Which way waited-for copies go: by the driver's own copy, or by its copy engine call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runtime.api import Device
from tests.unit.runtime.machines import V100, V200, OpenMachine

MiB = 1 << 20


def counted(device: Device, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count what reaches the driver."""
    seen = {"drvMemcpy": 0, "halSdmaCopy": 0}
    for name in seen:
        inner = getattr(device.hal, name)

        def call(*arguments: Any, name: str = name, inner: Any = inner) -> int:
            seen[name] += 1
            return int(inner(*arguments))

        monkeypatch.setattr(device.hal, name, call)
    return seen


@pytest.mark.parametrize(("soc", "offline", "engine"), [
    (V100, False, (0, 0, 0)), (V100, True, (0, 0, 1)), (V200, True, (0, 0, 0)), ("as31xm1x", False, (1, 1, 1)),
])  # fmt: skip
def test_the_chip_says_who_copies(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, soc: str, offline: bool, engine: tuple[int, ...]
) -> None:
    device = open_machine(f"fake://{soc}").device()
    if offline:
        device.env = replace(device.env, online=False)
    one, two = device.alloc(2 * MiB), device.alloc(2 * MiB)
    data = bytes(range(256)) * 8
    seen = counted(device, monkeypatch)
    for (target, source, size), by_engine in zip(
        ((one, data, None), (two, one, 2 * MiB - 1), (two, one, 2 * MiB)), engine, strict=True
    ):
        before = dict(seen)
        device.copy(target, source, size)
        assert seen["halSdmaCopy"] - before["halSdmaCopy"] == by_engine
        assert seen["drvMemcpy"] - before["drvMemcpy"] == 1 - by_engine
    assert device.download(two).tobytes()[: len(data)] == data
