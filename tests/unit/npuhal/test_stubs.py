"""The type stubs are what the tables give."""

from __future__ import annotations

import ast
from pathlib import Path

import npuhal
from npuhal import prototypes, stubgen

FOLDER = Path(npuhal.__file__).parent


def test_stubs_are_in_step_with_the_tables():
    stale = [name for name, text in stubgen.stubs().items() if (FOLDER / name).read_text() != text]
    assert stale == [], "run `python -m npuhal.stubgen`"


def test_stubs_are_python():
    for text in stubgen.stubs().values():
        ast.parse(text)


def test_every_function_has_a_method_with_its_arguments():
    tree = ast.parse(stubgen.stubs()["_calls.pyi"])
    methods = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(methods) == set(prototypes.names())
    send = methods["halSqTaskSend"]
    assert [argument.arg for argument in send.args.posonlyargs] == ["self", "devId", "info"]


def test_write_puts_them_into_a_folder(tmp_path):
    stubgen.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"_calls.pyi", "structs.pyi", "constants.pyi"}
