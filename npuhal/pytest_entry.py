"""Where pytest finds the plug-in. It stands here because no other package has this name.

The plug-in itself is `runtime.testing.plugin`. Where another package or file is named `runtime`, `chips` or `fakes`,
loading it would stop pytest as a whole: it is left out then, and the report says what is in the way.
"""

from __future__ import annotations

from typing import Any

from npuhal import packages
from npuhal.errors import ForeignPackage


def _in_the_way() -> str:
    try:
        packages.check()
    except ForeignPackage as problem:
        return f"npuhal: the plug-in is off, its fixtures are missing: {problem}"
    return ""


_PROBLEM = _in_the_way()

if not _PROBLEM:
    pytest_plugins = ("runtime.testing.plugin",)
else:

    def pytest_addoption(parser: Any) -> None:
        """Have the problem shown where an option of the plug-in is refused."""
        parser.extra_info["npuhal"] = _PROBLEM

    def pytest_report_header() -> str:
        """Say at the start of a run that the plug-in is off, and why."""
        return _PROBLEM

    def pytest_terminal_summary(terminalreporter: Any) -> None:
        """Say it again, also in a quiet run, after tests that wanted a fixture of the plug-in."""
        errors = terminalreporter.stats.get("error", ())
        if any(f"fixture '{name}" in str(each.longrepr) for each in errors for name in ("npu", "fake_hal")):
            terminalreporter.write_line(_PROBLEM)
