"""The code tables: complete, consistent with each other, and equal to the recorded lists where those are at hand."""

from __future__ import annotations

import re
import string
import subprocess
import sys

import pytest
import yaml

from npuhal import constants
from runtime import errors
from runtime.errors import faults, tables
from tests.tools.corpus import corpus

LAYERS = {"api", "memory", "core", "launch", "feature", "driver"}


def test_every_public_code_has_a_layer_a_family_a_cause_and_a_cure() -> None:
    for row in tables.public_codes().values():
        assert row.layer in LAYERS, row
        assert issubclass(getattr(faults, row.family), errors.RuntimeFault), row
        assert row.cause.endswith("."), row
        assert row.cure.endswith("."), row


def test_there_are_216_public_names_for_214_numbers() -> None:
    assert len(tables.public_names()) == 216
    assert len(tables.public_codes()) == 214
    assert {name for name, code in tables.public_names().items() if code == 0} == {
        "ACL_SUCCESS",
        "ACL_RT_SUCCESS",
        "ACL_ERROR_NONE",
    }


@pytest.mark.parametrize("code", [code for code in tables.public_codes() if code])
def test_a_fault_of_every_code_carries_the_row(code: int) -> None:
    row = tables.public_codes()[code]
    problem = errors.fault(code)
    assert type(problem).__name__ == row.family
    assert (problem.code, problem.name, problem.layer, problem.hint) == (code, row.name, row.layer, row.cure)
    assert row.cause in str(problem)
    assert row.cure in str(problem)


def test_every_family_of_the_tree_is_used_by_a_code() -> None:
    used = {row.family for row in tables.public_codes().values()}
    defined = {
        name
        for name in errors.__all__
        if isinstance(kind := getattr(errors, name), type) and issubclass(kind, errors.RuntimeFault)
    }
    assert used | {"ModelFault"} == defined  # a task that fails inside a model raises that one, whatever its code


@pytest.mark.parametrize(
    ("internal", "public"),
    [
        ("RT_ERROR_NONE", 0),
        ("RT_ERROR_CONTEXT_NULL", 107002),
        (0x07070001, 107002),
        ("RT_ERROR_DRV_NO_RESOURCES", 207005),
        ("RT_ERROR_TASK_MONITOR", 507000),  # no public code of its own
        (0x07FF0000, 507000),  # not in the table at all
        (107003, 107003),  # public already
        (0, 0),
    ],
)
def test_inner_codes_become_public_ones(internal: int | str, public: int) -> None:
    assert errors.public_code(internal) == public


def test_an_unknown_inner_name_is_an_error() -> None:
    with pytest.raises(KeyError, match="RT_ERROR_NO_SUCH"):
        errors.public_code("RT_ERROR_NO_SUCH")


def test_every_inner_code_becomes_a_code_that_exists() -> None:
    for inner in tables.internal_codes().values():
        assert inner.public in tables.public_codes(), inner
        assert inner.value == 0 or inner.value >> 24 == 0x07, inner


@pytest.mark.parametrize(
    ("ts_code", "public", "message"),
    [
        (0x26, 507015, "EZ9999"),
        (0x31, 507035, "EZ9999"),
        (0x2A, 507018, "E39999"),
        (0x105, 107020, "EE9999"),
        (0x218, 507013, "EI9999"),
        (0x228, 507915, "EE9999"),
        (0xBEEF, 507001, "EE9999"),
    ],
)
def test_device_codes_become_public_ones_and_know_their_message_family(ts_code: int, public: int, message: str) -> None:
    row = errors.device_code(ts_code)
    assert row.public == public
    assert tables.message_families()[row.family] == message


def test_every_driver_code_of_the_table_is_one_of_the_header() -> None:
    header = constants.enum("drvError_t")
    for name, inner in tables.hal_codes().items():
        assert name in header
        assert inner in tables.internal_codes()


def test_driver_codes_without_a_row_are_general_driver_errors() -> None:
    assert errors.hal_code("DRV_ERROR_BUSY").name == "RT_ERROR_DRV_ERR"
    assert errors.hal_code("DRV_ERROR_RESUME").public == 207020


def test_messages_use_exactly_their_parameters() -> None:
    for message in tables.user_messages().values():
        used = [name for _, name, _, _ in string.Formatter().parse(message.text) if name]
        assert sorted(used) == sorted(message.parameters), message.number


def test_the_catalogue_runs_from_1001_to_1023_without_1008() -> None:
    numbers = {int(number[2:]) for number in tables.user_messages() if number.startswith("EE10")}
    assert numbers == set(range(1001, 1024)) - {1008}


@pytest.mark.parametrize(("number", "parameters"), {
    1001: "reason", 1002: "text", 1003: "function value parameter expected", 1004: "function parameter",
    1005: "feature", 1006: "function object reason", 1007: "stream_id reason", 1009: "model_id reason",
    1010: "function object details", 1011: "function value parameter reason", 1012: "function value what reason",
    1013: "bytes function", 1014: "reason", 1015: "function text", 1016: "function reason",
    1017: "function parameter reason", 1018: "function reason", 1019: "function reason",
    1020: "function libc errno text details", 1021: "object function", 1022: "function values parameters reason",
    1023: "function reason",
}.items())  # fmt: skip
def test_a_fault_posts_its_message_with_every_parameter_in_order(number: int, parameters: str) -> None:
    """core_spec 19.2: number, and what is filled in, in this order."""
    names = tuple(parameters.split())
    given = tuple(f"<{name}>" for name in names)
    fault = errors.fault("ACL_ERROR_RT_PARAM_INVALID", ee=f"EE{number}", params=given)
    assert tables.user_messages()[f"EE{number}"].parameters == names
    assert fault.message_id == f"EE{number}"
    assert [name for name in given if name not in str(fault)] == []
    with pytest.raises(ValueError, match=f"EE{number} takes {len(names)} parameter"):
        errors.fault("ACL_ERROR_RT_PARAM_INVALID", ee=f"EE{number}", params=(*given, "one more"))


def test_a_message_refuses_the_wrong_number_of_parameters() -> None:
    with pytest.raises(ValueError, match=r"EE1003 takes 4 parameters \(function, value, parameter, expected\), got 1"):
        tables.user_messages()["EE1003"].render(("f",))


def test_importing_the_faults_reads_no_table() -> None:
    probe = "import sys, runtime.errors; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_public_names_equal_the_recorded_api() -> None:
    recorded = yaml.load(corpus("data/aclrt_api.yaml").read_text(), Loader=yaml.CSafeLoader)["error_codes"]
    assert dict(tables.public_names()) == {row["name"]: row["value"] for row in recorded}


def test_inner_driver_and_device_tables_equal_the_recorded_ones() -> None:
    text = corpus("spec/core_spec.md").read_text()
    inner, driver, device = re.split(r"^### A\.[234] .*$", text, flags=re.MULTILINE)[1:]
    rows = re.findall(r"^\| (RT_\w+) \| (0x\w+) \| (\d+)", inner, re.MULTILINE)
    ours = {code.name: (code.value, code.public) for code in tables.internal_codes().values()}
    assert {name: (int(value, 16), int(public)) for name, value, public in rows} | {"RT_ERROR_NONE": (0, 0)} == ours
    assert dict(re.findall(r"^\| (DRV_\w+) \| (RT_\w+)", driver, re.MULTILINE)) == dict(tables.hal_codes())
    reported = re.findall(r"^\| (TS_\w+) \| (0x\w+) \| (RT_\w+) \| (\d+) \| (\w+)", device, re.MULTILINE)
    assert {int(value, 16): (name, inner, int(public), family) for name, value, inner, public, family in reported} == {
        row.value: (row.name, row.internal, row.public, row.family) for row in tables.device_codes().values()
    }
