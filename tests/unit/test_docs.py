"""What the documentation shows is true: snippets run, what they print is printed, commands work, links lead somewhere.

A fenced block marked `python` is run as a program; a `text` block that directly follows is what it must print. Which
machine it runs on is what the page says: lines `export NAME=value` of its `sh` blocks are the environment, and no
others. One with a title `test_*.py` is run by pytest. In a `console` block every `$ npuhal ...` line is run, and the
lines below it must be its output. `...` stands for anything, as in doctest. Blocks of other kinds are not run.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import npuhal
from runtime.capi import pyacl as acl
from runtime.cli import COMMANDS
from runtime.cli.parser import Parser
from tests.tools import reference

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")),
    *sorted(ROOT.glob("docs/**/*.md"))
]
MACHINE = "fake://ascend910b3"
EXAMPLE = re.compile(r"(?:^(?:>>>|\.\.\.).*\n)+", re.MULTILINE)
TREE = "https://github.com/npuhal/npuhal/blob/main/"
"""Where links of the README lead."""
COMMAND = "import sys, runtime.cli; sys.exit(runtime.cli.main(sys.argv[1:]))"


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, what it is marked with, and its text."""

    document: Path
    line: int
    kind: str
    text: str

    @property
    def end(self) -> int:
        """The line that closes it."""
        return self.line + self.text.count("\n") + 1

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def blocks(document: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a document in order."""
    kind, start, lines = None, 0, []
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif kind is None:
            kind, start, lines = line[3:].strip(), number, []
        else:
            yield Block(document, start, kind, "\n".join(lines) + "\n")
            kind, lines = None, []
    assert kind is None, f"{document.name}:{start}: the block is not closed"


def programs(document: Path) -> list[tuple[Block, str | None]]:
    """Return the Python snippets of a page with what each must print, None if nothing is said."""
    found, pairs = list(blocks(document)), []
    for block, after in itertools.zip_longest(found, found[1:]):
        if block.kind == "python":
            told = after is not None and after.kind == "text" and after.line <= block.end + 2
            pairs.append((block, after.text if told else None))
    return pairs


def exports(document: Path) -> dict[str, str]:
    """Return the environment that a page tells its reader to set."""
    text = "\n".join(block.text for block in blocks(document) if block.kind.startswith("sh"))
    return dict(re.findall(r"^export (\w+)=(\S+)", text, re.MULTILINE))


# Each snippet is a program of its own, with the environment of its page and a working folder of its own: a fork of an
# interpreter that has loaded, and not used, what most of them load. It reads a page a line, and answers with a line.
EACH = """
import contextlib, io, json, os, sys, tempfile, traceback
import numpy, fakes.tiers.direct, runtime

for name in dir(runtime):
    getattr(runtime, name)  # loads it

def run(text, variables, answer):
    os.environ.update(variables)
    printed, failed = io.StringIO(), ""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        os.chdir(folder)
        try:
            exec(compile(text, "<snippet>", "exec"), {"__name__": "__main__"})
            runtime.shutdown(force=True)
        except BaseException:
            failed = traceback.format_exc()
        os.chdir("/")
    json.dump((printed.getvalue(), failed), answer)
    answer.flush()
    os._exit(0)

def result(text, variables):
    with tempfile.TemporaryFile("w+") as answer:
        if not (child := os.fork()):
            run(text, variables, answer)
        status = os.waitpid(child, 0)[1]
        answer.seek(0)
        return json.loads(answer.read() or json.dumps(["", f"status {status}"]))

for line in sys.stdin:
    texts, variables = json.loads(line)
    print(json.dumps([result(text, variables) for text in texts]), flush=True)
"""


@pytest.fixture(scope="module")
def interpreter() -> Iterator[subprocess.Popen[str]]:
    """The interpreter that forks one for each snippet."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("NPUHAL_", "ASCEND_"))}
    with subprocess.Popen(
        [sys.executable, "-c", EACH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        yield process
        process.communicate(timeout=60)
        assert process.returncode == 0


def ask(interpreter: subprocess.Popen[str], texts: list[str], variables: dict[str, str]) -> list[tuple[str, str]]:
    """Return what each program prints, and the traceback of those that fail."""
    assert interpreter.stdin is not None
    assert interpreter.stdout is not None
    print(json.dumps([texts, variables]), file=interpreter.stdin, flush=True)
    answers: list[tuple[str, str]] = json.loads(interpreter.stdout.readline())
    return answers


def commands() -> Iterator[Any]:
    """Yield every command of the console blocks with the output shown."""
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.kind == "console":
                for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                    command, _, output = part.partition("\n")
                    yield pytest.param(block, command, output, id=f"{block}-{command[:30]}")


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "NPUHAL_URL": MACHINE, "COLUMNS": "200", "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=250, check=False
    )


def suites() -> Iterator[Block]:
    """Yield the blocks that are test modules of a user: Python with a title `test_*.py`."""
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.kind.startswith('python title="test_'):
                yield block


def check_output(wanted: str, got: str) -> None:
    same = doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert same, f"shown:\n{wanted}\nprinted:\n{got}"


def test_every_snippet_is_well_typed(tmp_path: Path) -> None:
    """What a user who copies from the documentation gets from mypy --strict, against our packages: nothing."""
    files = {}
    for number, block in enumerate(block for document in DOCUMENTS for block in blocks(document)):
        if block.kind == "python" or block.kind.startswith('python title="test_'):
            path = tmp_path / f"snippet_{number}.py"
            path.write_text(block.text, encoding="utf-8")
            files[path] = block
    done = run("-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *map(str, files), MYPYPATH=acl.stubs())
    told = done.stdout
    for path, block in files.items():
        told = told.replace(path.name, f"{path.name} ({block})")
    assert done.returncode == 0, told


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if programs(each)], ids=lambda path: path.stem)
def test_every_snippet_runs(document: Path, interpreter: subprocess.Popen[str]) -> None:
    found = programs(document)
    answers = ask(interpreter, [block.text for block, _ in found], exports(document))
    for (block, printed), (got, failed) in zip(found, answers, strict=True):
        assert not failed, f"{block}: {failed}"
        if printed is not None:
            check_output(printed, got)


def test_every_test_module_passes(tmp_path: Path) -> None:
    """In one run of pytest, each in a folder that is named after its page and line."""
    expected = 0
    for block in suites():
        path = tmp_path / str(block).replace("/", "-").replace(":", "-") / block.kind.split('"')[1]
        path.parent.mkdir()
        path.write_text(block.text, encoding="utf-8")
        expected += block.text.count("def test_")
    options = ("-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", str(tmp_path))
    done = run("-m", "pytest", *options, str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert f"{expected} passed" in done.stdout


@pytest.mark.parametrize(("block", "command", "output"), list(commands()))
def test_every_command_works(block: Block, command: str, output: str) -> None:
    program, *arguments = shlex.split(command, comments=True)
    assert program == "npuhal", f"{block}: only npuhal commands belong into a console block"
    done = run("-c", COMMAND, *arguments)
    assert done.returncode == 0, done.stderr
    if output.strip():
        check_output(output, done.stdout)


def test_descriptions_of_machines_and_jobs_are_what_they_seem(tmp_path: Path) -> None:
    """YAML is a machine that opens, or a CI job whose commands of ours are command lines."""
    seen = set()
    for document in DOCUMENTS:
        for block in blocks(document):
            if block.kind != "yaml":
                continue
            told = yaml.safe_load(block.text)
            if isinstance(told, list):  # steps of a job that stands above
                told = {"jobs": {"": {"steps": told}}}
            seen.update(told.keys() & {"spec", "jobs"})
            if "spec" in told:
                path = tmp_path / "machine.yaml"
                path.write_text(block.text, encoding="utf-8")
                npuhal.open_hal(f"fake://scenario={path}").close()
            for job in told.get("jobs", {}).values():
                for step in job["steps"]:
                    if step.get("run", "").startswith("npuhal "):
                        check_command_line(step["run"])
    assert seen == {"spec", "jobs"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_inside_the_repository_leads_somewhere(document: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"`[^`\n]*`", "", prose)
    told = re.findall(r"\]\(([^)]+)\)", prose)
    targets = [document.parent / target.partition("#")[0] for target in told if "://" not in target]
    # A package index shows the README without the tree: its links name the files of the repository.
    targets += [ROOT / target.removeprefix(TREE).partition("#")[0] for target in told if target.startswith(TREE)]
    missing = [str(target) for target in targets if not target.exists()]
    assert missing == []


def named_commands() -> Iterator[Any]:
    """Yield every command line of ours in prose and shell blocks, once."""
    seen = set()
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        lines = re.findall(r"`(npuhal [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
        lines += [
            line for block in blocks(document) if block.kind == "sh" for line in block.text.splitlines()
            if line.startswith("npuhal ")
        ]  # fmt: skip
        for line in lines:
            line = " ".join(line.split())
            if line not in seen:
                seen.add(line)
                yield pytest.param(line, id=f"{document.name}: {line}"[:90])


def check_command_line(line: str) -> None:
    """Have the parser of its command read a line."""
    _, name, *words = shlex.split(line, comments=True)
    command = next(command for command in COMMANDS if command.name == name)
    module = importlib.import_module(command.module)
    parser = Parser(f"npuhal {name}")
    module.configure(parser)
    if len(words) == 1 and words[0].isalpha():  # the name of a command of this command, or its only argument
        with contextlib.suppress(SystemExit):
            parser.parse_args([*words, "--help"])
    elif words:  # a mere name stands for the command as such
        parser.parse_args(words)


@pytest.mark.parametrize("line", list(named_commands()))
def test_command_lines_of_the_documentation_are_command_lines(line: str) -> None:
    check_command_line(line)


def test_no_block_escapes_by_its_mark() -> None:
    """A snippet marked `py`, or a test module with another title, would be run by nobody."""
    known = re.compile(r'|text|console|sh|yaml|toml|python|python title="test_\w+\.py"')
    for document in DOCUMENTS:
        for block in blocks(document):
            # test_contributing.py; tests/pytorch/test_docs.py
            elsewhere = document.name in ("CONTRIBUTING.md", "torch.md") and "title=" in block.kind
            assert known.fullmatch(block.kind) or elsewhere, f"{block}: {block.kind!r}"


PREAMBLE = """
import numpy as np
import runtime
from runtime import GraphBuilder
from runtime.cli.sample import minimal_kernel

device = runtime.device(0)
kernel, fill, add = (device.load(minimal_kernel(name, count)).only for name, count in (("k", 1), ("f", 1), ("a", 3)))
for each in (kernel, fill, add):
    device.hal.fake.attach(each.code, lambda context: None, grid=True)
stream, pinned = device.create_stream(), device.alloc_host(64)
buffer, x, y, z = (device.alloc(64) for _ in range(4))
images, labels = np.zeros((2, 3), np.float32), np.arange(2)
"""


def examples() -> Iterator[Any]:
    """Yield the examples in docstrings of what the reference shows."""
    for name, (thing, members) in reference.entries().items():
        for owner, text in [(name, thing.__doc__), *((f"{name}.{each}", getattr(thing, each, None).__doc__)
                                                     for each in members)]:  # fmt: skip
            for found in EXAMPLE.findall(inspect.cleandoc(text or "") + "\n"):
                code = re.sub(r"^(>>>|\.\.\.) ?", "", found, flags=re.MULTILINE)
                if owner != "expected":  # shown in docs/fake.md, and run there
                    yield pytest.param(code, id=owner)


@pytest.mark.parametrize("code", list(examples()))
def test_every_example_of_the_reference_runs(code: str, interpreter: subprocess.Popen[str]) -> None:
    ((_, failed),) = ask(interpreter, [PREAMBLE + code + "device.synchronize()\n"], {"NPUHAL_URL": MACHINE})
    assert not failed, failed


def test_there_is_something_to_run() -> None:
    found = [pair for document in DOCUMENTS for pair in programs(document)]
    assert len(found) > 20
    assert sum(printed is not None for _, printed in found) > 15
    assert len(list(commands())) > 5
    assert len(list(suites())) >= 2
    assert len(list(examples())) >= 3
    assert len(list(named_commands())) > 25
