"""The table of operators, without torch: rows can be read, and say only what there is."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.capi.shim.torch import operators

FUNCTIONS = ("composed", "layers", "recurrent", "attention")
MODULES = [Path(operators.__file__).with_name(f"{name}.py") for name in FUNCTIONS]


def test_a_row_says_arguments_kinds_outputs_and_what_is_read() -> None:
    row = operators.parse("aclnnAddmm(self, first, beta, >out, math:i) -> out", "self")
    assert row.name == "aclnnAddmm"
    assert row.parameters == ("self", "first", "beta", "out", "math")
    assert row.kinds == "ooooi"
    assert row.outputs == ("out",)
    assert row.reads == {"self", "first", "beta", "math"}


def test_an_output_that_is_an_argument_is_changed_in_place_and_others_follow() -> None:
    row = operators.parse("aclnnX(self, eps:d, name:s) -> self, more", "self")
    assert row.parameters == ("self", "eps", "name", "more")
    assert row.kinds == "odso"
    assert "self" in row.reads


def test_an_output_with_a_question_mark_is_one_whose_shape_the_data_decide() -> None:
    row = operators.parse("aclnnX(self, counts:i) -> out?, places, number?", "self")
    assert (row.outputs, row.kinds) == (("out", "places", "number"), "oiuou")
    assert row.sized == {"out", "number"}
    assert not operators.parse("aclnnX(self) -> out", "self").sized


def test_attributes_have_defaults() -> None:
    row = operators.parse("ReduceSum(x, axes; keep_dims=0, scale=1.5) -> y", "x")
    assert row.attributes == {"keep_dims": 0, "scale": 1.5}
    assert row.parameters == ("x", "axes", "y")


@pytest.mark.parametrize("text", ["aclnnX(self)", "(self) -> out", "aclnnX(self:q) -> out"])
def test_what_is_no_row_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="operators"):
        operators.parse(text, "self")


def test_names_are_told_apart_by_the_way_they_are_called() -> None:
    assert all(each.name.startswith("aclnn") for each in operators.aclnn())
    assert not any(each.name.startswith("aclnn") for each in operators.aclop())
    assert len(operators.named()) == len(operators.aclnn()) + len(operators.aclop()) > 400


def test_expressions_use_their_arguments_and_functions_that_exist() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in MODULES]
    functions = {each.name for tree in trees for each in tree.body if isinstance(each, ast.FunctionDef)}
    functions |= {"torch", "aten"}
    inner = {each.id for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Name)}
    unused = functions - inner
    for row in operators.named().values():
        nodes = list(ast.walk(ast.parse(row.expression, mode="eval")))
        bound = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        used = {each.id for each in nodes if isinstance(each, ast.Name)} - bound
        known = {*row.parameters, *row.attributes, *functions, *vars(builtins)}
        assert used <= known, (row.name, used - known)
        unused -= used
    assert not unused


def test_limits_are_of_operators_that_exist_and_of_their_arguments() -> None:
    limited = [row for row in operators.named().values() if row.limits]
    text = Path(operators.__file__).with_name("operators.yaml").read_text(encoding="utf-8").partition("\nlimits:")[2]
    assert {name for name in text.split() if name.startswith("aclnn")} == {row.name for row in limited}
    for row in limited:
        kinds = dict(zip(row.parameters, row.kinds, strict=True))
        assert all(kinds[name] in "idfso" for limit in row.limits for name in limit.arguments), row.name
    (limit,) = operators.named()["aclnnGRU"].limits
    assert limit.arguments == ("dropout", "layers", "train")
    assert [limit.meets(*each) for each in ((0.5, 2, 1), (0.0, 2, 1), (0.5, 1, 1), (0.5, 2, 0))] == [True] + [False] * 3


def test_the_table_is_read_without_torch() -> None:
    code = (
        "import sys; from runtime.capi.shim.torch import calls, forms, operators, wheel\n"
        "operators.named(); calls.functions(); print(sorted({'torch', 'fakes'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
