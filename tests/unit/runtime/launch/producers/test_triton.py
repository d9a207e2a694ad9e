"""`device.load_triton`: blocks, grids, locks and workspace as they reach the kernel, and every refusal."""

from __future__ import annotations

import ctypes
import json
import shutil
import struct
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chips.tasks.kernel import SIMT_MEMORY_BYTES
from runtime import errors
from runtime.api import Device, LaunchOptions, Runtime, Stream
from runtime.launch.producers.triton import TritonKernel
from tests.tools.triton_cache import ARCHS, SIMT, cache_folder, elf, ir, metadata, transforms
from tests.unit.runtime.machines import OpenMachine

Load = Callable[..., TritonKernel]
Blocks = list[bytes]
A2 = "Ascend910B3"


@pytest.fixture
def load(device: Device, chip: str, tmp_path: Path) -> Load:
    """Return a function that writes a cache folder for the device's chip and loads it."""

    def made(version: str = "3.2", *, how: dict[str, Any] | None = None, **what: Any) -> TritonKernel:
        folder = cache_folder(tmp_path, version=version, **{"arch": ARCHS[chip], **what})
        return device.load_triton(folder, **(how or {}))

    return made


def watch(kernel: TritonKernel) -> Blocks:
    """Return the list of argument blocks that the kernel gets."""
    seen: Blocks = []
    size = kernel.layout.size
    fake = kernel.kernel.program.device.hal.fake
    fake.attach(kernel.kernel.code, lambda context: seen.append(context.args.bytes(0, size)), grid=True)
    return seen


def members(kernel: TritonKernel, block: bytes) -> dict[str, Any]:
    """Take a block apart."""
    names = [each.name for each in kernel.layout.members]
    return dict(zip(names, struct.unpack(kernel.layout.format, block), strict=True))


@pytest.mark.parametrize("version", ["3.2", "3.5", "3.6", "new"])
def test_a_launch_passes_its_block(load: Load, device: Device, stream: Stream, version: str) -> None:
    kernel = load(version, types=["*fp32", "*fp32", "i32", "fp32", "i64"])
    seen = watch(kernel)
    x, y = device.alloc(64), device.pool.alloc(64, stream)
    for _ in range(2):
        kernel[(2, 3)](x, y, -7, 1.5, 1 << 40, stream=stream)
    kernel.launch([2, 3], x, y, np.int16(-7), np.float64(1.5), np.int64(1 << 40), stream=stream)
    stream.synchronize()
    assert seen[0] == seen[1] == seen[2]
    got = members(kernel, seen[0])
    wanted = {"arg0": x.address, "arg1": y.address, "arg2": -7, "arg3": 1.5, "arg4": 1 << 40, "gridX": 2, "gridY": 3,
              "gridZ": 1, "syncBlockLock": 0, "workspace_addr": 0}  # fmt: skip
    assert wanted.items() <= got.items()
    assert got.get("ffts_addr", device.core_sync_address) == device.core_sync_address
    assert ("ffts_addr" in got) == device.chip.has("TASK_FFTS_PLUS")
    assert ("DTData" in got) == (version in ("3.6", "new"))


def test_pointers_may_be_addresses_none_tensors_and_parts(load: Load, device: Device, stream: Stream) -> None:
    kernel = load()
    seen = watch(kernel)
    buffer = device.alloc(4096)
    tensor = types.SimpleNamespace(data_ptr=lambda: buffer.address + 8)
    kernel[1](buffer.address, None, tensor, 1, stream=stream)
    kernel[1](buffer + 256, np.uint64(buffer.address), 0, True, stream=stream)
    stream.synchronize()
    first, second = (members(kernel, block) for block in seen)
    assert [first[f"arg{n}"] for n in range(3)] == [buffer.address, 0, buffer.address + 8]
    assert [second[f"arg{n}"] for n in range(4)] == [buffer.address + 256, buffer.address, 0, 1]


def test_the_default_stream_and_another_thread(load: Load, device: Device) -> None:
    kernel = load()
    seen = watch(kernel)
    launch = kernel[3]
    thread = threading.Thread(target=lambda: launch(None, None, None, 5))
    thread.start()
    thread.join()
    kernel[3](None, None, None, 6)
    device.default_stream.synchronize()
    assert [members(kernel, block)["arg3"] for block in seen] == [5, 6]


def test_small_scalars_and_a_block_that_is_no_whole_number_of_slots(device: Device, stream: Stream, chip: str) -> None:
    fields = metadata("k", "3.5", arch=ARCHS[chip], force_simt_only=True, compile_on_910_95=False)
    kernel = device.load_triton(elf("k"), ["i8", "u16", "i1", "bf16", "i16"], metadata=fields)
    assert kernel.layout.size == (40 if device.chip.has("TASK_FFTS_PLUS") else 32)
    odd = device.load_triton(elf("k"), ["i8", "u16", "i1", "bf16"], metadata=fields | {"target": None}, layout="3.5")
    seen, slots = watch(kernel), []
    kernel[4](-3, 65535, 1, -2.0, -300, stream=stream)
    stream.synchronize()
    got = members(kernel, seen[0])
    assert [got[f"arg{n}"] for n in range(5)] == [-3, 65535, 1, -2.0, -300]
    slots = watch(odd)
    odd[4](-3, 65535, 0, -2.0, stream=stream)
    odd[4](-4, 65535, 0, -2.0, stream=stream)
    stream.synchronize()
    assert [members(odd, block)["arg0"] for block in slots] == [-3, -4]
    assert odd.layout.size % 8 == (0 if device.chip.has("TASK_FFTS_PLUS") else 4)


def test_mix_symbols_are_one_kernel_and_a_pure_cube_kernel_may_have_either(load: Load, stream: Stream) -> None:
    for number, symbols in enumerate((["mm_mix_aic", "mm_mix_aiv"], ["mm"], ["mm_mix_aic"])):
        kernel = load("3.2", kernel="mm", mix="mix", symbols=symbols, types=["*fp16", "i32"])
        seen = watch(kernel)
        kernel[2](None, number, stream=stream)
        stream.synchronize()
        assert [members(kernel, block)["arg1"] for block in seen] == [number]


# -- workspace and locks -------------------------------------------------------------------------------------------


def read(context: Any, address: int, size: int) -> bytes:
    """Read device memory from within a kernel, then write over it."""
    pointer = context.memory.device_pointer(address, size, "a test")
    data = ctypes.string_at(pointer, size)
    ctypes.memset(pointer, 0x5A, size)
    return data


def watch_scratch(kernel: TritonKernel, blocks: int) -> list[tuple[bytes, int]]:
    """Return what the kernel finds in its lock area, and where its workspace is; it spoils both."""
    found: list[tuple[bytes, int]] = []
    size = kernel.metadata.locks.area(blocks).size

    def body(context: Any) -> None:
        got = members(kernel, context.args.bytes(0, kernel.layout.size))
        space = got["workspace_addr"]
        if kernel.metadata.workspace_bytes:
            read(context, space, kernel.metadata.workspace_bytes * blocks)
        found.append((read(context, got["syncBlockLock"], size) if size else b"", space))

    kernel.kernel.program.device.hal.fake.attach(kernel.kernel.code, body, grid=True)
    return found


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("3.2", {"lock_num": 4}),
        ("3.2", {"lock_num": 3, "lock_init_value": 7}),
        ("3.6", {"sync_block_lock_layout": 2}),
        ("3.6", {"sync_block_lock_layout": 1, "lock_init_value": -1}),
        ("3.6", {"sync_block_lock_layout": 2 | 2 << 32, "mix": "mix"}),
        ("new", {"sync_block_lock_layout": 1 | 1 << 32}),
    ],
    ids=str,
)
def test_locks_are_fresh_for_each_launch(load: Load, stream: Stream, version: str, more: dict[str, Any]) -> None:
    kernel = load(version, **more)
    found = watch_scratch(kernel, 5)
    for _ in range(3):
        kernel[5](None, None, None, 1, stream=stream)
    stream.synchronize()
    assert [locks for locks, _ in found] == [kernel.metadata.locks.area(5).image()] * 3


def test_the_workspace_has_its_bytes_for_each_logical_block(load: Load, device: Device, stream: Stream) -> None:
    kernel = load(mix="mix", workspace_size=65536, how={"cap_blocks": True})
    before = device.pool.memory_allocated()
    found = watch_scratch(kernel, 100)
    asked: list[int] = []
    take = device.pool.take
    device.pool.take = lambda size, owner: (asked.append(size), take(size, owner))[1]  # type: ignore[method-assign]
    for _ in range(2):
        kernel[(100,)](None, None, None, 1, stream=stream)
    stream.synchronize()
    assert asked == [65536 * 100] * 2
    assert found[0][1] == found[1][1] != 0, "the same memory again, in the stream's order"
    assert device.pool.memory_allocated() == before


def test_workspace_that_there_is_not_leaves_nothing_behind(load: Load, device: Device, stream: Stream) -> None:
    kernel = load(workspace_size=1 << 34, lock_num=4)
    seen = watch(kernel)
    before = device.pool.memory_allocated()
    with pytest.raises(errors.OutOfMemory):
        kernel[1000](None, None, None, 1, stream=stream)
    assert device.pool.memory_allocated() == before
    stream.synchronize()
    assert seen == []


def test_in_a_captured_graph_locks_are_fresh_in_each_execution_and_memory_is_the_graphs(
    load: Load, device: Device, stream: Stream
) -> None:
    kernel = load("3.6", sync_block_lock_layout=2 | 1 << 32, workspace_size=4096)
    found = watch_scratch(kernel, 4)
    with stream.capture() as graph:
        kernel[4](None, None, None, 1, stream=stream)
        kernel[4](None, None, None, 2, stream=stream)
    assert found == []
    other = device.pool.alloc(4096 * 4, stream)
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    image = kernel.metadata.locks.area(4).image()
    assert [locks for locks, _ in found] == [image] * 6
    assert other.address not in {space for _, space in found}
    graph.close()


# -- grids ---------------------------------------------------------------------------------------------------------


def count_blocks(kernel: TritonKernel) -> list[tuple[int, int, int, int]]:
    """Return (blocks launched, grid that the kernel is told) of each launch."""
    seen: list[tuple[int, int, int, int]] = []

    def body(context: Any) -> None:
        got = members(kernel, context.args.bytes(0, kernel.layout.size))
        seen.append((context.blocks, got["gridX"], got["gridY"], got["gridZ"]))

    kernel.kernel.program.device.hal.fake.attach(kernel.kernel.code, body, grid=True)
    return seen


def test_a_cap_launches_as_many_blocks_as_there_are_cores(load: Load, device: Device, stream: Stream,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    cube, vector = device.core_counts
    monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", "1")
    for mix, cores in (("aiv", vector), ("mix", cube)):
        kernel = load(mix=mix, kernel=f"k{mix}")
        seen = count_blocks(kernel)
        kernel[1000](None, None, None, 1, stream=stream)
        kernel[7](None, None, None, 1, stream=stream)
        stream.synchronize()
        assert seen == [(cores, 1000, 1, 1), (7, 7, 1, 1)]
    uncapped = load(how={"cap_blocks": False})
    assert not uncapped.cap_blocks
    assert not load("3.6", has_auto_blockify_blacklist_op=True).cap_blocks
    monkeypatch.delenv("TRITON_ALL_BLOCKS_PARALLEL")
    assert not load().cap_blocks
    assert load("new", auto_blockify_enabled=True).cap_blocks


def test_coalesced_and_rewritten_grids(load: Load, device: Device, stream: Stream) -> None:
    coalesced = load("3.6", coalesce_factor=4, coalesce_axis=0)
    seen = count_blocks(coalesced)
    coalesced[(16, 2)](None, None, None, 1, stream=stream)
    stream.synchronize()
    assert seen == [(8, 4, 2, 1)]
    with pytest.raises(errors.InvalidArgument, match=r"(?s)not divisible.*multiple of 4"):
        coalesced[(17, 2)]
    rewritten = load("new", program_grid_mapping_applied=True, program_grid_transforms=transforms((1, 16, False)))
    blocks = watch(rewritten)
    rewritten[(3, 33)](None, None, None, 1, stream=stream)
    stream.synchronize()
    got = members(rewritten, blocks[0])
    assert (got["originalGridX"], got["originalGridY"], got["gridX"], got["gridY"]) == (3, 33, 3, 3)


@pytest.mark.parametrize("grid", [0, (0, 1), (3, -1, 2), (1, 1, 0)])
def test_an_empty_grid_sends_nothing(load: Load, stream: Stream, grid: Any) -> None:
    kernel = load(lock_num=4, workspace_size=64)
    seen = watch(kernel)
    before = stream.ring.submitted
    kernel[grid](None, None, None, 1, stream=stream)
    assert stream.ring.submitted == before
    stream.synchronize()
    assert seen == []


@pytest.mark.parametrize("wrong", [2.0, (2.0,), (2, 3.0)])
def test_a_number_that_equals_an_axis_which_was_used_is_refused(load: Load, wrong: Any) -> None:
    kernel = load()
    for grid in (2, (2,), (2, 3)):
        assert kernel[grid]
    with pytest.raises(errors.InvalidArgument, match="a grid is one to three whole numbers"):
        kernel[wrong]


def test_more_than_65535_blocks_are_refused_with_the_cure(load: Load, stream: Stream) -> None:
    kernel = load()
    for grid in (65536, (256, 256), (1 << 20, 1 << 10)):
        with pytest.raises(errors.InvalidArgument, match="65535 are possible") as refused:
            kernel[grid](None, None, None, 1, stream=stream)
        assert "TRITON_ALL_BLOCKS_PARALLEL=1" in str(refused.value)
    seen = watch(kernel)
    kernel[65535](None, None, None, 1, stream=stream)
    load(kernel="capped", how={"cap_blocks": True})[65536]
    stream.synchronize()
    assert len(seen) == 1


# -- SIMT ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pure", "size"), [(True, 122880), (False, 221184)])
def test_simt_on_950_asks_for_its_unified_buffer(
    open_machine: OpenMachine, tmp_path: Path, pure: bool, size: int
) -> None:
    device = open_machine("fake://ascend950?seed=1&check=race").device(0)  # which lets a body see its task
    mode = "simt" if pure else "mix_simd_simt"
    folder = cache_folder(tmp_path, "gather", "3.6", ("*fp32", "i32"), arch="Ascend950PR_9579", meta=SIMT,
                          parallel_mode=mode, is_pure_simt=pure, shared_mem_dynamic_size=size)
    kernel = device.load_triton(folder)
    assert size < SIMT_MEMORY_BYTES
    assert ("syncBlockLock" in [each.name for each in kernel.layout.members]) != pure
    sent: list[int] = []
    fake = device.hal.fake
    fake.attach(kernel.kernel.code, lambda context: sent.append(context.args._task.fields["simt_dcu_size"]), grid=True)
    with device.create_stream() as stream:
        kernel[8](None, 3, stream=stream)
        kernel[8](None, 3, stream=stream, options=LaunchOptions(timeout_us=1_000_000))
        stream.synchronize()
    assert sent == [size, size]


def test_simt_without_the_mark_in_the_elf_is_refused_in_words(open_machine: OpenMachine, tmp_path: Path) -> None:
    device = open_machine("fake://ascend950?seed=1").device(0)
    folder = cache_folder(tmp_path, "gather", "3.6", arch="Ascend950PR_9579", parallel_mode="simt", is_pure_simt=True)
    with pytest.raises(errors.InvalidArgument, match="AIV_TYPE_FLAG"):
        device.load_triton(folder)
    assert not list(device.programs)


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, None, None), r"number of arguments is 3.*4: arg0: \*fp32, .* arg3: i32"),
        ((None,) * 5, "number of arguments is 5"),
        ((None, 1.5, None, 1), r"argument 1 \(arg1: \*fp32\) is 1.5.*pointer"),
        ((None, None, np.zeros(3), 1), r"argument 2 .*device.upload"),
        ((None, None, "x", 1), r"argument 2 .*pointer"),
        ((-1, None, None, 1), r"argument 0 .*64 bits"),
        ((True, None, None, 1), r"argument 0 .*pointer"),
        ((None, None, None, 2.5), r"argument 3 \(arg3: i32\) is 2.5.*whole number"),
        ((None, None, None, 1 << 31), r"argument 3 .*-2147483648 to 2147483647"),
        ((None, None, None, None), r"argument 3 .*whole number"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_named(load: Load, stream: Stream, arguments: Any, message: str) -> None:
    kernel = load()
    seen = watch(kernel)
    for _ in range(2):
        with pytest.raises(errors.InvalidArgument, match=f"(?s){message}"):
            kernel[2](*arguments, stream=stream)
    kernel[2](None, None, None, 1, stream=stream)
    stream.synchronize()
    assert len(seen) == 1


def test_floats_that_do_not_fit_are_named(device: Device, chip: str) -> None:
    fields = metadata("k", arch=ARCHS[chip])
    kernel = device.load_triton(elf("k"), {"scale": "fp32", "n": "i32"}, metadata=fields)
    with pytest.raises(errors.InvalidArgument, match=r"scale: fp32\) is 1e\+300.*fit fp32"):
        kernel[1](1e300, 1)
    with pytest.raises(errors.InvalidArgument, match=r"scale: fp32\) is 'a'"):
        kernel[1]("a", 1)
    watch(kernel)
    kernel[1](float("inf"), 1)
    device.default_stream.synchronize()


def test_buffers_that_kernels_do_not_reach(load: Load, machine: Runtime, device: Device, stream: Stream) -> None:
    kernel = load()
    freed = device.alloc(64)
    freed.close()
    foreign, pinned = machine.device(1).alloc(64), device.alloc_host(64)
    for value, message in ((foreign, "memory of device 1"), (pinned, "cannot reach"), (freed, "freed")):
        with pytest.raises(errors.InvalidArgument, match=message):
            kernel[2](None, value, None, 1, stream=stream)
    with pytest.raises(errors.ContextError):
        kernel[2](None, None, None, 1, stream=machine.device(1).create_stream())


def test_another_chip_family_is_refused(device: Device, chip: str, tmp_path: Path) -> None:
    other = next(arch for key, arch in ARCHS.items() if key != chip)
    with pytest.raises(errors.InvalidArgument, match=rf"(?s)compiled for is '{other}'.*TRITON_ASCEND_ARCH=Ascend"):
        device.load_triton(cache_folder(tmp_path, arch=other))
    with pytest.raises(errors.InvalidArgument, match=r"target\.arch"):
        device.load_triton(cache_folder(tmp_path, arch="Ascend999"))


def test_printing_on_the_device_is_refused(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DEVICE_PRINT", "1")
    with pytest.raises(errors.NotSupported, match="TRITON_DEVICE_PRINT"):
        load()


def test_ffts_can_be_turned_off(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DISABLE_FFTS", "true")
    assert load().layout.members[0].name == "syncBlockLock"


def test_metadata_and_elf_that_do_not_belong_together(load: Load, device: Device, chip: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=r"(?s)mix_mode.*different compiles"):
        load(symbols=["add_kernel_mix_aic", "add_kernel_mix_aiv"])
    with pytest.raises(errors.InvalidArgument, match="did you mean 'add_kernels'"):
        load(symbols=["add_kernels"])
    with pytest.raises(errors.InvalidArgument, match="cap_blocks"):
        load("3.6", has_auto_blockify_blacklist_op=True, how={"cap_blocks": True})
    with pytest.raises(errors.InvalidArgument, match="program_grid_mapping_applied"):
        load("3.6", how={"layout": "new"})
    assert not list(device.programs)


def test_without_ir_the_signature_is_asked_for_and_with_it_checked(load: Load) -> None:
    with pytest.raises(errors.InvalidArgument, match=r"signature=\['\*fp32', 'i32'\]"):
        load(with_ir=False)
    kernel = load(kernel="bare", with_ir=False, how={"signature": ["*fp32", "i32"]})
    assert [str(each) for each in kernel.signature] == ["arg0: *fp32", "arg1: i32"]
    stated = load(types=["*fp32", "i32"], how={"signature": {"x": "*fp32", "n": "u32"}})
    assert [str(each) for each in stated.signature] == ["x: *fp32", "n: u32"]
    with pytest.raises(errors.InvalidArgument, match=r"was compiled for \(\*fp32, i32\)"):
        load(types=["*fp32", "i32"], how={"signature": ["*fp32", "i32", "i32"]})


def test_folders_that_lack_something(device: Device, load: Load, tmp_path: Path) -> None:
    load()
    (tmp_path / "add_kernel_3.2" / "add_kernel.npubin").unlink()
    with pytest.raises(errors.RuntimeFault, match=r"(?s)missing.*may be stale"):
        device.load_triton(tmp_path / "add_kernel_3.2")
    with pytest.raises(errors.RuntimeFault, match="no such file or folder"):
        device.load_triton(tmp_path / "nothing")
    with pytest.raises(errors.RuntimeFault, match="neither a path"):
        device.load_triton(3)
    with pytest.raises(errors.RuntimeFault, match="pass metadata="):
        device.load_triton(elf("k"))


def test_plain_load_names_the_call_for_triton(device: Device, load: Load, tmp_path: Path) -> None:
    load()
    with pytest.raises(errors.InvalidArgument, match=r"device\.load_triton\(path\)"):
        device.load(tmp_path / "add_kernel_3.2" / "add_kernel.npubin")


# -- sources -------------------------------------------------------------------------------------------------------


def test_a_compiled_kernel_of_this_process(device: Device, stream: Stream, chip: str) -> None:
    fields = metadata("k", arch=ARCHS[chip])
    fields["target"] = types.SimpleNamespace(**fields["target"])
    compiled = types.SimpleNamespace(
        asm={"npubin": elf("k"), "ttir": ir("k", ["*fp32", "i32"])}, metadata=types.SimpleNamespace(**fields),
        src=types.SimpleNamespace(signature={"x": "*fp32", "BLOCK": "constexpr", "n": "i32"}),
    )
    kernel = device.load_triton(compiled)
    assert [str(each) for each in kernel.signature] == ["x: *fp32", "n: i32"]
    seen = watch(kernel)
    kernel[1](None, 3, stream=stream)
    stream.synchronize()
    assert members(kernel, seen[0])["arg1"] == 3


def test_metadata_by_path_and_as_text(device: Device, chip: str, tmp_path: Path) -> None:
    text = json.dumps(metadata("k", arch=ARCHS[chip]))
    path = tmp_path / "meta.json"
    path.write_text(text)
    for given in (text, text.encode(), path, str(path), json.loads(text)):
        assert device.load_triton(elf("k"), ["i32"], metadata=given).name == "k"


def test_with_metadata_from_elsewhere_the_ir_beside_the_elf_is_read(
    device: Device, chip: str, tmp_path: Path
) -> None:
    folder = cache_folder(tmp_path, arch=ARCHS[chip])
    moved = (folder / "add_kernel.json").rename(tmp_path / "meta.json")
    assert len(device.load_triton(folder / "add_kernel.npubin", metadata=moved).signature) == 4


def test_tilelang_npuir_has_the_signature_in_its_metadata(device: Device, stream: Stream, tmp_path: Path) -> None:
    path = tmp_path / "kernel.o"
    path.write_bytes(elf("vec_add"))
    fields = {"kernel_name": "vec_add", "mix_mode": "aiv", "param_info": ["*fp32", "i32"], "symbolic": {}}
    kernel = device.load_triton(path, metadata=fields)
    assert [each.name for each in kernel.layout.members][0::8] == ["ffts_addr", "DTData"]
    seen = watch(kernel)
    kernel[1](None, 9, stream=stream)
    stream.synchronize()
    assert members(kernel, seen[0])["arg1"] == 9


def test_closing_unloads_and_later_launches_say_so(load: Load, stream: Stream) -> None:
    with load() as kernel:
        watch(kernel)
        launch = kernel[1]
        launch(None, None, None, 1, stream=stream)
        stream.synchronize()
    for again in (lambda: launch(None, None, None, 1, stream=stream), lambda: kernel[2]):
        with pytest.raises(errors.InvalidHandle, match="unloaded"):
            again()


def test_a_dropped_kernel_goes_without_the_collector(load: Load, stream: Stream) -> None:
    import gc
    import weakref

    kernel = load()
    kernel[1]
    alive = weakref.ref(kernel)
    gc.disable()
    try:
        del kernel
        assert alive() is None
    finally:
        gc.enable()


def test_what_is_no_stream_is_named(load: Load, stream: Stream) -> None:
    kernel = load()
    for wrong in ("s", stream.handle, 0):
        for launch in (kernel[1], kernel.kernel[1]):
            with pytest.raises(errors.InvalidArgument, match="it must be a Stream"):
                launch(None, None, None, 1, stream=wrong)
    with pytest.raises(errors.InvalidArgument, match="it must be a Kernel"):
        stream.batch().launch(kernel, 1, None, None, None, 1)  # type: ignore[arg-type]


def test_options_of_a_launch(load: Load, stream: Stream) -> None:
    kernel = load()
    seen = watch(kernel)
    kernel[2](None, None, None, 4, stream=stream, options=LaunchOptions(timeout_us=5_000_000))
    stream.synchronize()
    assert len(seen) == 1


def test_a_copy_of_the_folder_elsewhere_loads(device: Device, load: Load, tmp_path: Path) -> None:
    load()
    moved = shutil.copytree(tmp_path / "add_kernel_3.2", tmp_path / "moved")
    assert device.load_triton(str(moved)).name == "add_kernel"
