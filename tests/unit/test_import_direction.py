"""The layers import downward only, modules stay small, and the tree has the shape the documentation shows."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("npuhal", "chips", "runtime", "fakes")
RUNTIME_LAYERS = ("errors", "driver", "memory", "core", "launch", "feature", "api", "capi", "trace", "cli")
# Lowest first. A module may import its own layer and those before it. `import runtime` is the surface of runtime.api.
LAYERS = ("npuhal", "chips", *(f"runtime.{name}" for name in RUNTIME_LAYERS))
SURFACE = "runtime.api"
# The only ways from above or beside to the stand-in device, and only inside a function.
WAYS_TO_FAKES = ("npuhal.loader", "runtime.testing", "runtime.cli.fake", "runtime.cli.serve", "runtime.cli.shim")
WAY_TO_THE_COMMANDS = ("npuhal.command", "runtime.cli")  # the entry point, whose name no other package has
# The former names of the C API and of pyACL, which only hand on what stands above.
FORMER_NAMES = ("runtime.api.aclrt", "runtime.api.acl")
THE_COMMANDS_OF_TESTS = "runtime.cli.campaign"  # `npuhal fake sweep` and `campaign`
MOST_LINES = 450
"""Of a module, all lines counted; what holds data alone may be longer."""


@dataclass(frozen=True)
class Import:
    """One imported module name, where it stands and whether only a call reaches it."""

    target: str
    line: int
    late: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imports(tree: ast.AST, module: str, is_package: bool, late: bool = False) -> Iterator[Import]:
    """Every import below a node: statements (type-checking ones too) and import_module("literal")."""
    for node in ast.iter_child_nodes(tree):
        inside = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".")[: None if is_package and node.level == 1 else -node.level + is_package]
                base = ".".join([*package, *filter(None, [node.module])])
            # `from runtime import errors` reaches runtime.errors, `from runtime import Device` the surface.
            yield from (Import(f"{base}.{alias.name}", node.lineno, late) for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and "import_module" in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield Import(node.args[0].value, node.lineno, late)
        yield from imports(node, module, is_package, inside)


def layer_of(name: str) -> str | None:
    """The layer a dotted name belongs to; None for what is not ours or stands beside the layers."""
    top, _, rest = name.partition(".")
    if top in ("npuhal", "chips", "fakes"):
        return top
    if top != "runtime":
        return None
    part = rest.split(".")[0]
    if part == "testing":
        return "runtime.testing"
    return f"runtime.{part}" if part in RUNTIME_LAYERS else SURFACE


def faults(module: str, source: str, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of one module, one sentence each."""
    own = layer_of(module)
    wrong = []
    for found in imports(ast.parse(source), module, is_package):
        where = f"{module}:{found.line} imports {found.target}"
        target = layer_of(found.target)
        if target is None:
            if own == "npuhal" and found.target.split(".")[0] not in sys.stdlib_module_names:
                wrong.append(f"{where}: npuhal uses the standard library only")
        elif target == "fakes":
            backend = module.startswith(WAYS_TO_FAKES) and (found.late or module.startswith("runtime.testing"))
            if own != "fakes" and not backend:
                wrong.append(f"{where}: only a late import in {', '.join(WAYS_TO_FAKES)} may reach the fakes")
        elif found.late and ((module, target) == WAY_TO_THE_COMMANDS or module in FORMER_NAMES):
            continue
        elif own == "fakes":
            if target not in ("npuhal", "chips"):
                wrong.append(f"{where}: fakes stand below the runtime")
        elif target == "runtime.testing":
            if own != target and module != THE_COMMANDS_OF_TESTS:
                wrong.append(f"{where}: the pytest plug-in is for tests")
        elif own != "runtime.testing" and LAYERS.index(target) > LAYERS.index(str(own)):
            wrong.append(f"{where}: {own} stands below {target}")
    return wrong


def lines_of(path: Path) -> int:
    """How long a file is."""
    return len(path.read_text(encoding="utf-8").splitlines())


def is_table(path: Path) -> bool:
    """Whether a module holds data alone; such a file may be as long as its data."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return not any(isinstance(node, kinds) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_downward_only(package: str) -> None:
    wrong = []
    for path in sorted((ROOT / package).rglob("*.py")):
        wrong += faults(module_name(path), path.read_text(encoding="utf-8"), path.name == "__init__.py")
    assert wrong == []


def test_no_module_is_too_long() -> None:
    long = {module_name(path): lines_of(path) for path in sources() if not is_table(path)}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def test_the_top_level_is_the_four_packages_and_the_tests() -> None:
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found == {*PACKAGES, "tests"}


def test_the_runtime_has_its_layers_and_nothing_beside_them() -> None:
    found = {path.name for path in (ROOT / "runtime").iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert found - {"__pycache__"} <= {*RUNTIME_LAYERS, "testing"}


@pytest.mark.parametrize(
    ("module", "source", "rule"),
    [
        ("npuhal.api", "import chips.chip", "npuhal stands below chips"),
        ("npuhal.api", "import numpy", "standard library only"),
        ("npuhal.loader", "from fakes import open_fake", "late import"),
        ("npuhal.command", "from runtime.cli import main", "npuhal stands below runtime.cli"),
        ("npuhal.api", "def f():\n    import fakes", "late import"),
        ("chips.registry", "from runtime.errors import fault", "chips stands below runtime.errors"),
        ("runtime.memory.pool", "from runtime.core.stream import Stream", "runtime.memory stands below runtime.core"),
        ("runtime.core.ring", "if TYPE_CHECKING:\n    from runtime.api import Device", "runtime.core stands below"),
        ("runtime.core.ring", "def f():\n    from runtime import Device", "runtime.core stands below runtime.api"),
        ("runtime.core.ring", "import runtime", "runtime.core stands below runtime.api"),
        ("runtime.core.ring", "from ..launch import kernel", "runtime.core stands below runtime.launch"),
        ("runtime.core.ring", 'importlib.import_module("runtime.feature.graph")', "stands below runtime.feature"),
        ("runtime.core.ring", "def f():\n    from fakes import device", "late import"),
        ("runtime.cli.fake", "import fakes", "late import"),
        ("runtime.api", "import runtime.testing", "for tests"),
        ("fakes.hal.queues.pairs", "import runtime.errors", "fakes stand below the runtime"),
    ],
)
def test_a_forbidden_import_is_named(module: str, source: str, rule: str) -> None:
    (wrong,) = faults(module, source)
    assert wrong.startswith(f"{module}:")
    assert rule in wrong


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("npuhal.api", "import ctypes, npuhal.errors"),
        ("npuhal.loader", "def open_hal():\n    from fakes import open_fake"),
        ("npuhal.command", "def main():\n    from runtime.cli import main"),
        ("chips.soc", "import numpy, yaml, npuhal"),
        ("runtime.core.ring", "from . import stream\nfrom ..errors import fault\nfrom runtime import errors"),
        ("runtime.cli.fake", "def run():\n    import fakes.coverage"),
        ("runtime.testing.plugin", "import fakes, runtime"),
        ("fakes.device", "import numpy, chips.chip, npuhal.structs"),
    ],
)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    assert faults(module, source) == []


def test_a_table_is_known_by_its_data(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text('"""Data."""\nROWS = (\n    1,\n)\n')
    assert is_table(path)
    path.write_text("ROWS = (1,)\n\n\ndef f():\n    return ROWS\n")
    assert not is_table(path)
    assert lines_of(path) == 5
