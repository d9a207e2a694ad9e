"""A random program over streams, events and graphs, written down with the public calls that it consists of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from runtime import errors
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from runtime.feature import graph
from runtime.testing.script import Script

_HEAD = '''streams = [device.create_stream() for _ in range({streams})]
outer, extra, updater = (device.create_stream() for _ in range(3))
log = []
kernel = device.load(minimal_kernel("mark", 1), name="mark").only
device.hal.fake.attach(kernel.code, lambda context: log.append(context.args[0]), name="mark", grid=True)


def expect(before, names=()):
    """Compare what ran with the kernels that must have run, each behind others; `names` are their numbers now."""
    for each in (outer, *streams, extra, updater):
        each.synchronize(10_000)
    seen, names = list(log), dict(names)
    log.clear()
    wanted = {{number: names.get(number, number) for number in before}}
    assert sorted(seen) == sorted(filter(None, wanted.values())), seen
    for number, earlier in before.items():
        for one in earlier:
            if wanted[number] and wanted[one]:
                assert seen.index(wanted[one]) < seen.index(wanted[number]), (one, number, seen)

'''


_REFUSAL = '''
def code_of(call):
    """Return the code of the fault that a call ends in, 0 for none."""
    try:
        call()
    except errors.RuntimeFault as fault:
        return fault.code
    return 0
'''


class CaptureScript:
    """The lines of one program; objects are called by the names that they are given here."""

    def __init__(self, url: str, streams: Sequence[Any], others: Mapping[str, Any]) -> None:
        """Begin with a machine that has so many streams, and further ones by name."""
        self.script = Script(
            url, "from runtime import errors", "from runtime.cli.sample import minimal_kernel",
            "from runtime.core.sync.event import Event", "from runtime.core.sync.event_flags import EventFlag",
            "from runtime.feature import graph", names={"streams": streams, "errors": errors, "graph": graph,
                                                        "Event": Event, "EventFlag": EventFlag, **others},
        )  # fmt: skip
        self.script.add(_HEAD.format(streams=len(streams)))
        self.script.run(_REFUSAL)
        self._names = {id(stream): f"streams[{place}]" for place, stream in enumerate(streams)}
        self._names |= {id(stream): name for name, stream in others.items()}
        self._kept: list[Any] = []
        """Named objects: no other one must get their identity meanwhile."""
        self._indent = ""

    def name(self, thing: Any, kind: str = "") -> str:
        """Return what an object is called; one that is new gets a name of a kind."""
        if id(thing) not in self._names:
            self._names[id(thing)] = f"{kind}{len(self._kept)}"
            self._kept.append(thing)
        return self._names[id(thing)]

    def add(self, line: str) -> None:
        """Add a line in the block that is open."""
        self.script.add(self._indent + line)

    def run(self, *lines: str) -> None:
        """Add lines outside of any block, and do what they say."""
        self.script.run(*lines)

    def refused(self, code: int, call: str) -> None:
        """Make a call that must end in a code, 0 for none."""
        self.run(f"found = code_of(lambda: {call})", f"assert found == {code}, found")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line that opens a block, and indent what is added inside."""
        self.add(head)
        before, self._indent = self._indent, self._indent + "    "
        try:
            yield
        finally:
            self.add("pass")
            self._indent = before
