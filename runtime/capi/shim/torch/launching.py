"""Calls of operators as tasks: each is launched as a kernel, and computed when the device gets there.

The argument block of such a kernel has the number of a form, and the values of the call: what a graph replays, and what
a checker sees, is a launch like any other.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import struct
import threading
from typing import TYPE_CHECKING, Any

from chips.binary.cores import flags_of
from chips.binary.writer import KernelText, write_elf
from runtime import errors
from runtime.capi.aclrt.entry import own_stream_of
from runtime.capi.pyacl.binding import process
from runtime.capi.shim.torch import computing, operators
from runtime.capi.shim.torch.calls import DEFAULT_URL, absent
from runtime.capi.shim.torch.forms import Form, read_described, read_form
from runtime.capi.shim.torch.reports import WORDS
from runtime.launch.binary import Binary
from runtime.launch.block import HostBlock

if TYPE_CHECKING:
    from runtime.api.process import Runtime
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel

_NUMBER = struct.Struct("<Q")


class Operators:
    """The operators of a process: their forms, and their kernels on its machine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[bytes, Form] = {}
        self.forms: list[Form] = []
        self._binary: Binary | None = None
        self._runtime: Runtime | None = None
        self._shapes: dict[int, list[computing.Shape]] = {}
        """Shapes that data have decided, by the number of the call that waits for them."""
        self._calls = itertools.count(1)

    def form(self, data: bytes, by_name: bool) -> Form:
        """Return the form of a call, read when it is new.

        Raises:
            NotSupported 207000: an operator, a type or a layout that is not computed.
        """
        found = self._numbers.get(data)
        if found is not None:
            return found
        with self._lock:
            number = len(self.forms)
            made = (read_described if by_name else read_form)(number, data, absent)
            if (found := self._numbers.setdefault(data, made)) is made:
                self.forms.append(made)
            return found

    def kernel(self, runtime: Runtime, stream: Stream, name: str) -> Kernel:
        """Return an operator's kernel on the device of a stream."""
        binary = self._binary
        if binary is None or self._runtime is not runtime or binary.closed:
            binary = self._load(runtime)
        program = binary.program_on(stream.device) or binary.load(stream.device)
        return program.kernel(name)

    def _load(self, runtime: Runtime) -> Binary:
        with self._lock:
            if self._binary is None or self._runtime is not runtime or self._binary.closed:
                names = operators.named()
                texts = [KernelText(name, hashlib.sha512(f"operator {name}".encode()).digest()) for name in names]
                machine = getattr(runtime.hal, "fake", None)
                if machine is None:
                    raise errors.fault(
                        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "operators are computed on the host, over a fake's memory: "
                        "this machine is none", hint=f"NPUHAL_URL={DEFAULT_URL}, or CANN's own libraries on a card",
                    )  # fmt: skip
                for text in texts:
                    machine.attach(text.code, self._compute, name=text.symbol, grid=True, reads=(), writes=())
                elf = write_elf(texts, flags=flags_of(runtime.machine.chip))
                self._binary, self._runtime = Binary(runtime, elf, name="operators"), runtime
            return self._binary

    def _compute(self, context: Any) -> None:
        (number,) = _NUMBER.unpack(context.args.bytes(0, _NUMBER.size))
        form = self.forms[number]
        shapes = computing.run(form, context)
        if form.sized:
            (call,) = _NUMBER.unpack(context.args.bytes(8 + 8 * form.values, _NUMBER.size))
            if call in self._shapes:  # who has called it may have given up
                self._shapes[call] = shapes

    def decided(self, form: Form, values: bytes, stream: Stream) -> None:
        """Launch a call whose data decide shapes, wait for it, and write the shapes where the caller reads them.

        Raises:
            CaptureError 107027: the stream is being captured; nothing is recorded.
            KernelFault, DeviceFault: it failed, or what is before it in the stream.
        """
        stream.check_not_captured(f"{form.operator.name}, whose result has a shape that the data decide,")
        call = next(self._calls)
        self._shapes[call] = []
        try:
            self.launch(form, values + _NUMBER.pack(call), stream)
            stream.synchronize()
            for index, shape in zip(form.sized, self._shapes[call], strict=True):
                (where,) = _NUMBER.unpack_from(values, 8 * index)
                ctypes.memmove(where, struct.pack(f"<{len(shape)}q", *shape), 8 * len(shape))
        finally:
            del self._shapes[call]

    def launch(self, form: Form, values: bytes, stream: Stream) -> None:
        """Launch a call that was looked at."""
        kernel = self.kernel(process().runtime, stream, form.operator.name)
        kernel.launch_block(stream, 1, HostBlock(_NUMBER.pack(form.number) + values))


_operators = Operators()


def prepare(words: int, count: int) -> int:
    """Look at a call before it is launched; 0.

    Raises:
        NotSupported 207000: an operator, a type or a layout that is not computed.
    """
    _operators.form(ctypes.string_at(words, 8 * count), by_name=False)
    return 0


def run(words: int, count: int, values: int, values_count: int, stream: int) -> int:
    """Launch a call that was prepared."""
    form = _operators.form(ctypes.string_at(words, 8 * count), by_name=False)
    return _launch(form, ctypes.string_at(values, 8 * values_count) if values_count else b"", stream)


def run_by_name(words: int, count: int, values: int, values_count: int, stream: int) -> int:
    """Launch a call of aclop."""
    form = _operators.form(ctypes.string_at(words, 8 * count), by_name=True)
    return _launch(form, ctypes.string_at(values, 8 * values_count) if values_count else b"", stream)


def _launch(form: Form, values: bytes, handle: int) -> int:
    acl = process()
    stream = own_stream_of(acl, form.operator.name, handle)
    WORDS.follow_allocator(stream.device.user_id)
    WORDS.settle()
    if form.operator.limits:
        form.check(values, absent)
    (_operators.decided if form.sized else _operators.launch)(form, values, stream)
    return 0
