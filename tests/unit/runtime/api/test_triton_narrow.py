"""bfloat16 in the interpreter: kept as integers, computed in single floats, rounded to the nearest."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.api.triton.narrow import NarrowFloats, NotInterpreted, narrowed, widened


class Kind:
    """A scalar type."""

    def __init__(self, name: str, bits: int, floating: bool = True) -> None:
        self.name, self.primitive_bitwidth, self._floating, self.scalar = name, bits, floating, self

    def is_floating(self) -> bool:
        return self._floating

    def __repr__(self) -> str:
        return self.name


BF16, F32, FP8, I32 = Kind("bf16", 16), Kind("fp32", 32), Kind("fp8e5", 8), Kind("i32", 32, False)
TYPES = {BF16: np.uint16, F32: np.float32, FP8: np.uint8, I32: np.int32}


class Handle:
    """TensorHandle."""

    def __init__(self, data: Any, dtype: Kind) -> None:
        self.data, self.dtype = data, dtype


class Builder:
    """The methods that are replaced, as the interpreter has them."""

    def binary_op(self, lhs: Handle, rhs: Handle, op: Any) -> Handle:
        return Handle(op(lhs.data, rhs.data), lhs.dtype)

    def unary_op(self, arg: Handle, op: Any) -> Handle:
        return Handle(op(arg.data), arg.dtype)

    def ternary_op(self, first: Handle, second: Handle, third: Handle, op: Any) -> Handle:
        return Handle(op(first.data, second.data, third.data), third.dtype)

    def create_fma(self, x: Handle, y: Handle, z: Handle) -> Handle:
        return Handle(x.data * y.data + z.data, z.dtype)

    def create_dot(self, a: Handle, b: Handle, d: Handle, *_: Any) -> Handle:
        return Handle(np.matmul(a.data, b.data, dtype=d.data.dtype) + d.data, d.dtype)

    def cast_impl(self, src: Handle, dst: Kind) -> Handle:
        return Handle(src.data.astype(TYPES[dst]), dst)


@pytest.fixture
def builder() -> types.SimpleNamespace:
    """The builder's methods with bfloat16."""
    module = types.SimpleNamespace(TensorHandle=Handle, _get_np_dtype=TYPES.__getitem__)
    made = NarrowFloats(module, types.SimpleNamespace(bfloat16=BF16))
    return types.SimpleNamespace(**made.methods(Builder()), applied=made.applied)


def half(*values: float) -> Handle:
    return Handle(narrowed(np.array(values, np.float32)), BF16)


def values(handle: Handle) -> list[float]:
    data = widened(handle.data) if handle.dtype is BF16 else handle.data
    return [float(each) for each in np.asarray(data).ravel()]


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1.0, 0x3F80), (-2.0, 0xC000), (0.0, 0), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82),
     (1 + 2**-8 + 2**-20, 0x3F81), (float("inf"), 0x7F80), (3.4e38, 0x7F80), (1e-40, 0x0001)],
)  # fmt: skip
def test_rounding_is_to_the_nearest_and_to_even_in_the_middle(value: float, bits: int) -> None:
    assert narrowed(np.array([value], np.float32)).tolist() == [bits]


def test_nan_stays_nan() -> None:
    data = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(widened(narrowed(data))).all()


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))
def test_what_was_bfloat16_comes_back(floats: list[float]) -> None:
    bits = narrowed(np.array(floats, np.float32))
    assert np.array_equal(narrowed(widened(bits)), bits)
    extended = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    with np.errstate(over="ignore"):
        assert np.array_equal(bits, np.array(floats, np.float32).astype(extended.bfloat16).view(np.uint16))


def test_operations(builder: Any) -> None:
    a, b = half(1.5, -2.0), half(0.25, 4.0)
    assert values(builder.binary_op(a, b, np.add)) == [1.75, 2.0]
    assert builder.binary_op(a, b, np.add).data.dtype == np.uint16
    assert builder.binary_op(a, b, np.less).data.tolist() == [False, True]
    assert values(builder.unary_op(a, np.abs)) == [1.5, 2.0]
    assert values(builder.create_rsqrt(half(4.0))) == [0.5]
    assert values(builder.create_fma(a, b, half(1.0, 1.0))) == [1.375, -7.0]
    assert values(builder.ternary_op(a, half(-1.0, -1.0), half(1.0, 1.0), np.clip)) == [1.0, -1.0]
    assert values(builder.ternary_op(Handle(np.array([True, False]), I32), a, b, np.where)) == [1.5, 4.0]
    assert values(builder.get_bf16(0.5)) == [0.5]


def test_what_is_no_bfloat16_is_left_alone(builder: Any) -> None:
    a, b = Handle(np.array([3, 4]), I32), Handle(np.array([1, 2]), I32)
    assert builder.binary_op(a, b, np.subtract).data.tolist() == [2, 2]
    assert builder.cast_impl(a, F32).data.dtype == np.float32


def test_conversions_and_products(builder: Any) -> None:
    assert values(builder.cast_impl(half(1.5), F32)) == [1.5]
    assert values(builder.cast_impl(half(-2.5), I32)) == [-2.0]
    assert values(builder.cast_impl(Handle(np.array([257], np.int32), I32), BF16)) == [256.0]
    left, right = half(1.0, 2.0), half(3.0, 4.0)
    left.data, right.data = left.data.reshape(1, 2), right.data.reshape(2, 1)
    assert values(builder.create_dot(left, right, Handle(np.zeros((1, 1), np.float32), F32), None, 0)) == [11.0]


def test_what_would_come_out_wrong_is_refused(builder: Any) -> None:
    eight = Handle(np.array([1], np.uint8), FP8)
    with pytest.raises(NotInterpreted, match=r"fp8e5: convert it, \.to\(tl\.float32\)"):
        builder.binary_op(eight, eight, np.add)
    reduced = builder.applied(lambda operation, given: "done")
    for kind in (BF16, FP8):
        with pytest.raises(NotInterpreted, match="reduction or scan"):
            reduced(None, (types.SimpleNamespace(dtype=kind),))
    assert reduced(None, types.SimpleNamespace(dtype=F32)) == "done"
