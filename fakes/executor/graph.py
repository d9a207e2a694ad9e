"""FFTS+ (STARS v1): a graph of contexts in device memory; each runs when all before it are done."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.checkers.access import RELEASE
from fakes.errors import NotModelled, TaskFault
from fakes.executor import copy, kernel, sync
from fakes.faults import Effect
from fakes.schedule.scheduler import AIC, AIV

if TYPE_CHECKING:
    from fakes.executor import Task

_MAX_RUNS = 100_000


def graph(task: Task) -> int:
    """Run the contexts of an FFTS+ task; those without predecessors first, in the order they stand in memory."""
    memory, count = task.machine.memory, task.fields["total_contexts"]
    contexts_are = task.machine.plugin.contexts
    assert contexts_are is not None  # the generation has the entry, so it has contexts
    size, one = count * contexts_are.size_bytes, contexts_are.size_bytes
    data = ctypes.string_at(memory.device_pointer(task.fields["contexts"], size, "context read"), size)
    contexts = [contexts_are.decode(data[at : at + one]) for at in range(0, size, one)]
    missing = [context.fields["pred_count_init"] for context in contexts]
    ready = deque(index for index, number in enumerate(missing) if not number)
    start, ran = -1, 0
    while ready:
        index = ready.popleft()
        ran += 1
        if ran > _MAX_RUNS:
            raise TaskFault(f"the graph did not end after {_MAX_RUNS} contexts", Effect.EXCEPTION.value)
        _run(task, contexts[index].layout, contexts[index].fields)
        start = task.start if start < 0 else start
        for successor in _successors(contexts[index].fields):
            if successor >= count:
                raise TaskFault(f"context {index} names successor {successor} of {count}", Effect.SQE_ERROR.value)
            missing[successor] -= 1
            if not missing[successor]:
                ready.append(successor)
    task.start = start
    task.detail = f"{ran} contexts"
    return 1


def _successors(fields: Mapping[str, int]) -> list[int]:
    return [fields[f"successors[{index}]"] for index in range(fields["successor_count"])]


def _run(task: Task, name: str, fields: Mapping[str, int]) -> None:
    """Run one context."""
    done = 1
    if name in ("aic", "aiv"):
        done = kernel.run(task, fields["pc"], fields["param"], fields["block_dim"], (AIC if name == "aic" else AIV,))
    elif name in ("mix_aic", "mix_aiv"):
        done = kernel.run_mix(task, fields)
    elif name == "sdma":
        header = fields["sdma_header"] & 0xFF
        copy.transfer(task, header, fields["dst"] + fields["dst_offset"], fields["src"] + fields["src_offset"],
                      fields["length"])  # fmt: skip
    elif name == "notify_record":
        number = fields["notify_id_base"]
        sync.give(task, task.device.signal(task.device.notifies, number), 1, ("notify", task.device.index, number))
    elif name == "write_value":
        size = 1 << fields["aw_size"]
        data = b"".join(fields[f"values[{index}]"].to_bytes(4, "little") for index in range(4))[:size]
        task.machine.memory.write(fields["address"], data, "value write")
        task.touch(fields["address"], size, RELEASE)
    elif name not in ("label", "flush_data", "invalidate_data", "writeback_data", "persistent_cache"):
        raise NotModelled(f"FFTS+ context {name}")
    if not done:
        raise NotModelled("a kernel that waits inside of an FFTS+ graph")


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {"ffts_plus": ("ffts_plus", graph)}
STARS_V2: Mapping[str, tuple[str, Handler]] = {}
