"""The C API by name, for situations that were reported from programs that use it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from runtime.capi.aclrt import Acl, Out

Answer = TypeVar("Answer")


class Caller:
    """A process on a fake machine; `caller.aclrtSetDevice(deviceId=0)` returns the code and keeps the text."""

    def __init__(self, url: str) -> None:
        self.acl = Acl(url)
        self.text = ""
        """What the last call left for the user."""

    @property
    def fake(self) -> Any:
        """The machine behind it."""
        return self.acl.runtime.hal.fake

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(**given: Any) -> int:
            self.acl.reports.take_text()
            code: int = self.acl.call(name, **given)
            self.text = self.acl.reports.take_text()
            return code

        return call

    def make(self, name: str, output: str, **given: Any) -> Any:
        """Call what makes something; returns the output, after the call has succeeded."""
        made = Out()
        assert getattr(self, name)(**given, **{output: made}) == 0, self.text
        return made.value


def in_thread(work: Callable[[], Answer], name: str = "worker") -> Answer:
    """Return what a function returns in a thread of its own."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(work()), name=name)
    thread.start()
    thread.join(30)
    return answers[0]
