"""What tests run in processes of their own, which are started anew and use the fake by the variables of this one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

LIMIT_S = 120
STEPS = 4


class Failed(Exception):
    """The function failed in its process; the text is that of its exception."""


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a new process and return its result."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(there, function, arguments))
    process.start()
    there.close()
    try:
        good, result = here.recv() if here.poll(LIMIT_S) else (False, f"no answer in {LIMIT_S} s")
    finally:
        process.join(LIMIT_S)
        process.kill()
    if not good:
        raise Failed(result)
    return result


def _call(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        connection.send((True, function(*arguments)))
    except BaseException as problem:
        connection.send((False, f"{type(problem).__name__}: {problem}"))


def machine() -> Any:
    """Return the fake that torch runs on in this process."""
    from runtime.capi.pyacl.binding import process

    return process().runtime.hal.fake


def resumed_training(checkpoint: Path, fault_in_step: int) -> list[float]:
    """Train a layer from where the checkpoint ends, writing one after each step; returns all losses."""
    from fakes.faults import Effect

    torch.manual_seed(1)
    model = torch.nn.Linear(4, 2).to("npu")
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    inputs, losses = torch.randn(3, 4).npu(), []
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        losses = state["losses"]
    for step in range(len(losses), STEPS):
        if step + 1 == fault_in_step:
            machine().faults.on_task(Effect.EXCEPTION, kernel="aclnnAddmm")
        optimiser.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "losses": losses}
        torch.save(state, checkpoint)
    return losses


def other_card(index: int) -> float:
    """Compute on one of two cards."""
    torch.npu.set_device(index)
    return float((torch.arange(4.0).npu() + index).sum().item())
