"""Builders against recorded bytes: a sample of every task kind here, the whole corpora where they are at hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chips.verify.check import check
from chips.verify.vectors import Sent, Vector, read_vectors
from tests.golden.vectors import names, sample
from tests.tools.corpus import corpus
from tests.tools.examples import examples

CORPORA = {
    **dict.fromkeys(("sqe_910B1", "sqe_910_9391", "sqe_910_9391_addrflat", "sqe_910_9391_chip1die1"), 359),
    "sqe_310B": 356,
    **dict.fromkeys(("sqe_950", "sqe_950_die1", "sqe_950_ub", "sqe_arch9201", "sqe_ascend350"), 383),
    **dict.fromkeys(("sqe_mc32dm11a", "sqe_mc62cm12a"), 381),
    "builders": 128,
    "api_310B": 71,
    "api_910B1": 80,
    "api_950": 78,
    "api_950_ub": 77,
    "api_arch5162": 49,
    "api_arch9201": 67,
    "api_mc62cm12a": 73,
}
"""Corpus file -> items in it."""


def differences(path: Path) -> tuple[int, dict[str, tuple[str, ...]]]:
    verdicts = [check(item) for item in read_vectors(path)]
    return len(verdicts), {verdict.name: verdict.lines for verdict in verdicts if not verdict.ok}


@pytest.mark.parametrize("name", names())
def test_every_vector_of_the_sample(name: str) -> None:
    verdicts = [check(item) for item in sample(name)]
    assert verdicts
    assert {verdict.name: verdict.lines for verdict in verdicts if not verdict.ok} == {}


@pytest.mark.parametrize("name", CORPORA)
def test_every_vector_of_the_corpus(name: str) -> None:
    path = corpus(f"golden/{name}.{'yaml' if name == 'builders' else 'json'}")
    assert differences(path) == (CORPORA[name], {})


VECTORS = [item for name in names("sqe_*.json") for item in sample(name) if isinstance(item, Vector)]


@settings(max_examples=examples(300))
@given(st.data())
def test_flipping_any_bit_fails_exactly_that_vector(data: st.DataObject) -> None:
    vector = VECTORS[data.draw(st.sampled_from(range(len(VECTORS))))]
    row = data.draw(st.integers(0, len(vector.expected) - 1))
    bit = data.draw(st.integers(0, 511))
    rows = list(vector.expected)
    rows[row] = (int.from_bytes(rows[row], "little") ^ 1 << bit).to_bytes(64, "little")
    verdict = check(dataclasses.replace(vector, expected=tuple(rows)))
    assert verdict.covered
    assert verdict.lines
    assert check(vector).ok


def test_every_bit_of_one_vector_counts() -> None:
    vector = VECTORS[0]
    (row,) = vector.expected
    number = int.from_bytes(row, "little")
    failed = sum(
        not check(dataclasses.replace(vector, expected=((number ^ 1 << bit).to_bytes(64, "little"),))).ok
        for bit in range(512)
    )
    assert failed == 512


WITH_BLOCKS = [vector for vector in VECTORS if vector.blocks]
WHOLE_BLOCKS = [vector for vector in WITH_BLOCKS if vector.task_name != "STREAM_LABEL_SWITCH_BY_INDEX"]


@settings(max_examples=examples(60))
@given(st.data())
def test_flipping_a_bit_of_a_block_is_noticed(data: st.DataObject) -> None:
    vector = WHOLE_BLOCKS[data.draw(st.sampled_from(range(len(WHOLE_BLOCKS))))]
    index = data.draw(st.integers(0, len(vector.blocks) - 1))
    blocks = list(vector.blocks)
    code = bytearray(blocks[index].data)
    byte = data.draw(st.integers(0, len(code) - 1))
    code[byte] ^= 1 << data.draw(st.integers(0, 7))
    blocks[index] = dataclasses.replace(blocks[index], data=bytes(code))
    verdict = check(dataclasses.replace(vector, blocks=tuple(blocks)))
    assert any(blocks[index].name in line for line in verdict.lines)


def test_the_sample_covers_every_kind_that_was_recorded() -> None:
    path = corpus("golden/sqe_950.json")
    everything = {item.task_name for item in read_vectors(path) if isinstance(item, Vector)}
    assert everything <= {vector.task_name for vector in VECTORS}


def test_a_recorded_call_must_encode_back() -> None:
    (first, *_) = (item for item in sample("api_910B1.json") if isinstance(item, Sent))
    row = bytearray(first.rows[0])
    row[40] = 1  # a reserved place of the version message
    verdict = check(dataclasses.replace(first, rows=(bytes(row),)))
    assert not verdict.ok
    row = bytearray(first.rows[0])
    row[0] = 30
    assert "belongs to no known task" in check(dataclasses.replace(first, rows=(bytes(row),))).lines[0]
