"""What the shape of the tree promises beside the direction of imports: one vocabulary, for one."""

from __future__ import annotations

import ast
import functools
import importlib
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import chips
from chips import tasks
from chips.registry import plugin
from fakes import hal
from npuhal.declarations import CHAPTERS
from npuhal.prototypes import prototype
from tests.unit.test_import_direction import imports, module_name, sources

ROOT = Path(__file__).resolve().parents[2]


def names_in(folder: str) -> set[str]:
    """The modules and packages of a folder."""
    return {path.stem for path in (ROOT / folder).iterdir() if path.stem[:2] != "__" and path.suffix in ("", ".py")}


# -- HAL chapters: npuhal/tables, runtime/driver and fakes/hal use the names of npuhal.declarations.CHAPTERS ----

# What a folder has beside chapters.
DRIVER_PARTS = {"calls", "resource_table", "numbers", "patience", "visible"}
FAKE_PARTS = {"absent", "chapter", "codes", "coverage", "exports"}


def test_every_table_of_the_hal_is_a_chapter() -> None:
    tables = {name for name in names_in("npuhal/tables") if not name.startswith("ioctl_")}
    assert tables == set(CHAPTERS)


def test_modules_of_the_driver_and_of_the_fake_are_named_by_chapters() -> None:
    assert names_in("runtime/driver") - set(CHAPTERS) == DRIVER_PARTS
    assert names_in("fakes/hal") - set(CHAPTERS) == FAKE_PARTS


def test_each_function_of_the_fake_stands_in_its_chapter() -> None:
    wrong = [
        f"{name} is in {chapter.__module__}, its declaration in the chapter {prototype(name).chapter!r}"
        for chapter in hal.chapters()
        for name in vars(chapter)
        if name.startswith(("hal", "drv")) and chapter.__module__.split(".")[2] != prototype(name).chapter
    ]
    assert wrong == []


# -- topics: chips/tasks, the generations and the fake's executor use the names of chips.tasks.TOPICS ------------------

GENERATION_PARTS = {
    "v100": {"plugin", "completion", "descriptors", "ffts", "inspection", "tables"},
    "v200": {"plugin", "completion", "descriptors", "generation", "arch9201"},
    "v201": {"plugin"},
    "hwts": {"command", "completion"},
    "arch5162": {"builders"},  # 19 task types: one module holds them all
}
EXECUTOR_PARTS = {
    "commands", "condition", "error_ring", "executor", "fast_path", "missions", "plain_signals", "reader", "scheduled",
    "task", "together",
}  # fmt: skip


def test_task_descriptions_builders_and_handlers_are_divided_by_topics() -> None:
    assert names_in("chips/tasks") == {*tasks.TOPICS, "types"}
    for generation, parts in GENERATION_PARTS.items():
        assert names_in(f"chips/generations/{generation}") - set(tasks.TOPICS) == parts
    assert names_in("fakes/executor") - set(tasks.TOPICS) == EXECUTOR_PARTS


@pytest.mark.parametrize("generation", ["v100", "v200", "v201", "hwts"])
def test_a_builder_stands_in_the_topic_of_its_task(generation: str) -> None:
    wrong = []
    for topic in sorted(names_in(f"chips/generations/{generation}") & set(tasks.TOPICS)):
        module = importlib.import_module(f"chips.generations.{generation}.{topic}")
        for row in (*getattr(module, "OPS", ()), *getattr(module, "RULES", ())):
            kinds = {row.kind} if hasattr(row, "kind") else {type(task) for task in row.examples()}
            for kind in kinds - {tasks.BareTask}:
                if kind.__module__.rpartition(".")[2] != topic:
                    wrong.append(f"{generation}/{topic}.py builds {kind.__name__} of {kind.__module__}")
    assert wrong == []


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599", "Ascend310P3"])
def test_a_handler_stands_in_the_topic_of_the_tasks_that_have_its_layout(soc: str) -> None:
    chip = chips.find_chip(soc)
    made, table = plugin(chip), chip.traits.entries.name
    topics: dict[str, set[str]] = {}
    for kind in made.types():
        entry = made.ops(kind)
        for layout in entry.layouts:
            topics.setdefault(layout, set()).update(
                type(task).__module__.rpartition(".")[2] for task in entry.examples()
            )
    wrong = []
    for topic in sorted(names_in("fakes/executor") & set(tasks.TOPICS)):
        for layout in getattr(importlib.import_module(f"fakes.executor.{topic}"), table):
            if topic not in topics.get(layout, {topic}):
                wrong.append(f"{topic}.py has {layout}, a layout of {', '.join(sorted(topics[layout]))}")
    assert wrong == []


# -- generations: outside of chips nobody knows one by name; `chip.traits` and the plug-in answer ----------------------

ASKING = ("runtime/core", "runtime/driver", "runtime/memory", "runtime/launch", "runtime/feature", "runtime/api",
          "runtime/capi", "runtime/errors", "runtime/trace", "fakes")  # fmt: skip
GENERATIONS = {path.name for path in (ROOT / "chips/generations").iterdir() if path.is_dir()} - {"__pycache__"}
_NOT_FAMILIES = {"common", "stars", "stars_a2", "stars_v2", "hwts", "detect", "vocabulary", "kirin"}
FAMILIES = {path.stem for path in (ROOT / "chips/soc").glob("*.yaml")} - _NOT_FAMILIES
SOC = re.compile("|".join(map(re.escape, sorted({*chips.all_socs(), *FAMILIES}, key=len, reverse=True))), re.I)
_LISTS = (ast.Tuple, ast.List, ast.Set)


def _named(node: ast.expr) -> Iterator[str]:
    """The texts of an operand: itself, or what a display holds."""
    for each in node.elts if isinstance(node, _LISTS) else [node]:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def generation_faults(source: str) -> list[str]:
    """Where a module asks for a generation or a SoC by name, one sentence each."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        texts: list[str] = []
        if isinstance(node, ast.Attribute) and node.attr in ("generation", "overlay"):
            if getattr(node.value, "attr", getattr(node.value, "id", "")) == "chip":
                wrong.append(f"{node.lineno}: chip.{node.attr}")
        elif isinstance(node, ast.Attribute) and node.attr == "name" and isinstance(node.value, ast.Attribute):
            if node.value.attr == "plugin":
                wrong.append(f"{node.lineno}: plugin.name")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chips.generations"):
            wrong.append(f"{node.lineno}: import of {node.module}")
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("chips.generations")]
            wrong += [f"{node.lineno}: import of {name}" for name in names]
        elif isinstance(node, ast.Compare):
            texts = [text for operand in (node.left, *node.comparators) for text in _named(operand)]
        elif isinstance(node, ast.Dict):
            texts = [text for key in node.keys if key is not None for text in _named(key)]
        elif isinstance(node, ast.Subscript):
            texts = list(_named(node.slice))
        elif isinstance(node, ast.MatchValue):
            texts = list(_named(node.value))
        elif isinstance(node, _LISTS) and len(node.elts) > 1:
            texts = [text for text in _named(node) if SOC.fullmatch(text)]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("startswith", "endswith", "get"):
            texts = [text for argument in node.args for text in _named(argument)]
        wrong += [f"{node.lineno}: {text!r}" for text in texts if text in GENERATIONS or SOC.fullmatch(text)]
    return wrong


def test_nobody_outside_of_chips_asks_for_a_generation_or_a_soc() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{fault}"
        for folder in ASKING
        for path in sorted((ROOT / folder).rglob("*.py"))
        for fault in generation_faults(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("if device.chip.generation == other: pass", "chip.generation"),
        ("x = chip.overlay", "chip.overlay"),
        ("if name == 'v200': pass", "'v200'"),
        ("if name in ('v100', 'hwts'): pass", "'v100'"),
        ("table = {'v100': 1}", "'v100'"),
        ("table = {'Ascend910B4': 1}", "'Ascend910B4'"),
        ("table['arch5162']", "'arch5162'"),
        ("pairs = ('Ascend910B', 'Ascend910_93')", "'Ascend910B'"),
        ("if machine.plugin.name != name: pass", "plugin.name"),
        ("def f():\n    from chips.generations.v100 import ffts", "import of chips.generations.v100"),
        ("import chips.generations.v200.event", "import of chips.generations.v200.event"),
        ("x = states.get('v201')", "'v201'"),
        ("if soc.startswith('Ascend950'): pass", "'Ascend950'"),
    ],
)
def test_a_question_for_a_generation_is_found(source: str, fault: str) -> None:
    assert any(fault in each for each in generation_faults(source))


@pytest.mark.parametrize(
    "source", ["DEFAULT_SOC = 'Ascend910B3'", "URL = 'fake://ascend910b3'", "chip.traits.numbering", "x = 'v100'"]
)
def test_a_name_that_decides_nothing_is_free(source: str) -> None:
    assert generation_faults(source) == []


# -- import cycles: no knot of more than twelve files, typing and late imports counted ---------------------------------

MOST_IN_A_CYCLE = 12


def import_graph(texts: dict[str, tuple[str, bool]]) -> dict[str, set[str]]:
    """What each module imports, by module name; `texts` has source and whether it is a package.

    Left out are the ways up that the layers allow: the loader's to the fakes, the entry point's to the commands.
    """
    graph: dict[str, set[str]] = {}
    for module, (source, is_package) in texts.items():
        found = set()
        for each in imports(ast.parse(source), module, is_package):
            target = each.target
            while target and target not in texts:
                target = target.rpartition(".")[0]
            allowed = each.late and (module, target.partition(".")[0]) in UPWARD
            if target and target != module and not allowed:
                found.add(target)
        graph[module] = found
    return graph


UPWARD = {("npuhal.loader", "fakes"), ("npuhal.command", "runtime")}


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan), the largest first."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []
    for root in graph:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        stack.append(root)
        work = [(root, iter(sorted(graph[root])))]
        while work:
            module, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == number[module]:
                    at = stack.index(module)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    del stack[at:]
            elif target not in number:
                number[target] = low[target] = len(number)
                stack.append(target)
                work.append((target, iter(sorted(graph[target]))))
            elif target in stack:
                low[module] = min(low[module], number[target])
    return sorted(found, key=len, reverse=True)


@functools.cache
def our_cycles() -> tuple[tuple[str, ...], ...]:
    """The import cycles of this tree."""
    texts = {module_name(path): (path.read_text(encoding="utf-8"), path.name == "__init__.py") for path in sources()}
    return tuple(map(tuple, cycles(import_graph(texts))))


def test_no_import_cycle_is_large() -> None:
    assert [each for each in our_cycles() if len(each) > MOST_IN_A_CYCLE] == []


def test_ports_are_for_annotations_alone() -> None:
    """What parts know each other by is not loaded when a program runs."""
    loads = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "runtime").rglob("*.py"))
        if "ports" not in (path.parent.name, path.stem)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and "ports" in (node.module or "").split(".")
    ]
    assert loads == []


WITHOUT_CYCLES = ("runtime.feature",)
"""Rooms whose parts know each other by ports: none of their modules is in a cycle."""


def test_rooms_of_parts_have_no_cycles() -> None:
    assert [each for each in our_cycles() if any(name.startswith(WITHOUT_CYCLES) for name in each)] == []


def test_a_cycle_is_found_by_typing_and_late_imports_too() -> None:
    texts = {
        "npuhal.a": ("if TYPE_CHECKING:\n    from npuhal.b import B", False),
        "npuhal.b": ("def f():\n    from npuhal import c", False),
        "npuhal.c": ("import npuhal.a", False),
        "npuhal.d": ("from npuhal.a import A", False),
        "npuhal.loader": ("def f():\n    from fakes import open_fake", False),
        "fakes": ("from npuhal import loader", True),
    }
    assert cycles(import_graph(texts)) == [["npuhal.a", "npuhal.b", "npuhal.c"]]


# -- words: docs/internals/glossary.md says what each thing is called; these are names that things once had ------------

FORMER_WORDS = {
    "place": "position, call site, address, path", "places": "positions, call sites, addresses, paths",
    "room": "space, capacity, size in bytes", "rooms": "capacities", "shots": "prepared sends", "shot": "prepared send",
    "beats": "launch phases", "door": "backend", "gate": "the question that is asked", "gates": "grants",
    "barred": "blocked", "owed": "pending callbacks", "tell": "notify, run callbacks",
    "specials": "completion callbacks",
    "noted": "recorded, annotated", "rehearsal": "dry run", "repoint": "update_arguments", "census": "resource report",
    "gang": "co-scheduled", "orphans": "deferred frees", "suspects": "fault attribution", "relied": "observed",
    "starter": "launcher", "repointer": "argument table",
}
"""What a part of an identifier must not be, and what to say."""
FORMER_PHRASES = re.compile(
    r"\b(short way|long way|general way|rehears\w*|barred|owed|gangs?|census|specials|shots"
    r"|rooms? (for|to|in)|no room|(?<!its )places? (in|of) (the|a|its|their) (ring|queue|stream)s?"
    r"|the place (that|where|it was))\b", re.I,
)
"""What comments and docstrings must not say."""
ALLOWED = {
    "in_place", "send_in_place", "send_one_in_place",  # English, of memory
    "placeHolderArray", "placeHolderNum", "aclrtKernelArgsAppendPlaceHolder", "aclrtKernelArgsGetPlaceHolderBuffer",
}  # fmt: skip
"""Identifiers that are the vendor's, or mean what the word means everywhere."""
ALIASES = {
    ("npuhal/loader.py", "places"), ("runtime/api/streams.py", "places"), ("runtime/feature/graph/graph.py", "places"),
    ("runtime/feature/graph/recording/node.py", "place"), ("runtime/feature/graph/view.py", "place"),
    ("runtime/launch/task_records.py", "place"), ("runtime/trace/model.py", "place"),
    ("runtime/feature/graph/recording/section.py", "RehearsalSection"), ("runtime/trace/phases.py", "beats_us"),
    ("runtime/feature/graph/graph.py", "repoint"),
    ("runtime/cli/bench/operations.py", "repoint"),  # the other tree of a comparison may have this name only
}
"""Former names of what is public, by file; and the files where a word is the right one."""
_STARTS_A_PROCESS = ("runtime/cli/doctor", "runtime/trace")
"""Where a starter is one: the daemon of device processes, the task that starts a graph."""


_WORDS = "|".join(FORMER_WORDS)
_SUSPECT = re.compile(rf"(?<![a-z])(?i:{_WORDS})(?![a-z])|{FORMER_PHRASES.pattern}")
"""Finds the few modules that are worth a closer look."""


def parts_of(identifier: str) -> list[str]:
    """The words of an identifier, in lower case; the vendor's SnapShot is one."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", identifier.replace("SnapShot", "Snapshot")).lower().split("_")


def former_words(path: str, source: str) -> list[str]:
    """Where a module uses a word that a thing once had, one sentence each."""
    wrong: list[str] = []
    if not _SUSPECT.search(source):
        return wrong
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        where, text = f"{path}:{token.start[0]}", token.string
        if token.type == tokenize.NAME and text not in ALLOWED and (path, text) not in ALIASES:
            for part in parts_of(text):
                if part in FORMER_WORDS and not (part == "starter" and path.startswith(_STARTS_A_PROCESS)):
                    wrong.append(f"{where}: {text}: say {FORMER_WORDS[part]}")
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and text.lstrip("rR").startswith('"""')):
            wrong += [f"{where}: {found[0]!r}" for found in FORMER_PHRASES.finditer(text)]
    return wrong


def test_former_words_do_not_come_back() -> None:
    wrong = []
    for path in sources():
        wrong += former_words(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("make_room = 1", "space"), ("class PlaceOf: pass", "call site"), ("stream.tell(1)", "notify"),
        ("x = 1  # the long way", "long way"), ('"""Room for ten entries."""', "Room for"),
        ('"""The place in the ring."""', "place in the ring"), ("ring.owed = 1", "pending"),
    ],
)
def test_a_former_word_is_found(source: str, found: str) -> None:
    assert any(found in each for each in former_words("runtime/x.py", source))


@pytest.mark.parametrize(
    "source",
    ["replace = storytelling = mushroom = 1", "queue.in_place", '"""Changed in place, or in the place of it."""',
     "# takes its place in the ring"],
)  # fmt: skip
def test_other_words_are_free(source: str) -> None:
    assert former_words("runtime/x.py", source) == []
