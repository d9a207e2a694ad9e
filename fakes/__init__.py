"""A fake Ascend machine behind the HAL's functions: it reads the rings and really executes what it finds there.

`npuhal.open_hal("fake://ascend910b3?devices=2&seed=7")` opens one. Tests reach it as `hal.fake`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.errors import FakeError, MemoryFault, NotModelled, NotShareable
from npuhal.release import __version__ as __version__

if TYPE_CHECKING:
    from chips import Chip
    from fakes.machine.machine import Machine
    from fakes.url.options import FakeOptions
    from fakes.url.scenario import Scenario
    from npuhal.api import HalApi
    from npuhal.loader import HalUrl

__all__ = ["FakeError", "MemoryFault", "NotModelled", "check_url", "open_fake"]

DEFAULT_SOC = "Ascend910B3"
"""The SoC of a URL that names none."""
_SCENARIO = "scenario="
"""What may stand in place of a SoC: fake://scenario=NAME."""


def open_fake(url: HalUrl) -> HalApi:
    """Open the fake a URL describes: schemes fake, fake-abi and null.

    Raises npuhal's BadUrl for a wrong option or value or a wrong scenario, chips' UnknownChip for a SoC nobody knows.
    """
    machine = _machine(url)
    if url.scheme == "null" and machine.options.compiled:
        from fakes.tiers.compiled import CompiledNullApi

        return CompiledNullApi(url.text, machine)
    if url.scheme == "null":
        from fakes.tiers.null import NullApi

        return NullApi(url.text, machine)
    if url.scheme == "fake-abi":
        from fakes.tiers.abi import AbiApi

        return AbiApi(url.text, machine)
    from fakes.tiers.direct import DirectApi

    return DirectApi(url.text, machine)


def check_url(url: HalUrl) -> None:
    """Raise what `open_fake` would for a wrong chip, option or scenario; nothing is made."""
    from chips.schema import SchemaError
    from npuhal.errors import BadUrl

    try:
        _parts(url)
    except SchemaError as wrong:
        raise BadUrl(f"HAL URL {url.text!r}: {wrong}") from None


def _parts(url: HalUrl) -> tuple[Chip, FakeOptions, Scenario | None]:
    """Return the chip, the options and the scenario that a URL names."""
    from chips import find_chip
    from fakes.url.options import parse

    options, target, scenario = dict(url.options), url.target, None
    if target.startswith(_SCENARIO):
        options["scenario"], target = target.removeprefix(_SCENARIO), ""
    if name := options.get("scenario"):
        from fakes.url.scenario import find

        scenario = find(name)
        options, target = {**scenario.options, **options}, target or scenario.soc
    return find_chip(target or DEFAULT_SOC), parse(url._replace(options=options)), scenario


def _machine(url: HalUrl) -> Machine:
    from chips.schema import SchemaError
    from fakes.machine.machine import Machine
    from fakes.url import nodes
    from fakes.url.rules import from_text
    from npuhal.errors import BadUrl

    try:
        chip, read, scenario = _parts(url)
        machine = Machine(chip, read)
        try:
            nodes.apply(machine, machine.options.nodes)
            from_text(machine, read.fault)
            if scenario is not None:
                scenario.apply(machine)
        except (FakeError, SchemaError) as wrong:
            machine.close()
            raise BadUrl(f"HAL URL {url.text!r}: {wrong}") from None
    except (NotShareable, SchemaError) as wrong:
        raise BadUrl(f"HAL URL {url.text!r}: {wrong}") from None
    return machine
