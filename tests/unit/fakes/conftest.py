"""Fixtures: a rig per chip and tier."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.unit.fakes.rig import Rig

CHIPS = ("Ascend910B3", "Ascend910_9391", "Ascend950PR_9599")


@pytest.fixture
def open_rig() -> Iterator[Callable[..., Rig]]:
    """Open rigs that are closed at the end of the test."""
    opened: list[Rig] = []

    def open_one(
        soc: str = "Ascend910B3", scheme: str = "fake", dev: int = 0, open_card: bool = True, **options: object
    ) -> Rig:
        query = "&".join(f"{name}={value}" for name, value in options.items())
        rig = Rig(f"{scheme}://{soc}?{query}", dev, open_card)
        opened.append(rig)
        return rig

    yield open_one
    for rig in opened:
        rig.close()


@pytest.fixture(params=[(soc, scheme) for soc in CHIPS for scheme in ("fake", "fake-abi")], ids="-".join)
def rig(request: pytest.FixtureRequest, open_rig: Callable[..., Rig]) -> Rig:
    """A rig on every chip and both tiers."""
    soc, scheme = request.param
    return open_rig(soc, scheme, seed=11)
