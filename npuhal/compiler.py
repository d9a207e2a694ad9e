"""The C compiler of this machine, for the few commands that write shared libraries; nothing else needs one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from npuhal.errors import NpuhalError

COMPILERS = ("cc", "gcc", "clang")
"""Names that are tried, in this order."""
_FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")


class BuildError(NpuhalError):
    """A library cannot be made; the text says what is missing, or what the compiler said."""


def find_compiler() -> str | None:
    """Return the C compiler: $CC, or the first that is on the PATH; None where there is none."""
    return os.environ.get("CC") or next((path for name in COMPILERS if (path := shutil.which(name))), None)


def compiler() -> str:
    """Return the C compiler; BuildError names packages that bring one."""
    found = find_compiler()
    if found is None:
        raise BuildError(
            f"there is no C compiler ({', '.join(COMPILERS)}) on the PATH; it is needed only to write the library: "
            "install gcc (apt-get install gcc libc6-dev, dnf install gcc, apk add build-base)"
        )
    return found


def compile_library(target: Path, sources: Sequence[Path], *options: str) -> None:
    """Compile C sources to a shared library, which takes the place of an older one at once; BuildError if it fails."""
    made = target.with_name(f".{target.name}.new")
    command = [*shlex.split(compiler()), *_FLAGS, "-o", str(made), f"-Wl,-soname,{target.name}"]
    command += [*map(str, sources), *options]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        made.unlink(missing_ok=True)
        raise BuildError(f"{shlex.join(command)} failed: {ran.stderr.strip()}")
    made.replace(target)


def c_text(text: str) -> str:
    """Return a C string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
