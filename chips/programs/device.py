"""What condition programs must know about the device: from the chip's properties and the facts of the driver.

Sources: InitFuncCallParaForStreamSwitchTaskV1 (cond_op_stream_task.cc), ConstructFuncCallParaForModelExecuteTask
(model_execute_task_func_call.cc), ConstructDavidSqeForMemWaitValueTask (memory_task_v200_base.cc).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from chips.programs.isa import CondError
from chips.programs.model import StartQueues
from chips.programs.stream import STATE_OFFSET, QueueRegisters
from chips.programs.wait import SwapBuffer
from npuhal.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from chips.chip import Chip
    from chips.env import EncodeEnv
    from chips.programs.program import Program

_FROM_DRIVER = "STARS_BASE_CALCULATE_BY_DRIVER"
_FROM_DEVICE_INFO = "STARS_RESOURCE_ADDR_CALCULATE_BY_DEVICE_INFO"
_SELECTOR_OFFSET = 0x2100_0000  # state machine selector behind the STARS base (DAVID_SIMPLE_RTSQ_FSM_SEL_REG)
_ARCH9201 = "arch9201"


class Assembled(Protocol):
    """A condition program with its values."""

    def assemble(self, generation: str) -> bytes:
        """Return its instructions and words for a generation."""


def generation_of(chip: Chip) -> str:
    """Return the name under which the programs of a chip are assembled: its overlay, else its generation."""
    return chip.overlay or chip.generation


@dataclass(frozen=True, slots=True, kw_only=True)
class CondDevice:
    """Device facts of condition programs; all programs of one device share them.

    ``selector``: physical address of the state machine selector; ``swap``: where the profiling words of queues are
    (None on v100); ``sq_mask``, ``tail_offset``: see ``StartQueues``.
    """

    generation: str
    selector: int
    sq_mask: int
    tail_offset: int
    swap: SwapBuffer | None

    @classmethod
    def of(cls, env: EncodeEnv) -> CondDevice:
        """Return the facts of a stream's device; ``CondError`` if the driver gave no STARS base where one is needed."""
        chip = env.chip
        by_driver = chip.prop("starsBaseMethod") == _FROM_DRIVER
        if by_driver and env.stars_base == 0:
            raise CondError("stars_base = 0: the driver gave no STARS register base; query it before building programs")
        swap = None
        if by_driver:
            selector = env.stars_base + _SELECTOR_OFFSET
            swap = SwapBuffer(
                base=chip.prop("swapBufferBaseAddr"),
                shift=chip.prop("sqSwapShift"),
                offset=chip.prop("swapBufferProfCfgOffset"),
                update=env.stars_base + chip.prop("swapBufferUpdateRegOffset"),
            )
        else:
            selector = chip.prop("fsmSelBase")
            if chip.prop("starsResourceAddrCalculateMethod") == _FROM_DEVICE_INFO:
                from chips.addresses import chip_offset

                selector += chip_offset(env)
        return cls(
            generation=generation_of(chip),
            selector=selector,
            sq_mask=chip.prop("rtsqShamt"),
            tail_offset=chip.prop("sqTailOffset"),
            swap=swap,
        )

    def assemble(self, program: Assembled) -> bytes:
        """Return a program as the device runs it."""
        return program.assemble(self.generation)

    def size_bytes(self, program: Callable[[str], Program]) -> int:
        """Return how long the program is that a function makes for this device."""
        return program(self.generation).size_bytes

    def registers(self, page: int) -> QueueRegisters:
        """Return the registers of the queue whose page is mapped at ``page``."""
        state = page + STATE_OFFSET if self.generation == _ARCH9201 else self.selector
        return QueueRegisters.at(page, state=state, tail_offset=self.tail_offset)

    def start_queues(self, *, queues: int, dfx: int) -> StartQueues:
        """Return what starting a list of queues needs: ``queues`` is the table of pages by queue number."""
        return StartQueues(
            queues=queues, state=self.selector, dfx=dfx, sq_mask=self.sq_mask, tail_offset=self.tail_offset
        )
