"""Small networks, built and trained in the same way on any device."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as functional
from torch import nn


class Block(nn.Module):
    """A transformer block over a table of tokens."""

    def __init__(self, tokens: int = 11, width: int = 16, length: int = 6) -> None:
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.position = nn.Parameter(torch.randn(length, width) * 0.1)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, tokens)

    def forward(self, ids: Any) -> Any:
        """Return logits of the next tokens, flat."""
        x = self.table(ids) + self.position
        batch, length, width = x.shape
        q, k, v = (each.reshape(batch, length, 2, width // 2).transpose(1, 2)
                   for each in self.attend(self.before(x)).chunk(3, -1))  # fmt: skip
        future = ~torch.ones(length, length, dtype=torch.bool, device=ids.device).tril()
        weights = (q @ k.transpose(-1, -2) / math.sqrt(width // 2)).masked_fill(future, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return self.head(x + self.inner(self.after(x))).flatten(0, 1)


def perceptron() -> tuple[nn.Module, Any, Any]:
    """Return a network of two layers, inputs and classes."""
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), torch.randn(5, 8), torch.randint(0, 4, (5,))


def convolutional() -> tuple[nn.Module, Any, Any]:
    """Return a network for pictures, with normalisation and pooling."""
    layers = [
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4),
    ]  # fmt: skip
    return nn.Sequential(*layers), torch.randn(5, 3, 8, 8), torch.randint(0, 4, (5,))


def transformer() -> tuple[nn.Module, Any, Any]:
    """Return a transformer block, tokens, and what follows each."""
    return Block(), torch.randint(0, 11, (3, 6)), torch.randint(0, 11, (18,))


NETWORKS = {"perceptron": perceptron, "convolutional": convolutional, "transformer": transformer}
OPTIMISERS = {
    "sgd": lambda parameters, foreach: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, foreach=foreach),
    "adam": lambda parameters, foreach: torch.optim.Adam(parameters, lr=0.01, foreach=foreach),
    "adamw": lambda parameters, foreach: torch.optim.AdamW(parameters, lr=0.01, foreach=foreach),
}


def train(device: str, network: str, optimiser: str, foreach: bool, steps: int = 3) -> tuple[list[float], list[Any]]:
    """Train from the same start; returns the losses, and the parameters on the host."""
    torch.manual_seed(0)
    model, inputs, classes = NETWORKS[network]()
    model, inputs, classes = model.to(device), inputs.to(device), classes.to(device)
    optimiser_of = OPTIMISERS[optimiser](model.parameters(), foreach)
    losses = []
    for _ in range(steps):
        optimiser_of.zero_grad()
        loss = functional.cross_entropy(model(inputs), classes)
        loss.backward()
        optimiser_of.step()
        losses.append(loss.item())
    return losses, [each.detach().cpu() for each in model.parameters()]
