"""A fake Ascend machine behind the HAL's functions: it reads the rings and really executes what it finds there.

`npuhal.open_hal("fake://ascend910b3?devices=2&seed=7")` opens one. Tests reach it as `hal.fake`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.errors import FakeError, MemoryFault, NotModelled, NotShareable

if TYPE_CHECKING:
    from npuhal.api import HalApi
    from npuhal.loader import HalUrl

__all__ = ["FakeError", "MemoryFault", "NotModelled", "open_fake"]

DEFAULT_SOC = "Ascend910B3"
"""The SoC of a URL that names none."""


def open_fake(url: HalUrl) -> HalApi:
    """Open the fake a URL describes: schemes fake, fake-abi and null.

    Raises npuhal's BadUrl for a wrong option or value, chips' UnknownChip for a SoC nobody knows.
    """
    from chips import find_chip
    from fakes.options import parse

    options = parse(url)
    chip = find_chip(url.target or DEFAULT_SOC)
    from fakes.machine import Machine
    from fakes.scenario import from_file, from_text
    from npuhal.errors import BadUrl

    try:
        machine = Machine(chip, options)
    except NotShareable as wrong:
        raise BadUrl(f"HAL URL {url.text!r}: {wrong}") from None
    try:
        from_text(machine, options.fault)
        if options.scenario:
            from_file(machine, options.scenario)
    except FakeError as wrong:
        machine.close()
        raise BadUrl(f"HAL URL {url.text!r}: {wrong}") from None
    if url.scheme == "null" and options.compiled:
        from fakes.compiled import CompiledNullApi

        return CompiledNullApi(url.text, machine)
    if url.scheme == "null":
        from fakes.null import NullApi

        return NullApi(url.text, machine)
    if url.scheme == "fake-abi":
        from fakes.abi_tier import AbiApi

        return AbiApi(url.text, machine)
    from fakes.direct import DirectApi

    return DirectApi(url.text, machine)
