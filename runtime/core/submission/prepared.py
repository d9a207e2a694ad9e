"""Prepared sends: the fast path of a task that is sent again and again, one function per shape, written from one text.

A task is encoded once and cut at what differs between two of its submissions. What `prepared_send` returns takes
positions in the ring, patches the template and rings the driver; it reads no option, no tracer and no log. It serves
the plain case only: where its epoch is over, or blocked, it sends nothing, and the slow path
(`runtime.core.submission.submit`) is right.

The text below is the only one. A shape chooses lines of it by the words in their margin; the result is compiled once
per shape, and `linecache` has it under the name that tracebacks and debuggers show. `npuhal sqe send` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from chips.layout import SQE_BYTES, Template
from npuhal.records import replace
from npuhal.tuples import NamedTuple
from runtime.core.diagnostics.tracing import AT_BUILT, AT_DESCRIBED, AT_POSITION, AT_SENT, AT_TAKEN
from runtime.core.submission import compiled
from runtime.core.submission.repair import repair, repair_stored
from runtime.core.submission.ring import NO_TASK, TICK, RingV100, TaskInfo
from runtime.core.submission.sink import HARDWARE
from runtime.core.submission.submit import find_space, flip, send_again

if TYPE_CHECKING:
    from chips.registry import Plugin
    from chips.tasks import Task
    from runtime.core.ports import Closable, StreamPort, Tracer
    from runtime.core.submission.epoch import Epoch
    from runtime.core.submission.two_tasks import TwoTaskSend

FILE: Final = "<runtime/core/submission/prepared.py: {}>"
"""Name of the file that the function of a shape claims to be in."""

COUNTED, POSITIONED, STORED = "counted", "positioned", "stored"
"""How tasks get their numbers: by a count of the stream (v100), by their position (v200), or from the ring's `take`
where the host keeps the entries of a graph."""

ARGUMENTS, FINISHED, KEPT, REPORTED, NOTHING = "arguments", "finished", "kept", "reported", "nothing"
"""What goes along with a task: its block of arguments, a callback, what has to live until it was reclaimed, or who
gets its completion entry."""

_MOST_KEPT = 512
"""Prepared sends that one stream keeps."""

_TEXT = """
                     | def try_send({parameters}):
 opened              | {opening}
                     |     try:
                     |         acquire()
                     |         if {blocked}:
                     |             release()
                     |             submitted = 0
                     |         else:
 stored              |             ids = take(1, {serial}, info)
 counted             |             position, task_id = {position}, ring.next_id
 counted             |             ids[position] = task_id
 positioned          |             position = {position}
 positioned          |             firsts[position] = position
 !stored             |             owners[position] = info
 two                 |             position += 1
 two                 |             if position == depth:
 two                 |                 position = 0
 two counted         |             ids[position] = task_id + 1
 two positioned      |             firsts[position] = position
 two                 |             owners[position] = info_2
 captured positioned |             number = serial()
 reported positioned |             number = serial()
 watched captured    |             {stamps}[{described}] = clock()
 watched !captured   |             {stamps}[{taken}] = clock()
 stored              |             store(stream, pack({packed}))
 stored              |             ring.in_flight_start = None
 !stored             |             pack(buffer, 0, {packed})
 watched             |             stamps[{built}] = clock()
 watched !captured   |             stamps[{place}] = submitted
 watched             |             by_position[position] = stamps
 kept                |             kept[position] = keep
 finished            |             if finished is not None:
 finished            |                 completion_callbacks.append((submitted + {entries}, finished))
 reported            |             expected[{key}] = (submitted + 1, reported)
 !stored             |             if rc := send(device_id, reference):
 !stored             |                 send_again(stream, sender, rc)
 watched             |             stamps[{sent}] = clock()
 arguments           |             blocks[position] = block
 stored              |             submitted += 1
 !stored !two        |             ring.submitted = submitted = submitted + 1
 two                 |             ring.submitted = holder.end = submitted = submitted + 2
 arguments           |             block = None
 finished            |             finished = None
 positioned          |             ring.allocations += {entries}
 counted captured    |             ring.next_id = task_id + 1
 captured            |             record((make_node, {numbers}, {value}))
 counted !captured   |             ring.next_id = task_id = task_id + {entries}
 counted !captured   |             if task_id == {no_task}:
 counted !captured   |                 ring.wrap_ids()
 counted !captured   |                 flip(stream)
                     |             release()
 !captured           |     except BaseException:
 captured            |     except BaseException as failure:
 arguments           |         repair(stream, (info,), block=block)
 finished !two       |         repair(stream, (info,), finished)
 kept                |         repair(stream, (info,))
 nothing !captured   |         repair(stream, (info,))
 reported            |         if not repair(stream, (info,)):
 reported            |             withdraw(reported)
 two                 |         if repair(stream, (info, info_2), finished):
 two                 |             holder.end = ring.submitted
 captured !stored    |         if repair(stream, (info,)):
 captured !stored    |             record((make_node, {numbers}, {value}))
 stored              |         repair_stored(stream)
 captured            |         spoil(failure)
                     |         raise
 !captured !fallback |     if {due} and submitted:
 !captured !fallback |         tick()
 !captured fallback  |     if {due}:
 !captured fallback  |         if submitted:
 !captured fallback  |             tick()
 !captured fallback  |         else:
 !captured fallback  |             slow({names})
 captured fallback   |     if not submitted:
 captured fallback   |         slow({names})
 !fallback           |     return submitted
"""

_NAMES = frozenset({
    "acquire", "blocks", "buffer", "by_position", "clock", "completion_callbacks", "depth", "device_id", "edge",
    "epoch", "epoch_2", "expected", "firsts", "flip", "here", "holder", "ids", "info", "info_2", "kept", "make_node",
    "owners", "pack", "program", "record", "reference", "release", "repair", "repair_stored", "ring", "send",
    "send_again", "sender", "serial", "slow", "space", "spoil", "store", "stream", "take", "tick", "value_of",
    "withdraw",
})  # fmt: skip
"""What the text closes over besides the runs and biases of the template."""


class Shape(NamedTuple):
    """All that decides how the function reads."""

    numbering: str
    entries: tuple[tuple[str, ...], ...]
    """The words of each entry that are patched, first the number of the task."""
    parameters: tuple[str, ...]
    """What the function is given to patch them with."""
    carries: str = NOTHING
    biased: tuple[int, ...] = ()
    """Which of the patched words have something added to the value."""
    publishes: int = 0
    """Allocations between two entries that ask the hardware to publish the queue's head (over UB); 0: none asks."""
    captured: bool = False
    closable: bool = False
    """Whether a closed program keeps it from sending."""
    fallback: bool = False
    """Whether it calls the slow path itself; else it returns the count behind the task, and 0 where it sent nothing."""
    late: bool = False
    """Whether the value is asked for under the lock of the stream."""
    watched: bool = False
    """Whether the stamps of the thread's launch are set (runtime.core.diagnostics.tracing)."""
    opening: str = ""
    """Text in front, which makes the parameters of the send (and what goes along) of what the function is given."""
    given: str = ""
    """Parameters of a function with an opening."""

    @property
    def title(self) -> str:
        """What the shape is called."""
        named = ("publishes", "captured", "closable", "fallback", "late", "watched", "opening")
        traits = [name for name in named if getattr(self, name)]
        entries = " + ".join(",".join(words) for words in self.entries)
        return f"{self.numbering} {entries} from {','.join(self.parameters) or 'nothing'}, {self.carries}, " \
               f"{' '.join(traits) or 'plain'}"


class Part(NamedTuple):
    """One task of a prepared send: its template, and what it is called."""

    template: Template
    info: TaskInfo


class Opening(NamedTuple):
    """What a prepared send does before it: see `Shape.opening`."""

    given: str
    text: str
    bound: dict[str, Any]
    """What the text closes over."""


class Recording(NamedTuple):
    """Where launches go that a capture keeps: see `runtime.feature.graph.recording`."""

    edge: int
    """Count of entries from which on the slow path is right."""
    record: Callable[[Any], object]
    make_node: Callable[..., Any]
    spoil: Callable[[BaseException], None]


# -- the text ------------------------------------------------------------------------------------------------------


def text_of(shape: Shape) -> str:
    """Return the function of a shape as Python text."""
    tags = {shape.numbering, shape.carries, *(n for n in ("captured", "fallback", "watched") if getattr(shape, n))}
    if len(shape.entries) > 1:
        tags.add("two")
    if shape.opening:
        tags.add("opened")
    facts = _facts(shape)
    lines = []
    for line in _TEXT.splitlines()[1:]:
        margin, _, code = line.partition("| ")
        if all((tag[1:] not in tags) if tag[0] == "!" else tag in tags for tag in margin.split()):
            lines.append(code.format_map(facts))
    return "\n".join(lines) + "\n"


def _facts(shape: Shape) -> dict[str, object]:
    """Return what fills the braces of the text."""
    count = len(shape.entries)
    extra = {
        ARGUMENTS: ("block",), FINISHED: ("finished",), KEPT: ("keep",), REPORTED: ("reported",), NOTHING: (),
    }[shape.carries]  # fmt: skip
    return {
        "parameters": shape.given or ", ".join((*shape.parameters, *(f"{name}=None" for name in extra))),
        "opening": shape.opening.strip("\n"),
        "names": ", ".join((*shape.parameters, *extra)),
        "blocked": _blocked(shape),
        "serial": "serial()" if shape.entries[0][0] == "task_sn" else "0",
        "position": "submitted" if shape.captured else "submitted % depth",
        "packed": ", ".join(_packed(shape)),
        "numbers": {
            COUNTED: "task_id, 0, position, None", POSITIONED: "position, number, position, ring.allocations",
            STORED: "*ids",
        }[shape.numbering],
        "value": (*shape.parameters, "0")[0],
        "key": "task_id" if shape.numbering == COUNTED else "number",
        "entries": count,
        "stamps": "stamps" if shape.opening else "(stamps := here.mine[0])",
        "described": AT_DESCRIBED, "taken": AT_TAKEN, "built": AT_BUILT, "place": AT_POSITION, "sent": AT_SENT,
        "no_task": NO_TASK,
        "due": f"submitted & {TICK - 1} < 2" if count > 1 else f"not submitted & {TICK - 1}",
    }


def _blocked(shape: Shape) -> str:
    """Return the condition under which nothing is sent; it sets `submitted`."""
    more = f" + {len(shape.entries) - 1}" if len(shape.entries) > 1 else ""
    terms = ["epoch.blocked", *(("epoch_2.blocked",) if more else ()), *(("program.closed",) if shape.closable else ())]
    if shape.numbering == COUNTED and more:
        terms.append(f"ring.next_id == {NO_TASK - 1}")  # the ids start again between the two
    if shape.captured:
        terms.append("(submitted := ring.submitted) >= edge")
    else:
        terms.append(f"((submitted := ring.submitted){more} >= ring.limit and not (submitted := space()))")
    return " or ".join(terms)


def _packed(shape: Shape) -> list[str]:
    """Return what is packed: the runs of constant bytes, and the words between them."""
    packed, at = [], 0
    for entry, words in enumerate(shape.entries):
        for index, word in enumerate(words):
            packed += [_run(shape, entry, at) if index == 0 else f"run_{at}", _word(shape, entry, word, at)]
            at += 1
    return [*packed, f"run_{at}"]


def _run(shape: Shape, entry: int, at: int) -> str:
    """Return the run with the head of an entry, which may ask for something besides."""
    if not shape.publishes:
        return f"run_{at}"
    number = "ids.task_id" if shape.numbering == STORED else f"(ring.allocations + {entry + 1})"
    return f"run_{at} if {number} % {shape.publishes} else asking_{entry}"


def _word(shape: Shape, entry: int, word: str, at: int) -> str:
    """Return the expression of a word."""
    if word.startswith("task_"):
        if shape.numbering == STORED:
            return f"ids.{word}"
        if shape.numbering == COUNTED:
            return f"task_id + {entry}" if entry else "task_id"
        return "number" if shape.captured or shape.carries == REPORTED else "serial()"
    if shape.late:
        return f"value_of({shape.parameters[0]})"
    name = word if word in shape.parameters else shape.parameters[0]
    return f"{name} + bias_{at}" if at in shape.biased else name


@lru_cache(maxsize=256)
def _maker(shape: Shape, more: frozenset[str] = frozenset()) -> Callable[..., Callable[..., Any]]:
    """Return the compiled text of a shape, as a function of what it closes over.

    Args:
        more: names that its opening closes over.
    """
    body = "".join(f"    {line}\n" for line in text_of(shape).splitlines())
    words = set(re.findall(r"\b[a-z_]+(?:_\d+)?\b", body))
    known = _NAMES | more
    names = sorted(name for name in words if name in known or name.startswith(("run_", "bias_", "asking_")))
    source = f"def make({', '.join(names)}):\n{body}    return try_send\n"
    name = FILE.format(shape.title)
    import linecache  # late: no device needs it to open
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": __name__}  # whoever looks for the caller outside of this package passes it by
    exec(compile(source, name, "exec"), scope)
    make = scope["make"]
    return lambda bound: make(*map(bound.get, names))


# -- what is bound to it -------------------------------------------------------------------------------------------


def template_of(stream: StreamPort, task: Task, *varied: str) -> Template | None:
    """Return a task's template with these words open besides its number; None where the task is not one such entry."""
    template = stream.plugin.template(task, stream.env)
    if template is None or not template.names[0].startswith("task_"):
        return None
    if any(name.endswith("_copy") for name in template.names):
        return None
    cut = template.varying(template.names[0], *varied)
    return cut if set(cut.names[1:]) == set(varied) else None


def prepared_send(
    stream: StreamPort, *parts: Part, epochs: tuple[Epoch, ...], parameters: tuple[str, ...] = (),
    carries: str = NOTHING, program: Closable | None = None, slow: Callable[..., object] | None = None,
    value_of: Callable[[Any], int] | None = None, recording: Recording | None = None, holder: TwoTaskSend | None = None,
    opening: Opening | None = None, tracer: Tracer | None = None,
) -> Callable[..., Any]:
    """Return the function that sends tasks of one SQE each, at most two, in a stream whose sink is immediate.

    Args:
        epochs: what has to be in force, of the stream and of whoever the tasks belong to; taken by the caller before
            it looked at the facts that they stand for.
        parameters: the words that each call gives, in this order; words of other names take the first.
        program: sends nothing once it is closed.
        slow: what it calls with its own arguments where it must not send.
        value_of: makes the value of the parameter, under the lock of the stream.
        recording: keeps the task in a graph; `slow` is right once its edge is reached.
        holder: its `end` becomes the count behind the second task.
        opening: makes parameters and block of what the function is given instead.
        tracer: whose stamps of the thread's launch are set; the text of the opening has to belong to it.
    """
    ring, device, env = stream.ring, stream.device, stream.env
    numbering = STORED
    if recording is None or stream.own_sink.name == HARDWARE.name:
        numbering = COUNTED if isinstance(ring, RingV100) else POSITIONED
    publishes = env.chip.traits.head_update_every if env.ub_connected and numbering != COUNTED else 0
    templates = [part.template for part in parts]
    template = _joined(templates) if len(templates) > 1 else templates[0]
    shape = Shape(
        numbering, tuple(each.names for each in templates), parameters, carries,
        tuple(n for n, bias in enumerate(template.bias) if bias), publishes, recording is not None,
        program is not None, slow is not None, value_of is not None,
        tracer is not None and numbering != STORED, *(opening[1::-1] if opening else ()),
    )
    bound: dict[str, Any] = {
        "stream": stream, "ring": ring, "depth": ring.depth, "program": program, "slow": slow, "value_of": value_of,
        "holder": holder, "acquire": stream.lock.acquire, "release": stream.lock.release, "tick": stream.tick,
        "serial": device.next_serial, "repair": repair, "repair_stored": repair_stored, "send_again": send_again,
        "flip": flip, "space": partial(find_space, stream, len(parts), epochs),
    }
    bound.update(zip(("epoch", "epoch_2"), epochs, strict=False))
    bound.update(zip(("info", "info_2"), (part.info for part in parts), strict=False))
    bound.update((f"run_{n}", run) for n, run in enumerate(template.runs))
    bound.update((f"bias_{n}", bias) for n, bias in enumerate(template.bias))
    if publishes:
        bound.update(_asking(stream.plugin, templates))
    if recording is not None:
        bound.update(recording._asdict())
    if opening is not None:
        bound.update(opening.bound)
    if numbering == STORED:
        bound.update(take=ring.take, store=stream.own_sink.commit, pack=template.struct.pack)
    else:
        sender = stream.senders[len(parts)]
        if tracer is not None:
            bound.update(tracer.watching(stream))
        bound.update(
            pack=template.struct.pack_into, send=sender.send, sender=sender, buffer=sender.buffer,
            device_id=sender.device_id, reference=sender.reference, owners=ring.owners, ids=getattr(ring, "ids", None),
            firsts=getattr(ring, "firsts", None), blocks=ring.arguments, completion_callbacks=ring.completion_callbacks,
            kept=ring.keep() if carries == KEPT else None, expected=stream.reports.expected,
            withdraw=stream.reports.withdraw,
        )
    made = _maker(shape, frozenset(opening.bound) if opening is not None else frozenset())(bound)
    if numbering == STORED or opening is not None or tracer is not None:
        return made
    return compiled.send(shape, templates, stream, sender, bound | {"try_send": made}) or made


def _joined(templates: list[Template]) -> Template:
    """Return the template of SQEs in a row, with all words of each left open."""
    words = {}
    for entry, template in enumerate(templates):
        for word, bias in zip(template.words, template.bias, strict=True):
            at = word.offset
            value = int.from_bytes(template.row[at : at + word.width // 8], "little") - bias
            words[replace(word, offset=at + entry * SQE_BYTES)] = value
    return Template(b"".join(template.row for template in templates), words)


def _asking(plugin: Plugin, templates: list[Template]) -> dict[str, bytes]:
    """Return for each entry its run that asks the hardware to publish the head of the queue."""
    found, words = {}, 0
    for entry, template in enumerate(templates):
        asking = [*templates[:entry], plugin.publishing(template), *templates[entry + 1 :]]
        found[f"asking_{entry}"] = _joined(asking).runs[words]
        words += len(template.words)
    return found


# -- sends that a stream keeps -------------------------------------------------------------------------------------


def prepare(
    stream: StreamPort, key: Hashable, task: Task, name: str, *varied: str, carries: str = FINISHED,
    value_of: Callable[[Any], int] | None = None,
) -> None:
    """Keep a prepared send of a kind of task in `Stream.sends`, where a template covers it and nobody watches.

    It is called with the values that vary, and what goes along; it returns the count behind the task, 0 if not sent.

    Args:
        key: what it is kept under; best a string, because it knows its hash.
        task: its other fields are the same for each send.
        name: what the task is called when it fails.
        varied: the fields that are given with each send, in this order.
    """
    epoch = stream.epoch.now  # before the facts that it stands for are looked at
    template = template_of(stream, task, *varied) if sends_plainly(stream) else None
    if template is None or (carries == REPORTED and not stream.plugin.asks_report(template.row)):
        return
    if len(stream.sends) >= _MOST_KEPT:
        stream.sends.clear()
    stream.sends[key] = prepared_send(
        stream, Part(template, TaskInfo(task.type, name)), epochs=(epoch,), parameters=varied, carries=carries,
        value_of=value_of,
    )


def sends_plainly(stream: StreamPort) -> bool:
    """Whether tasks other than launches may be prepared: they go to the device at once, and nobody notes each."""
    return stream.sink.immediate and stream.tracer is None and stream.bound is None

