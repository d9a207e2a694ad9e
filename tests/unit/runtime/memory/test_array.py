"""Device memory that knows its type of elements and its shape: made, converted, passed on, launched with."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, DeviceArray, DeviceBuffer, Stream
from runtime.launch.producers.values import ElementTypeWarning, same_element
from runtime.memory import elements
from tests.tools.triton_cache import ARCHS, elf, metadata


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i1", "u2", "i8", "?", "c8"])
def test_an_uploaded_array_comes_back_as_it_was(device: Device, dtype: str) -> None:
    data = np.arange(12).astype(dtype).reshape(3, 4)
    array = device.upload(data)
    assert isinstance(array, DeviceArray)
    assert (array.dtype, array.shape, array.ndim, array.nbytes) == (data.dtype, (3, 4), 2, data.nbytes)
    for back in (np.asarray(array), array.numpy(), np.array(array)):
        assert back.dtype == data.dtype
        assert np.array_equal(back, data)
    assert np.array_equal(device.download(array, data.dtype, (3, 4)), data)


def test_other_sources_of_arrays(device: Device) -> None:
    class Tensor:
        """A tensor without the buffer protocol."""

        def __dlpack__(self, **how: Any) -> Any:
            return np.arange(4, dtype="i4").reshape(2, 2).__dlpack__(**how)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    assert np.asarray(device.upload(Tensor())).tolist() == [[0, 1], [2, 3]]
    assert np.asarray(device.upload(np.float32(3))).shape == ()
    assert np.asarray(device.upload(device.upload(np.ones(3)))).tolist() == [1, 1, 1]
    for plain in (b"123", bytearray(4), memoryview(b"1"), device.alloc_host(8)):
        assert type(device.upload(plain)) is DeviceBuffer


def test_empty_arrays_take_a_shape_and_a_type(device: Device) -> None:
    array = device.empty((2, np.int64(3)), "int16")
    assert (array.shape, array.dtype, array.size) == ((2, 3), np.dtype("i2"), 12)
    assert device.empty(5).shape == (5,)
    for shape, dtype in (((2, -1), "f4"), (2.5, "f4"), ("2", "f4"), (2, "what"), (2, object), (2, "S"), (0, "f4")):
        with pytest.raises(errors.InvalidArgument):
            device.empty(shape, dtype)  # type: ignore[arg-type]


def test_numpy_waits_for_what_was_submitted(device: Device, stream: Stream) -> None:
    array, fake = device.upload(np.zeros(8, "u1")), device.hal.fake
    pinned = device.alloc_host(8)
    pinned.numpy()[:] = 7
    stream.copy(array, pinned)
    assert np.asarray(array).tolist() == [7] * 8
    assert fake is not None
    with pytest.raises(ValueError, match="without a copy"):
        array.__array__(copy=False)
    assert np.asarray(array, dtype="f4").dtype == np.float32


def test_views_are_bytes_and_live_as_long(device: Device) -> None:
    array = device.upload(np.arange(8, dtype="i4"))
    part = array.view(8, 8)
    assert type(part) is DeviceBuffer
    assert type(array + 4) is DeviceBuffer
    assert device.download(part, "i4").tolist() == [2, 3]
    shaped = array.reshape(2, -1)
    assert (shaped.shape, shaped.address) == ((2, 4), array.address)
    assert array.reshape((8,)).shape == (8,)
    assert part.as_array("i2").shape == (4,)
    assert part.as_array("i4", (1, 2)).numpy().tolist() == [[2, 3]]
    for wrong in (lambda: array.reshape(3), lambda: array.reshape(-1, -1), lambda: part.as_array("f4", 3),
                  lambda: device.alloc(7).as_array("i4")):  # fmt: skip
        with pytest.raises(errors.InvalidArgument):
            wrong()
    array.close()
    for dead in (array, part, shaped):
        with pytest.raises(errors.InvalidArgument, match="freed"):
            dead.check_open()
    with pytest.raises(errors.InvalidArgument, match="freed"):
        np.asarray(array)


def test_a_view_keeps_the_memory_of_a_dropped_array(device: Device) -> None:
    shaped = device.upload(np.arange(4, dtype="i4")).reshape(2, 2)
    device.deferred_frees.sweep()
    assert shaped.numpy().tolist() == [[0, 1], [2, 3]]


def test_plain_buffers_still_refuse_the_host(device: Device) -> None:
    with pytest.raises(errors.InvalidArgument, match="cannot read"):
        np.asarray(device.alloc(8))


def test_dlpack_tells_type_and_shape(device: Device) -> None:
    class Tensor(ctypes.Structure):
        _fields_ = (
            ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
            ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        )  # fmt: skip

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    array = device.upload(np.zeros((2, 3, 4), "f2"))
    capsule = array.__dlpack__()
    tensor = Tensor.from_address(pointer(capsule, b"dltensor"))
    assert (tensor.data, tensor.ndim, tensor.code, tensor.bits) == (array.address, 3, 2, 16)
    assert tensor.shape[:3] == [2, 3, 4]
    assert not tensor.strides or tensor.strides[:3] == [12, 4, 1]  # none: in order, as NumPy before 2.3 says it
    with pytest.raises(errors.InvalidArgument, match="DLPack"):
        device.upload(np.zeros(2, [("a", "i4")])).__dlpack__()
    bytes_of = Tensor.from_address(pointer(kept := device.alloc(16).__dlpack__(), b"dltensor"))
    assert (bytes_of.ndim, bytes_of.code, bytes_of.bits, bytes_of.shape[0]) == (1, 1, 8, 16)
    del kept


def test_a_consumer_on_the_host_gets_a_copy(device: Device) -> None:
    data = np.arange(6, dtype="f4").reshape(2, 3)
    array = device.upload(data)
    for version in (None, (1, 0)):
        taken = np.from_dlpack(_OnHost(array, version))
        assert (taken.dtype, taken.shape) == (data.dtype, data.shape)
        assert np.array_equal(taken, data)
    assert np.from_dlpack(_OnHost(array.bytes, None)).tobytes() == data.tobytes()


class _OnHost:
    """What asks for a copy on the CPU, as consumers do by `from_dlpack(x, device="cpu")`."""

    def __init__(self, array: DeviceBuffer, version: tuple[int, int] | None) -> None:
        self.array, self.version = array, version

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__(dl_device=(1, 0), max_version=self.version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_of_ml_dtypes(device: Device, stream: Stream, name: str) -> None:
    extended = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    data = np.array([1.5, -2.0, 0.0, 4.0]).astype(getattr(extended, name)).reshape(2, 2)
    array = device.upload(data)
    element = {"bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}[name]
    assert (array.dtype, array.element) == (data.dtype, element)
    assert np.array_equal(np.asarray(array), data)
    again = device.empty((2, 2), name)
    stream.copy(again, array)
    stream.synchronize()
    assert np.array_equal(again.numpy(), data)
    device.copy(out := np.zeros_like(data), again)
    assert np.array_equal(out, data)
    assert array.__dlpack__() is not None


def test_a_type_of_ml_dtypes_without_it_names_the_package(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(elements.importlib, "import_module", missing)
    with pytest.raises(errors.InvalidArgument, match="pip install ml_dtypes"):
        device.empty(4, "bfloat16")


# -- launches that know types --------------------------------------------------------------------------------------


@pytest.fixture
def load(device: Device, chip: str) -> Callable[..., Any]:
    """Return a function that loads a kernel of a signature."""

    def made(*types: str, **how: Any) -> Any:
        kernel = device.load_triton(elf("k"), list(types), metadata=metadata("k", arch=ARCHS[chip]), **how)
        device.hal.fake.attach(kernel.kernel.code, lambda context: None, grid=True)
        return kernel

    return made


def test_arrays_of_the_right_type_are_taken_silently(device: Device, load: Callable[..., Any]) -> None:
    kernel = load("*fp32", "*i8", "*i32", "*i1", strict=True)
    for flags in (np.zeros(4, bool), np.zeros(4, "u1")):
        unsigned = device.upload(np.zeros(4, "u4"))
        kernel[1](device.upload(np.zeros(4, "f4")), device.upload(np.zeros(4, "u1")), unsigned, device.upload(flags))
    kernel[1](device.alloc(16), None, device.alloc(16).address, None)
    device.default_stream.synchronize()


def test_another_type_warns_or_is_refused(device: Device, load: Callable[..., Any]) -> None:
    half = device.upload(np.zeros(4, "f2"))
    for _ in range(2):
        with pytest.warns(ElementTypeWarning, match=r"argument 1 \(arg1: \*fp32\): its elements are fp16"):
            load("*fp16", "*fp32")[1](half, half)
    with pytest.raises(errors.InvalidArgument, match=r"elements are fp16, the kernel was compiled for fp32"):
        load("*fp32", strict=True)[1](half)
    load("*fp32", strict=True)[1](half.bytes)
    device.default_stream.synchronize()


@pytest.mark.parametrize(
    ("held", "wanted", "same"),
    [("fp32", "fp32", True), ("u8", "i8", True), ("i1", "i8", True), ("fp16", "bf16", False), ("fp32", "i32", False),
     ("", "fp32", False), ("fp32", "", True), ("i64", "*fp32", True)],
)  # fmt: skip
def test_when_elements_are_the_same(held: str, wanted: str, same: bool) -> None:
    assert same_element(held, wanted) is same


def test_copies_of_arrays_take_the_prepared_send(device: Device, stream: Stream) -> None:
    first, second, pinned = device.upload(np.arange(16, dtype="u1")), device.empty(16, "u1"), device.alloc_host(16)
    for _ in range(3):
        stream.copy(second, first)
        stream.copy(pinned, second)
    stream.synchronize()
    assert pinned.numpy().tolist() == list(range(16))
    assert (DeviceArray, DeviceArray) in stream.sends
