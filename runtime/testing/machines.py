"""The machines of a test run: each is the process's runtime while a test that asked for it runs.

A machine belongs to a test, a module or the session. While a test runs, one of them is the process's runtime, and
NPUHAL_URL names it: `runtime.device(0)`, pyACL and subprocesses of the code under test land there. What was the
process's runtime before comes back when it ends.
"""

from __future__ import annotations

import os
import sys
import weakref
from typing import TYPE_CHECKING, Any

from npuhal.loader import URL_VARIABLE
from npuhal.tuples import NamedTuple
from runtime.core.process import lifetime
from runtime.testing import leaks

if TYPE_CHECKING:
    from runtime.api import Runtime


class Left(NamedTuple):
    """What a test has left behind."""

    url: str
    objects: list[str]
    """What is still open, each with its name and where it was made."""
    mistakes: list[str]
    """What the checkers have found, and what later tests will miss."""

    @property
    def text(self) -> str:
        """Everything, a line each."""
        return "\n".join([*self.mistakes, *([self.opened] if self.objects else [])])

    @property
    def opened(self) -> str:
        """What is open, a line each."""
        return "\n  ".join([f"left open on {self.url}:", *self.objects])


class Machine:
    """A runtime that tests share or have for themselves, and what was open on it when the test began."""

    def __init__(self, url: str, owner: str) -> None:
        """Open it; it is the process's runtime at once.

        Args:
            owner: whose it is, for messages: "the test", "npu_module", "npu_session".

        Raises:
            what `runtime.start` does; the process is as it was then.
        """
        from runtime.api import start

        self.url, self.owner = url, owner
        self._before: Any = None
        self._variable: str | None = None
        self._parked: Runtime | None = None
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self.enter()
        try:
            self.runtime = start(url)
        except BaseException:
            self.leave()
            raise
        self.runtime.trace_creation = True
        self.fake = getattr(self.runtime.hal, "fake", None)
        """The fake machine below, None on a real one."""

    # -- whose turn it is ------------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Be the process's runtime, until `leave`."""
        self._before = lifetime.exchange(self._parked)
        _forget_pyacl()
        self._variable = os.environ.get(URL_VARIABLE)
        os.environ[URL_VARIABLE] = self.url

    def leave(self) -> None:
        """Let what was there before be the process's runtime again; this one stays open."""
        self._parked = lifetime.exchange(self._before)  # type: ignore[assignment]  # a public one: it was made here
        self._before = None
        _forget_pyacl()
        if self._variable is None:
            os.environ.pop(URL_VARIABLE, None)
        else:
            os.environ[URL_VARIABLE] = self._variable

    # -- what tests leave ------------------------------------------------------------------------------------------

    def runtimes(self) -> list[Runtime]:
        """Return the runtimes that are open on it: its own, and one that the code under test has made in its place."""
        other = lifetime.started()
        found = dict.fromkeys((self.runtime, other or self.runtime))
        return [one for one in found if not one.closed]  # type: ignore[misc]

    def holds(self) -> list[Any]:
        """Return the devices that are open and what users hold on them."""
        runtimes = self.runtimes()
        devices = [device for one in runtimes for device in one.open_devices()]
        return [*devices, *leaks.open_objects(runtimes, collect=False)]

    def learn(self, before: list[Any]) -> None:
        """Take what is open now and was not `before` for what may stay: a set-up for several tests has made it."""
        old = set(map(id, before))
        self._known.update(item for item in self.holds() if id(item) not in old)

    def tidy(self) -> Left:
        """Bring it back to how it was when the test began; return what the test has left open or done wrong."""
        said, runtimes = self.reports(), self.runtimes()
        open_now = [item for item in leaks.open_objects(runtimes) if item not in self._known]
        left = [leaks.described(item) for item in open_now]
        leaks.close(open_now)
        said += self._lost()
        for one in runtimes:
            for device in one.open_devices():
                if device in self._known:
                    leaks.reset(device)
                else:
                    device.close(force=True)
        if self.fake is not None:
            self.fake.faults.clear()
        return Left(self.url, left, said + [report for report in self.reports() if report not in said])

    def _lost(self) -> list[str]:
        """Say, once, which shared devices a test has closed."""
        closed = [item for item in self._known if getattr(item, "closed", False) and hasattr(item, "user_id")]
        self._known -= weakref.WeakSet(closed)
        return [f"{device!r} belongs to {self.owner} and was closed: later tests cannot use it" for device in closed]

    def reports(self) -> list[str]:
        """Take what the fake's checkers have found."""
        return [] if self.fake is None or self.fake.checks is None else list(map(str, self.fake.reports.take()))

    def close(self) -> Left:
        """End it while it is the process's runtime; return what was left open or done wrong."""
        said, runtimes = [*self.reports(), *self._lost()], self.runtimes()
        left = [leaks.described(item) for item in leaks.open_objects(runtimes)]
        cards = {(one, device.device_id) for one in runtimes for device in one.open_devices()}
        try:
            for one in runtimes:
                one.close(force=True)
            for one, card in cards:
                if (fake := getattr(one.hal, "fake", None)) is not None:
                    left += [f"card {card} {kind}: {items}" for kind, items in leaks.holdings(fake, card).items()]
        finally:
            self.leave()
        return Left(self.url, left, said)


def _forget_pyacl() -> None:
    """Let the module `acl` begin anew on what is the process's runtime now, if anybody has loaded it."""
    if (binding := sys.modules.get("runtime.capi.pyacl.binding")) is not None:
        binding.process.cache_clear()
