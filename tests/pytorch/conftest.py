"""Tests of PyTorch programs need torch and torch-npu, which `make test-torch` installs in an environment of its own."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

_MISSING = [name for name in ("torch", "torch_npu") if importlib.util.find_spec(name) is None]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip them, saying why, where the wheels or the option are missing."""
    why = f"{' and '.join(_MISSING)} not installed: make test-torch" if _MISSING else ""
    if not why and not config.getoption("--npu-torch"):
        why = "run with --npu-torch: make test-torch"
    if why:
        for item in items:
            if "tests/pytorch/" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def torch() -> Any:
    """The package, on the machine of the run, which has two cards."""
    return pytest.importorskip("torch")


@pytest.fixture
def npu(torch: Any) -> Any:
    """torch.npu on card 0."""
    torch.npu.set_device(0)
    return torch.npu
