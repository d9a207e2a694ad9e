"""More functions of CPU tensors that operators.yaml uses: gradients, losses, and tables in forms that torch lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.capi.shim.torch.composed import Tensor, aten, generator, reduced, rms_norm, torch

_REDUCTIONS = ("", "sum", "prod", "amax", "amin", "mean")
"""Of aclnnScatterReduce, by its number; 0 replaces."""
_GELU = 1.702
"""The factor of the logistic function that stands for the error function."""
_INTERLEAVED = 1


# -- shapes and tables ----------------------------------------------------------------------------------------------


def factor(scale: float) -> float | None:
    """Return a scale of resizing; none is given as a number that is not positive."""
    return scale if scale > 0 else None


def repeat_backward(grad: Tensor, repeats: Tensor, dim: int, out: Tensor) -> Tensor:
    """Return the gradient of repeat_interleave: repeats of an element are added up."""
    if repeats.numel() == 1:
        repeats = repeats.expand(out.shape[dim])
    return torch.zeros(out.shape, dtype=grad.dtype).index_add(dim, torch.repeat_interleave(repeats.long()), grad)


def scatter_reduce(self: Tensor, dim: int, index: Tensor, source: Tensor, how: int, start: int) -> Tensor:
    """Return a tensor with values reduced into it at indices; start: whether what is there takes part."""
    if not how:
        return torch.scatter(self, dim, index, source)
    return torch.scatter_reduce(self, dim, index, source, _REDUCTIONS[how], include_self=bool(start))


def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale: int, mode: int, weights: Tensor | None,
                  last: int, padding: int, others: Sequence[Tensor]) -> tuple[Any, ...]:
    """Return bags of rows, and whose each index is, how many each bag has, and where its largest come from.

    Of the `others`, those without elements are not wanted.
    """
    out, _, sizes, most = aten._embedding_bag(
        weight, indices, offsets, bool(scale), mode, False, weights, bool(last), padding
    )  # fmt: skip
    bags = torch.bucketize(torch.arange(indices.numel()), offsets, right=True) - 1
    made = bags, sizes, most
    wanted = (value if value.numel() == other.numel() else None for value, other in zip(made, others, strict=True))
    return out, *wanted


def svd(self: Tensor, full: bool, vectors: bool) -> tuple[Tensor | None, ...]:
    """Return singular values, left vectors, and right ones as columns; without vectors those are None."""
    if not vectors:
        return torch.linalg.svdvals(self), None, None
    u, s, vh = torch.linalg.svd(self, full)
    return s, u, vh.mT


def any_number(self: Tensor, seed: Any, offset: Any) -> Tensor:
    """Return random numbers from all that a type can hold without a gap."""
    return torch.empty_like(self).random_(generator=generator(seed, offset))


# -- normalising and turning ----------------------------------------------------------------------------------------


def add_rms_norm(first: Tensor, second: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return `rms_norm` of a sum, the reciprocal of its root, and the sum."""
    whole = first + second
    return (*rms_norm(whole, weight, eps), whole)


def _turned(x: Tensor, mode: int) -> Tensor:
    """Return what the sine is multiplied by: halves, or neighbours, changed over, the first with its sign changed."""
    if mode == _INTERLEAVED:
        return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    one, two = x.chunk(2, -1)
    return torch.cat([-two, one], -1)


def rotary(self: Tensor, cos: Tensor, sin: Tensor, mode: int) -> Tensor:
    """Return a rotary position embedding."""
    return self * cos + _turned(self, mode) * sin


def rotary_backward(grad: Tensor, cos: Tensor, sin: Tensor, self: Tensor | None, mode: int) -> tuple[Any, ...]:
    """Return the gradients of `rotary` for its input, and where that is given for cos and sin."""
    slope = grad * cos - _turned(grad * sin, mode)
    if self is None:
        return slope, None, None
    return slope, (grad * self).sum_to_size(cos.shape), (grad * _turned(self, mode)).sum_to_size(sin.shape)


# -- gradients ------------------------------------------------------------------------------------------------------


def fast_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of x * sigmoid(1.702 x)."""
    chance = torch.sigmoid(_GELU * self)
    return grad * chance * (1 + _GELU * self * (1 - chance))


def prelu_backward(grad: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of a leaky function whose slopes are one for all or one for each channel."""
    slopes = weight.reshape(-1, *[1] * (self.dim() - 2)) if weight.numel() > 1 else weight.reshape(())
    to_weight = torch.where(self > 0, 0, self * grad)
    others = [dim for dim in range(self.dim()) if weight.numel() == 1 or dim != 1]
    return torch.where(self > 0, grad, slopes * grad), to_weight.sum(others).reshape(weight.shape)


def kl_target_backward(grad: Tensor, self: Tensor, target: Tensor, reduction: int, log: int) -> Tensor:
    """Return the gradient of a Kullback-Leibler divergence for its target."""
    slope = target.exp() * (target + 1 - self) if log else torch.where(target > 0, target.log() + 1 - self, 0)
    return reduced(slope * grad, self, reduction)


def ctc_loss(self: Tensor, targets: Tensor, lengths: list[int], target_lengths: list[int], blank: int, zero: bool,
             alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Return the losses, and what the gradient needs, in the shape that it is wanted in."""
    loss, made = aten._ctc_loss(self, targets, lengths, target_lengths, blank, zero)
    padded = torch.zeros(alpha.shape, dtype=made.dtype)
    padded[tuple(map(slice, made.shape))] = made
    return loss, padded


def ctc_loss_backward(grad: Tensor, self: Tensor, targets: Tensor, lengths: list[int], target_lengths: list[int],
                      loss: Tensor, alpha: Tensor, blank: int, zero: bool) -> Tensor:
    """Return the gradient of `ctc_loss`."""
    used = alpha[..., : 2 * max(target_lengths) + 1]
    return aten._ctc_loss_backward(
        grad, self, targets, lengths, target_lengths, loss, used.contiguous(), blank, zero
    )  # fmt: skip


def cdist_slopes(grad: Tensor, x1: Tensor, x2: Tensor, distance: Tensor, p: float) -> Tensor:
    """Return the gradient of distances for x1, given for all pairs of rows; p below 0: the largest difference."""
    gap = x1 - x2
    if p < 0:
        slope = gap.sign() * (gap.abs() == distance)
    else:
        slope = torch.where(distance == 0, 0, gap.sign() * (gap.abs() / distance) ** (p - 1))
    return (slope * grad).sum(-2)


_LARGEST = 2.0**31
"""What torch_npu has for an infinite power, with its sign."""


def norm_sums(x: Tensor, p: float, axes: list[int], keepdim: Any) -> Tensor:
    """Return sums of powers along dimensions, or the largest or smallest absolute value."""
    size = x.abs()
    if abs(p) >= _LARGEST:
        return (size.amax if p > 0 else size.amin)(axes, bool(keepdim))
    return ((size != 0).float() if p == 0 else size**p).sum(axes, bool(keepdim))


def norm_root(x: Tensor, p: float) -> Tensor:
    """Return norms of what `norm_sums` has given."""
    return x if p == 0 or abs(p) >= _LARGEST else x ** (1 / p)


def amp_scale(scale: Tensor, tracker: Tensor, found: Tensor, growth: float, backoff: float,
              interval: int) -> tuple[Tensor, Tensor]:
    """Return the next scale of losses, and how many steps have gone well in a row; both are changed in place."""
    aten._amp_update_scale_(scale, tracker, found, growth, backoff, interval)
    return scale, tracker
