"""Recurrent layers over CPU tensors: LSTM and GRU with their gradients, as aclnn and aclop have them.

Gates are in torch's order: input, forget, cell, output; reset, update, new. Gradients are made of what the forward pass
has kept, step by step backwards. A place of a batch that has ended keeps its state, and its output is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runtime.capi.shim.torch.composed import Tensor, torch

_PARAMETERS = 4
"""Of one direction of a layer with biases: weights of the input and of the state, biases of both."""


def _steps(count: int, reverse: bool) -> list[int]:
    return list(range(count))[::-1] if reverse else list(range(count))


def _running(sizes: Tensor | None, steps: int, batch: int) -> Tensor | None:
    """Return which places of a batch run at each step, [steps, batch, 1]; None: all do."""
    if sizes is None or sizes.numel() == 0:
        return None
    return (torch.arange(batch) < sizes.reshape(steps, 1)).unsqueeze(-1)


def _kept(running: Tensor | None, at: int, new: Tensor, old: Tensor) -> Tensor:
    return new if running is None else torch.where(running[at], new, old)


def lstm_steps(x: Tensor, w_ih: Tensor, w_hh: Tensor, bias: Tensor | None, h: Tensor, c: Tensor,
               running: Tensor | None = None, reverse: bool = False) -> list[Tensor]:
    """Return input, cell, forget, output gates, h, c and tanh(c) of all steps; x is [steps, batch, inputs]."""
    rows: list[list[Tensor]] = [[] for _ in range(7)]
    inner = x @ w_ih.mT if bias is None else x @ w_ih.mT + bias
    for at in _steps(x.shape[0], reverse):
        i, f, j, o = (inner[at] + h @ w_hh.mT).chunk(4, -1)
        i, f, j, o = i.sigmoid(), f.sigmoid(), j.tanh(), o.sigmoid()
        c = _kept(running, at, f * c + i * j, c)
        h = _kept(running, at, o * c.tanh(), h)
        for row, each in zip(rows, (i, j, f, o, h, c, c.tanh()), strict=True):
            row.append(each)
    return [torch.stack(row[::-1] if reverse else row) for row in rows]


def lstm_slopes(x: Tensor, w_ih: Tensor, w_hh: Tensor, h0: Tensor, c0: Tensor, kept: Sequence[Tensor],
                dy: Tensor | None, dh: Tensor, dc: Tensor, running: Tensor | None = None,
                reverse: bool = False) -> list[Tensor]:  # fmt: skip
    """Return gradients for x, h0, c0, both weights and the bias; `kept` is what `lstm_steps` has returned."""
    i, j, f, o, h, c, tanhc = kept
    inner = torch.empty(*x.shape[:2], w_hh.shape[0], dtype=x.dtype)
    before = _before(h, h0, reverse)
    c_before = _before(c, c0, reverse)
    for at in _steps(x.shape[0], not reverse):
        whole = dh if dy is None else dh + (dy[at] if running is None else dy[at] * running[at])
        to_c = dc + whole * o[at] * (1 - tanhc[at] ** 2)
        inner[at] = torch.cat([
            to_c * j[at] * i[at] * (1 - i[at]), to_c * c_before[at] * f[at] * (1 - f[at]),
            to_c * i[at] * (1 - j[at] ** 2), whole * tanhc[at] * o[at] * (1 - o[at]),
        ], -1)  # fmt: skip
        if running is not None:
            inner[at] *= running[at]
        dc = _kept(running, at, to_c * f[at], dc)
        dh = _kept(running, at, inner[at] @ w_hh, dh)
    flat = inner.flatten(0, 1)
    return [inner @ w_ih, dh, dc, flat.mT @ x.flatten(0, 1), flat.mT @ before.flatten(0, 1), flat.sum(0)]


def gru_steps(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None, h: Tensor,
              running: Tensor | None, reverse: bool) -> list[Tensor]:
    """Return reset, update and new gates, the state's part of the new one, and h, of all steps."""
    rows: list[list[Tensor]] = [[] for _ in range(5)]
    inner = x @ w_ih.mT if b_ih is None else x @ w_ih.mT + b_ih
    for at in _steps(x.shape[0], reverse):
        part = h @ w_hh.mT if b_hh is None else h @ w_hh.mT + b_hh
        (r_x, z_x, n_x), (r_h, z_h, hn) = inner[at].chunk(3, -1), part.chunk(3, -1)
        r, z = (r_x + r_h).sigmoid(), (z_x + z_h).sigmoid()
        n = (n_x + r * hn).tanh()
        h = _kept(running, at, (1 - z) * n + z * h, h)
        for row, each in zip(rows, (r, z, n, hn, h), strict=True):
            row.append(each)
    return [torch.stack(row[::-1] if reverse else row) for row in rows]


def gru_slopes(x: Tensor, w_ih: Tensor, w_hh: Tensor, h0: Tensor, kept: Sequence[Tensor], dy: Tensor, dh: Tensor,
               running: Tensor | None, reverse: bool) -> list[Tensor]:
    """Return gradients for x, h0, both weights and both biases; `kept` is what `gru_steps` has returned."""
    r, z, n, hn, h = kept
    outer = torch.empty(*x.shape[:2], w_hh.shape[0], dtype=x.dtype)
    inner = torch.empty_like(outer)
    before = _before(h, h0, reverse)
    for at in _steps(x.shape[0], not reverse):
        whole = dh + (dy[at] if running is None else dy[at] * running[at])
        to_n = whole * (1 - z[at]) * (1 - n[at] ** 2)
        to_z = whole * (before[at] - n[at]) * z[at] * (1 - z[at])
        to_r = to_n * hn[at] * r[at] * (1 - r[at])
        outer[at] = torch.cat([to_r, to_z, to_n], -1)
        inner[at] = torch.cat([to_r, to_z, to_n * r[at]], -1)
        if running is not None:
            outer[at] *= running[at]
            inner[at] *= running[at]
        dh = _kept(running, at, inner[at] @ w_hh + whole * z[at], dh)
    by_x, by_h = outer.flatten(0, 1), inner.flatten(0, 1)
    return [outer @ w_ih, dh, by_x.mT @ x.flatten(0, 1), by_h.mT @ before.flatten(0, 1), by_x.sum(0), by_h.sum(0)]


def _before(states: Tensor, first: Tensor, reverse: bool) -> Tensor:
    """Return the states that steps start from."""
    first = first.reshape(1, *states.shape[1:])
    return torch.cat([states[1:], first] if reverse else [first, states[:-1]])


# -- aclnn: layers and directions -----------------------------------------------------------------------------------


def _inputs(x: Tensor, sizes: Tensor | None, batch_first: Any) -> Tensor:
    """Return the input as [steps, batch, values]; with sizes of batches it comes without the first of them."""
    if sizes is not None and sizes.numel():
        return x.reshape(sizes.numel(), -1, x.shape[-1])
    return x.transpose(0, 1) if batch_first else x


def _outputs(y: Tensor, sizes: Tensor | None, batch_first: Any) -> Tensor:
    if sizes is not None and sizes.numel():
        return y.flatten(0, 1)
    return y.transpose(0, 1) if batch_first else y


def _each(params: Sequence[Tensor], biases: Any, layers: int, both: Any) -> Iterator[tuple[int, bool, list[Any]]]:
    """Iterate over layer, direction, and parameters, missing biases as None."""
    count = _PARAMETERS if biases else _PARAMETERS - 2
    for layer in range(layers):
        for back in range(1 + bool(both)):
            start = (layer * (1 + bool(both)) + back) * count
            yield layer, bool(back), [*params[start : start + count], *([] if biases else [None, None])]


def _shown(y: Tensor, running: Tensor | None) -> Tensor:
    return y if running is None else y * running


def _side_by_side(states: Sequence[Tensor], running: Tensor | None) -> Tensor:
    """Return the outputs of a layer, given the states of its directions."""
    return torch.cat([_shown(each, running) for each in states], -1)


def lstm(x: Tensor, params: list[Tensor], hx: list[Tensor], sizes: Tensor | None, biases: int, layers: int,
         train: int, both: int, batch_first: int) -> tuple[Any, ...]:
    """Return output, last h and c, and for each direction of each layer what the gradient needs."""
    x = _inputs(x, sizes, batch_first)
    running = _running(sizes, *x.shape[:2])
    made: list[list[Tensor]] = []
    for layer, back, (w_ih, w_hh, b_ih, b_hh) in _each(params, biases, layers, both):
        if layer and not back:
            x = _side_by_side([each[4] for each in made[-1 - bool(both) :]], running)
        at = len(made)
        made.append(lstm_steps(x, w_ih, w_hh, b_ih + b_hh if biases else None, hx[0][at], hx[1][at], running, back))
    y = _side_by_side([each[4] for each in made[-1 - bool(both) :]], running)
    ends = [0 if both and at % 2 else -1 for at in range(len(made))]
    h, c = (torch.stack([each[part][end] for each, end in zip(made, ends, strict=True)]) for part in (4, 5))
    kept: Any = [list(part) for part in zip(*made, strict=True)]
    if not train:  # gates are not wanted then, states have no shape
        kept = [[], [], [], [], None, None, []]
    i, j, f, o, hs, cs, tanh = kept
    return _outputs(y, sizes, batch_first), h, c, i, j, f, o, hs, cs, tanh


def lstm_backward(x: Tensor, hx: list[Tensor], params: list[Tensor], dy: Tensor | None, dh: Tensor | None,
                  dc: Tensor | None, kept: list[list[Tensor]], sizes: Tensor | None, biases: int, layers: int,
                  both: int, batch_first: int) -> tuple[Any, ...]:
    """Return the gradients of `lstm` for input, first h and c, and parameters."""
    x = _inputs(x, sizes, batch_first)
    running = _running(sizes, *x.shape[:2])
    rows, ways = list(_each(params, biases, layers, both)), 1 + bool(both)
    made: list[Any] = [None] * len(rows)
    slope = None if dy is None else _inputs(dy, sizes, batch_first)
    for layer in reversed(range(layers)):
        below = _side_by_side(kept[4][(layer - 1) * ways : layer * ways], running) if layer else x
        parts = [None] * ways if slope is None else slope.chunk(ways, -1)
        for at in range(layer * ways, (layer + 1) * ways):
            _, back, (w_ih, w_hh, *_) = rows[at]
            made[at] = lstm_slopes(
                below, w_ih, w_hh, hx[0][at], hx[1][at], [part[at] for part in kept], parts[at % ways],
                torch.zeros_like(hx[0][at]) if dh is None else dh[at],
                torch.zeros_like(hx[1][at]) if dc is None else dc[at], running, back,
            )  # fmt: skip
        slope = sum(each[0] for each in made[layer * ways : (layer + 1) * ways])
    grads = [grad for _, _, _, *weights, bias in made for grad in (*weights, *((bias, bias) if biases else ()))]
    dhs, dcs = (torch.stack([each[part] for each in made]) for part in (1, 2))
    return _outputs(slope, sizes, batch_first), dhs, dcs, grads


def gru(x: Tensor, params: list[Tensor], hx: Tensor, sizes: Tensor | None, biases: int, layers: int, train: int,
        both: int, batch_first: int) -> tuple[Any, ...]:
    """Return output, last h, and for each direction of each layer what the gradient needs."""
    x = _inputs(x, sizes, batch_first)
    running = _running(sizes, *x.shape[:2])
    made: list[list[Tensor]] = []
    for layer, back, (w_ih, w_hh, b_ih, b_hh) in _each(params, biases, layers, both):
        if layer and not back:
            x = _side_by_side([each[4] for each in made[-1 - bool(both) :]], running)
        made.append(gru_steps(x, w_ih, w_hh, b_ih, b_hh, hx[len(made)], running, back))
    y = _side_by_side([each[4] for each in made[-1 - bool(both) :]], running)
    h = torch.stack([each[4][0 if both and at % 2 else -1] for at, each in enumerate(made)])
    kept: Any = [list(part) for part in zip(*made, strict=True)] if train else [[]] * 5
    return _outputs(y, sizes, batch_first), h, *kept


def gru_backward(x: Tensor, params: list[Tensor], hx: Tensor, dy: Tensor, dh: Tensor, kept: list[list[Tensor]],
                 sizes: Tensor | None, biases: int, layers: int, both: int, batch_first: int) -> tuple[Any, ...]:
    """Return the gradients of `gru` for input, first h, and parameters."""
    x = _inputs(x, sizes, batch_first)
    running = _running(sizes, *x.shape[:2])
    rows, ways = list(_each(params, biases, layers, both)), 1 + bool(both)
    made: list[Any] = [None] * len(rows)
    slope = _inputs(dy, sizes, batch_first)
    for layer in reversed(range(layers)):
        below = _side_by_side(kept[4][(layer - 1) * ways : layer * ways], running) if layer else x
        parts = slope.chunk(ways, -1)
        for at in range(layer * ways, (layer + 1) * ways):
            _, back, (w_ih, w_hh, *_) = rows[at]
            made[at] = gru_slopes(
                below, w_ih, w_hh, hx[at], [part[at] for part in kept], parts[at % ways], dh[at], running, back
            )  # fmt: skip
        slope = sum(each[0] for each in made[layer * ways : (layer + 1) * ways])
    grads = [grad for _, _, *weights in made for grad in weights[: None if biases else 2]]
    return _outputs(slope, sizes, batch_first), torch.stack([each[1] for each in made]), grads


# -- aclop: one direction of one layer ------------------------------------------------------------------------------


def _mask(lengths: Tensor | None) -> Tensor | None:
    """Return which places run, of a mask over [steps, batch, values]; a number says that all do."""
    return None if lengths is None or lengths.dim() < 3 else lengths[..., :1] > 0


def dynamic_lstm(x: Tensor, w_ih: Tensor, w_hh: Tensor, bias: Tensor | None, lengths: Tensor | None, h: Tensor,
                 c: Tensor, direction: str) -> tuple[Any, ...]:
    """Return y, h, c and the gates of all steps; weights are [values, gates]."""
    running, wide = _mask(lengths), x.float()
    kept = lstm_steps(wide, w_ih.mT.float(), w_hh.mT.float(), None if bias is None else bias.float(),
                      h.reshape(h.shape[-2:]).float(), c.reshape(c.shape[-2:]).float(), running,
                      direction == _REVERSE)  # fmt: skip
    i, j, f, o, hs, cs, tanhc = kept
    return _shown(hs, running), hs, cs, i, j, f, o, tanhc


_REVERSE = "REDIRECTIONAL"


def dynamic_lstm_backward(x: Tensor, w_ih: Tensor, w_hh: Tensor, h: Tensor, c: Tensor, kept: Sequence[Tensor],
                          dy: Tensor, dh: Tensor, dc: Tensor, lengths: Tensor | None,
                          direction: str) -> list[Tensor]:  # fmt: skip
    """Return the gradients of `dynamic_lstm` for x, h, c, both weights and the bias; one step may lack its dimension.
    """
    steps = kept[0].shape
    h, c, dh, dc = (each.reshape(steps[1:]).float() for each in (h, c, dh, dc))
    dx, dh0, dc0, d_ih, d_hh, bias = lstm_slopes(
        x.reshape(*steps[:2], -1).float(), w_ih.mT.float(), w_hh.mT.float(), h, c,
        [each.reshape(steps).float() for each in kept], dy.float(), dh, dc, _mask(lengths), direction == _REVERSE,
    )  # fmt: skip
    return [dx, dh0, dc0, d_ih.mT, d_hh.mT, bias]


def weights(x: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weights of the input and of the state, which one tensor has below each other."""
    return both[: x.shape[-1]], both[x.shape[-1] :]


def joined(slopes: list[Tensor]) -> tuple[Tensor, ...]:
    """Return gradients of `dynamic_lstm` in the order of DynamicRNNGrad: weights as one, bias, x, h, c."""
    dx, dh, dc, d_ih, d_hh, bias = slopes
    return torch.cat([d_ih, d_hh]), bias, dx, dh, dc


def apart(slopes: list[Tensor]) -> tuple[Tensor, ...]:
    """Return gradients of `dynamic_lstm` in the order of DynamicRNNV2Grad: both weights, bias, x, h, c."""
    dx, dh, dc, d_ih, d_hh, bias = slopes
    return d_ih, d_hh, bias, dx, dh, dc
