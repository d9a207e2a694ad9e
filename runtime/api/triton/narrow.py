"""Arithmetic of bfloat16 in Triton's interpreter, which keeps such numbers as integers and computes with these.

Here they become single floats for an operation, and its result is rounded to the nearest again. 8-bit floats are only
loaded, stored and converted: other operations on them are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

_HALF: Final = 16
_BIAS: Final = 0x7FFF
_QUIET: Final = 0x40
_EIGHT: Final = 8


class NotInterpreted(Exception):
    """A kernel's source does what the interpreter would compute wrongly."""


def widened(data: Any) -> Any:
    """Return bfloat16 numbers, kept as 16-bit integers, as single floats."""
    return (np.ascontiguousarray(data).astype(np.uint32) << _HALF).view(np.float32)


def narrowed(data: Any) -> Any:
    """Return floats as bfloat16 kept as 16-bit integers: rounded to the nearest, to even in the middle."""
    bits = np.ascontiguousarray(data, np.float32).view(np.uint32)
    rounded = (bits + (bits >> _HALF & 1) + _BIAS) >> _HALF
    return np.where(np.isnan(data), bits >> _HALF | _QUIET, rounded).astype(np.uint16)


class NarrowFloats:
    """The builder's methods that compute, for bfloat16 too."""

    def __init__(self, module: Any, language: Any) -> None:
        self._handle, self._dtype_of = module.TensorHandle, module._get_np_dtype
        self._bfloat16 = language.bfloat16

    def methods(self, builder: Any) -> dict[str, Callable[..., Any]]:
        """Return what takes the place of the builder's own methods."""
        binary, unary, ternary = builder.binary_op, builder.unary_op, builder.ternary_op
        cast, dot, fma = builder.cast_impl, builder.create_dot, builder.create_fma
        made = self._handle

        def binary_op(lhs: Any, rhs: Any, op: Any) -> Any:
            return self._computed(lhs.dtype, lambda *rows: binary(*rows, op), lhs, rhs)

        def unary_op(arg: Any, op: Any) -> Any:
            return self._computed(arg.dtype, lambda row: unary(row, op), arg)

        def ternary_op(first: Any, second: Any, third: Any, op: Any) -> Any:
            if op is np.where:  # it only chooses
                return ternary(first, second, third, op)
            return self._computed(third.dtype, lambda *rows: ternary(*rows, op), first, second, third)

        def create_fma(x: Any, y: Any, z: Any) -> Any:
            return self._computed(z.dtype, fma, x, y, z)

        def create_rsqrt(arg: Any) -> Any:
            return unary_op(arg, lambda data: 1 / np.sqrt(data))

        def create_dot(a: Any, b: Any, d: Any, *rest: Any) -> Any:
            rows = [made(widened(each.data), each.dtype) if self._is(each.dtype) else each for each in (a, b)]
            return dot(*rows, d, *rest)

        def cast_impl(src: Any, dst_type: Any) -> Any:
            wanted = dst_type.scalar
            if not self._is(src.dtype) and not self._is(wanted):
                return cast(src, dst_type)
            data = widened(src.data) if self._is(src.dtype) else src.data.astype(np.float32)
            return made(narrowed(data) if self._is(wanted) else data.astype(self._dtype_of(dst_type)), wanted)

        def get_bf16(value: float) -> Any:
            return made(narrowed(np.array([value], np.float32)), self._bfloat16)

        return {
            "get_bf16": get_bf16, "binary_op": binary_op, "unary_op": unary_op, "ternary_op": ternary_op,
            "create_fma": create_fma, "create_rsqrt": create_rsqrt, "create_dot": create_dot, "cast_impl": cast_impl,
        }  # fmt: skip

    def applied(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        """Return a reduction or scan that refuses types which it would compute wrongly."""

        def made(operation: Any, given: Any) -> Any:
            for each in given if isinstance(given, tuple) else (given,):
                if self._is(each.dtype) or self._is_eight(each.dtype):
                    raise NotInterpreted(f"a reduction or scan of {each.dtype.scalar}: convert it, .to(tl.float32)")
            return apply(operation, given)

        return made

    def _computed(self, kind: Any, op: Callable[..., Any], *operands: Any) -> Any:
        """Return what an operation gives, computed in single floats where operands are bfloat16."""
        if any(self._is_eight(each.dtype) for each in operands):
            raise NotInterpreted(f"arithmetic on {kind.scalar}: convert it, .to(tl.float32)")
        if not any(map(self._is, (each.dtype for each in operands))):
            return op(*operands)
        rows = [self._handle(widened(each.data), each.dtype) if self._is(each.dtype) else each for each in operands]
        result = op(*rows)
        if result.data.dtype == np.bool_ or not self._is(result.dtype):
            return result
        return self._handle(narrowed(result.data), result.dtype)

    def _is(self, kind: Any) -> bool:
        return bool(kind.scalar == self._bfloat16)

    def _is_eight(self, kind: Any) -> bool:
        scalar = kind.scalar
        return bool(scalar.is_floating() and scalar.primitive_bitwidth == _EIGHT)
