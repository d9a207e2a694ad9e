"""The wheel: it holds every module and data file and nothing else, and the command works without a checkout."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("npuhal", "chips", "runtime", "fakes")
NOT_SHIPPED = frozenset({".pyc", ".md"})


def shipped(root: Path) -> set[str]:
    """Return the files that belong into a wheel, as paths below the root."""
    files = (path for package in PACKAGES for path in (root / package).rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix() for path in files if path.suffix not in NOT_SHIPPED}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a build reads, so that nothing is written into the checkout and nobody edits it meanwhile."""
    target = tmp_path_factory.mktemp("source")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, target / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, target)
    return target


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pure wheel, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    done = subprocess.run(
        [sys.executable, "-m", *command], env={**os.environ, "NPUHAL_PURE": "1"}, capture_output=True, text=True,
        timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    assert built.name.endswith("-py3-none-any.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is unpacked, as an installation does."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(source: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert found == shipped(source)
    assert {f"{package}/py.typed" for package in PACKAGES} <= found


def test_every_package_folder_with_modules_is_a_package() -> None:
    modules = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    assert sorted({str(path.parent) for path in modules if not (path.parent / "__init__.py").is_file()}) == []


def test_the_wheel_declares_the_command_and_its_licence(site: Path) -> None:
    (info,) = site.glob("*.dist-info")
    entries = (info / "entry_points.txt").read_text()
    assert "npuhal = npuhal.command:main" in entries
    assert "npuhal = npuhal.pytest_entry" in entries
    metadata = (info / "METADATA").read_text()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.10" in metadata
    assert (info / "licenses" / "LICENSE").is_file()


def test_every_package_says_its_version_and_so_does_everything_else() -> None:
    versions = {importlib.import_module(name).__version__ for name in PACKAGES}
    (version,) = versions
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version


def test_the_readme_shows_its_links_on_a_package_index() -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if "://" not in link and not link.startswith("#")] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--version",), "npuhal 0."),
        (("info", "--chip", "ascend910b3"), "Ascend910B3"),
        (("info", "--url", "fake://ascend950"), "Ascend950PR_9599"),
        (("explain", "107002"), "ACL_ERROR_RT_CONTEXT_NULL"),
        (("sqe", "decode", "--chip", "ascend910b3", "06" + 63 * "00"), "NOTIFY_RECORD"),
        (("validate", "--chip", "ascend950pr_9599"), "no gaps"),
        (("fake", "coverage"), "halSqTaskSend"),
        (("demo",), "made on the spot"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_the_command_works_from_the_wheel_alone(
    site: Path, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    environ = {**os.environ, "PYTHONPATH": str(site)}
    main = "import runtime.cli as cli, sys; print(cli.__file__, file=sys.stderr); sys.exit(cli.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", main, *arguments],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(str(site))
    assert told in done.stdout
