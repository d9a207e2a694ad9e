"""What mkdocs asks while it builds the site: tables that stand in code or data are written into their pages.

A line `<!-- table: NAME -->` of a page becomes the table of that name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[2]
_MARK = re.compile(r"^<!-- table: (\w+) -->$", re.MULTILINE)
_EXAMPLE = re.compile(r"(?:^(?:>>>|\.\.\.).*\n)+", re.MULTILINE)
_LINK = re.compile(r"\]\((?:\.\./)?(README|CONTRIBUTING|CHANGELOG)\.md")
_SOURCE = re.compile(r"\]\(((?:tests|chips|runtime|npuhal|fakes)/[\w/.]+)\)")
_PAGES = {"README": "index.md", "CONTRIBUTING": "contributing.md", "CHANGELOG": "changelog.md"}


def environment() -> str:
    """Return the table of environment variables, from what `npuhal doctor` knows of them."""
    import yaml

    rows = yaml.safe_load((ROOT / "runtime/cli/doctor/variables.yaml").read_text(encoding="utf-8"))
    lines = ["| variable | effect | values |", "|---|---|---|"]
    for name, row in rows.items():
        effect = row["effect"] + (f"; read by {row['elsewhere']}" if "elsewhere" in row else "")
        effect += f"; the newer name is `{row['replaced_by']}`" if "replaced_by" in row else ""
        lines.append(f"| `{name}` | {effect} | {_values(row.get('rule'))} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {"environment": environment}


def on_page_markdown(markdown: str, /, page: Any, **_: Any) -> str:
    """Write tables into a page, and let links to files beside the site's lead to their pages or the source."""
    markdown = _MARK.sub(lambda found: TABLES[found[1]](), markdown)
    if page.file.src_uri in ("changelog.md", "contributing.md"):
        name = "CHANGELOG" if page.file.src_uri == "changelog.md" else "CONTRIBUTING"
        markdown = (ROOT / f"{name}.md").read_text(encoding="utf-8").replace("](docs/", "](")
    up = "../" * page.file.src_uri.count("/")
    markdown = _LINK.sub(lambda found: f"]({up}{_PAGES[found[1]]}", markdown)
    return _SOURCE.sub(r"](https://github.com/npuhal/npuhal/blob/main/\1)", markdown)


class Examples(griffe.Extension):
    """Shows the examples of docstrings (`>>> `) as code, where Markdown would take them for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            text = inspect.cleandoc(obj.docstring.value)
            obj.docstring.value = _EXAMPLE.sub(_as_code, f"{text}\n").rstrip("\n")


def _as_code(found: re.Match[str]) -> str:
    code = re.sub(r"^(>>>|\.\.\.) ?", "", found[0], flags=re.MULTILINE)
    return f"```python\n{code}```\n"


def _values(rule: Any) -> str:
    if rule is None:
        return ""
    if rule == "folder":
        return "a folder that can be written"
    (kind, values), = rule.items()
    return f"{values[0]} to {values[1]}" if kind == "integer" else ", ".join(map(str, values))
