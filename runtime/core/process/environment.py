"""Variables that are read once: a change behind that has no effect, and is told once."""

from __future__ import annotations

import os

from npuhal.late import logger
from runtime.errors.misuse import advise

_LOG = logger(__name__)


class ReadOnce:
    """What variables said when a runtime was opened."""

    def __init__(self, *names: str) -> None:
        self._known = {name: os.environ.get(name) for name in names}

    def look(self) -> None:
        """Warn of each variable that says something else by now, once."""
        for name, then in list(self._known.items()):
            now = os.environ.get(name)
            if now != then:
                del self._known[name]
                advise(
                    _LOG, f"{name} was {_said(then)} when the runtime started and is {_said(now)} now: it is read "
                    "once, so the change has no effect; set it before the first use of a device, or call "
                    "runtime.shutdown() in between",
                )


def _said(value: str | None) -> str:
    return "not set" if value is None else repr(value)
