"""Kernels on the device's AICPU: found by names of library and function that stay on the device (core_spec 12.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.binary import AicpuKernel as Entry
from chips.binary.aicpu import AicpuKind as Framework
from chips.tasks import AicpuKernel, AicpuKind
from npuhal.records import replace
from runtime import errors
from runtime.core.submission.ring import TaskInfo
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.slow_path import submit_block

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.launch.block import HostBlock
    from runtime.launch.program import Program

_KINDS = {
    Framework.AICPU: AicpuKind.AICPU, Framework.CUSTOM: AicpuKind.CUSTOM, Framework.FRAMEWORK: AicpuKind.FMK,
    Framework.KFC: AicpuKind.KFC, Framework.CUSTOM_KFC: AicpuKind.KFC, Framework.RESERVED: AicpuKind.AICPU,
}  # fmt: skip
_DUMP = 2


class CpuKernel:
    """A function of an AICPU program. Made by `program.cpu_kernel(name)`."""

    __slots__ = ("__weakref__", "binary", "name", "program")

    def __init__(self, program: Program, binary: Entry) -> None:
        self.program, self.binary, self.name = program, binary, binary.name

    def task(self, blocks: int, options: LaunchOptions = PLAIN) -> AicpuKernel:
        """Describe a launch; library and function name are written to the device where they are not there yet."""
        names = self.program.device.names
        return AicpuKernel(
            so_name=names.address_of(self.binary.so_name), func_name=names.address_of(self.binary.function_name),
            args=0, block_dim=blocks, kind=_KINDS[self.binary.kind], flags=_DUMP if options.dump else 0,
            timeout_us=options.timeout_us,
        )

    def launch_at(self, stream: Stream, blocks: int, address: int, size: int, options: LaunchOptions = PLAIN) -> None:
        """Launch with arguments that lie on the device already; their size is the kernel's business."""
        self.check_stream(stream)
        task = replace(self.task(blocks, options), args=address)
        stream.submit(task, owner=TaskInfo(task.type, f"AICPU kernel {self.name}", self))

    def launch_block(self, stream: Stream, blocks: int, block: HostBlock, options: LaunchOptions = PLAIN) -> None:
        """Launch with a block of arguments; it is copied before this returns."""
        self.check_stream(stream)
        task = self.task(blocks, options)
        submit_block(stream, task, block, TaskInfo(task.type, f"AICPU kernel {self.name}", self))

    def check_stream(self, stream: Stream) -> None:
        """Raise where the kernel cannot be launched in a stream."""
        stream.check_open()
        if self.program.closed:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE", f"AICPU kernel {self.name}: its program was unloaded", ee="EE1017",
                params=("launch", "kernel", "its program was unloaded"),
                hint="keep the program open as long as its kernels are used",
            )
        if stream.device is not self.program.device:
            raise errors.fault(
                "ACL_ERROR_RT_STREAM_CONTEXT", f"AICPU kernel {self.name} was loaded on another device than the "
                "stream's", ee="EE1010", params=("launch", "stream", "it belongs to another device"),
                hint="load the program on the stream's device",
            )

    def __repr__(self) -> str:
        return f"<AICPU kernel {self.name}: {self.binary.function_name} of {self.binary.so_name or 'no library'}>"
