"""Computes an operator when the device gets to it: CPU tensors over the fake's memory, and torch's own functions."""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any

from npuhal.interrupts import raised_by_handler
from runtime.capi.shim.torch.composed import Tensor, torch
from runtime.capi.shim.torch.forms import DTYPES, Form, TensorForm
from runtime.capi.shim.torch.reports import WORDS

Shape = tuple[int, ...]


def run(form: Form, context: Any) -> list[Shape]:
    """Compute a call of a form; returns the shapes that the data decide.

    `context` is the fake's, its argument block has a number and the call's values.
    """
    block = context.args.bytes(8, 8 * form.values) if form.values else b""
    values = struct.unpack(f"<{form.values}q", block)
    if WORDS.watching:
        WORDS.operands(form, values)
    with torch.no_grad(), torch._C.DisableTorchFunction():  # else the program's default device holds here, too
        return _run(form, context, values)


def _run(form: Form, context: Any, values: tuple[Any, ...]) -> list[Shape]:
    tensors = [_tensor(context, each, values[each.index]) for each in form.tensors]
    operator = form.operator
    given = {name: form.arguments[name](values, tensors) for name in form.arguments}
    try:
        results = operator.compiled()(**given)
        return _store(form, [given[name] for name in operator.outputs], results)
    except Exception as problem:
        if raised_by_handler(problem):
            raise
        failed: Any = sys.modules[type(context).__module__]  # runtime imports no fakes; the context comes from there
        raise failed.Fail(f"{form.describe()}: {type(problem).__name__}: {problem}") from problem


def _tensor(context: Any, form: TensorForm, address: int) -> Tensor:
    dtype = getattr(torch, DTYPES[form.dtype])
    size = form.span
    if not size:
        return torch.empty(form.shape, dtype=dtype)
    host = context.args.memory(address, size, form.argument, reads=form.reads, writes=form.writes)
    flat = torch.frombuffer((ctypes.c_uint8 * size).from_address(host), dtype=dtype)
    return flat.as_strided(form.shape, form.strides)


def _store(form: Form, outputs: list[Any], results: Any) -> list[Shape]:
    """Write what was computed; returns the shapes that the data decide.

    An output that is not wanted is None, and so is a result that is there already.
    """
    if len(outputs) == 1:
        several = isinstance(results, (tuple, list)) and not isinstance(outputs[0], list)
        rows = list(results) if several else [results]
    else:
        rows = list(results)
    if len(rows) != len(outputs):
        raise ValueError(f"{len(rows)} results for {len(outputs)} outputs")
    shapes = []
    for name, target, result in zip(form.operator.outputs, outputs, rows, strict=True):
        if name in form.operator.sized:
            shapes.append(_put_sized(target, result))
        elif target is None or result is None:
            continue
        elif isinstance(target, list):
            for each, value in zip(target, result, strict=True):
                _put(each, value)
        else:
            _put(target, result)
    return shapes


def _put_sized(target: Tensor, result: Tensor | None) -> Shape:
    """Write a result to the start of its output; returns its shape."""
    if result is None:
        return tuple(target.shape)
    if result.dim() != target.dim() or result.numel() > target.numel():
        raise ValueError(f"the result has the shape {list(result.shape)}, its output at most {list(target.shape)}")
    target.reshape(-1)[: result.numel()].copy_(result.reshape(-1))
    return tuple(result.shape)


def _put(target: Tensor, result: Tensor) -> None:
    if result.shape != target.shape:
        if result.numel() != target.numel():
            raise ValueError(f"the result has the shape {list(result.shape)}, its output {list(target.shape)}")
        result = result.reshape(target.shape)
    if result.data_ptr() != target.data_ptr() or result.stride() != target.stride():
        target.copy_(result)
