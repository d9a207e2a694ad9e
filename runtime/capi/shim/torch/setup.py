"""Makes a process ready for torch_npu: `npuhal run --torch`, `npuhal trace --torch`, pytest's `--npu-torch`.

The libraries are written on first use, into the user's cache, and loaded before torch_npu asks for them; processes that
are started from this one find them by the variables.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from npuhal.compiler import BuildError
from npuhal.loader import URL_VARIABLE, check_url
from runtime.capi.shim import build, by_name
from runtime.capi.shim.torch import libraries
from runtime.capi.shim.torch.calls import DEFAULT_URL, QUEUE
from runtime.capi.shim.torch.wheel import installed


def provide() -> Path:
    """Return a folder with the libraries for the installed torch_npu and this npuhal, written where there is none.

    Raises:
        BuildError: torch or torch_npu is not installed, or the libraries cannot be made.
    """
    wheel = installed("torch_npu")
    here = Path(libraries.__file__).parent
    parts = [sys.executable.encode(), str(wheel).encode()]
    parts += [str(path.stat().st_mtime_ns).encode() for path in sorted(wheel.rglob("*.so"))]
    files = [path for folder in (here.parent, here) for path in sorted(folder.iterdir()) if path.is_file()]
    parts += [path.read_bytes() for path in files]
    mark = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    out = build.cache_folder() / f"torch-{mark}"
    if not (out / libraries.ENVIRONMENT).exists():
        libraries.write(out, DEFAULT_URL)
    return out


def mismatch(torch: str, torch_npu: str) -> str:
    """Return what to say of two versions that hardly fit each other; empty where they are alike."""
    if torch.split(".")[:2] == torch_npu.split(".")[:2]:
        return ""
    return (
        f"npuhal: torch {torch} and torch-npu {torch_npu} are of different versions; if the import fails: "
        f"pip install torch=={torch_npu.partition('+')[0].partition('.post')[0]}"
    )


def prepare(url: str | None = None) -> Path:
    """Set the variables of the process, and load the libraries; returns their folder.

    Operators are submitted by the thread that calls them unless TASK_QUEUE_ENABLE says otherwise, so that an operator
    that is not computed fails at its call and reports have the lines of both sides.

    Args:
        url: the machine; by default that of NPUHAL_URL, or a fake.

    Raises:
        BuildError: torch or torch_npu is not installed, the libraries cannot be made, or torch_npu is loaded already.
        BadUrl, UnknownChip: the URL is wrong.
    """
    if "torch_npu" in sys.modules:
        raise BuildError("torch_npu is imported already, with other libraries; start a new process")
    url = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    check_url(url)
    folder = provide()
    with suppress(PackageNotFoundError):  # put there by hand
        if text := mismatch(version("torch"), version("torch-npu")):
            print(text, file=sys.stderr)
    os.environ.update({**libraries.variables(folder), URL_VARIABLE: url})
    os.environ.setdefault(QUEUE, "0")
    for path in (folder / by_name.LIBRARY, *sorted(folder.glob("*.so"))):
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return folder
