"""What a launch is told, and what of it the task carries (core_spec 8.2)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chips import find_chip
from chips.binary import MixType, read_program
from chips.env import EncodeEnv, TaskIds
from chips.registry import plugin
from chips.tasks import AicKernel, AivKernel, CoreKernel
from runtime import errors
from runtime.launch.kernel import Kernel
from runtime.launch.options import PLAIN, LaunchOptions, check_engine, from_attributes
from tests.tools.elf_writer import ElfWriter, u32

CHIP_310P = find_chip("Ascend310P3")
CHIP_910B = find_chip("Ascend910B1")


def kernel_on(chip: Any, image: bytes, capabilities: tuple[str, ...] = ()) -> Kernel:
    """Return the only kernel of an image as a device of a chip would have it, loaded at 0x10000."""
    content = read_program(image, chip)
    device = SimpleNamespace(chip=chip, core_counts=(8, 8), scheduler_has=capabilities.__contains__)
    return Kernel(SimpleNamespace(address=0x10000, device=device), content, next(iter(content)))


def mix_image() -> bytes:
    return ElfWriter().kernel("k_mix_aic", size=64).kernel("k_mix_aiv", size=64).build()


@pytest.mark.parametrize(("given", "fits"), [((), False), ((3,), False), ((4,), False), ((3, 4), True)])
def test_mix_kernels_of_310p_say_where_they_run(given: tuple[int, ...], fits: bool) -> None:
    options = from_attributes("launch", [(number, 1, 0) for number in given])
    assert check_engine("launch", CHIP_910B, MixType.MAIN_AIC, options) is options
    assert check_engine("launch", CHIP_310P, MixType.NONE, options) is options
    kernel = kernel_on(CHIP_310P, mix_image())
    if fits:
        assert kernel.task(1, options)
    else:
        with pytest.raises(errors.InvalidArgument, match=r"ENGINE_TYPE and BLOCKDIM_OFFSET") as caught:
            kernel.task(1, options)
        assert (caught.value.code, caught.value.message_id) == (107000, "EE1017")


@pytest.mark.parametrize(("engine", "kind"), [(0, AicKernel), (1, AivKernel)])
def test_mix_kernels_of_310p_run_on_one_kind_of_core(engine: int, kind: type[CoreKernel]) -> None:
    kernel = kernel_on(CHIP_310P, mix_image())
    task = kernel.task(6, LaunchOptions(engine=engine, block_offset=4))
    second = kernel.binary.offset2
    assert second
    assert type(task) is kind
    assert (task.pc, task.block_dim, task.block_offset) == (0x10000 + engine * second, 6, 4)
    made = plugin(CHIP_310P)
    fields = made.decode(made.encode(task, EncodeEnv(chip=CHIP_310P), TaskIds(1, 1, 0))).fields
    assert (fields["func"], fields["block_dim"], fields["literal_src"]) == (task.pc, 6, 4)


def test_an_explicit_schedule_overrides_the_compilers() -> None:
    kernel = kernel_on(CHIP_910B, ElfWriter().kernel("k", u32(1, 3) + u32(18, 1), size=64).build())
    modes = [kernel.task(1, options).schem_mode for options in (PLAIN, *map(_scheduled, (0, 1)))]
    assert modes == [1, 0, 1]


def _scheduled(mode: int) -> LaunchOptions:
    return from_attributes("launch", [(1, mode, 0)])


NEVER = (1 << 64) - 1


@pytest.mark.parametrize(("capabilities", "expected"), [
    ((), NEVER - 1), (("OP_EXEC_TIMEOUT_MS",), NEVER), (("AICORE_NEVER_TIMEOUT",), NEVER),
])  # fmt: skip
@pytest.mark.parametrize("attribute", [7, 8])
def test_a_limit_of_zero_is_none(capabilities: tuple[str, ...], expected: int, attribute: int) -> None:
    kernel = kernel_on(CHIP_910B, ElfWriter().kernel("k", u32(1, 3), size=64).build(), capabilities)
    assert kernel.task(1, from_attributes("launch", [(attribute, 0, 0)])).timeout_us == expected


@pytest.mark.parametrize(("attribute", "expected"), [
    ((7, 1, 0), 1_000_000), ((7, 65535, 0), 65_535_000_000), ((8, 5, 0), 5), ((8, 5, 2), 2 << 32 | 5),
    ((8, 0xFFFFFFFF, 0xFFFFFFFF), NEVER - 1),
])  # fmt: skip
def test_limits_in_seconds_and_microseconds(attribute: tuple[int, int, int], expected: int) -> None:
    assert from_attributes("launch", [attribute]).timeout_us == expected
