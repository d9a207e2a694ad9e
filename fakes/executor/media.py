"""The generator of random numbers (DSA, STARS v1): Philox from seed and counter, so a program's numbers repeat.

The numbers are not those of the hardware, whose transformations are not published; their distributions are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakes.errors import TaskFault
from fakes.faults import Effect
from fakes.schedule.scheduler import SDMA, copy_ns

if TYPE_CHECKING:
    from fakes.executor.task import Task

_TYPES = ("int32", "int64", "uint32", "uint64", "bfloat16", "float16", "float32")
_DROPOUT, _UNIFORM, _NORMAL, _TRUNCATED = range(4)
_FIRST_VALUE = (0, 1, 3, 3)
_SEED_VALUE, _COUNT_VALUE = 5, 6
_MOST = 1 << 32


def generate(task: Task) -> int:
    """Write the numbers that the entry asks for."""
    import numpy as np

    fields, reach = task.fields, task.device.reach
    kind, how = fields["data_type"], fields["function_type"]
    if kind >= len(_TYPES) or how > _TRUNCATED or not fields["start"]:
        raise TaskFault(f"the generator has no type {kind}, function {how}", Effect.SQE_ERROR.value)
    count = _value(task, _COUNT_VALUE, fields["number"])
    if count > _MOST:
        raise TaskFault(f"{count} random numbers at once", Effect.EXCEPTION.value)
    counter = reach(fields["state_addr"], 16, "counter of the random numbers")
    generator = np.random.Generator(np.random.Philox(
        key=_value(task, _SEED_VALUE, fields["seed"]), counter=int.from_bytes(ctypes.string_at(counter, 16), "little"),
    ))  # fmt: skip
    block = reach(fields["param_addr"], 16, "parameters of the random numbers")
    words = [int.from_bytes(ctypes.string_at(block + at, 8), "little") for at in (0, 8)]
    first = _FIRST_VALUE[how]
    one, *rest = (_number(_value(task, first + index, word), _TYPES[kind])
                  for index, word in enumerate(words[: 1 if how == _DROPOUT else 2]))  # fmt: skip
    if how == _DROPOUT:
        data = np.packbits(generator.random(count) >= one, bitorder="little").tobytes()
    else:
        data = _as_bytes(_draw(generator, how, _TYPES[kind], one, rest[0], count), _TYPES[kind])
    target = reach(fields["result_addr"], max(len(data), 1), "random numbers", writes=True)
    ctypes.memmove(target, data, len(data))
    task.device.wake()
    task.detail = f"{count} random numbers, {len(data)} bytes at {fields['result_addr']:#x}"
    task.occupy(copy_ns(SDMA, len(data)), SDMA)
    return 1


def _value(task: Task, bit: int, word: int) -> int:
    """Return an operand: the word itself, or what lies where it points to."""
    if task.fields["param_addr_valid"] >> bit & 1:
        return word
    return int.from_bytes(ctypes.string_at(task.device.reach(word, 8, "operand read"), 8), "little")


def _number(word: int, kind: str) -> Any:
    import numpy as np

    if kind == "bfloat16":
        return float(np.array(word << 16 & 0xFFFFFFFF, np.uint32).view(np.float32))
    dtype = np.dtype(kind)
    return np.frombuffer(word.to_bytes(8, "little"), dtype, 1)[0].item()


def _draw(generator: Any, how: int, kind: str, one: Any, two: Any, count: int) -> Any:
    import numpy as np

    if how == _UNIFORM:
        if "int" in kind:
            return generator.integers(one, two, count, dtype=kind)
        return one + (two - one) * generator.random(count, np.float32)
    found = generator.standard_normal(count)
    while how == _TRUNCATED and (far := np.abs(found) > 2).any():
        found[far] = generator.standard_normal(int(far.sum()))
    return one + two * found


def _as_bytes(numbers: Any, kind: str) -> bytes:
    import numpy as np

    if kind == "bfloat16":
        return bytes((numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes())
    return bytes(numbers.astype(kind).tobytes())


STARS: Mapping[str, tuple[str, Callable[[Task], int]]] = {"dsa": ("random", generate)}
STARS_V2: Mapping[str, tuple[str, Callable[[Task], int]]] = {}
COMMANDS: Mapping[str, tuple[str, Callable[[Task], int]]] = {}
STARS_SMALL: Mapping[str, tuple[str, Callable[[Task], int]]] = {}
