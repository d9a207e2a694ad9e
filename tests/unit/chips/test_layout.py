"""Bit-field layouts: parsing, encoding, decoding, identification, templates."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips.layout import (
    FieldOverflow,
    Layout,
    LayoutError,
    LayoutSet,
    UnknownField,
    load_layouts,
    make_layout,
    parse_fields,
)

HEADER = {"struct": "Header", "fields": "type:6 flags:2 -:8 task_id:16 stream_id:32", "vary": {"task_id": "task_id"}}
BODY = {
    "struct": "Body",
    "base": "header",
    "fields": "low:3 wide:90 -:3 credit:8 -:8 param:52 level:12 list:16*3 -:224",
    "when": {"type": 5},
    "fill": {"credit": 254},
    "vary": {"args": "param/52of64"},
}


def build() -> tuple[Layout, Layout]:
    header = make_layout("header", HEADER)
    return header, make_layout("body", BODY, {"header": header})


def test_positions_follow_the_order_of_the_table() -> None:
    header, body = build()
    assert header.size == 8
    assert body.size == 8 + (3 + 90 + 3 + 16 + 64 + 48 + 224) // 8 == 64
    assert body.field("task_id").offset == 16
    assert body.field("wide").offset == 67
    assert body.field("list[2]").offset == body.field("list[0]").offset + 32
    assert [field.name for field in header.fields] == ["type", "flags", "task_id", "stream_id"]


def test_encode_puts_constants_defaults_and_values() -> None:
    _, body = build()
    row = body.encode(task_id=0x1234, low=5, level=7)
    assert row[0] == 5
    assert row[2:4] == b"\x34\x12"
    assert row[8] == 5
    assert body.decode(row) | {"low": 0} == {
        **dict.fromkeys(body.decode(row), 0), "type": 5, "credit": 254, "task_id": 0x1234, "level": 7,
    }  # fmt: skip


def test_a_given_value_replaces_a_constant() -> None:
    _, body = build()
    fields = body.decode(body.encode(type=63, credit=1))
    assert (fields["type"], fields["credit"]) == (63, 1)


@given(st.data())
def test_any_fields_survive(data: st.DataObject) -> None:
    _, body = build()
    values = {field.name: data.draw(st.integers(0, (1 << field.width) - 1), label=field.name) for field in body.fields}
    row = body.encode(**values)
    assert body.decode(row) == values
    assert body.reserved_bits(row) == 0


@given(st.binary(min_size=64, max_size=64))
def test_any_bytes_survive_but_for_reserved_bits(raw: bytes) -> None:
    _, body = build()
    kept = int.from_bytes(raw, "little") & ~body.reserved_bits(raw)
    assert body.encode(**body.decode(raw)) == kept.to_bytes(body.size, "little")


@pytest.mark.parametrize("value", [64, 1 << 80, -1])
def test_a_value_too_wide_names_field_value_and_width(value: int) -> None:
    header, _ = build()
    with pytest.raises(FieldOverflow, match=r"header\.type .* 6 bits") as caught:
        header.encode(task_id=1, type=value)
    assert (caught.value.field, caught.value.value, caught.value.width) == ("type", value, 6)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_unknown_name_is_refused() -> None:
    header, _ = build()
    with pytest.raises(UnknownField, match="header has no field 'taskid'") as caught:
        header.encode(taskid=0)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_bytes_of_another_size_are_refused() -> None:
    header, _ = build()
    for read in (header.decode, header.reserved_bits):
        with pytest.raises(ValueError, match="header takes 8 bytes, got 7"):
            read(bytes(7))


def test_reserved_bits_are_found_in_place() -> None:
    header, _ = build()
    assert header.reserved_bits(bytes([0, 0x80]) + bytes(6)) == 1 << 15


def test_the_layout_with_most_constants_wins() -> None:
    header, body = build()
    special = make_layout("special", {"base": "body", "when": {"low": 1}}, {"body": body})
    layouts = LayoutSet({"header": header, "body": body, "special": special})
    assert layouts.identify(body.encode(low=1)) is special
    assert layouts.identify(body.encode(low=2)) is body
    assert layouts.identify(body.encode(type=6)) is None
    assert special.struct == "Body"
    assert special.fill == {"credit": 254}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"fields": "a:3"}, "3 bits are not whole bytes"),
        ({"fields": "a:8 a:8"}, "'a' stands twice"),
        ({"fields": "a:0"}, "not name:bits"),
        ({"fields": "a=8"}, "not name:bits"),
        ({"fields": "a:8*x"}, "not name:bits"),
        ({"base": "nobody", "fields": "a:8"}, "base 'nobody' must stand before it"),
        ({"fields": "a:8", "when": {"a": 256}}, "constant a = 256 has no field"),
        ({"fields": "a:8", "when": {"b": 1}}, "constant b = 1 has no field"),
        ({"fields": "a:8", "wehn": {"a": 1}}, "unknown key 'wehn'"),
        ({"fields": "a:8", "vary": {"x": "b"}}, "unknown field 'b'"),
        ({"fields": "a:4 b:12", "vary": {"x": "b"}}, "on a byte boundary"),
        ({"fields": "a:64", "vary": {"x": "a/70of64"}}, "on a byte boundary"),
    ],
)
def test_a_wrong_table_says_why(entry: dict[str, object], reason: str) -> None:
    with pytest.raises(LayoutError, match=reason):
        make_layout("entry", entry)


def test_a_file_names_itself_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "sqe.yaml"
    path.write_text("entry: {fields: a:3}\n")
    with pytest.raises(LayoutError, match=r"sqe\.yaml: entry: 3 bits"):
        load_layouts(path)


def test_a_file_extends_another(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("one: {fields: 'a:8'}\ntwo: {fields: 'a:8'}\n")
    (tmp_path / "new.yaml").write_text("two: {base: one, fields: 'b:8'}\n")
    layouts = load_layouts(tmp_path / "new.yaml", tmp_path / "old.yaml")
    assert sorted(layouts) == ["one", "two"]
    assert layouts["two"].size == 2


def test_parse_fields_counts_bits() -> None:
    fields, bits = parse_fields("a:3 -:5 b:8*2")
    assert bits == 24
    assert [(field.name, field.offset) for field in fields] == [("a", 0), ("b[0]", 8), ("b[1]", 16)]


@given(st.integers(0, 0xFFFF), st.integers(0, (1 << 52) - 1))
def test_a_template_renders_what_encode_makes(task_id: int, args: int) -> None:
    _, body = build()
    template = body.template(body.encode(low=3, level=9, task_id=1, param=64), {"task_id": 1, "args": 64})
    assert template.names == ("task_id", "args")
    row = body.encode(low=3, level=9, task_id=task_id, param=args)
    assert template.render(task_id=task_id, args=args) == row
    buffer = bytearray(body.size)
    parts: list[bytes | int] = [template.runs[0]]
    for value, bias, run in zip((task_id, args), template.bias, template.runs[1:], strict=True):
        parts += (value + bias, run)
    template.struct.pack_into(buffer, 0, *parts)
    assert bytes(buffer) == row
    rows = template.render_many(3, task_id=task_id, args=np.array([args] * 3, np.uint64))
    assert rows.tobytes() == row * 3


def test_a_template_checks_its_words() -> None:
    _, body = build()
    template = body.template(body.encode(), {"task_id": 0, "args": 0})
    with pytest.raises(FieldOverflow, match="args"):
        template.render(task_id=1, args=1 << 52)
    with pytest.raises(TypeError, match="template takes task_id, args"):
        template.render(task_id=1)
    with pytest.raises(TypeError, match="template takes task_id, args"):
        template.render_many(2, task_id=1, args=2, more=3)


def test_words_that_overlap_are_refused() -> None:
    layout = make_layout("l", {"fields": "a:32 b:32", "vary": {"x": "a/64", "y": "b"}})
    with pytest.raises(LayoutError, match="overlap"):
        layout.template(bytes(8), {"x": 0, "y": 0})


def test_names_that_python_reserves_can_be_encoded() -> None:
    layout = make_layout("l", {"fields": "or:8 and:3 -:5 list:16*2"})
    assert layout.encode(**{"or": 1, "and": 2, "list[1]": 3}) == b"\1\2\0\0\3\0"
    with pytest.raises(FieldOverflow, match=r"l\.list\[1\] = 0x10000"):
        layout.encode(**{"list[1]": 1 << 16})


def test_an_encoder_takes_its_fields_by_position_or_name() -> None:
    _, body = build()
    encode = body.encoder("task_id", "wide")
    assert encode(1, 2) == encode(wide=2, task_id=1) == body.encode(task_id=1, wide=2)
    with pytest.raises(FieldOverflow, match=r"body\.wide"):
        encode(1, 1 << 90)
    with pytest.raises(UnknownField):
        body.encoder("nothing")
