"""npuhal as Triton's driver, with stand-ins for Triton's own modules: the protocol of 3.2 and of 3.5 onwards."""

from __future__ import annotations

import ast
import builtins
import gc
import os
import struct
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import runtime.triton
from chips import find_chip
from chips.binary.program import read_program
from chips.binary.writer import KernelText, write_elf
from runtime import errors
from runtime.api import Device, Runtime
from runtime.api.triton.compiling import stand_in_stages
from runtime.api.triton.driver import DeviceNumber, NpuDriver
from runtime.api.triton.timing import benchmark
from runtime.launch.producers.triton import TritonKernel
from tests.tools.triton_cache import ARCHS, elf, metadata

ROOT = Path(__file__).resolve().parents[4]


class Target:
    """GPUTarget."""

    def __init__(self, backend: str, arch: str, warp_size: int) -> None:
        self.backend, self.arch, self.warp_size = backend, arch, warp_size


def source(signature: dict[Any, Any], constants: dict[Any, Any] | None = None, names: tuple[str, ...] = ()) -> Any:
    """What Triton hands to a launcher."""
    fn = types.SimpleNamespace(arg_names=list(names))
    made = types.SimpleNamespace(fn=fn, signature=signature)
    if constants is not None:
        made.constants = constants
    return made


@pytest.fixture
def driver(device: Device) -> NpuDriver:
    """A driver without Triton."""
    kind = type("Driver", (NpuDriver,), {"target_type": Target})
    made = kind(device)
    kind.current = staticmethod(lambda: made)
    return made  # type: ignore[no-any-return]


@pytest.fixture
def facts(chip: str) -> Any:
    """Metadata as Triton's compiled kernels have them: attributes, the target an object."""
    fields = metadata("k", arch=ARCHS[chip])
    return types.SimpleNamespace(**fields | {"target": Target(**fields["target"])})


Launch = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def launch(driver: NpuDriver, facts: Any, device: Device) -> Launch:
    """Return a function that launches twice through a launcher, and gives the arguments that the kernel got."""

    def run(about: Any, *arguments: Any, stream: Any = None, **more: Any) -> list[tuple[Any, ...]]:
        launcher = driver.launcher_cls(about, facts)
        function = driver.utils.load_binary("k aiv", elf("k"), 1, 0)[1]
        blocks: list[tuple[Any, ...]] = []
        held: list[TritonKernel] = []

        def body(context: Any) -> None:
            (kernel,) = held
            raw = struct.unpack(kernel.layout.format, context.args.bytes(0, kernel.layout.size))
            members = dict(zip([each.name for each in kernel.layout.members], raw, strict=True))
            count = len(kernel.signature)
            blocks.append((context.blocks, *(members[f"arg{number}"] for number in range(count))))

        device.hal.fake.attach(b"\xd5" * 64, body, grid=True)
        for _ in range(2):
            target = driver.get_current_stream() if stream is None else stream
            kernel = launcher._kernel(device, function)
            held[:] = [kernel]
            launcher(4, 2, 1, target, function, {}, "about", more.get("enter"), more.get("leave"), *arguments)
        device.synchronize()
        return blocks

    return run


# -- the protocol --------------------------------------------------------------------------------------------------


def test_devices_streams_and_targets(driver: NpuDriver, machine: Runtime, device: Device) -> None:
    assert driver.is_active()
    assert driver.get_current_device() == 0
    assert driver.get_current_stream(0) is device.default_stream
    target = driver.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("npu", device.chip.soc, 0)
    cube, vector = device.core_counts
    assert driver.utils.get_device_properties(0) == {"max_shared_mem": 1, "num_aicore": cube, "num_vectorcore": vector}
    assert (driver.utils.get_aicore_num(), driver.utils.get_aivector_core_num()) == (cube, vector)
    assert driver.utils.get_arch() == device.chip.soc
    driver.set_current_device(1)
    assert driver.get_current_device() == 1
    assert driver.get_current_stream() is machine.device(1).default_stream
    driver.set_current_device(0)
    with machine.device(1).create_stream() as stream, driver.using(stream):
        assert driver.get_current_stream() is stream
        assert driver.get_current_device() == 1
    assert driver.get_current_stream() is device.default_stream


def test_a_device_of_another_installation_is_another_key(device: Device) -> None:
    first, second = DeviceNumber(0, 1), DeviceNumber(0, 2)
    assert first == 0 == second
    assert first != second
    assert len({first: 1, second: 2}) == 2
    assert DeviceNumber(0, 1) == first


def test_both_forms_of_load_binary(driver: NpuDriver) -> None:
    module, function, registers, spills = driver.utils.load_binary("k aiv", b"x", 1, 0)
    assert (module.name, function.data, registers, spills) == ("k", b"x", 0, 0)
    assert len(driver.utils.load_binary("k", b"x", 1, 0, "aiv")) == 5


def test_arguments_of_3_2_leave_out_constants(launch: Launch) -> None:
    about = source({"x": "*fp32", "n": "i32", "one": "i32", "none": "*i8", "s": "fp32"},
                   {"one": 1, "none": None, "BLOCK": 128})
    assert launch(about, 0x1000, 7, 1, None, 2.5) == [(8, 0x1000, 7, 2.5)] * 2


def test_arguments_of_newer_versions_have_constants_by_type(launch: Launch) -> None:
    about = source({"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {(2,): 128}, ("x", "n", "BLOCK"))
    assert launch(about, 0x1000, 7, 128) == [(8, 0x1000, 7)] * 2


def test_numbered_signatures_and_plain_ones(launch: Launch) -> None:
    assert launch(source({0: "*fp32", 1: "i32"}, {1: 3}, ("x", "n")), 0x1000, 3) == [(8, 0x1000)] * 2
    assert launch(source({"x": "*fp32", "n": "i32"}), 0x1000, 3) == [(8, 0x1000, 3)] * 2


def test_tuples_and_descriptors_are_taken_apart(launch: Launch) -> None:
    about = source({"pair": ("*fp32", "i32"), "d": "tensordesc<fp16[4]>", "C": "constexpr"})
    descriptor = types.SimpleNamespace(base=0x2000, shape=[4], strides=[1], padding="nan")
    assert launch(about, (0x1000, 3), descriptor, 9) == [(8, 0x1000, 3, 0x2000, 4, 1, 1, 4, 1)] * 2


def test_hooks_are_called_around_launches_also_of_an_empty_grid(
    driver: NpuDriver, launch: Launch, facts: Any
) -> None:
    calls: list[Any] = []
    hooks: dict[str, Any] = {
        "enter": lambda about: calls.append(("enter", about)), "leave": lambda about: calls.append(("leave", about)),
    }  # fmt: skip
    about = source({"n": "i32"})
    launch(about, 3, **hooks)
    assert calls == [("enter", "about"), ("leave", "about")] * 2
    launcher, function = driver.launcher_cls(about, facts), driver.utils.load_binary("k", elf("k"), 1, 0)[1]
    launcher(0, 1, 1, driver.get_current_stream(), function, {}, "empty", hooks["enter"], hooks["leave"], 3)
    assert calls[-1] == ("leave", "empty")


def test_streams_by_handle(launch: Launch, device: Device) -> None:
    with device.create_stream() as stream:
        assert launch(source({"n": "i32"}), 5, stream=stream.handle) == [(8, 5)] * 2
    assert launch(source({"n": "i32"}), 5, stream=0) == [(8, 5)] * 2


def test_another_number_of_arguments_is_refused(driver: NpuDriver, facts: Any) -> None:
    launcher = driver.launcher_cls(source({"x": "*fp32", "C": "constexpr"}), facts)
    function = driver.utils.load_binary("k", elf("k"), 1, 0)[1]
    with pytest.raises(errors.InvalidArgument, match="passes 1 arguments for 2 parameters"):
        launcher(1, 1, 1, 0, function, {}, None, None, None, 0x1000)


def test_measuring_by_the_devices_clock(driver: NpuDriver, device: Device) -> None:
    stream, calls = driver.get_current_stream(), []
    buffer = device.alloc(1 << 20)

    def call() -> None:
        calls.append(1)
        stream.fill(buffer, 0)

    bench = driver.get_benchmarker()
    quantiles = bench(call, quantiles=(0.5, 0.2, 0.8), rep=1)
    assert len(quantiles) == 3
    assert quantiles[1] <= quantiles[0] <= quantiles[2]
    assert 3 <= len(calls) <= 1010
    assert benchmark(stream, call, rep=1, quantiles=[0.5]) > 0
    every = benchmark(stream, call, rep=1, return_mode="all")
    assert min(every) <= benchmark(stream, call, rep=1, return_mode="median") <= max(every) * 10


def test_events_and_waits_as_do_bench_wants_them(driver: NpuDriver, device: Device) -> None:
    interface = driver.get_device_interface()
    start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
    start.record()
    cache = driver.get_empty_cache_for_benchmark()
    assert cache.nbytes == 192 << 20
    driver.clear_cache(device.empty(1024))
    end.record()
    end.synchronize()
    interface.synchronize()
    assert start.query()
    assert start.elapsed_time(end) >= 0
    assert interface.is_available()
    assert interface.current_device() == 0
    assert interface.current_stream() is device.default_stream


def test_what_is_not_offered_says_so(driver: NpuDriver) -> None:
    with pytest.raises(errors.NotSupported, match="torch"):
        driver.get_active_torch_device()
    with pytest.raises(errors.NotSupported, match="STACK_SIZE"):
        driver.utils.set_device_limit(0, "STACK_SIZE", 3)
    assert driver.map_python_to_cpp_type("*fp32") == "void*"
    assert driver.map_python_to_cpp_type("bf16") == "float"


# -- the stand-in for the device compiler --------------------------------------------------------------------------


@pytest.mark.parametrize(("mix", "simt"), [("aiv", False), ("mix", False), ("aiv", True)])
def test_a_compile_without_the_compiler_ends_in_an_elf(mix: str, simt: bool) -> None:
    space: dict[str, Any] = {"mix": mix}
    exec("""
def _parse_linalg_metadata(text, metadata):
    metadata.update(kernel_name="k", mix_mode=mix, parallel_mode="simd")
def _parse_ttir_metadata(text, metadata):
    metadata.update(kernel_name="k", mix_mode="aiv")
class Backend:
    def add_stages(self, stages, options):
        stages["ttir"] = "first"
        if not options:
            stages["ttadapter"] = "second"
        stages["npubin"] = "compiler"
""", space)
    stages: dict[str, Any] = {}
    stand_in_stages(space["Backend"])(None, stages, simt)
    assert stages["ttir"] == "first"
    chip = find_chip("Ascend910B3")
    about = {"target": Target("npu", "Ascend910B3", 0)}
    first, second = stages["npubin"]("text", about), stages["npubin"]("another text", dict(about))
    assert about["kernel_name"] == "k"
    program = read_program(first, chip)
    kernel = program.kernel("k")
    assert (kernel.second is not None) == (mix == "mix")
    assert kernel.vector_function == (3 if simt else 0)
    assert first != second, "kernels of different IR have different code"


def test_written_elfs_have_what_was_asked_for() -> None:
    meta = struct.pack("<HHI", 1, 4, 3)
    data = write_elf([KernelText("a", b"1" * 64), KernelText("b", b"2" * 32, meta)], flags=0x930000)
    program = read_program(data, find_chip("Ascend910B3"))
    assert bytes(program.image[:64]) == b"1" * 64
    assert (program.kernel("b").offset1, program.kernel("b").length1) == (64, 32)
    assert program.kernel("b").func_type == 3


# -- installing ----------------------------------------------------------------------------------------------------


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """Stand-ins for the modules of Triton that an installation touches."""

    class Config:
        """DriverConfig."""

        def __init__(self) -> None:
            self.active: Any = "their driver"

        def set_active(self, driver: Any) -> None:
            self.active = driver

    class Backend:
        """AscendBackend."""

        def add_stages(self, stages: Any, options: Any) -> None:
            """Add nothing."""

    class Source:
        """ASTSource."""

        def make_ir(self, options: Any) -> str:
            """Return what stands for IR."""
            return f"IR for {options}"

    utils = type("NPUUtils", (), {})
    state = types.SimpleNamespace(config=Config(), utils=utils, backend=Backend, source=Source)
    modules: dict[str, dict[str, Any]] = {
        "triton": {"__version__": "3.2.0"},
        "triton.backends": {"backends": {"ascend": types.SimpleNamespace(compiler=Backend)}},
        "triton.backends.ascend": {}, "triton.backends.ascend.driver": {"NPUUtils": state.utils},
        "triton.backends.driver": {"DriverBase": type("DriverBase", (), {})},
        "triton.backends.compiler": {"GPUTarget": Target},
        "triton.runtime": {}, "triton.runtime.driver": {"driver": state.config}, "triton.language": {"bfloat16": None},
        "triton.compiler": {}, "triton.compiler.compiler": {"ASTSource": state.source},
        "triton.runtime.jit": {"JITFunction": type("JITFunction", (), {})},
        "triton.runtime.interpreter": dict.fromkeys(
            ("FunctionRewriter", "interpreter_builder", "_patch_lang", "_get_np_dtype", "ReduceOps", "ScanOps")
        ) | {"TensorHandle": object},
    }  # fmt: skip
    for name, content in modules.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    yield state
    runtime.triton.uninstall()


def test_install_and_uninstall_leave_triton_as_it_was(triton: Any, device: Device) -> None:
    stages = triton.backend.add_stages
    for _ in range(2):
        runtime.triton.install(device)
        assert runtime.triton.installed()
        assert runtime.triton.current_device() is device
        assert triton.config.active.get_current_target().arch == device.chip.soc
        assert triton.utils.instance.get_arch() == device.chip.soc
        assert triton.backend.add_stages is stages
    runtime.triton.uninstall()
    runtime.triton.uninstall()
    assert not runtime.triton.installed()
    assert triton.config.active == "their driver"
    assert not hasattr(triton.utils, "instance")
    with pytest.raises(errors.NotSupported, match="install"):
        runtime.triton.current_device()


def test_interpreting_without_a_compiler_keeps_its_files_away(triton: Any, device: Device) -> None:
    stages = triton.backend.add_stages
    runtime.triton.install(device, interpret=True)
    folder = os.environ["TRITON_CACHE_DIR"]
    assert Path(folder).is_dir()
    assert triton.source().make_ir(3) == "IR for 3"
    assert triton.backend.add_stages is not stages
    runtime.triton.install(device)
    assert triton.backend.add_stages is stages
    assert "TRITON_CACHE_DIR" not in os.environ
    runtime.triton.install(device, interpret=True)
    assert os.environ["TRITON_CACHE_DIR"] == folder, "what was compiled is found again in this process"


def test_with_a_compiler_it_is_used(
    triton: Any, device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiler = tmp_path / "bishengir-compile"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    stages = triton.backend.add_stages
    runtime.triton.install(device, interpret=True)
    assert triton.backend.add_stages is stages
    assert "TRITON_CACHE_DIR" not in os.environ


def test_a_stream_for_the_threads_kernels(triton: Any, device: Device) -> None:
    runtime.triton.install(device)
    with device.create_stream() as stream, runtime.triton.stream(stream):
        assert triton.config.active.get_current_stream() is stream


def test_an_interpreter_that_is_not_known_is_refused(triton: Any, device: Device) -> None:
    del sys.modules["triton.runtime.interpreter"].FunctionRewriter  # type: ignore[attr-defined]
    with pytest.raises(errors.NotSupported, match="FunctionRewriter"):
        runtime.triton.install(device, interpret=True)
    assert not runtime.triton.installed()
    assert triton.config.active == "their driver"


def test_without_triton_ascend_the_error_says_what_to_install(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(errors.NotSupported, match="pip install triton-ascend"):
        runtime.triton.install(device)


def test_a_real_device_is_not_interpreted(triton: Any, device: Device) -> None:
    real: Any = types.SimpleNamespace(hal=types.SimpleNamespace(), chip=device.chip, check_open=lambda: None)
    with pytest.raises(errors.NotSupported, match="kernels run on the device"):
        runtime.triton.install(real, interpret=True)
    assert not runtime.triton.installed()


def test_nothing_imports_triton_but_the_installation() -> None:
    allowed = {"runtime/api/triton/installing.py", "runtime/api/triton/interpreting.py"}
    for path in (*ROOT.glob("runtime/**/*.py"), *ROOT.glob("chips/**/*.py"), *ROOT.glob("fakes/**/*.py")):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        if "triton" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(each.split(".")[0] == "triton" for each in names), name
            if isinstance(node, ast.Constant) and str(node.value).startswith("triton.") and "import_module" in text:
                assert name in allowed, name


def test_importing_the_module_imports_no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def strict(name: str, *rest: Any, **more: Any) -> Any:
        assert name.split(".")[0] != "triton"
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", strict)
    for name in [name for name in sys.modules if name.startswith("runtime.api.triton") or name == "runtime.triton"]:
        monkeypatch.delitem(sys.modules, name)
    import runtime.triton as again

    assert again.install
    gc.collect()
