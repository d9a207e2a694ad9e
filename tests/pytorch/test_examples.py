"""Public examples, run as they are: `NPUHAL_TORCH_EXAMPLES` names a checkout of github.com/pytorch/examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pytorch.test_reports import ROOT

FOLDER = Path(os.environ.get("NPUHAL_TORCH_EXAMPLES", "/nowhere"))
ON_THE_CARD = """
import runpy, sys, torch
torch.manual_seed(0)
torch.set_default_device("npu")
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a script that does not choose a device."""
SIZES = ["--emsize", "16", "--nhid", "16", "--nlayers", "1", "--nhead", "2", "--dropout", "0",
         "--epochs", "1", "--batch_size", "4", "--bptt", "8"]  # fmt: skip
UNTRAINED = 10.0
"""A loss that no model ends with which has learnt."""


def example(name: str) -> Path:
    """Return a script of the checkout, or skip the test."""
    script = FOLDER / name
    if not script.exists():
        pytest.skip(f"set NPUHAL_TORCH_EXAMPLES to a checkout of github.com/pytorch/examples: there is no {script}")
    return script


def run(tmp_path: Path, *command: object) -> str:
    """Run scripts under `npuhal run --torch` with checkers; returns what they print."""
    npuhal = ["-m", "npuhal", "run", "--torch", "--url", "fake://ascend910b3?check=race,uaf,source,stale"]
    done = subprocess.run(
        [sys.executable, *npuhal, *map(str, command)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_regression(tmp_path: Path) -> None:
    runner = tmp_path / "on_the_card.py"
    runner.write_text(ON_THE_CARD)
    said = run(tmp_path, runner, example("regression/main.py"))
    assert re.search(r"^Loss: 0\.000\d+ after \d+ batches$", said, re.MULTILINE)


@pytest.mark.parametrize("name", ["inline_function", "replace_op", "wrap_output_dynamically"])
def test_transformed_modules(tmp_path: Path, name: str) -> None:
    runner = tmp_path / "on_the_card.py"
    runner.write_text(ON_THE_CARD)
    run(tmp_path, runner, example(f"fx/{name}.py"))


@pytest.mark.parametrize("kind", ["RNN_TANH", "LSTM", "GRU", "Transformer"])
def test_a_language_model_ends_with_the_loss_of_the_cpu(tmp_path: Path, kind: str) -> None:
    """The layers of the last kind drop out by themselves, so that its losses are of other random numbers."""
    script = example("word_language_model/main.py")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, name in enumerate(("train", "valid", "test")):
        words = (f"w{(line * line + number) % 17} follows w{line % 17}\n" for line in range(60))
        (corpus / f"{name}.txt").write_text("".join(words))
    ends = []
    for device in ([], ["--accel"]):
        model = "--model", kind, *SIZES, "--data", corpus, "--save", tmp_path / "model.pt"
        said = run(tmp_path, script, *device, *model)
        assert f"Using device: {'npu' if device else 'cpu'}" in said
        ends += re.findall(r"End of training \| test loss +([0-9.]+)", said)
    assert len(ends) == 2
    losses = [float(each) for each in ends]
    if kind == "Transformer":
        assert max(losses) < UNTRAINED
    else:
        assert losses[0] == pytest.approx(losses[1], abs=0.011)
