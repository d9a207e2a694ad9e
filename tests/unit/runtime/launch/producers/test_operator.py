"""`program.operator(key).launch(...)`: blocks as an op library's kernels get them, and what is refused."""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chips.binary.cores import core_of
from chips.binary.elf import ElfFile
from runtime import errors
from runtime.api import Device, Kernel, LaunchOptions, Stream
from runtime.launch.producers.operator import Operator, TensorList
from runtime.launch.producers.values import ElementTypeWarning
from tests.tools.corpus import corpus
from tests.tools.elf_writer import ElfWriter, dfx, dfx_item, u32
from tests.unit.runtime.machines import OpenMachine

FFTS, IN, OUT, SPACE, TILING, SHAPE, OVERFLOW, CONTEXT = 11, 2, 3, 4, 7, 12, 10, 6
ONE, FOLDED = 1, 3
Make = Callable[..., Operator]


def tensor(name: str, form: str = "required", dtype: str = "float32") -> dict[str, str]:
    return {"name": name, "paramType": form, "dtype": dtype}


def side(inputs: list[Any], outputs: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "binFileName": "op", "kernelName": "op", "magic": "RT_DEV_BINARY_MAGIC_ELF_AIVEC", "opParaSize": 24,
        "workspace": {"num": 1, "size": [-1]}, "optionalInputMode": "gen_placeholder", "parameters": [],
        "optionalOutputMode": "gen_placeholder", "supportInfo": {"inputs": inputs, "outputs": outputs}, **more,
    }  # fmt: skip


ADD = side([tensor("x"), tensor("y")], [tensor("z")])


@pytest.fixture
def make(device: Device, chip: str, tmp_path: Path) -> Make:
    """Return a function that writes an op with its side file and loads it."""

    def made(file: dict[str, Any] = ADD, kinds: list[Any] | None = None, key: int | str | None = None) -> Operator:
        meta = u32(1, 3)
        if kinds:
            words = [kind if isinstance(kind, tuple) else (kind, ONE) for kind in kinds]
            meta += dfx(*(dfx_item(kind | pointer << 16, 0xFFFFFFFFFFFFFFFF) for kind, pointer in words))
        flags = 0x990000 if chip.startswith("ascend950") else 0x940000
        path = tmp_path / "op.o"
        path.write_bytes(ElfWriter(flags=flags).kernel("op_7", meta, size=64).build())
        path.with_suffix(".json").write_text(json.dumps(file))
        return device.load(path).operator(key)

    return made


def watch(operator: Operator, behind: int = 0) -> list[list[int]]:
    """Return the words of each block that the kernel gets; and behind them so many bytes at its last pointer."""
    seen: list[list[int]] = []
    count = len(operator.slots)

    def body(context: Any) -> None:
        seen.append(list(struct.unpack(f"<{count}Q", context.args.bytes(0, 8 * count))))
        if behind:
            pointer = context.memory.device_pointer(seen[-1][-1], behind, "tiling")
            seen.append(list(ctypes.string_at(pointer, behind)))

    operator.kernel.program.device.hal.fake.attach(operator.kernel.code, body, grid=True)
    return seen


@pytest.mark.parametrize("kinds", [None, [IN, IN, OUT, SPACE, TILING]], ids=["by the side file", "listed"])
@pytest.mark.parametrize("key", [None, 7, "op_7"])
def test_inputs_outputs_workspace_and_tiling_in_order(make: Make, device: Device, stream: Stream, kinds: Any,
                                                      key: Any) -> None:
    operator = make(kinds=kinds, key=key)
    assert [each.name for each in operator.inputs or ()] == ["x", "y"]
    assert operator.tiling_limit == 16
    seen = watch(operator, 16)
    x, y, z = (device.upload(np.zeros(8, "f4")) for _ in range(3))
    held = device.pool.memory_allocated()
    for tiling in (b"\1\2\3", np.array([3, 2, 1], "u1"), (ctypes.c_uint8 * 3)(9, 8, 7)):
        operator.launch([x, y], [z], tiling=tiling, blocks=8, workspace=100, stream=stream)
    stream.synchronize()
    assert [block[:3] for block in seen[::2]] == [[x.address, y.address, z.address]] * 3
    assert [bytes(data) for data in seen[1::2]] == [b.ljust(16, b"\0") for b in (b"\1\2\3", b"\3\2\1", b"\x09\x08\x07")]
    assert device.pool.memory_allocated() == held
    assert all(block[3] for block in seen[::2])


def test_the_workspace_has_the_systems_part_in_front(make: Make, device: Device, stream: Stream) -> None:
    operator = make(side([], [], workspace={"num": 1, "size": [4096]}))
    watch(operator)
    assert operator.workspace_reserve == 16 << 20
    asked: list[int] = []
    take = device.pool.take
    device.pool.take = lambda size, owner: (asked.append(size), take(size, owner))[1]  # type: ignore[method-assign]
    for more in (0, 100_000):
        operator.launch(tiling=b"", blocks=1, workspace=more, stream=stream)
    own = device.alloc(operator.workspace_reserve)
    operator.launch(tiling=b"", blocks=1, workspace=own, stream=stream)
    stream.synchronize()
    assert asked == [(16 << 20) + 4096, (16 << 20) + 100_000]


def test_tiling_data_may_lie_on_the_device(make: Make, device: Device, stream: Stream) -> None:
    operator = make()
    seen = watch(operator)
    tiling = device.upload(b"0" * 64)
    operator.launch([None, 0][1:] * 2, [device.alloc(8)], tiling=tiling, blocks=1, stream=stream)
    stream.synchronize()
    assert seen[0][-1] == tiling.address


def test_a_kernel_of_fixed_shape_takes_no_tiling(make: Make, stream: Stream) -> None:
    fixed = side([tensor("x")], [], opParaSize=None, workspace={})
    operator = make(fixed)
    seen = watch(operator)
    operator.launch([0x1000], blocks=2, stream=stream)
    stream.synchronize()
    assert seen == [[0x1000]]
    with pytest.raises(errors.InvalidArgument, match="fixed shape"):
        operator.launch([0x1000], blocks=2, tiling=b"1", stream=stream)
    with pytest.raises(errors.InvalidArgument, match="takes none"):
        operator.launch([0x1000], blocks=2, workspace=1, stream=stream)


def test_hidden_slots_contexts_and_shapes(make: Make, device: Device, stream: Stream) -> None:
    operator = make(side([tensor("x")], [tensor("y")]), [FFTS, CONTEXT, IN, OUT, SHAPE, SPACE, TILING, OVERFLOW])
    seen = watch(operator)
    context, shape = device.alloc(64), device.alloc(64)
    operator.launch([0x1000], [0x2000], blocks=1, tiling=b"", shapes=shape, contexts=[context], stream=stream)
    stream.synchronize()
    (words,) = seen
    assert words[:5] == [device.core_sync_address, context.address, 0x1000, 0x2000, shape.address]
    assert words[-1] == device.context.overflow_address != 0
    with pytest.raises(errors.InvalidArgument, match="number of shape buffers is 0: it takes 1"):
        operator.launch([0x1000], [0x2000], blocks=1, tiling=b"", contexts=[context], stream=stream)


def test_optional_tensors_keep_their_slots_or_have_none(make: Make, stream: Stream) -> None:
    inputs = [tensor("x"), tensor("a", "optional"), tensor("b", "optional")]
    operator = make(side(inputs, [], workspace={}))
    seen = watch(operator)
    operator.launch([1, None, 3], tiling=b"", blocks=1, stream=stream)
    operator.launch([1], tiling=b"", blocks=1, stream=stream)
    stream.synchronize()
    assert [words[:3] for words in seen] == [[1, 0, 3], [1, 0, 0]]
    packed = make(side(inputs, [], optionalInputMode="no_placeholder", opParaSize=None, workspace={}))
    blocks: list[bytes] = []
    fake = packed.kernel.program.device.hal.fake
    fake.attach(packed.kernel.code, lambda context: blocks.append(context.args.bytes(0, 16)), grid=True)
    packed.launch([1, None, 3], blocks=1, stream=stream)
    stream.synchronize()
    assert blocks == [struct.pack("<2Q", 1, 3)]
    with pytest.raises(errors.InvalidArgument, match=r"input 0 \(x\) is None.*required"):
        operator.launch([None], tiling=b"", blocks=1, stream=stream)


def test_lists_of_tensors_are_folded(make: Make, device: Device, stream: Stream) -> None:
    file = side([[tensor("list", "dynamic")]], [], dynamicParamMode="folded_with_desc", workspace={}, opParaSize=None)
    operator = make(file, [(IN, FOLDED)])
    seen = watch(operator, 48 + 16)
    array, other = device.upload(np.zeros((2, 2), "f4")), device.alloc(36)
    operator.launch([TensorList([array, (other, (9,))])], blocks=1, stream=stream)
    stream.synchronize()
    words = struct.unpack("<8Q", bytes(seen[1]))
    assert words == (48, 2, 2, 2, 1 | 1 << 32, 9, array.address, other.address)
    for wrong, message in (
        (array, r"pass TensorList"), (TensorList([other]), "shape is not known"), (TensorList([]), "one dimension"),
        (TensorList([(other, ())]), "one dimension"),
    ):  # fmt: skip
        with pytest.raises(errors.InvalidArgument, match=message):
            operator.launch([wrong], blocks=1, stream=stream)
    with pytest.raises(errors.InvalidArgument, match="takes one tensor here"):
        make().launch([TensorList([array]), array], [array], tiling=b"", blocks=1, stream=stream)


@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [("float32", 0.5, np.float32(0.5)), ("int8", -1, np.int8(-1)), ("float16", 2, np.float16(2)),
     ("int64", 0, np.int64(0)), ("int32", 7.0, np.int32(7))],
)  # fmt: skip
def test_tensors_that_the_op_wants_filled(make: Make, device: Device, stream: Stream, dtype: str, value: float,
                                          wanted: Any) -> None:
    operator = make({**ADD, "parameters": [None, None, {"dtype": dtype, "init_value": value}, None]})
    out = device.upload(np.full(16, 3, "u1"))
    found: list[bytes] = []

    def body(context: Any) -> None:
        found.append(ctypes.string_at(context.memory.device_pointer(context.args[2], 16, "z"), 16))

    device.hal.fake.attach(operator.kernel.code, body, grid=True)
    for _ in range(2):
        operator.launch([1, 2], [out.bytes], tiling=b"", blocks=1, stream=stream)
    stream.synchronize()
    assert found == [np.full(16 // wanted.itemsize, wanted).tobytes()] * 2


def test_fills_that_cannot_be_made_are_refused(make: Make, device: Device, stream: Stream) -> None:
    for dtype, value, message in (("int64", 1, "32-bit words"), ("bfloat16", 1, "not known")):
        operator = make({**ADD, "parameters": [None, None, {"dtype": dtype, "init_value": value}]})
        with pytest.raises(errors.InvalidArgument, match=message):
            operator.launch([1, 2], [device.alloc(16)], tiling=b"", blocks=1, stream=stream)
    with pytest.raises(errors.InvalidArgument, match=r"(?s)output 0 \(z\).*size is known"):
        make({**ADD, "parameters": [None, None, {"dtype": "int8", "init_value": 0}]}).launch(
            [1, 2], [3], tiling=b"", blocks=1, stream=stream
        )


def test_batch_schedule_where_cores_wait_for_each_other(
    make: Make, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    task = Kernel.task

    def spied(kernel: Kernel, blocks: int, options: LaunchOptions) -> Any:
        made = task(kernel, blocks, options)
        modes.append(made.schem_mode)
        return made

    monkeypatch.setattr(Kernel, "task", spied)
    for sync in (0, 1):
        operator = make({**ADD, "intercoreSync": sync})
        watch(operator)
        operator.launch([1, 2], [3], tiling=b"", blocks=1, stream=stream)
    operator.launch([1, 2], [3], tiling=b"", blocks=1, stream=stream, options=LaunchOptions(schedule=0))
    stream.synchronize()
    assert modes == [0, 1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": [1]}, r"number of inputs is 1: it takes 2"),
        ({"inputs": [1, 2, 3]}, r"number of inputs is 3: it takes 2"),
        ({"outputs": []}, r"number of outputs is 0: it takes 1"),
        ({"tiling": None}, "tiling data"),
        ({"tiling": b"0" * 17}, "compiled for at most 16"),
        ({"tiling": 3}, "it is no data"),
        ({"blocks": 0}, "0 blocks"),
        ({"blocks": 65536}, "65536 blocks"),
        ({"workspace": -1}, "number of bytes"),
        ({"workspace": 1.5}, "number of bytes"),
        ({"inputs": [1, 2.5]}, r"input 1 \(y\) is 2.5: the parameter is a pointer"),
        ({"inputs": [1, np.zeros(2)]}, r"(?s)input 1 \(y\).*device.upload"),
        ({"shapes": 1}, "number of shape buffers is 1: it takes 0"),
        ({"contexts": [1]}, "number of contexts is 1: it takes 0"),
    ],
    ids=str,
)
def test_what_a_launch_refuses(make: Make, stream: Stream, change: dict[str, Any], message: str) -> None:
    operator = make(kinds=[IN, IN, OUT, SPACE, TILING])
    seen = watch(operator)
    right: dict[str, Any] = {"inputs": [1, 2], "outputs": [3], "tiling": b"", "blocks": 2, "stream": stream}
    before = stream.ring.submitted
    with pytest.raises(errors.InvalidArgument, match=message):
        operator.launch(**right | change)
    assert stream.ring.submitted == before
    operator.launch(**right)
    stream.synchronize()
    assert len(seen) == 1


def test_arrays_of_another_type_warn_or_are_refused(make: Make, device: Device, stream: Stream) -> None:
    operator = make()
    watch(operator)
    half, out = device.upload(np.zeros(4, "f2")), device.empty(4)
    with pytest.warns(ElementTypeWarning, match=r"input 0 \(x\): its elements are fp16"):
        operator.launch([half, out], [out], tiling=b"", blocks=1, stream=stream)
    with pytest.raises(errors.InvalidArgument, match="compiled for fp32"):
        operator.launch([half, out], [out], tiling=b"", blocks=1, stream=stream, strict=True)
    stream.synchronize()


def test_in_a_graph_the_workspace_is_the_graphs(make: Make, device: Device, stream: Stream) -> None:
    operator = make()
    seen = watch(operator, 3)
    with stream.capture() as graph:
        operator.launch([1, 2], [3], tiling=b"abc", blocks=1, stream=stream)
    for _ in range(2):
        graph.launch(stream)
    stream.synchronize()
    assert seen[0] == seen[2]
    assert bytes(seen[1]) == bytes(seen[3]) == b"abc"
    graph.close()


def test_where_the_side_file_is(make: Make, device: Device, stream: Stream, tmp_path: Path) -> None:
    make()
    data = (tmp_path / "op.o").read_bytes()
    program = device.load(data)
    with pytest.raises(errors.InvalidArgument, match="description="):
        program.operator()
    assert program.operator(7, description=ADD).name == "op_7"
    assert program.operator(description=json.dumps(ADD)).name == "op_7"
    (tmp_path / "op.json").unlink()
    with pytest.raises(errors.InvalidArgument, match="cannot be read"):
        device.load(tmp_path / "op.o").operator()
    with pytest.raises(errors.InvalidArgument, match="no side file"):
        program.operator(description={"mix_mode": "aiv"})


def test_a_printing_kernel_is_refused_at_its_load(make: Make) -> None:
    with pytest.raises(errors.RuntimeFault, match="printf"):
        make({**ADD, "debugOptions": "printf"})


def test_real_operators_load_and_launch(chip: str, open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{chip}?kernels=noop").device(0)
    launched = 0
    for path in sorted(corpus("elfs").glob("*.o")):
        core = core_of(ElfFile(path.read_bytes()).header.flags)
        if core is None or not core.runs_on(device.chip) or not path.with_suffix(".json").exists():
            continue
        program = device.load(path)
        for name in program:
            operator = program.operator(name)
            kinds = [slot.name for slot in operator.slots]
            operator.launch(
                tensors(operator.inputs, device), tensors(operator.outputs, device), blocks=2,
                tiling=bytes(8) if "TILING" in kinds else None, shapes=0x1000 if "SHAPE" in kinds else None,
            )
            launched += 1
    device.synchronize()
    assert launched >= 20


def tensors(entries: Any, device: Device) -> list[Any]:
    """What an operator may be given: nothing for optional tensors, a list where it takes one."""
    buffer = device.alloc(64)
    listed = {"optional": None, "dynamic": TensorList([(buffer, (2, 2))])}
    return [listed.get(each.form, buffer) for each in entries or ()]
