"""Functions of CPU tensors that operators.yaml uses where torch has none of that form."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from runtime.capi.shim.torch.forms import DTYPES

torch: Any = importlib.import_module("torch")
aten: Any = torch.ops.aten
Tensor = Any
"""A CPU tensor; torch is no dependency, so its types are not known when this is checked."""

_BITS = 8
_MIXED = 0x9E3779B97F4A7C15
_WORD = (1 << 63) - 1
_NONE, _MEAN, _SUM = range(3)
"""Kinds of reductions of losses."""


def type_of(number: int) -> Any:
    """Return torch's type of an aclDataType."""
    return getattr(torch, DTYPES[number])


# -- lists of tensors ----------------------------------------------------------------------------------------------


def each(function: Callable[..., Tensor], first: list[Tensor], *more: Any) -> list[Tensor]:
    """Return a function's results for each tensor; of what else is a list, each gets its own element."""
    return [
        function(one, *(rest[at] if isinstance(rest, (list, tuple)) else rest for rest in more))
        for at, one in enumerate(first)
    ]


def scalar(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function of a tensor and a number; maximum and minimum take tensors alone."""
    if function in (torch.maximum, torch.minimum):
        return lambda one, value: function(one, torch.tensor(value, dtype=one.dtype))
    return function


def scaled(function: Callable[..., Tensor], alpha: Any) -> Callable[..., Tensor]:
    """Return add or sub with a factor."""
    return lambda one, other: function(one, other, alpha=alpha)


def valued(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return addcmul or addcdiv with the factor as the last argument."""
    return lambda one, first, second, value: function(one, first, second, value=value)


def listed(values: Any) -> list[Any]:
    """Return numbers that are given as a list or as a tensor."""
    return list(values) if isinstance(values, list) else list(values.tolist())


def unscale(gradients: list[Tensor], found: Tensor, inverse: Tensor) -> tuple[list[Tensor], Tensor]:
    """Return scaled-back gradients, and 1 where one of them is not finite."""
    bad = any(not bool(torch.isfinite(one).all()) for one in gradients)
    return [one * inverse for one in gradients], torch.full_like(found, 1.0) if bad else found.clone()


# -- filling and indexing ------------------------------------------------------------------------------------------


def optional(indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return indices, those of dimensions that are taken whole as None: they come without elements."""
    return [None if one is None or (one.numel() == 0 and one.dim() == 1) else one for one in indices]


def one_hot(indices: Tensor, depth: int, axis: int) -> Tensor:
    """Return where an index is its place along a new axis."""
    hot = indices.unsqueeze(-1) == torch.arange(depth)
    return hot if axis in (-1, indices.dim()) else hot.movedim(-1, axis)


def scatter(self: Tensor, dim: int, index: Tensor, source: Any, reduction: int) -> Tensor:
    """Return a tensor with values put at indices; reduction: 0 replace, 1 add, 2 multiply."""
    how = ({}, {"reduce": "add"}, {"reduce": "multiply"})[reduction]
    return torch.scatter(self, dim, index, source, **how)


def view_copy(dst: Tensor, dst_size: Tensor, dst_stride: Tensor, dst_offset: Tensor, src: Tensor, src_size: Tensor,
              src_stride: Tensor, src_offset: Tensor) -> None:
    """Copy one view into another, in place."""
    target = torch.as_strided(dst, dst_size.tolist(), dst_stride.tolist(), int(dst_offset))
    target.copy_(torch.as_strided(src, src_size.tolist(), src_stride.tolist(), int(src_offset)))


def logical(function: Callable[..., Tensor], self: Tensor, dims: Sequence[int], keepdim: int) -> Tensor:
    """Return any or all along dimensions; of all where none is given."""
    return function(self, tuple(dims), bool(keepdim)) if dims else function(self)


def unique(self: Tensor, dim: int | None, inverse: Any, counts: Any) -> tuple[Tensor | None, ...]:
    """Return the different values in order; where each element's is and how often each is there, if wanted."""
    made = torch.unique(self, True, True, True, dim)
    return made[0], made[1] if inverse else None, made[2] if counts else None


_FLAT = 1000
"""What aclnnUniqueConsecutive has for no dimension."""


def unique_consecutive(self: Tensor, dim: int, inverse: Any, counts: Any) -> tuple[Tensor | None, ...]:
    """Return values without repeats of their neighbours; inverse and counts as `unique` does."""
    made = torch.unique_consecutive(self, True, True, None if dim == _FLAT else dim)
    return made[0], made[1] if inverse else None, made[2] if counts else None


# -- networks ------------------------------------------------------------------------------------------------------


def matmul(x1: Tensor, x2: Tensor, bias: Tensor | None, first: Any, second: Any) -> Tensor:
    """Return a product, of matrices that may be transposed, with a bias."""
    made = torch.matmul(x1.mT if first else x1, x2.mT if second else x2)
    return made if bias is None else made + bias


def batch_norm(input: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, var: Tensor, training: bool, momentum: float,
               eps: float) -> tuple[Any, ...]:
    """Return a batch normalisation; running statistics are changed in place."""
    made, *saved = aten.native_batch_norm(input, weight, bias, mean, var, training, momentum, eps)
    return (made, *(saved if training else (mean, torch.rsqrt(var + eps))), None, None)


def rms_norm(input: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return a normalisation by the root of the mean square, and the reciprocal of that root."""
    dims = tuple(range(input.dim() - weight.dim(), input.dim()))
    wide = input.float()
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + eps)
    return (wide * rstd * weight.float()).to(input.dtype), rstd


def rms_norm_backward(grad: Tensor, input: Tensor, rstd: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of `rms_norm` for its input and weight."""
    dims = tuple(range(input.dim() - weight.dim(), input.dim()))
    wide, slope = input.float(), grad.float()
    normal = wide * rstd
    inner = slope * weight.float()
    d_input = rstd * (inner - normal * (inner * normal).mean(dims, keepdim=True))
    return d_input.to(input.dtype), (slope * normal).sum(tuple(range(input.dim() - weight.dim())))


def swiglu(self: Tensor, dim: int) -> Tensor:
    """Return silu of the first half along a dimension times the second."""
    first, second = self.chunk(2, dim)
    return torch.nn.functional.silu(first) * second


def swiglu_backward(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """Return the gradient of `swiglu`."""
    first, second = self.chunk(2, dim)
    return torch.cat([aten.silu_backward(grad * second, first), grad * torch.nn.functional.silu(first)], dim)


def max_pool_backward(grad: Tensor, self: Tensor, kernel: list[int], stride: list[int], padding: list[int],
                      dilation: list[int], ceil: bool) -> Tensor:
    """Return the gradient of a pooling, whose places are found again: what the device keeps of them is its own."""
    _, indices = aten.max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil)
    return aten.max_pool2d_with_indices_backward(grad, self, kernel, stride, padding, dilation, ceil, indices)


# -- losses --------------------------------------------------------------------------------------------------------


def l1_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Return absolute differences, their mean or their sum."""
    gaps = (self - target).abs()
    return gaps if reduction == _NONE else gaps.mean() if reduction == _MEAN else gaps.sum()


def reduced(slope: Tensor, self: Tensor, reduction: int) -> Tensor:
    """Return the gradient of a loss for its input, given that of each element's part."""
    return slope / self.numel() if reduction == _MEAN else slope


def l1_loss_backward(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Return the gradient of `l1_loss`."""
    return reduced(grad * (self - target).sign(), self, reduction)


def logits_backward(grad: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, positive: Tensor | None,
                    reduction: int) -> Tensor:
    """Return the gradient of binary cross entropy with logits."""
    chance = torch.sigmoid(self)
    if positive is None:
        made = chance - target
    else:
        made = (positive * target + 1 - target) * chance - positive * target
    made = made * grad if weight is None else made * grad * weight
    return reduced(made, self, reduction)


# -- random numbers ------------------------------------------------------------------------------------------------


def generator(seed: Any, offset: Any) -> Any:
    """Return a generator of its own for each place of a seed's sequence; not the sequence of a card.

    Both are numbers, or tensors of one, which graphs have.
    """
    return torch.Generator().manual_seed((int(seed) ^ int(offset) * _MIXED) & _WORD)


def keep_mask(shape: Sequence[int], probability: float, seed: int, offset: int) -> Tensor:
    """Return one bit for each element, 1 for those that stay, in bytes that fill up 128 bits."""
    count = 1
    for size in shape:
        count *= size
    whole = -(-count // 128) * 128
    kept = torch.rand(whole, generator=generator(seed, offset)) >= probability
    weights = torch.tensor([1 << bit for bit in range(_BITS)], dtype=torch.int32)
    return (kept.reshape(-1, _BITS).int() * weights).sum(1).to(torch.uint8)


def kept_bits(mask: Tensor, like: Tensor) -> Tensor:
    """Return 1 for each element of a tensor that stays, of a mask with a bit for each."""
    bits = (mask.reshape(-1, 1) >> torch.arange(_BITS, dtype=torch.uint8)) & 1
    return bits.reshape(-1)[: like.numel()].reshape(like.shape).to(like.dtype)


def keep(self: Tensor, mask: Tensor, probability: float) -> Tensor:
    """Return what stays of a tensor, scaled for what went."""
    return self * kept_bits(mask, self) / (1 - probability) if probability < 1 else torch.zeros_like(self)


def dropout(self: Tensor, probability: float, seed: int, offset: int) -> tuple[Tensor, Tensor]:
    """Return what stays of a tensor, and the mask."""
    mask = keep_mask(self.shape, probability, seed, offset)
    return keep(self, mask, probability), mask


# -- optimisers ----------------------------------------------------------------------------------------------------


def adam_w(self: Tensor, m: Tensor, v: Tensor, most: Tensor | None, grad: Tensor, step: Tensor, lr: float, beta1: float,
           beta2: float, decay: float, eps: float, amsgrad: int, maximize: int) -> tuple[Any, ...]:
    """Return one step of AdamW: parameters, both averages, and the largest second one."""
    count = float(step) + 1
    slope = -grad if maximize else grad
    m = torch.lerp(m, slope.to(m.dtype), 1 - beta1)
    v = v * beta2 + (1 - beta2) * slope * slope
    top = torch.maximum(most, v) if amsgrad and most is not None else None
    size = (v if top is None else top).sqrt() / (1 - beta2**count) ** 0.5 + eps
    return self * (1 - lr * decay) - lr / (1 - beta1**count) * m / size, m, v, top
