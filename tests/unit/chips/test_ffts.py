"""FFTS+ contexts: every kind encodes and decodes, and the mix context equals recorded bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips.catalog import Catalog
from chips.env import CoreQos, EncodeEnv
from chips.generations.v100.ffts import CONTEXT_BYTES, ContextType, decode, encode, layout, mix_context, mix_template
from chips.layout import FieldOverflow, UnknownField
from chips.tasks import MixKernel
from chips.tasks.kernel import MixKind
from tests.tools.corpus import corpus
from tests.tools.fillings import fillings

ENV = EncodeEnv(chip=Catalog().find("Ascend910B1"))
KERNEL = MixKernel(
    mix=MixKind.MAIN_AIC,
    pc=0x12C0_C012_3400,
    pc2=0x12C0_C056_7800,
    args=0x12C0_C1A5_A000,
    args_size=136,
    block_dim=8,
    prefetch=3,
    prefetch2=6,
    ratio=2,
)
RECORDED = (
    "06000000" + "00" * 60 + "1806000004000202000001000800080000a0a5c1c012880000a0a5c1c0128800"
    "003412c0c012c012003412c0007856c0c012c012007856c00000000000000000"
)


@pytest.mark.parametrize("kind", list(ContextType))
def test_every_field_of_every_context_comes_back(kind: ContextType) -> None:
    table = layout(kind)
    widths = {
        field.name: field.width
        for field in table.fields
        if field.name not in table.when and not field.name.endswith("_count")
    }
    for fields in fillings(widths):
        raw = encode(kind, **fields)
        assert len(raw) == CONTEXT_BYTES
        found = decode(raw)
        assert found.layout == kind.name.lower()
        assert found.problems == ()
        assert {name: found.fields[name] for name in fields} == fields
        assert found.fields["context_type"] == kind


def test_values_that_do_not_fit() -> None:
    with pytest.raises(FieldOverflow, match=r"sdma\.length"):
        encode(ContextType.SDMA, length=1 << 32)
    with pytest.raises(UnknownField, match="no field 'size'"):
        encode(ContextType.SDMA, size=1)


def test_what_is_wrong_is_named() -> None:
    raw = bytearray(encode(ContextType.LABEL, successor_count=27))
    raw[127] = 0x80
    assert decode(bytes(raw)).problems == (
        "reserved bits are set: 1023",
        "successor_count = 27 is more than the 26 a context has space for",
    )
    raw[:2] = b"\xff\x00"
    assert "context type 0xff is unknown" in decode(bytes(raw)).problems
    with pytest.raises(ValueError, match="128 bytes, got 64"):
        decode(bytes(64))


def test_recorded_mix_context() -> None:
    assert mix_context(KERNEL, ENV).hex() == RECORDED


def test_one_kind_of_core_has_one_entry() -> None:
    aic = decode(mix_context(replace(KERNEL, mix=MixKind.AIC), ENV)).fields
    assert (aic["aic_pc"], aic["aiv_pc"], aic["block_ratio"]) == (KERNEL.pc, 0, 0)
    assert (aic["aic_icache_prefetch"], aic["aiv_icache_prefetch"]) == (3, 0)
    found = decode(mix_context(replace(KERNEL, mix=MixKind.AIV), ENV))
    assert found.layout == "mix_aiv"
    assert (found.fields["aic_pc"], found.fields["aiv_pc"]) == (0, KERNEL.pc)
    assert found.fields["aiv_icache_prefetch"] == 6


def test_stack_qos_and_size() -> None:
    env = replace(ENV, custom_stack_size=16384 * 5, aic_qos=CoreQos(qos=3, part_id=9, pmg=1))
    fields = decode(mix_context(replace(KERNEL, min_stack_size=32769, args_size=0x1_0008), env)).fields
    assert fields["thread_id"] == 3
    assert (fields["qos"], fields["part_id"], fields["pmg"]) == (3, 9, 1)
    assert fields["aic_param_offset"] == 8
    assert decode(mix_context(replace(KERNEL, mix=MixKind.MAIN_AIV), env)).fields["qos"] == 0


@given(args=st.integers(0, (1 << 48) - 1))
def test_template_replaces_the_arguments(args: int) -> None:
    template = mix_template(KERNEL, ENV)
    assert template.names == ("args", "args2")
    assert template.render(args=args, args2=args) == mix_context(replace(KERNEL, args=args), ENV)


@pytest.mark.parametrize(
    ("file", "soc"),
    [("910B1", "Ascend910B1"), ("910_9391", "Ascend910_9391"), ("310B", "Ascend310B1")],
)
def test_every_recorded_mix_context(file: str, soc: str) -> None:
    env = EncodeEnv(chip=Catalog().find(soc))
    entries = json.loads(corpus(f"golden/sqe_{file}.json").read_text())
    checked = 0
    for entry in entries["entries"] if isinstance(entries, dict) else entries:
        if entry["task"] != "KERNEL_MIX":
            continue
        i = entry["inputs"]
        task = MixKernel(
            mix=MixKind(i["mix_type"]),
            pc=i["pc_addr"],
            pc2=i["pc_addr2"],
            args=i["args_addr"],
            args_size=i["args_size"],
            block_dim=i["block_dim"],
            schem_mode=i["schem_mode"],
            prefetch=i["prefetch_cnt1"],
            prefetch2=i["prefetch_cnt2"],
            ratio=i["task_ration"],
        )
        (aux,) = entry["aux"]
        assert mix_context(task, env).hex() == aux["hex"], entry["variant"]
        checked += 1
    assert checked >= 5
