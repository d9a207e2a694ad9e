"""What of a launch can be prepared: the template of its SQE and, on STARS v1, the context of a mix kernel.

Such a kernel is described in device memory: its SQE points to a context, and that to the arguments. The context lies in
front of them, in the same block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chips.tasks import MixKernel
from npuhal.records import replace

if TYPE_CHECKING:
    from chips.layout import Template
    from chips.tasks import CoreKernel, Task
    from runtime.core.stream.stream import Stream

_ARGUMENTS = frozenset({"args", "args2"})
_CONTEXT = frozenset({"context"})


def lead_of(stream: Stream, task: Task) -> int:
    """Return the bytes that a launch needs in front of its arguments: the context of a mix kernel, where it has one."""
    contexts = stream.plugin.contexts
    return contexts.size_bytes if contexts is not None and isinstance(task, MixKernel) else 0


def launch_template(stream: Stream, task: CoreKernel) -> Template | None:
    """Return a launch's SQE with its number and the address of its block left open; None where it is not one SQE.

    The block begins with the context where the kernel has one, else with the arguments.
    """
    template = stream.plugin.template(task, stream.env)
    if template is None or not template.names[0].startswith("task_"):
        return None
    words = frozenset(template.names[1:])
    return template if words and (words <= _ARGUMENTS or words == _CONTEXT) else None


def described(task: CoreKernel, lead: int) -> Callable[[int], CoreKernel]:
    """Return the function that describes a launch whose block has an address."""
    if not lead:
        return lambda address: replace(task, args=address)

    def with_context(address: int) -> CoreKernel:
        assert isinstance(task, MixKernel)
        return replace(task, context=address, args=address + lead)

    return with_context


def context_template(stream: Stream, task: CoreKernel) -> Template:
    """Return the context of a mix kernel with the address of its arguments left open, once for each kind of core."""
    assert isinstance(task, MixKernel)
    contexts = stream.plugin.contexts
    assert contexts is not None
    return contexts.template(replace(task, args=0), stream.env)


def context_packer(stream: Stream, task: CoreKernel) -> Callable[[int], bytes]:
    """Return what packs the context of a mix kernel whose arguments have an address on the device."""
    template = context_template(stream, task)
    pack, (head, middle, tail), (first, second) = template.struct.pack, template.runs, template.bias
    return lambda args: pack(head, args + first, middle, args + second, tail)
