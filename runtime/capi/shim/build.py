"""Compiles libascendcl.so (`npuhal shim runtime`), and makes one for this interpreter where there is none yet."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from npuhal.compiler import BuildError, c_text, compile_library
from runtime.capi.shim import stubs
from runtime.capi.shim.by_name import ALIAS, LIBRARY

_HERE = Path(__file__).parent


def write(out: Path) -> list[Path]:
    """Write the library and its alias into a folder; returns both.

    Raises:
        BuildError: there is no compiler, it fails, or this Python has no shared libpython.
    """
    python = libpython()
    library = compile_with(out, python=str(python))
    alias = out / ALIAS
    alias.unlink(missing_ok=True)
    alias.symlink_to(LIBRARY)
    return [library, alias]


def compile_with(
    out: Path, more: Sequence[Path] = (), *options: str, python: str = "", without: Collection[str] = ()
) -> Path:
    """Write the library into a folder, with more C sources in it; returns it.

    Args:
        without: functions that those sources have instead.
        python: the shared libpython for programs in C; "": it serves Python programs alone.

    Raises:
        BuildError: there is no compiler, or it fails.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths = list(dict.fromkeys([str(_HERE.parents[2]), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]))
    settings = (
        f"-DSHIM_LIBPYTHON={c_text(python)}", f"-DSHIM_PATHS={c_text(repr(paths))}",
        f"-DSHIM_PYTHON=L{c_text(sys.executable)}", f"-I{_HERE}",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="npuhal-shim-") as folder:
        text = Path(folder) / "functions.c"
        text.write_text(stubs.source(without), encoding="ascii")
        sources = [text, _HERE / "library.c", _HERE / "interrupts.c", *more]
        compile_library(out / LIBRARY, sources, *settings, "-ldl", "-lpthread", "-Wl,-z,nodelete", *options)
    return out / LIBRARY


def libpython() -> Path:
    """Return the shared library of this interpreter; BuildError where there is none."""
    folders = [sysconfig.get_config_var("LIBDIR") or "", str(Path(sys.base_prefix) / "lib")]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    folders += [f"/usr/lib/{multiarch}"] if multiarch else []
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    names = [sysconfig.get_config_var("INSTSONAME") or "", f"libpython{version}.so.1.0"]
    for folder in folders:
        for name in names:
            if ".so" in name and (found := Path(folder) / name).is_file():
                return found
    raise BuildError(
        f"Python {version} at {sys.executable} has no shared libpython{version}.so, which programs in C need: install "
        f"it (apt-get install libpython{version}), or use an interpreter that was built with --enable-shared"
    )


def provide() -> Path:
    """Return a library for this interpreter, made on first use in the user's cache.

    Raises:
        BuildError: it cannot be made.
    """
    files = sorted(path for path in _HERE.iterdir() if path.is_file())
    parts = [sys.executable.encode(), *(path.read_bytes() for path in files)]
    mark = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    cache = cache_folder() / f"acl-{mark}"
    library = cache / LIBRARY
    if not library.exists():
        write(cache)
    return library


def cache_folder() -> Path:
    """Return where libraries that are made on first use are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "npuhal"
