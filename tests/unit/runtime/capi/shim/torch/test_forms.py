"""Forms of calls as objects.c writes them: the C file is compiled, called, and read back."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path
from typing import Any

import pytest

from npuhal.compiler import compile_library, find_compiler
from runtime import errors
from runtime.capi.shim.torch import forms, libraries

HERE = Path(libraries.__file__).parent
SPY = """
#include <stdint.h>
#include <string.h>
static int64_t kept[4096], result;
static uint64_t counts[2];
void answer_with(int64_t code) { result = code; }
uint64_t seen(int64_t *into, uint64_t which) { memcpy(into, kept, 8 * (counts[0] + counts[1])); return counts[which]; }
int64_t npuhal_acl_call(uint32_t function, uint64_t *args, int64_t failed) {
    (void)failed;
    if (function == 0x20000) return result;
    counts[0] = args[1], counts[1] = args[3];
    memcpy(kept, (void *)args[0], 8 * args[1]);
    memcpy(kept + args[1], (void *)args[2], 8 * args[3]);
    return function;
}
void *aclGetDataBufferAddr(const void *buffer) { return (void *)((const uint64_t *)buffer)[0]; }
uint64_t aclGetDataBufferSizeV2(const void *buffer) { return ((const uint64_t *)buffer)[1]; }
"""
RUN, RUN_BY_NAME = 0x20001, 0x20002


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """objects.c with a spy in the place of npuhal."""
    if find_compiler() is None:
        pytest.skip("there is no C compiler on this machine")
    folder = tmp_path_factory.mktemp("objects")
    (folder / "spy.c").write_text(SPY)
    compile_library(folder / "libobjects.so", [folder / "spy.c", HERE / "objects.c"])
    made = ctypes.CDLL(str(folder / "libobjects.so"))
    for name in ("aclCreateTensor", "aclCreateScalar", "aclCreateIntArray", "aclCreateFloatArray", "aclCreateBoolArray",
                 "aclCreateTensorList", "aclCreateTensorDesc", "aclopCreateAttr", "seen"):  # fmt: skip
        getattr(made, name).restype = ctypes.c_void_p
    return made


def longs(*values: int) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


def tensor(library: ctypes.CDLL, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, dtype: int = 0,
           data: int = 0x1000, layout: int = 2) -> int:
    made = library.aclCreateTensor(longs(*shape), ctypes.c_uint64(len(shape)), dtype, longs(*strides),
                                   ctypes.c_int64(offset), layout, longs(64), ctypes.c_uint64(1),
                                   ctypes.c_void_p(data))  # fmt: skip
    assert made
    return int(made)


def call(library: ctypes.CDLL, name: str, kinds: str, *arguments: int) -> tuple[bytes, tuple[int, ...]]:
    """Make both calls of an operator; returns the words of its form, and its values."""
    words = (ctypes.c_uint64 * max(len(arguments), 1))(*arguments)
    size, executor = ctypes.c_uint64(9), ctypes.c_void_p()
    found = ctypes.byref(size), ctypes.byref(executor)
    code = library.npuhal_torch_prepare(name.encode(), kinds.encode(), words, *found)
    assert (code, size.value) == (0, 0)
    assert library.npuhal_torch_run(executor, None) == RUN
    return seen(library)


def seen(library: ctypes.CDLL) -> tuple[bytes, tuple[int, ...]]:
    kept = (ctypes.c_int64 * 4096)()
    form, values = int(library.seen(kept, 0) or 0), int(library.seen(kept, 1) or 0)
    return bytes(kept)[: 8 * form], tuple(kept[form : form + values])


def absent(name: str) -> errors.RuntimeFault:
    return errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"no {name}")


def test_tensors_and_numbers_of_a_call_come_through(library: ctypes.CDLL) -> None:
    first, second = tensor(library, (2, 3), (1, 2), offset=4), tensor(library, (), ())
    alpha = library.aclCreateScalar(ctypes.byref(ctypes.c_double(2.5)), 11)
    data, values = call(library, "aclnnAdd", "oooo", first, second, alpha, tensor(library, (2, 3), (3, 1)))
    form = forms.read_form(5, data, absent)
    assert form.number == 5
    assert [each.argument for each in form.tensors] == ["self", "other", "out"]
    view = form.tensors[0]
    assert (view.shape, view.strides, view.offset, view.storage) == ((2, 3), (1, 2), 4, (64,))
    assert values[view.index] == 0x1000 + 4 * 4
    assert (view.contiguous, form.tensors[2].contiguous, view.span, form.tensors[1].span) == (False, True, 24, 4)
    assert [(each.reads, each.writes) for each in form.tensors] == [(True, False), (True, False), (False, True)]
    assert form.arguments["alpha"](values, ()) == 2.5
    assert str(view) == "self float32[2, 3], strides [1, 2], offset 4"
    assert form.values == len(values)


def test_equal_calls_have_equal_forms_whatever_their_values(library: ctypes.CDLL) -> None:
    made = []
    for number in (1, 2):
        value = library.aclCreateScalar(ctypes.byref(ctypes.c_int64(number)), 9)
        made.append(call(library, "aclnnMuls", "ooo", tensor(library, (3,), (1,), data=number << 12), value,
                         tensor(library, (3,), (1,))))  # fmt: skip
    assert made[0][0] == made[1][0]
    assert made[0][1] != made[1][1]


def test_lists_integers_reals_text_and_nothing(library: ctypes.CDLL) -> None:
    both = (ctypes.c_void_p * 2)(tensor(library, (2,), (1,)), tensor(library, (3,), (1,), dtype=9))
    tensors = library.aclCreateTensorList(both, ctypes.c_uint64(2))
    data, values = call(library, "aclnnCat", "oio", tensors, 2**64 - 1, tensor(library, (5,), (1,)))
    form = forms.read_form(0, data, absent)
    assert form.arguments["tensors"](values, ("a", "b", "c")) == ["a", "b"]
    assert form.arguments["dim"](values, ()) == -1
    assert [each.argument for each in form.tensors] == ["tensors[0]", "tensors[1]", "out"]
    eps = struct.unpack("<Q", struct.pack("<d", 1e-5))[0]
    dims = library.aclCreateIntArray(longs(4, 5), ctypes.c_uint64(2))
    flat = tensor(library, (20,), (1,))
    data, values = call(library, "aclnnLayerNorm", "ooood" + "ooo", flat, dims, 0, 0, eps, flat, 0, 0)
    form = forms.read_form(0, data, absent)
    assert form.arguments["shape"](values, ()) == [4, 5]
    assert form.arguments["eps"](values, ()) == 1e-5
    assert form.arguments["weight"](values, ()) is None
    text = ctypes.create_string_buffer(b"tanh, and more")
    data, values = call(library, "aclnnGeluBackwardV2", "ooso", flat, flat, ctypes.addressof(text), flat)
    assert forms.read_form(0, data, absent).arguments["approximate"](values, ()) == "tanh, and more"


def test_arrays_of_reals_and_truth_values(library: ctypes.CDLL) -> None:
    mask = library.aclCreateBoolArray((ctypes.c_uint8 * 3)(1, 0, 1), ctypes.c_uint64(3))
    reals = library.aclCreateFloatArray((ctypes.c_float * 2)(0.5, -2), ctypes.c_uint64(2))
    data, values = call(library, "aclnnRoll", "oooo", 0, mask, reals, 0)
    form = forms.read_form(0, data, absent)
    assert form.arguments["shifts"](values, ()) == [True, False, True]
    assert form.arguments["dims"](values, ()) == [0.5, -2.0]


def test_where_a_shape_goes_that_the_data_decide_is_among_the_values(library: ctypes.CDLL) -> None:
    flat, result = tensor(library, (6,), (1,)), tensor(library, (6, 1), (1, 1), dtype=9)
    data, values = call(library, "aclnnNonzero", "ou", flat, result)
    form = forms.read_form(0, data, absent)
    (index,) = form.sized
    longs_at = (ctypes.c_int64 * 2).from_address(values[index])
    assert list(longs_at) == [6, 1]
    longs_at[0] = 4
    shape, dims = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    assert library.aclGetViewShape(ctypes.c_void_p(result), ctypes.byref(shape), ctypes.byref(dims)) == 0
    assert [shape[at] for at in range(dims.value)] == [4, 1]
    assert form.values == len(values) == 3


def test_a_call_by_name_has_descriptions_attributes_and_constants(library: ctypes.CDLL) -> None:
    described = library.aclCreateTensorDesc(0, 2, longs(2, 3), 2)
    axes = library.aclCreateTensorDesc(3, 1, longs(2), 2)
    library.aclSetTensorPlaceMent(ctypes.c_void_p(axes), 1)
    result = library.aclCreateTensorDesc(0, 0, None, 2)
    constant = (ctypes.c_int32 * 2)(0, 1)
    buffers = [(ctypes.c_uint64 * 2)(0x2000, 24), (ctypes.c_uint64 * 2)(ctypes.addressof(constant), 8),
               (ctypes.c_uint64 * 2)(0x3000, 4)]  # fmt: skip
    attributes = library.aclopCreateAttr()
    assert library.aclopSetAttrBool(ctypes.c_void_p(attributes), b"keep_dims", 1) == 0
    pointers = [ctypes.addressof(each) for each in buffers]
    code = library.aclopCompileAndExecute(
        b"ReduceSum", 2, (ctypes.c_void_p * 2)(described, axes), (ctypes.c_void_p * 2)(*pointers[:2]), 1,
        (ctypes.c_void_p * 1)(result), (ctypes.c_void_p * 1)(pointers[2]), ctypes.c_void_p(attributes), 0, 0, None,
        None,
    )  # fmt: skip
    assert code == RUN_BY_NAME
    data, values = seen(library)
    form = forms.read_described(1, data, absent)
    assert [each.argument for each in form.tensors] == ["x", "y"]
    assert [values[each.index] for each in form.tensors] == [0x2000, 0x3000]
    assert form.arguments["keep_dims"](values, ()) == 1


def test_what_is_not_computed_is_refused_by_name(library: ctypes.CDLL) -> None:
    flat = tensor(library, (4,), (1,))
    data, _ = call(library, "aclnnNowhere", "o", flat)
    with pytest.raises(errors.NotSupported, match="aclnnNowhere"):
        forms.read_form(0, data, absent)
    odd = tensor(library, (4,), (1,), dtype=36)
    data, _ = call(library, "aclnnExp", "oo", odd, odd)
    with pytest.raises(errors.NotSupported, match="aclDataType 36"):
        forms.read_form(0, data, absent)
    private = tensor(library, (4,), (1,), layout=29)
    data, _ = call(library, "aclnnExp", "oo", private, private)
    with pytest.raises(errors.NotSupported, match="FRACTAL_NZ"):
        forms.read_form(0, data, absent)


def test_objects_that_are_none_and_second_ends_are_refused(library: ctypes.CDLL) -> None:
    wrong, size, executor = ctypes.create_string_buffer(64), ctypes.c_uint64(), ctypes.c_void_p()
    words = (ctypes.c_uint64 * 1)(ctypes.addressof(wrong) + 8)
    wrong[8:12] = b"\x77\x77\x77\x77"
    code = library.npuhal_torch_prepare(b"aclnnExp", b"o", words, ctypes.byref(size), ctypes.byref(executor))
    assert code == 100000
    assert library.npuhal_torch_run(None, None) == 100000
    library.answer_with(ctypes.c_int64(207000))
    try:
        words[0] = tensor(library, (4,), (1,))
        code = library.npuhal_torch_prepare(b"aclnnExp", b"o", words, ctypes.byref(size), ctypes.byref(executor))
    finally:
        library.answer_with(ctypes.c_int64(0))
    assert code == 207000
    assert not executor.value


def test_every_function_of_the_c_file_is_known_to_the_generator(library: ctypes.CDLL) -> None:
    names = libraries.in_objects()
    assert {"aclCreateTensor", "aclDestroyTensorList", "aclopSetAttrListFloat", "aclGetTensorDescDimV2"} <= names
    assert all(hasattr(library, name) for name in names)
