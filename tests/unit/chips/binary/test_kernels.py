"""Names, keys, kinds and mix pairs."""

from __future__ import annotations

import pytest

from chips import Chip, find_chip
from chips.binary.errors import RegistrationConflict
from chips.binary.kernels import Kernel, KernelAttribute, KernelSymbol, Magic, MixType, key_of_name, merge, plain_name
from chips.binary.meta import EntryType, KernelMeta
from chips.binary.notes import Notes

A2, DAVID, OLD, FIRST = (find_chip(soc) for soc in ("Ascend910B1", "Ascend950PR_9599", "Ascend310P3", "Ascend910A"))


def symbol(name: str, offset: int = 0, **meta: object) -> KernelSymbol:
    return KernelSymbol(name, offset, 16, KernelMeta(ratio=2, **meta))


def merged(*symbols: KernelSymbol, chip: Chip = A2, **more: bool) -> tuple[Kernel, ...]:
    return merge(symbols, chip, KernelAttribute.CUBE, Notes(), **more)[0]


@pytest.mark.parametrize(
    ("name", "plain", "mix"),
    [
        ("k", "k", MixType.NONE),
        ("k_0_mix_aic", "k_0", MixType.AIC),
        ("k_0_mix_aiv", "k_0", MixType.AIV),
        ("k_mix_aic_3", "k_3", MixType.AIC),
        ("k_5_mix_aiv_mix_aic", "k_5_mix_aiv", MixType.AIC),
        ("k_5_mix_aic_mix_aiv", "k_5_mix_aiv", MixType.AIC),
        ("k_7_mix_aic_mix_aic", "k_7_mix_aic", MixType.AIC),
        ("_mix_aiv", "", MixType.AIV),
        ("k_mix_ai", "k_mix_ai", MixType.NONE),
    ],
)
def test_mix_suffix(name: str, plain: str, mix: MixType) -> None:
    assert plain_name(name) == (plain, mix)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("k_0007", 7),
        ("k", 0),
        ("k_", 0),
        ("12345", 12345),
        ("k_+5", 0),
        ("k_5a", 0),
        ("k_18446744073709551615", 2**64 - 1),
        ("k_18446744073709551616", 0),
        ("k_" + "0" * 50 + "9", 9),
        ("k_" + "9" * 4000, 0),
        ("k_\u0663", 0),
    ],
)
def test_key_of_a_name(name: str, key: int) -> None:
    assert key_of_name(name) == key


@pytest.mark.parametrize(
    ("name", "meta", "attribute", "mix"),
    [
        ("k", {}, KernelAttribute.CUBE, MixType.NONE),
        ("k_mix_aic", {}, KernelAttribute.CUBE, MixType.AIC),
        ("k_mix_aiv", {}, KernelAttribute.VECTOR, MixType.AIV),
        ("k", {"func_type": 1}, KernelAttribute.AICORE, MixType.NONE),
        ("k_mix_aiv", {"func_type": 1}, KernelAttribute.AICORE, MixType.AIV),
        ("k", {"func_type": 2}, KernelAttribute.CUBE, MixType.NONE),
        ("k", {"func_type": 2, "cross_core_sync": True}, KernelAttribute.CUBE, MixType.AIC),
        ("k", {"func_type": 6, "cross_core_sync": True}, KernelAttribute.CUBE, MixType.AIC),
        ("k", {"func_type": 3}, KernelAttribute.VECTOR, MixType.NONE),
        ("k", {"func_type": 7, "cross_core_sync": True}, KernelAttribute.VECTOR, MixType.AIV),
        ("k_mix_aic", {"func_type": 4}, KernelAttribute.CUBE, MixType.AIC),
        ("k_mix_aiv", {"func_type": 5}, KernelAttribute.VECTOR, MixType.AIV),
        ("k", {"func_type": 8}, KernelAttribute.CUBE, MixType.NONE),
        ("k_mix_aiv", {"func_type": 99}, KernelAttribute.VECTOR, MixType.AIV),
    ],
)
def test_kind_of_a_single_symbol(name: str, meta: dict, attribute: KernelAttribute, mix: MixType) -> None:
    (kernel,) = merged(symbol(name, **meta))
    assert (kernel.attribute, kernel.mix) == (attribute, mix)


@pytest.mark.parametrize("func_type", [4, 5])
def test_a_mix_type_without_suffix_is_refused(func_type: int) -> None:
    with pytest.raises(RegistrationConflict, match="MIX_AI"):
        merged(symbol("k", func_type=func_type))


def test_nothing_left_of_a_name_is_refused() -> None:
    with pytest.raises(RegistrationConflict, match="_mix_aic"):
        merged(symbol("_mix_aic"))


@pytest.mark.parametrize("aic_first", [True, False])
@pytest.mark.parametrize(
    ("chip", "func_type", "attribute", "mix"),
    [
        (A2, 0, KernelAttribute.MIX, MixType.MAIN_AIC),
        (A2, 4, KernelAttribute.MIX, MixType.MAIN_AIC),
        (A2, 5, KernelAttribute.MIX, MixType.MAIN_AIV),
        (DAVID, 5, KernelAttribute.MIX, MixType.MAIN_AIV),
        (OLD, 5, KernelAttribute.AICORE, MixType.MAIN_AIC),
        (OLD, 0, KernelAttribute.AICORE, MixType.MAIN_AIC),
    ],
)
def test_a_pair_becomes_one_kernel(aic_first: bool, chip: Chip, func_type: int, attribute, mix) -> None:
    aic = symbol("k_3_mix_aic", 100, func_type=func_type, min_stack=300, user_args=5)
    aiv = symbol("k_3_mix_aiv", 0, func_type=func_type, min_stack=200, user_args=6, vector_function=3, share_memory=8)
    (kernel,) = merged(*((aic, aiv) if aic_first else (aiv, aic)), chip=chip)
    assert (kernel.name, kernel.key, kernel.attribute, kernel.mix) == ("k_3", 3, attribute, mix)
    assert (kernel.offset1, kernel.offset2, kernel.min_stack, kernel.min_stack2) == (100, 0, 300, 200)
    assert (kernel.vector_function, kernel.share_memory) == (3, 8)
    assert kernel.user_args == (5 if aic_first else 6), "the symbol that comes first counts"


@pytest.mark.parametrize(
    "symbols",
    [
        ("k_mix_aic", "k_mix_aic"),
        ("k_mix_aiv", "k_mix_aiv"),
        ("k", "k"),
        ("k_mix_aic", "k"),
        ("k", "k_mix_aiv"),
        ("k_mix_aic", "k_mix_aiv", "k_mix_aic"),
    ],
)
def test_other_symbols_cannot_share_a_name(symbols: tuple[str, ...]) -> None:
    with pytest.raises(RegistrationConflict, match="share a name"):
        merged(*map(symbol, symbols))


@pytest.mark.parametrize(
    ("chip", "name", "sync", "ffts_from_binary", "system", "ffts"),
    [
        (A2, "k", False, False, 1, False),
        (A2, "k", True, False, 2, True),
        (A2, "k_mix_aiv", False, False, 2, True),
        (A2, "k_mix_aiv", False, True, 1, False),
        (DAVID, "k_mix_aiv", True, False, 1, False),
        (OLD, "k", True, False, 1, False),
        (find_chip("Ascend310"), "k", True, False, 0, False),
    ],
)
def test_system_arguments(chip: Chip, name: str, sync: bool, ffts_from_binary: bool, system: int, ffts: bool) -> None:
    (kernel,) = merged(symbol(name), chip=chip, intercore_sync=sync, brings_ffts_address=ffts_from_binary)
    assert (kernel.system_args, kernel.ffts_arg) == (system, ffts)


def test_kernels_are_in_byte_order_and_the_table_in_key_order() -> None:
    kernels, table = merge([symbol(n) for n in ("b_1", "B_9", "a_10", "a_2")], A2, KernelAttribute.CUBE, Notes())
    assert [kernel.name for kernel in kernels] == ["B_9", "a_10", "a_2", "b_1"]
    assert [kernel.key for kernel in table] == [1, 2, 9, 10]


def test_of_one_key_the_first_by_name_has_it() -> None:
    notes = Notes()
    kernels, table = merge([symbol(n) for n in ("z_1", "a_1", "m_01")], A2, KernelAttribute.CUBE, notes)
    assert [kernel.in_table for kernel in kernels] == [True, False, False]
    assert [kernel.name for kernel in table] == ["a_1"]
    assert len(notes.texts()) == 2
    assert "'a_1'" in notes.texts()[0]


def test_an_entry_in_the_meta_data_is_the_key_and_no_entry_keeps_out_of_the_table() -> None:
    keyed = symbol("k_5", entry_type=EntryType.FROM_META, entry=77)
    hidden = symbol("h_6", entry_type=EntryType.NONE)
    kernels, table = merge([keyed, hidden], A2, KernelAttribute.CUBE, Notes())
    assert [(kernel.key, kernel.in_table) for kernel in kernels] == [(6, False), (77, True)]
    assert [kernel.key for kernel in table] == [77]


@pytest.mark.parametrize(
    ("magic", "separate", "joint"),
    [
        (Magic.ELF, KernelAttribute.MIX, KernelAttribute.AICORE),
        (Magic.ELF_AIVEC, KernelAttribute.VECTOR, KernelAttribute.VECTOR),
        (Magic.ELF_AICUBE, KernelAttribute.CUBE, KernelAttribute.CUBE),
        (Magic.ELF_AICPU, KernelAttribute.AICPU, KernelAttribute.AICPU),
    ],
)
def test_magic(magic: Magic, separate: KernelAttribute, joint: KernelAttribute) -> None:
    assert (magic.attribute(A2), magic.attribute(FIRST)) == (separate, joint)
