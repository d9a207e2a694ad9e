"""The table language, and that a lookup touches only what it needs."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from npuhal import constants, declarations, prototypes, structs
from npuhal.declarations import all_rows, parse_items, parse_values
from npuhal.layouts import SCALARS, Layouts, layouts
from npuhal.version import BASE_VERSION, DRIFT_VERSION
from tests.tools.pace import slowness


def run_fresh(code: str) -> str:
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_argument_with_direction_and_pointer():
    item, other = parse_items("info: inout halTaskSendInfo*, n: u32")
    assert (item.name, item.type, item.direction) == ("info", "halTaskSendInfo*", "inout")
    assert (other.name, other.type, other.direction) == ("n", "u32", "in")


def test_nested_groups_arrays_and_bits():
    union, group, bits, plain = parse_items(
        "union { a: u32, b: u64 }, g: struct { x: u8, y: u8[3] }[4], u32 { lo:6, hi:26 }, z: char[65]"
    )
    assert (union.name, union.type, [item.name for item in union.items]) == ("", "union", ["a", "b"])
    assert (group.name, group.repeat, group.items[1].type) == ("g", 4, "u8[3]")
    assert [(part.name, part.type) for part in bits.items] == [("lo", "6"), ("hi", "26")]
    assert plain.type == "char[65]"


def test_unbalanced_body_is_refused():
    with pytest.raises(ValueError, match="unbalanced"):
        parse_items("a: u32 }")


def test_enum_values_count_on_from_the_last_one_given():
    assert parse_values("A, B, C = 0x10, D, E = -2, F") == {"A": 0, "B": 1, "C": 16, "D": 17, "E": -2, "F": -1}
    assert parse_values('NAME = "drv_msg_grp"') == {"NAME": "drv_msg_grp"}


def test_every_line_of_every_table_belongs_to_a_row():
    for chapter in declarations.CHAPTERS:
        text = declarations._text(chapter)
        left = declarations._ROW.sub("", text).strip()
        assert left == "", f"{chapter}: not understood: {left[:200]}"


def test_names_are_declared_once_per_version():
    seen = set()
    for row in all_rows("struct", "union", "function", "callback"):
        key = (row.name, row.since)
        assert key not in seen, key
        seen.add(key)


def test_every_row_names_its_header():
    assert [row.name for row in all_rows("struct", "union", "enum", "function") if not row.header.endswith(".h")] == []


def test_everything_the_tables_mention_can_be_built():
    for version in (0, DRIFT_VERSION):
        for name in prototypes.names():
            prototypes.prototype(name, version)
        for name in structs.names():
            layouts(version).struct(name)


def test_typedef_and_tag_are_one_class():
    assert structs.halChipInfo is structs.hal_chip_info
    assert structs.halDevOpenIn is structs.hal_dev_open_in


def test_unknown_names_say_how_to_list_the_known():
    with pytest.raises(AttributeError, match=r"no struct 'halNothing'.*names\(\)"):
        _ = structs.halNothing
    with pytest.raises(AttributeError, match=r"no constant 'DRV_NOTHING'.*names\(\)"):
        _ = constants.DRV_NOTHING
    with pytest.raises(KeyError):
        prototypes.prototype("halNothing")
    with pytest.raises(KeyError):
        constants.enum("no_such_enum")


def test_a_name_inside_another_is_not_found():
    with pytest.raises(AttributeError):
        _ = constants.DRV_ERROR_NO_RESOURCE  # DRV_ERROR_NO_RESOURCES exists


def test_binding_one_function_builds_only_its_own_struct(monkeypatch):
    fresh: dict[int, Layouts] = {}
    monkeypatch.setattr("npuhal.prototypes.layouts", lambda version=0: fresh.setdefault(version, Layouts(version)))
    prototypes.prototype.__wrapped__("halSqTaskSend")
    assert set(fresh[0]._structs) == {"halTaskSendInfo"}


def test_looking_up_one_name_parses_no_other_chapter():
    loaded = run_fresh(
        "import sys, npuhal; npuhal.prototypes.prototype('halSqTaskSend');"
        "print(sorted(m for m in sys.modules if m.startswith('npuhal.tables.')))"
    )
    assert loaded == "['npuhal.tables.device', 'npuhal.tables.errors', 'npuhal.tables.queues']"


def test_import_loads_no_table_and_only_the_standard_library():
    loaded = run_fresh(
        "import sys; before = set(sys.modules); import npuhal;"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "print([m for m in sys.modules if m.startswith('npuhal.tables')],"
        " sorted(new - set(sys.stdlib_module_names) - {'npuhal'}))"
    )
    assert loaded == "[] []"


def test_import_takes_less_than_50_ms_of_cpu(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path)  # an installed package has its bytecode
    code = "import time; t = time.process_time(); import npuhal; print(time.process_time() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout)
        for _ in range(6)
    ]
    assert min(times[1:]) < 0.05 * slowness()


def test_structs_refuse_misspelt_fields():
    info = structs.halTaskSendInfo()
    with pytest.raises(AttributeError):
        info.sqe_adr = 1


def test_pointers_in_structs_are_addresses():
    info = structs.halTaskSendInfo(sqe_addr=0x1234)
    assert info.sqe_addr == 0x1234
    assert structs.halTaskSendInfo().sqe_addr is None


def test_bit_fields_share_their_unit_and_refuse_what_does_not_fit():
    message = structs.event_sync_msg(dev_id=63, pid=5, dst_engine=15, tid=200)
    assert (message.dev_id, message.pid, message.dst_engine, message.gid, message.tid) == (63, 5, 15, 0, 200)
    assert bytes(message) == (63 | 5 << 6 | 15 << 28 | (200 << 6) << 32).to_bytes(8, "little")
    message.pid = 0
    assert (message.dev_id, message.pid, message.dst_engine) == (63, 0, 15)
    with pytest.raises(ValueError, match="dev_id = 64: 6 bits hold 0 to 63"):
        message.dev_id = 64


def test_scalars_have_the_size_their_name_says():
    sizes = {name: ctypes.sizeof(kind) for name, kind in SCALARS.items() if kind and name[1:].isdigit()}
    assert all(size * 8 == int(name[1:]) for name, size in sizes.items())


def test_version_constants_come_from_the_newest_and_the_base_header():
    assert getattr(constants, "__HAL_API_VER_PATCH") == 24
    assert BASE_VERSION == 0x072418
    assert DRIFT_VERSION == 0x072419


def test_all_versions_of_a_declaration_stand_in_one_chapter():
    chapters: dict[str, set[str]] = {}
    for row in all_rows("struct", "union", "function", "callback"):
        chapters.setdefault(row.name, set()).add(row.chapter)
    assert [name for name, places in chapters.items() if len(places) > 1] == []


def test_a_value_that_differs_between_versions_is_the_first_ones():
    assert constants.FEATURE_MAX == 13  # 14 in the newer header
    assert constants.FEATURE_SVM_MEM_REGISTER_HOST_PINNED == 13
