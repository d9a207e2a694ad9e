"""Which machine tests run on: NPUHAL_URL, else the command line, else the ini file, else a fake; then marks."""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple  # not that of npuhal: pytest loads this for every program that it tests

import pytest

from runtime.testing.search import Schedule

_DEFAULT = "fake://ascend910b3"
_VARIABLE = "NPUHAL_URL"  # npuhal.loader says it, too, which loading the plug-in does without


class Choice(NamedTuple):
    """A setting, and where it comes from."""

    value: str
    source: str


def add_options(parser: pytest.Parser) -> None:
    """Declare options of the command line and of the ini file."""
    group = parser.getgroup("npu", "Ascend NPU, real or fake")
    group.addoption(
        "--npu-url", metavar="URL", help=f"machine that tests run on, unless {_VARIABLE} is set (default: {_DEFAULT})"
    )
    group.addoption("--npu-seed", type=int, metavar="N", help="seed of the fake's facts and schedule (default: 0)")
    group.addoption(
        "--npu-schedules", type=int, metavar="N",
        help="search N schedules of the fake for one under which a test fails; it is shrunk and printed (default: 1)",
    )
    group.addoption(
        "--npu-replay", metavar="FILE", help="run tests under the schedules that failing tests have printed, one a line"
    )
    group.addoption(
        "--npu-check", metavar="NAMES",
        help="checkers of the fake that are on: all, none, or names such as race,uaf (default: all)",
    )
    parser.addini("npu_url", f"machine that tests run on, unless --npu-url or {_VARIABLE} says it")
    parser.addini("npu_check", "checkers of the fake that are on, unless --npu-check says it")
    parser.addini("npu_schedules", "schedules to search, unless --npu-schedules says it")


def url(config: pytest.Config) -> Choice:
    """Return the URL that tests run on when they ask for nothing else."""
    if named := os.environ.get(_VARIABLE):
        return Choice(named, _VARIABLE)
    return _option(config, "npu_url", _DEFAULT)


def header(config: pytest.Config) -> str:
    """Return a line for the head of the report, empty where nobody has chosen a machine."""
    chosen, other = url(config), _option(config, "npu_url", "")
    if chosen.source == "default":
        return ""
    unused = other.source == "--npu-url" and other.value != chosen.value
    return f"npu: {chosen.value} ({chosen.source}{f'; --npu-url={other.value} is not used' if unused else ''})"


def schedules(config: pytest.Config) -> int:
    """Return how many schedules are searched; UsageError for a text that is no number."""
    text, source = _option(config, "npu_schedules", "1")
    from npuhal.words import natural  # late: a pytest that uses no device imports none of it

    number = natural(text)
    if not number:
        raise pytest.UsageError(f"{source}: npu_schedules={text!r} is not a number of at least 1")
    return number


def seed(config: pytest.Config) -> int:
    """Return the seed of the command line, else of the URL, else 0."""
    given = config.getoption("--npu-seed")
    if given is not None:
        return int(given)
    _, options = _split(url(config).value)
    with contextlib.suppress(ValueError):  # the machine will say so itself
        return int(options.get("seed", "0"), 0)
    return 0


def is_fake(text: str) -> bool:
    """Whether a URL opens a fake that executes."""
    return text.partition("://")[0].rpartition("+")[2] in ("fake", "fake-abi")


def of_test(config: pytest.Config, mark: pytest.Mark | None, schedule: Schedule) -> str:
    """Put the URL of a test together: the chosen one, changed by the test's mark and the schedule."""
    base = url(config).value
    if not is_fake(base):
        return base
    front, options = _split(base)
    options |= schedule.query
    check = _option(config, "npu_check", "all").value
    if check != "none":
        options.setdefault("check", check)
    if mark is not None:
        front = f"{front.partition('://')[0]}://{mark.args[0]}" if mark.args else front
        options.update({key: str(value) for key, value in mark.kwargs.items()})
    return f"{front}?" + "&".join(f"{key}={value}" for key, value in options.items())


def unusable() -> tuple[type[Exception], ...]:
    """Return what opening a machine raises for what is wrong with its URL, the machine, or this installation."""
    from chips import UnknownChip
    from npuhal.errors import BadUrl, ForeignPackage, LibraryNotFound, MissingSymbols, StubLibrary
    from runtime.errors import RuntimeFault

    return BadUrl, UnknownChip, LibraryNotFound, StubLibrary, MissingSymbols, ForeignPackage, RuntimeFault


def check(config: pytest.Config) -> None:
    """Refuse, with one line for the whole run, a URL or checkers that no test could use; a fake is opened for it."""
    import npuhal
    from npuhal.loader import HalUrl

    text, source = url(config)
    checks = _option(config, "npu_check", "all")
    try:
        HalUrl.parse(text)
        if is_fake(text):
            npuhal.open_hal(text.removeprefix("trace+")).close()
            if checks.source != "default":
                source = checks.source
                npuhal.open_hal(of_test(config, None, Schedule(0)).removeprefix("trace+")).close()
    except unusable() as wrong:
        raise pytest.UsageError(f"npu ({source}): {wrong}") from None


def _option(config: pytest.Config, name: str, default: str) -> Choice:
    option = "--" + name.replace("_", "-")
    given = config.getoption(option)
    if given is not None:
        return Choice(str(given), option)
    stated = str(config.getini(name) or "")
    return Choice(stated, f"{name} in {config.inipath.name if config.inipath else 'the ini file'}") if stated else (
        Choice(default, "default")
    )


def _split(text: str) -> tuple[str, dict[str, str]]:
    front, _, query = text.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return front, {name: value if given else "1" for name, given, value in pairs}
