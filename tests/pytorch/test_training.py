"""Training on the fake: the numbers are those of the CPU, because the same functions compute them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pytorch.conftest import _MISSING

if not _MISSING:
    from tests.pytorch import networks, workers

_WITHIN = {"rtol": 1e-6, "atol": 1e-7}
"""Equal here; sums may be added in another order elsewhere."""


@pytest.mark.parametrize("foreach", [False, True], ids=["single", "foreach"])
@pytest.mark.parametrize("optimiser", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("network", ["perceptron", "convolutional", "transformer"])
def test_a_training_loop_ends_where_the_one_on_the_cpu_ends(
    torch: Any, npu: Any, network: str, optimiser: str, foreach: bool
) -> None:
    wanted, parameters = networks.train("cpu", network, optimiser, foreach)
    losses, trained = networks.train("npu", network, optimiser, foreach)
    assert losses == pytest.approx(wanted, rel=1e-6)
    for one, other in zip(trained, parameters, strict=True):
        torch.testing.assert_close(one, other, **_WITHIN)


def test_the_950_trains_to_the_same_losses(torch: Any, npu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, _ = networks.train("cpu", "transformer", "adam", foreach=True)
    monkeypatch.setenv("NPUHAL_URL", "fake://ascend950")
    assert workers.run(workers.trained, "transformer", "adam") == pytest.approx(wanted, rel=1e-6)


def test_a_fault_in_the_middle_of_training_is_caught_and_training_goes_on_from_a_checkpoint(
    torch: Any, npu: Any, tmp_path: Path
) -> None:
    """A card that had an exception is usable again in a new process, as on a box."""
    whole = workers.run(workers.resumed_training, tmp_path / "whole.pt", 0)
    checkpoint = tmp_path / "checkpoint.pt"
    with pytest.raises(workers.Failed, match="507015"):
        workers.run(workers.resumed_training, checkpoint, 3)
    assert len(torch.load(checkpoint)["losses"]) == 2
    assert workers.run(workers.resumed_training, checkpoint, 0) == whole
