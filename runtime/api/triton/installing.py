"""Making npuhal Triton's driver, and undoing it."""

from __future__ import annotations

import functools
import importlib
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from types import ModuleType, new_class
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.api.process import start
from runtime.api.triton.compiling import stand_in_stages
from runtime.api.triton.driver import NpuDriver
from runtime.api.triton.interpreting import Interpreter

if TYPE_CHECKING:
    from runtime.api.devices import Device
    from runtime.api.streams import Stream

_CACHE = "TRITON_CACHE_DIR"
_COMPILER = "bishengir-compile"
_COMPILER_FOLDER = "TRITON_NPU_COMPILER_PATH"
_lock = threading.Lock()


class _Installed:
    """What `uninstall` undoes, and the driver that is installed."""

    def __init__(self) -> None:
        self.driver: NpuDriver | None = None
        self.undo = ExitStack()


_now = _Installed()


def installed() -> bool:
    """Return whether npuhal is Triton's driver now."""
    return _now.driver is not None


def current_device() -> Device:
    """Return the device that kernels of this thread are launched on.

    Raises:
        NotSupported 207000: nothing is installed.
    """
    return _driver().device()


def stream(chosen: Stream) -> AbstractContextManager[Stream]:
    """Launch the thread's kernels in a stream instead of the default one: `with runtime.triton.stream(s): ...`.

    Raises:
        NotSupported 207000: nothing is installed.
    """
    return _driver().using(chosen)


def _driver() -> NpuDriver:
    if _now.driver is None:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "npuhal is not Triton's driver",
            hint="call runtime.triton.install() first",
        )
    return _now.driver


def install(where: str | Device | None = None, *, interpret: bool = False) -> None:
    """Make npuhal the driver of Triton-Ascend; doing it again changes the device.

    Args:
        where: a device, or the URL of a machine whose first device is taken; None: what NPUHAL_URL says.
        interpret: on a fake, let Triton's own interpreter compute what each kernel computes. No device compiler is
            needed then. Kernels compiled without one are kept in a temporary folder, away from Triton's cache.

    Raises:
        NotSupported 207000: Triton-Ascend is not installed, or `interpret` is asked for on a device that is no fake.
        RuntimeFault: the machine or its device cannot be opened.
    """
    triton = _triton()
    device = start(where).device(0) if where is None or isinstance(where, str) else where
    device.check_open()
    fake = getattr(device.hal, "fake", None)
    if interpret and fake is None:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"interpret=True on {device.chip.soc}: kernels run on the device",
            hint="open a fake: install('fake://ascend910b3', interpret=True)",
        )
    uninstall()
    with _lock, ExitStack() as undo:
        interpreter = Interpreter(triton) if interpret else None
        if interpreter is not None:
            source = importlib.import_module("triton.compiler.compiler").ASTSource
            _set(undo, source, "make_ir", interpreter.guarded(source.make_ir))
            if not _has_compiler():
                _use_stand_in(undo)
        driver = _driver_class(triton)(device, interpreter)
        compiler_side = importlib.import_module("triton.backends.ascend.driver")
        _set(undo, compiler_side.NPUUtils, "instance", driver.utils)
        config = importlib.import_module("triton.runtime.driver").driver
        undo.callback(config.set_active, config.active)
        config.set_active(driver)
        _now.driver = driver
        _now.undo = undo.pop_all()


def uninstall() -> None:
    """Give Triton its own driver back; without an `install` nothing happens."""
    with _lock:
        undo, _now.undo, _now.driver = _now.undo, ExitStack(), None
        undo.close()


def _triton() -> ModuleType:
    """Return the package, if it is Triton-Ascend.

    Raises:
        NotSupported 207000: it is another Triton, or none.
    """
    try:
        triton = importlib.import_module("triton")
        importlib.import_module("triton.backends.ascend.driver")
    except ImportError as error:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"Triton-Ascend cannot be imported: {error}",
            hint="pip install triton-ascend pybind11 (Python 3.11 for 3.2.0); another `triton` must not be installed",
        ) from error
    return triton


def _driver_class(triton: ModuleType) -> Callable[..., NpuDriver]:
    """Return our driver as a subclass of the class that this version of Triton wants."""
    base = importlib.import_module("triton.backends.driver").DriverBase
    target = importlib.import_module("triton.backends.compiler").GPUTarget
    made: Callable[..., NpuDriver] = new_class("NpuhalDriver", (NpuDriver, base))
    made.target_type = target  # type: ignore[attr-defined]
    made.current = staticmethod(_driver)  # type: ignore[attr-defined]
    return made


def _has_compiler() -> bool:
    """Return whether the device compiler is where Triton looks for it."""
    import shutil

    folder = os.environ.get(_COMPILER_FOLDER, "")
    return shutil.which(_COMPILER) is not None or (os.path.exists(os.path.join(folder, "npuc")) and bool(folder))


def _use_stand_in(undo: ExitStack) -> None:
    """Let compiles end with an ELF that has no code of its own, kept away from the cache of real ones."""
    backends: Mapping[str, Any] = importlib.import_module("triton.backends").backends
    backend = backends["ascend"].compiler  # Triton loads the file once more, under a name of its own
    _set(undo, backend, "add_stages", stand_in_stages(backend))
    before = os.environ.get(_CACHE)
    os.environ[_CACHE] = _folder().name
    undo.callback(_restore_variable, _CACHE, before)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder for what is compiled without a compiler; it goes at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="npuhal-triton-")


def _restore_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


_MISSING = object()


def _set(undo: ExitStack, holder: Any, name: str, value: Any) -> None:
    """Set an attribute until the installation is undone."""
    before = vars(holder).get(name, _MISSING)
    undo.callback(lambda: delattr(holder, name) if before is _MISSING else setattr(holder, name, before))
    setattr(holder, name, value)


__all__ = ["current_device", "install", "installed", "stream", "uninstall"]
