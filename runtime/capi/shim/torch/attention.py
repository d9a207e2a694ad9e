"""Fused attention over CPU tensors, with its gradient, in the four layouts of its inputs."""

from __future__ import annotations

from typing import Any

from runtime.capi.shim.torch.composed import Tensor, keep_mask, kept_bits, torch

_COPIES = 8
"""How often the maximum and the sum of a row are kept."""
_COMPRESSED = range(2, 5)
"""Kinds of masks that come as one triangle for all: causal from the left, from the right, a band from the right."""


def _heads(x: Tensor, layout: str, heads: int) -> Tensor:
    """Return [batch, heads, length, values] in single precision."""
    if layout == "BSH":
        x = x.unflatten(-1, (heads, -1)).transpose(1, 2)
    elif layout == "SBH":
        x = x.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)
    elif layout == "BSND":
        x = x.transpose(1, 2)
    return x.float()


def _back(x: Tensor, layout: str) -> Tensor:
    """Return a layout's own form of [batch, heads, length, values]."""
    if layout == "BSH":
        return x.transpose(1, 2).flatten(2)
    if layout == "SBH":
        return x.permute(2, 0, 1, 3).flatten(2)
    return x.transpose(1, 2) if layout == "BSND" else x


def _hidden(mask: Tensor | None, queries: int, keys: int, before: int, after: int, kind: int) -> Tensor | None:
    """Return which keys a query does not see, True where it does not; None: it sees all."""
    if mask is None and kind not in _COMPRESSED:
        return None
    away = torch.arange(keys) - torch.arange(queries).unsqueeze(-1)
    if kind in _COMPRESSED:
        away = away - (keys - queries if kind > _COMPRESSED[0] else 0)
        return away > 0 if kind < _COMPRESSED[-1] else (away > after) | (away < -before)
    assert mask is not None
    return mask.bool() if kind == 1 else mask.bool() | (away > after) | (away < -before)


class _Rows:
    """What both directions start from: heads, and the chances of each query's keys."""

    def __init__(self, query: Tensor, key: Tensor, value: Tensor, pse: Tensor | None, dropped: Tensor | None,
                 mask: Tensor | None, scale: float, keep: float, before: int, after: int, heads: int, layout: str,
                 kind: int, pse_first: bool, seed: int, offset: int) -> None:  # fmt: skip
        self.layout, self.scale = layout, scale
        self.q = _heads(query, layout, heads)
        width = self.q.shape[-1]
        own = key.shape[-1] // width if layout in ("BSH", "SBH") else 0
        k, v = _heads(key, layout, own), _heads(value, layout, own)
        self.shared = self.q.shape[1] // k.shape[1]
        self.k, self.v = (each.repeat_interleave(self.shared, 1) for each in (k, v))
        logits = self.q @ self.k.mT
        if pse is not None and pse_first:
            logits = logits + pse.float()
        logits = logits * scale
        if pse is not None and not pse_first:
            logits = logits + pse.float()
        hidden = _hidden(mask, logits.shape[-2], logits.shape[-1], before, after, kind)
        if hidden is not None:
            logits = logits.masked_fill(hidden, float("-inf"))
        self.most = logits.amax(-1, keepdim=True)
        weights = torch.where(self.most == float("-inf"), 0.0, (logits - self.most).exp())
        self.total = weights.sum(-1, keepdim=True)
        self.chances = weights / self.total.clamp_min(torch.finfo(torch.float32).tiny)
        if dropped is None and keep < 1:
            dropped = keep_mask(self.chances.shape, 1 - keep, seed, offset)
        self.kept = torch.ones(()) if dropped is None else kept_bits(dropped, self.chances) / keep
        self.pse_factor = scale if pse_first else 1.0

    def shared_sum(self, slope: Tensor) -> Tensor:
        """Return the gradient of keys or values, which several heads of queries may share."""
        return _back(slope.unflatten(1, (-1, self.shared)).sum(2), self.layout)


def attention(query: Tensor, key: Tensor, value: Tensor, pse: Tensor | None, dropped: Tensor | None,
              mask: Tensor | None, scale: float, keep: float, before: int, after: int, heads: int, layout: str,
              kind: int, pse_type: int = 1, seed: int = 0, offset: int = 0) -> tuple[Any, ...]:
    """Return maximum and sum of each row, nothing, and the attention."""
    rows = _Rows(query, key, value, pse, dropped, mask, scale, keep, before, after, heads, layout, kind,
                 pse_type == 1, seed, offset)  # fmt: skip
    result = _back((rows.chances * rows.kept) @ rows.v, layout)
    most, total = (each.expand(*each.shape[:-1], _COPIES) for each in (rows.most, rows.total))
    return most, total, None, result


def attention_backward(query: Tensor, key: Tensor, value: Tensor, grad: Tensor, pse: Tensor | None,
                       dropped: Tensor | None, mask: Tensor | None, scale: float, keep: float, before: int, after: int,
                       heads: int, layout: str, kind: int, pse_type: int = 1, seed: int = 0,
                       offset: int = 0) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of `attention` for query, key, value, and for what is added to the products."""
    rows = _Rows(query, key, value, pse, dropped, mask, scale, keep, before, after, heads, layout, kind,
                 pse_type == 1, seed, offset)  # fmt: skip
    slope = _heads(grad, layout, heads)
    to_chances = (slope @ rows.v.mT) * rows.kept
    to_logits = rows.chances * (to_chances - (to_chances * rows.chances).sum(-1, keepdim=True))
    to_pse = None if pse is None else (to_logits * rows.pse_factor).sum_to_size(pse.shape)
    to_key = rows.shared_sum((to_logits.mT @ rows.q) * scale)
    to_value = rows.shared_sum((rows.chances * rows.kept).mT @ slope)
    return _back((to_logits @ rows.k) * scale, layout), to_key, to_value, to_pse


def plain_slopes(slopes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the gradients of `attention_backward` among those for rotary parts and a sink, which are not wanted."""
    to_query, to_key, to_value, to_pse = slopes
    return to_query, to_key, to_value, None, None, to_pse, None
