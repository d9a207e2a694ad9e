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


def changed_by_another_process() -> list[float]:
    """Let another process add 1 to a tensor of this one; returns what it holds then."""
    from torch.multiprocessing import reductions

    torch.npu.set_device(0)
    mine = torch.arange(5.0).npu()
    torch.npu.synchronize()
    assert run(_add_one, *reductions.reduce_tensor(mine)) == 10.0
    return list(mine.cpu().tolist())


def _add_one(rebuild: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    torch.npu.set_device(0)
    theirs = rebuild(*arguments)
    before = theirs.sum().item()
    theirs.add_(1)
    torch.npu.synchronize()
    return float(before)


def restarted() -> list[float]:
    """Let an operator have an exception, stop and restart the device, and go on, twice; returns what was computed."""
    from fakes.faults import Effect

    made, x = [], torch.ones(3, device="npu")
    for _ in range(2):
        machine().faults.on_task(Effect.EXCEPTION, kernel="aclnnMuls")
        try:
            (x * 2).cpu()
        except RuntimeError:
            torch.npu.stop_device(0)
            torch.npu.restart_device(0)
            made.append((x * 3).sum().item())
    return made


def expandable_segments() -> tuple[float, bool, list[bool], int]:
    """Use segments that grow.

    Returns a sum over tensors, whether a tensor over several mapped pieces is right, which segments are expandable, and
    what is reserved when all is given back.
    """
    tensors = [torch.full((1 << 18,), float(each), device="npu") for each in range(5)]
    total = sum(tensors[1:], tensors[0]).sum().item()
    large = torch.arange(7 << 20, device="npu", dtype=torch.float32)  # 28 MiB in pieces of 20
    crossing = torch.equal((large + 1).cpu(), torch.arange(7 << 20, dtype=torch.float32) + 1)
    kinds = [each["is_expandable"] for each in torch.npu.memory_snapshot()]
    del tensors, large
    torch.npu.empty_cache()
    return total, crossing, kinds, torch.npu.memory_reserved()


def trained(network: str, optimiser: str) -> list[float]:
    """Train on the card of this process; returns the losses."""
    from tests.pytorch.networks import train

    return train("npu", network, optimiser, foreach=True)[0]


def attended() -> float:
    """Compute fused attention and its gradients; returns how far the farthest of them is from the CPU's."""

    def run(place: str) -> list[Any]:
        torch.manual_seed(0)
        parts = [torch.randn(2, 4, 6, 8).to(place).requires_grad_() for _ in range(3)]
        made = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        made.square().sum().backward()
        return [each.detach().cpu() for each in (made, *(part.grad for part in parts))]

    return max((one - other).abs().max().item() for one, other in zip(run("npu"), run("cpu"), strict=True))


def dropped_out() -> tuple[float, float]:
    """Drop out of ones and attention of ones; returns how far gradients are from those of the masks that were drawn."""
    x = torch.ones(500, device="npu", requires_grad=True)
    made = torch.nn.functional.dropout(x, 0.25)
    made.sum().backward()
    values = torch.eye(16, device="npu").reshape(1, 1, 16, 16).requires_grad_()
    ones = torch.ones(1, 1, 16, 16, device="npu")
    weights = torch.nn.functional.scaled_dot_product_attention(ones, ones, values, dropout_p=0.5)
    weights.sum().backward()
    assert 0 < (weights > 0).sum().item() < 256
    slope = weights.detach().sum(-2).unsqueeze(-1) - values.grad
    return (made.detach() - x.grad).abs().max().item(), slope.abs().max().item()
