"""The ABI check: that it passes on what is measured, and that no kind of difference escapes it."""

from __future__ import annotations

import copy
import ctypes
import shutil

import pytest
import yaml

from npuhal import constants, declarations, measure, prototypes, structs
from npuhal.abi import Bindings, check
from npuhal.layouts import SCALARS
from npuhal.version import DRIFT_VERSION
from tests.tools.corpus import corpus

# A few measured facts (gcc 12, x86-64; clang gives the same for aarch64), in the form of the measured files.
FACTS = yaml.safe_load(
    """
functions:
  halSqTaskSend:
    ret: drvError_t
    args: [{name: devId, type: uint32_t}, {name: info, type: "struct halTaskSendInfo *"}]
  halMemAlloc:
    ret: drvError_t
    args:
      - {name: pp, type: "void **"}
      - {name: size, type: unsigned long long}
      - {name: flag, type: unsigned long long}
  halSubscribeFaultEvent:
    ret: drvError_t
    args:
      - {name: device_id, type: int}
      - {name: filter, type: struct halEventFilter}
      - {name: handler, type: halfaulteventcb}
typedefs:
  drvError_t: {to: enum tagDrvError}
  halfaulteventcb: {to: "void (*)(struct halFaultEventInfo *)"}
  drvSqCqType_t: {to: enum tagDrvSqCqType}
structs:
  struct halTaskSendInfo:
    kind: struct
    size: 64
    align: 8
    fields:
      - {name: type, type: drvSqCqType_t, offset: 0, size: 4}
      - {name: tsId, type: uint32_t, offset: 4, size: 4}
      - {name: sqId, type: uint32_t, offset: 8, size: 4}
      - {name: timeout, type: int32_t, offset: 12, size: 4}
      - {name: sqe_addr, type: "uint8_t *", offset: 16, size: 8}
      - {name: sqe_num, type: uint32_t, offset: 24, size: 4}
      - {name: pos, type: uint32_t, offset: 28, size: 4}
      - {name: res, type: "uint32_t[8]", offset: 32, size: 32}
  GroupShareAttr:
    kind: struct
    size: 4
    align: 4
    fields:
      - {name: admin, type: unsigned int, bit_off: 0, bits: 1}
      - {name: read, type: unsigned int, bit_off: 1, bits: 1}
      - {name: write, type: unsigned int, bit_off: 2, bits: 1}
      - {name: alloc, type: unsigned int, bit_off: 3, bits: 1}
      - {name: rsv, type: unsigned int, bit_off: 4, bits: 28}
enums:
  enum tagDrvStatus:
    values: {DRV_STATUS_INITING: 0, DRV_STATUS_WORK: 1, DRV_STATUS_EXCEPTION: 2, DRV_STATUS_SLEEP: 3,
             DRV_STATUS_COMMUNICATION_LOST: 4, DRV_STATUS_RESERVED: 5}
macros_int: {SQCQ_UMAX: 4294967295}
macros_str: {EVENT_DRV_MSG_GRP_NAME: drv_msg_grp}
macros_function_like: {MEM_ALIGN_SIZE: (x)}
"""
)
SEND = ("structs", "struct halTaskSendInfo")


def changed(path, value):
    """Return the facts with the entry at `path` replaced; `None` removes it."""
    facts = copy.deepcopy(FACTS)
    place = facts
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return facts


def test_measured_facts_match():
    report = check(FACTS)
    assert (report.matched, report.total, report.differences) == (8, 8, [])
    assert report.unbound == [("macro", "MEM_ALIGN_SIZE", "takes arguments: a macro of the C preprocessor only")]


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ((*SEND, "size"), 72, "struct halTaskSendInfo: sizeof: measured 72, bound 64"),
        ((*SEND, "align"), 4, "struct halTaskSendInfo: alignment: measured 4, bound 8"),
        ((*SEND, "kind"), "union", "struct halTaskSendInfo: kind"),
        ((*SEND, "fields", 2, "offset"), 12, r"sqId \(offset, size\): measured \(12, 4\), bound \(8, 4\)"),
        ((*SEND, "fields", 7, "size"), 28, r"res \(offset, size\)"),
        ((*SEND, "fields", 3, "type"), "uint32_t", "timeout type: measured uint32_t, bound i32"),
        ((*SEND, "fields", 4, "type"), "uint16_t *", r"sqe_addr type: measured uint16_t \*, bound u8\*"),
        ((*SEND, "fields", 0, "type"), "uint32_t", "type type: measured uint32_t, bound drvSqCqType_t"),
        ((*SEND, "fields", 7, "type"), "uint32_t[7]", "res type"),
        ((*SEND, "fields", 5, "name"), "sqe_count", "field sqe_count: measured present, bound none"),
        ((*SEND, "fields", 5), None, "field sqe_num: measured none, bound present"),
        (
            ("structs", "GroupShareAttr", "fields", 1, "bit_off"),
            2,
            r"read \(bit offset, bits\).*\(2, 1\), bound \(1, 1\)",
        ),
        (("structs", "GroupShareAttr", "fields", 4, "bits"), 27, r"rsv \(bit offset, bits\)"),
        (("enums", "enum tagDrvStatus", "values", "DRV_STATUS_SLEEP"), 9, "DRV_STATUS_SLEEP: measured 9, bound 3"),
        (
            ("enums", "enum tagDrvStatus", "values", "DRV_STATUS_SLEEP"),
            None,
            "DRV_STATUS_SLEEP: measured none, bound 3",
        ),
        (("macros_int", "SQCQ_UMAX"), 1, "macro SQCQ_UMAX: value: measured 1, bound 4294967295"),
        (("macros_str", "EVENT_DRV_MSG_GRP_NAME"), "other", "measured other, bound drv_msg_grp"),
        (
            ("functions", "halMemAlloc", "args", 0, "type"),
            "void *",
            r"argument 0 \(pp\): measured void \*, bound void\*\*",
        ),
        (("functions", "halMemAlloc", "args", 1, "type"), "unsigned int", r"argument 1 \(size\)"),
        (("functions", "halMemAlloc", "args", 2, "name"), "flags", "name: measured flags, bound flag"),
        (("functions", "halMemAlloc", "args", 2), None, "number of arguments: measured 2, bound 3"),
        (("functions", "halMemAlloc", "ret"), "void", "result: measured void, bound c_int"),
        (
            ("functions", "halSqTaskSend", "args", 1, "type"),
            "struct halSqCqFreeInfo *",
            r"argument 1 \(info\): measured struct halSqCqFreeInfo \*, bound halTaskSendInfo\*",
        ),
        (("functions", "halSubscribeFaultEvent", "args", 2, "type"), "void *", r"argument 2 \(handler\)"),
    ],
)
def test_each_kind_of_difference_is_seen(path, value, text):
    report = check(changed(path, value))
    assert report.matched == report.total - 1
    assert any(__import__("re").search(text, str(difference)) for difference in report.differences), [
        str(difference) for difference in report.differences
    ]


class Perturbed(Bindings):
    """The live bindings with one object replaced."""

    def __init__(self, **replaced):
        super().__init__()
        self.replaced = replaced

    def prototype(self, name):
        return self.replaced.get(name) or super().prototype(name)

    def struct(self, name):
        return self.replaced.get(name) or super().struct(name)

    def constant(self, name):
        return self.replaced.get(name) or super().constant(name)


class ShortSendInfo(ctypes.Structure):
    _fields_ = structs.halTaskSendInfo._fields_[:-1]


class SwappedSendInfo(ctypes.Structure):
    _fields_ = [*structs.halTaskSendInfo._fields_[:-2], ("res", ctypes.c_uint32 * 8), ("pos", ctypes.c_uint32)]


def with_argument(name, position, **changes):
    prototype = prototypes.prototype(name)
    args = list(prototype.args)
    args[position] = args[position]._replace(**changes)
    return prototype._replace(args=tuple(args))


@pytest.mark.parametrize(
    "replaced",
    [
        {"halTaskSendInfo": ShortSendInfo},
        {"halTaskSendInfo": SwappedSendInfo},
        {"halMemAlloc": with_argument("halMemAlloc", 1, ctype=ctypes.c_uint32)},
        {"halMemAlloc": with_argument("halMemAlloc", 1, ctype=ctypes.c_int64)},
        {"halMemAlloc": with_argument("halMemAlloc", 0, ctype=ctypes.c_void_p)},
        {"halSqTaskSend": with_argument("halSqTaskSend", 1, ctype=ctypes.POINTER(structs.halSqCqFreeInfo))},
        {"halSqTaskSend": prototypes.prototype("halSqTaskSend")._replace(restype=ctypes.c_uint64)},
        {"DRV_STATUS_WORK": 7},
        {"SQCQ_UMAX": 7},
    ],
    ids=lambda replaced: next(iter(replaced)),
)
def test_a_wrong_binding_is_seen(replaced):
    report = check(FACTS, Perturbed(**replaced))
    assert report.matched == report.total - 1


def test_what_is_missing_is_a_difference_in_a_complete_file_and_listed_in_others():
    function = {"ret": "int", "args": []}
    partial = check({"functions": {"halNothing": function}})
    assert (partial.total, partial.unbound) == (
        0,
        [("function", "halNothing", "the vendor's runtime does not call it")],
    )
    complete = check({"meta": {}, "functions": {"halNothing": function}})
    assert [str(difference) for difference in complete.differences] == [
        "function halNothing: binding: measured present, bound none"
    ]


DRIFT = yaml.safe_load(
    """
runtime_header_differences:
  structs_size_differs: {HandleAttr: {driver: 36, runtime: 20}, DqsPoolInfo: {driver: 120, runtime: 104}}
  fields_moved_or_resized: {DqsPoolInfo.dataPoolBaseAddr: {driver: [24, 8], runtime: [8, 8]}}
  functions_with_different_argument_types:
    halMemUnRegUbSegment: {driver: [unsigned int, unsigned long], runtime: [unsigned int, unsigned long, unsigned long]}
  enumerators_only_in_runtime: {INFO_TYPE_REAL_TIME: 64, RES_DBG_ADDR: 16}
  macros_only_in_runtime: {MEM_REGISTER_HOST_PINNED: 536870912}
"""
)


def test_the_newer_header_is_compared_with_its_own_layouts():
    report = check(DRIFT)
    assert (report.matched, report.total) == (6, 6)


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("structs_size_differs", "HandleAttr", {"driver": 36, "runtime": 24}),
        ("fields_moved_or_resized", "DqsPoolInfo.dataPoolBaseAddr", {"driver": [24, 8], "runtime": [16, 8]}),
        ("functions_with_different_argument_types", "halMemUnRegUbSegment", {"runtime": ["unsigned int"]}),
        ("enumerators_only_in_runtime", "RES_DBG_ADDR", 17),
        ("macros_only_in_runtime", "MEM_REGISTER_HOST_PINNED", 1),
    ],
)
def test_a_difference_in_the_newer_header_is_seen(section, name, value):
    facts = copy.deepcopy(DRIFT)
    facts["runtime_header_differences"][section][name] = value
    report = check(facts)
    assert (report.matched, report.total) == (5, 6)


@pytest.fixture(scope="module")
def core():
    return yaml.load(corpus("data/hal_abi.yaml").read_text(), Loader=yaml.CSafeLoader)


@pytest.fixture(scope="module")
def extra():
    return yaml.load(corpus("data/hal_abi_extra.yaml").read_text(), Loader=yaml.CSafeLoader)


def test_everything_of_the_core_file_is_bound_and_matches(core):
    report = check(core)
    assert [str(difference) for difference in report.differences] == []
    assert report.matched == report.total
    assert {kind for kind, _, _ in report.unbound} <= {"macro", "struct"}
    functions = sum(1 for name in core["functions"] if Bindings().prototype(name))
    assert (functions, len(core["structs"]), len(core["enums"])) == (226, 96, 134)


def test_every_function_the_vendors_runtime_calls_is_bound_and_matches(extra):
    usage = yaml.load(corpus("data/runtime_hal_usage.yaml").read_text(), Loader=yaml.CSafeLoader)["functions"]
    report = check(extra)
    assert report.differences == []
    unbound = {name for kind, name, _ in report.unbound if kind == "function"}
    called = {name for name in extra["functions"] if usage.get(name, {}).get("uses", {}).get("runtime")}
    assert len(called) == 65
    assert unbound & called == set()


def test_flags_and_headers_of_the_tables_agree_with_the_measured_files(core, extra):
    for document in (core, extra):
        for name, function in document["functions"].items():
            row = declarations.find(name, ("function",))
            if row is not None:
                assert row.header == function["header"], name
                directions = [item.direction for item in declarations.parse_items(row.body) if item.type.endswith("*")]
                measured = [
                    argument["dir"].lstrip("~")
                    for argument in function["args"]
                    if argument["canonical"].endswith(("*", "]"))
                ]
                assert directions == measured, name


# measuring headers with a compiler

C_NAMES = {
    "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long long",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long", "f32": "float", "bool": "_Bool",
    "char": "char", "void": "void",
}  # fmt: skip


def c_field(item):
    """Return a field of the tables as C text."""
    if item.items and item.type not in ("struct", "union"):
        return " ".join(f"{C_NAMES[item.type]} {part.name} : {part.type};" for part in item.items)
    if item.items:
        inner = " ".join(map(c_field, item.items))
        return f"{item.type} {{ {inner} }} {item.name}{f'[{item.repeat}]' if item.repeat > 1 else ''};"
    base, bracket, length = item.type.partition("[")
    stars = "*" * base.count("*")
    base = base.rstrip("*")
    row = declarations.find(base, ("struct", "union", "enum"))
    if base in C_NAMES:
        spelled = C_NAMES[base]
    elif row is None or row.kind == "enum":
        spelled = "void" if row is None else "int"
    else:
        spelled = f"{row.kind} {row.name}"
    return f"{spelled} {stars}{item.name}{bracket}{length};"


def write_headers(folder, spoil=lambda name, text: text):
    """Write C headers that declare what the tables say, in an order in which structs come after what they contain."""
    written = {"timeval"}  # comes from sys/time.h
    lines = ["#pragma once", "#define __HAL_API_VERSION 0x072418"]

    def emit(row):
        if row.name in written or row.since:
            return
        written.add(row.name)
        for item in declarations.parse_items(row.body):
            for name in {item.type.split("[")[0], *(inner.type.split("[")[0] for inner in item.items)}:
                needed = declarations.find(name, ("struct", "union"))
                if needed:
                    emit(needed)
        fields = " ".join(map(c_field, declarations.parse_items(row.body)))
        lines.append(spoil(row.name, f"{row.kind} {row.name} {{ {fields} }};"))

    for row in declarations.all_rows("struct", "union"):
        emit(row)
    for row in declarations.all_rows("enum"):
        if not row.since:
            lines.append(spoil(row.name, f"enum {row.name} {{ {row.body} }};"))
    path = folder / "ascend_hal_define.h"
    path.write_text("#include <sys/time.h>\n" + "\n".join(lines) + "\n")
    return path


needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")


@needs_compiler
def test_headers_that_agree(tmp_path):
    def only_a_typedef(name, text):
        return f"typedef {text.replace(f' {name} ', ' ', 1)[:-1]} {name};" if name == "QueueInfo" else text

    write_headers(tmp_path, only_a_typedef)
    report = measure.measure_and_check(tmp_path)
    assert [str(difference) for difference in report.differences] == []
    assert report.total == report.matched > 300


@needs_compiler
def test_headers_that_differ(tmp_path):
    def spoil(name, text):
        return {
            "halSqCqOutputInfo": text.replace("unsigned int sqId;", "unsigned long sqId;"),
            "halTsegInfo": text.replace("tseg_ptr", "other_name"),
            "tagDrvResQueryType": text.replace("{", "{ EXTRA_FIRST,", 1),
        }.get(name, text)

    write_headers(tmp_path, spoil)
    texts = [str(difference) for difference in measure.measure_and_check(tmp_path).differences]
    assert any("halSqCqOutputInfo: cqId (offset, size): measured (8, 4), bound (4, 4)" in text for text in texts)
    assert any(text.startswith("struct halTsegInfo: declaration: measured") and "tseg_ptr" in text for text in texts)
    assert any(text.startswith("macro ") and "value" in text for text in texts)


@needs_compiler
def test_a_folder_without_headers_is_refused(tmp_path):
    with pytest.raises(measure.MeasureError, match="none of the HAL's headers is here"):
        measure.measure_and_check(tmp_path)


def test_no_compiler_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(measure.MeasureError, match="no C compiler found"):
        measure.measure_and_check(tmp_path)


@needs_compiler
def test_headers_that_do_not_compile_show_the_compilers_words(tmp_path):
    (tmp_path / "ascend_hal_define.h").write_text("this is not C\n")
    with pytest.raises(measure.MeasureError, match="cannot compile the headers"):
        measure.measure_and_check(tmp_path)


def test_drift_version_is_the_one_the_rows_carry():
    marks = {row.since for row in declarations.all_rows("struct", "function", "enum", "macros")}
    assert marks == {0, DRIFT_VERSION}
    assert set(C_NAMES) == set(SCALARS)
    assert constants.enum("drvStatus_t") == FACTS["enums"]["enum tagDrvStatus"]["values"]


def test_rows_of_newer_headers_are_not_measured_on_older_ones():
    newer = [row for row in declarations.all_rows("struct", "union", "enum") if row.since > declarations.FIRST_VERSION]
    assert newer
    old = list(measure._rows(declarations.FIRST_VERSION))
    assert all(row.since <= declarations.FIRST_VERSION for row in old)
    for row in newer:
        assert row in list(measure._rows(row.since))
