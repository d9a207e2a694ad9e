"""A fresh pyACL module on a machine of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from runtime.capi import pyacl
from runtime.capi.pyacl.binding import process
from runtime.core.process import lifetime

URLS = tuple(f"{tier}://{soc}?devices=2" for tier in ("fake", "fake-abi") for soc in ("ascend910b3", "ascend310b1"))

PAIR = URLS[0], URLS[-1]
"""Each chip and each backend once."""


@contextmanager
def opened(url: str, **variables: str) -> Iterator[Any]:
    """Yield the module on the machine behind `url`; nothing is initialised. The process is left afterwards."""
    with mock.patch.dict(os.environ, {"NPUHAL_URL": url, **variables}):
        _forget()
        lifetime.shutdown(force=True)
        own = process()
        try:
            yield pyacl.module()
        finally:
            own.close()
            lifetime.shutdown(force=True)
            _forget()


def _forget() -> None:
    process.cache_clear()
    pyacl.module.cache_clear()


def find(module: Any, name: str) -> Any:
    """Return the function of a full name, each part of which `dir` must list."""
    for part in name.split(".")[1:]:
        assert part in dir(module)
        module = getattr(module, part)
    return module
