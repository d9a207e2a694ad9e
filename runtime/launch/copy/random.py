"""Random numbers by the device's generator (DSA), in a stream: dropout masks, uniform and normal numbers."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.registry import plugin
from chips.tasks import StarsCommon
from npuhal.records import dataclass
from runtime import errors
from runtime.launch.copy.transfer import Keeper

if TYPE_CHECKING:
    from chips import Chip
    from runtime.core.stream.stream import Stream


class Distribution(enum.IntEnum):
    """What is generated (acl_rt.h, aclrtRandomNumFuncType)."""

    DROPOUT_MASK = 0
    """One bit per number, set with a probability."""
    UNIFORM = 1
    NORMAL = 2
    TRUNCATED_NORMAL = 3


class Number(enum.IntEnum):
    """Types of numbers, as the generator counts them (rts_stars.h, rtRandomNumDataType)."""

    INT32 = 0
    INT64 = 1
    UINT32 = 2
    UINT64 = 3
    BFLOAT16 = 4
    FLOAT16 = 5
    FLOAT32 = 6

    @property
    def bytes(self) -> int:
        """The size of one number."""
        return (4, 8, 4, 8, 2, 2, 4)[self]


@dataclass(frozen=True, slots=True)
class Operand:
    """A value of up to 8 bytes, or with `is_address` the device address where it lies."""

    data: bytes
    is_address: bool = False

    @property
    def word(self) -> int:
        """The value or address as 64 bits."""
        return int.from_bytes(self.data, "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomNumbers:
    """One request: `count` numbers to `result`, from a seed and the 128-bit counter at `counter`.

    `parameters`: the ratio of a dropout mask, minimum and maximum, or mean and standard deviation; they are put into 16
    bytes of device memory at `operands_at`, or, where that is 0, into memory of the task's own.
    """

    distribution: Distribution
    number: Number
    parameters: tuple[Operand, ...]
    seed: Operand
    count: Operand
    result: int
    counter: int
    operands_at: int = 0


_VALID: Mapping[Distribution, int] = MappingProxyType({
    Distribution.DROPOUT_MASK: 0b00001, Distribution.UNIFORM: 0b00110, Distribution.NORMAL: 0b11000,
    Distribution.TRUNCATED_NORMAL: 0b00011,
})  # fmt: skip
"""Distribution -> which parameter words of the entry count."""
_FIRST_VALUE = {
    Distribution.DROPOUT_MASK: 0, Distribution.UNIFORM: 1, Distribution.NORMAL: 3, Distribution.TRUNCATED_NORMAL: 3,
}
"""Distribution -> the bit that says that its first parameter is a value; the second one's follows."""
_SEED_VALUE, _COUNT_VALUE = 5, 6
_WORD = 8
_CREDIT = 254


def queue_random(stream: Stream, asked: RandomNumbers, call: str, *keep: object) -> None:
    """Queue the generation of random numbers; `keep` is held until they are there.

    Raises:
        InvalidArgument 107000: the distribution has no numbers of that type, or an operand is too long (EE1003); no
            result or counter address (EE1004).
        NotSupported 207000: the chip has no generator.
    """
    stream.check_open()
    check_generator(stream.device.chip, call)
    _check(asked, call)
    memory, operands_at = stream.device.memory, asked.operands_at
    keeper = Keeper(*keep)
    if not operands_at:
        operands_at = memory.alloc(2 * _WORD, internal_flags())
        keeper = Keeper(*keep, free=partial(memory.free, operands_at))
    try:
        words = b"".join(operand.data.ljust(_WORD, b"\0") for operand in asked.parameters)
        memory.write(operands_at, words.ljust(16, b"\0"))
        task = StarsCommon(sqe=_entry(stream, asked, operands_at))
        stream.submit(task, owner=f"random numbers, {asked.distribution.name.lower()}", finished=keeper.piece())
    finally:
        keeper.release()


def check_generator(chip: Chip, call: str) -> None:
    """Raise NotSupported 207000 for a chip without a generator of random numbers."""
    if not chip.has("TASK_RAND_GENERATOR"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {chip.soc} has no generator of random numbers",
            hint="generate them with a kernel",
        )


def _check(asked: RandomNumbers, call: str) -> None:
    if asked.distribution is not Distribution.UNIFORM and asked.number < Number.BFLOAT16:
        raise _bad(call, asked.number.name, "dataType", f"a floating-point type for {asked.distribution.name}")
    for name, address in (("randomCounterAddr", asked.counter), ("randomResultAddr", asked.result)):
        if not address:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is NULL", ee="EE1004", params=(call, name),
                hint=f"pass a valid {name}",
            )
    operands = [(operand, _WORD) for operand in (asked.seed, asked.count)]
    operands += [(operand, _WORD if operand.is_address else asked.number.bytes) for operand in asked.parameters]
    for operand, most in operands:
        if not 0 < len(operand.data) <= most:
            raise _bad(call, len(operand.data), "size", f"[1, {most}]")


def _bad(call: str, value: object, name: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, name, expected),
    )


def _entry(stream: Stream, asked: RandomNumbers, operands_at: int) -> bytes:
    """Return the generator's entry (rtStarsDsaSqe_t); stream and task numbers are filled in when it is sent."""
    values = 0
    first = _FIRST_VALUE[asked.distribution]
    bits = [(first + number, operand) for number, operand in enumerate(asked.parameters)]
    for bit, operand in (*bits, (_SEED_VALUE, asked.seed), (_COUNT_VALUE, asked.count)):
        values |= 0 if operand.is_address else 1 << bit
    return plugin(stream.device.chip).layouts["dsa"].encode(
        start=1, function_type=asked.distribution, data_type=asked.number, param_valid=_VALID[asked.distribution],
        param_addr_valid=values, kernel_credit=_CREDIT, result_addr=asked.result, state_addr=asked.counter,
        param_addr=operands_at, seed=asked.seed.word, number=asked.count.word,
    )
