"""`python -m tests.tools.api_reference` writes docs/api.md: what `import runtime` gives, from the docstrings."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import runtime
from runtime.api.pool import Pool
from runtime.feature.graph import Node
from runtime.memory.device import PooledBuffer
from runtime.memory.host import ManagedBuffer, RegisteredBuffer

TARGET = Path(__file__).resolve().parents[2] / "docs" / "api.md"

MEMBERS: dict[str, str] = {
    "Runtime": "device device_count set_device reset_device close url",
    "Device": (
        "create_stream default_stream stream_of create_event create_notify create_count_notify load load_triton "
        "load_library alloc alloc_host alloc_managed register_host upload empty download copy fill memory_info "
        "memory_report enable_peer_access reserve create_physical granularity share open_shared open_notify "
        "time_limits synchronize close"
    ),
    "Pool": (
        "alloc limit trim memory_allocated max_memory_allocated memory_reserved memory_stats memory_summary "
        "memory_snapshot reset_peak_memory_stats"
    ),
    "Stream": (
        "copy copy_rows fill reduce launch launch_many batch record wait write_value wait_value host_function capture "
        "task_group update query synchronize abort non_blocking set_failure_mode close __await__ __npu_stream__"
    ),
    "Event": "record wait query synchronize timing share close __await__ __sub__",
    "Notify": "record wait export close",
    "DeviceBuffer": "view as_array close nbytes __dlpack__",
    "DeviceArray": "numpy reshape bytes ndim __dlpack__",
    "PooledBuffer": "",
    "HostBuffer": "numpy view close __dlpack__",
    "ManagedBuffer": "",
    "RegisteredBuffer": "",
    "Program": "kernel only operator cpu_kernel global_variable load load_size close",
    "Kernel": "__getitem__ launch bind bind_device_arguments launch_many argument_count tiling_key",
    "TritonKernel": "__getitem__ launch signature layout version metadata close",
    "Operator": "launch inputs outputs slots tiling_limit workspace_reserve",
    "TensorList": "__init__",
    "Library": "__getitem__ close",
    "LibraryKernel": "launch",
    "LaunchOptions": "",
    "Graph": "launch update nodes kernels edges cost outline dot debug_json differences times close",
    "Node": "",
    "GraphBuilder": "add kernel copy host_function instantiate",
    "CaptureMode": "",
    "RuntimeFault": "",
}
"""The classes of the surface in reading order, and which of their members users need."""

FURTHER = (Pool, PooledBuffer, ManagedBuffer, RegisteredBuffer, Node)
"""Classes of the surface that are not made by name, but met."""

HEAD = """# API reference

Written by `python -m tests.tools.api_reference` from signatures and docstrings. Everything here is `runtime.<name>`, or
is what one of these returns; `help()` of each says the same. The C API by name is `runtime.capi.aclrt`, pyACL is `acl`
under `npuhal run`.
"""


def classes() -> dict[str, type[Any]]:
    """Return the classes by name, in reading order."""
    met = {each.__name__: each for each in FURTHER}
    return {name: met.get(name) or getattr(runtime, name) for name in MEMBERS}


def functions() -> dict[str, Any]:
    """Return the functions of the surface."""
    return {name: getattr(runtime, name) for name in runtime.__all__ if name not in MEMBERS}


def members(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the listed members of a class with what holds their documentation."""
    for member in MEMBERS[name].split():
        yield member, inspect.getattr_static(classes()[name], member, None)


def signature(thing: Any, name: str) -> str:
    """Return a call as its source has it, without self."""
    node: Any = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))).body[0]
    if isinstance(node, ast.ClassDef):
        fields = [ast.unparse(item) for item in node.body if isinstance(item, ast.AnnAssign)]
        return f"{name}({', '.join(fields)})"
    arguments = re.sub(r"^(self|cls)(: \w+)?(, |$)", "", ast.unparse(node.args))
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"{name}({arguments}){returns}"


def prose(thing: Any) -> str:
    """Return a docstring in Markdown: sections as lists, examples as code."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r"\n(>>> .*(?:\n(?:>>>|\.\.\.) .*)*)", _example, f"\n{text}").strip()
    out, inside = [], False
    for line in text.splitlines():
        if re.fullmatch(r"(Args|Raises|Attributes|Returns|Yields):", line):
            out += [f"{line}", ""]
            inside = True
        elif inside and re.match(r"    \S", line):
            out.append(re.sub(r"^    ((?:\w+(?: \d[\d, ]*)?(?:, )?)+):(?= |$)", r"* `\1`:", line)
                       if ":" in line else f"  {line.strip()}")
            if not out[-1].startswith(("* ", "  ")):
                out[-1] = ("* " if out[-2:-1] == [""] else "  ") + line.strip()
        elif inside and line.startswith("     "):
            out.append(f"  {line.strip()}")
        else:
            inside = inside and not line.strip()
            out.append(line)
    return "\n".join(out)


def _example(found: re.Match[str]) -> str:
    code = re.sub(r"^(>>>|\.\.\.) ", "", found[1], flags=re.MULTILINE)
    return f"\n```py\n{code}\n```"


def attribute(owner: type[Any], name: str) -> str:
    """Return what the source says of an attribute set in `__init__`: the string behind it."""
    for kind in owner.__mro__:
        found = re.search(rf'self\.{name}\b[^\n]* = [^\n]*\n\s+"""(.*?)"""', _source(kind), re.DOTALL)
        if found:
            return " ".join(found[1].split())
    return ""


def _source(kind: type[Any]) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""


def render() -> str:
    """Return the whole page."""
    out = [HEAD, "## Functions\n"]
    for name, thing in functions().items():
        out.append(f"### `{signature(thing, name)}`\n\n{prose(thing)}\n")
    for name, kind in classes().items():
        made = hasattr(kind, "__dataclass_fields__")
        out.append(f"## {signature(kind, name) if made else name}\n" if not made else
                   f"## {name}\n\n`{signature(kind, name)}`\n")
        out.append(f"{prose(kind)}\n")
        if issubclass(kind, enum.Enum):
            out.append(", ".join(f"`{each.name}` = {each.value}" for each in kind) + "\n")
        for member, held in members(name):
            out.append(_member(kind, member, held))
    return "\n".join(out)


def _member(kind: type[Any], member: str, held: Any) -> str:
    if isinstance(held, property):
        return f"**`{member}`**: {prose(held)}\n"
    if inspect.isfunction(held):
        return f"**`{signature(held, member)}`**\n\n{prose(held)}\n"
    return f"**`{member}`**: {attribute(kind, member)}\n"


if __name__ == "__main__":
    importlib.import_module("runtime.api")
    TARGET.write_text(render(), encoding="utf-8")
    print(f"{TARGET}: {len(render().splitlines())} lines")
