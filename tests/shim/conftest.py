"""Libraries and programs of these tests, each compiled once per run; without a compiler the tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.shim import build
from npuhal import compiler

HERE = Path(__file__).parent
Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.skipif(
    not any(shutil.which(name) for name in compiler.COMPILERS), reason="there is no C compiler on this machine"
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what is compiled."""
    if not any(shutil.which(name) for name in compiler.COMPILERS):
        pytest.skip("there is no C compiler on this machine")
    return tmp_path_factory.mktemp("shim")


@pytest.fixture(scope="session")
def driver(folder: Path) -> Callable[[str], Path]:
    """Return where the driver's libraries of a chip are."""

    def make(soc: str) -> Path:
        out = folder / soc
        if not out.exists():
            build.write(out, f"fake://{soc}")
        return out

    return make


@pytest.fixture
def run_driver(driver: Callable[[str], Path], folder: Path) -> Run:
    """Run tests/shim/driver.c on a machine: run_driver(url, mode, entry, **environment)."""

    def run(url: str, *words: str, status: int | None = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        libraries = driver(url.removeprefix("fake://").partition("?")[0])
        program = folder / "driver"
        if not program.exists():
            command = [compiler.compiler(), "-Wall", "-O1", "-o", str(program), str(HERE / "driver.c")]
            subprocess.run([*command, f"-L{libraries}", "-lascend_hal", "-lpthread"], check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries), "NPUHAL_URL": url, **variables}
        done = subprocess.run(
            [str(program), *words], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert status is None or done.returncode == status, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def acl(folder: Path) -> Path:
    """Return where libascendcl.so and its headers are."""
    from runtime.capi.shim import build as acl_build
    from runtime.capi.shim import headers

    out = folder / "acl"
    acl_build.write(out)
    headers.write(out / "include")
    return out


@pytest.fixture
def run_acl(acl: Path, folder: Path) -> Run:
    """Run tests/shim/runtime.c on a machine: run_acl(url, mode, word, **environment)."""

    def run(url: str, *words: str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        program = folder / "runtime"
        if not program.exists():
            command = [compiler.compiler(), "-Wall", "-Wextra", "-Werror", f"-I{acl}/include", "-o", str(program)]
            link = [f"-L{acl}", "-lacl_rt", "-lpthread", f"-Wl,-rpath,{acl}"]
            subprocess.run([*command, str(HERE / "runtime.c"), *link], check=True)
        environment = {**os.environ, "NPUHAL_URL": url, "PYTHONPATH": str(HERE), **variables}
        done = subprocess.run(
            [str(program), *words], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run
