"""The compiled sends under AddressSanitizer and UBSan: built apart from the package's own, and used by the tests given.

    python -m tests.tools.sanitized tests/unit/runtime/core/submission/test_compiled.py

builds `_send.c` in build/sanitized and runs pytest in a process that has the sanitizers' library loaded first; in that
process this module is the plug-in that puts the extension in the place of the installed one. Leaks are not looked for:
the interpreter itself keeps what it has at the end.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "runtime/core/submission/_send.c"
NAME = "runtime.core.submission._send"
VARIABLE = "SANITIZED_SENDS"
"""Set in the process of the tests: importing this module installs the extension. No hook of pytest is early enough."""
FLAGS = (
    "-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)  # fmt: skip


def target() -> Path:
    """Return where the extension is built."""
    return ROOT / "build/sanitized" / f"_send{sysconfig.get_config_var('EXT_SUFFIX')}"


def build() -> Path | str:
    """Build the extension; returns the library that must be loaded first, or why there is none."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return "there is no gcc"
    asked = [compiler, "-print-file-name=libasan.so"]
    library = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    if not library.is_absolute():
        return "gcc has no libasan"
    target().parent.mkdir(parents=True, exist_ok=True)
    command = [compiler, *FLAGS, f"-I{sysconfig.get_path('include')}", str(SOURCE), "-o", str(target())]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"{' '.join(command)}\n{made.stderr}")
    return library.resolve()


def install() -> None:
    """Put the extension in the place of the installed one, before anybody has imported that."""
    spec = importlib.util.spec_from_file_location(NAME, target())
    assert spec is not None
    assert spec.loader is not None
    sys.modules[NAME] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def pytest_configure() -> None:
    """Make sure that it is what sends."""
    from runtime.core.submission import compiled

    if compiled.extension is None or compiled.extension.__file__ != str(target()):
        raise SystemExit(f"the tests do not run with {target()}: {compiled.told()}")


def main(tests: list[str]) -> int:
    """Build, and run pytest on the tests; 0 as well where nothing can be built."""
    library = build()
    if isinstance(library, str):
        print(f"sanitized sends skipped: {library}")
        return 0
    environment = os.environ | {
        "LD_PRELOAD": str(library), "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1", "PYTHONMALLOC": "malloc", "NPUHAL_COMPILED": "1", VARIABLE: "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-p", "tests.tools.sanitized", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
if os.environ.get(VARIABLE) == "1":
    install()
