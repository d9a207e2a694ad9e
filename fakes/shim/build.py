"""Compiles the libraries of `npuhal shim driver`: libascend_hal.so and libtsdclient.so, with an env.sh."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from fakes.shim.exports import c_daemon, c_source
from npuhal.compiler import c_text, compile_library
from npuhal.loader import LIBRARY

_SOURCES = ("client.c", "post.c", "serve.c", "site.c")
_DAEMON = "libtsdclient.so"


def write(out: Path, url: str) -> list[Path]:
    """Write the libraries of a machine, and an env.sh, into a folder; returns the files.

    Raises:
        BuildError: there is no compiler, or it fails.
        BadUrl, UnknownChip: the URL is wrong, or not one of a fake.
    """
    driver_tree = _driver_tree(url)
    out.mkdir(parents=True, exist_ok=True)
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory(prefix="npuhal-shim-") as folder:
        functions, daemon = Path(folder) / "functions.c", Path(folder) / "daemon.c"
        functions.write_text(c_source(driver_tree), encoding="ascii")
        daemon.write_text(c_daemon(driver_tree), encoding="ascii")
        settings = (
            f"-I{here}", f"-DSHIM_PYTHON={c_text(sys.executable)}", f"-DSHIM_ROOT={c_text(str(here.parents[1]))}",
        )  # fmt: skip
        compile_library(out / LIBRARY, [functions, *(here / name for name in _SOURCES)], *settings, "-ldl", "-lpthread")
        compile_library(out / _DAEMON, [daemon], f"-I{here}", f"-L{out}", f"-l{LIBRARY[3:-3]}")
    environment = out / "env.sh"
    folder_text = shlex.quote(str(out.resolve()))
    environment.write_text(
        f"export LD_LIBRARY_PATH={folder_text}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\n"
        f"export NPUHAL_URL=${{NPUHAL_URL:-{shlex.quote(url)}}}\n",
        encoding="utf-8",
    )
    return [out / LIBRARY, out / _DAEMON, environment]


def _driver_tree(url: str) -> int:
    """Return which tree of the driver a machine has: the functions of a library depend on it."""
    from fakes.shim.server import open_machine

    api = open_machine(url)
    try:
        return int(api.fake.chip.traits.driver_tree)
    finally:
        api.close()
