"""Labels: positions in the streams of a model that a switch can jump to (core_spec 17.4)."""

from __future__ import annotations

import struct
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.tasks import LabelSet
from runtime import errors
from runtime.core.process.handles import dead_handle

if TYPE_CHECKING:
    from runtime.core.ports import ContextPort, DevicePort, StreamPort

MAX_LABELS = 65535
"""Labels of a process (and of a model)."""
_AHEAD = 64


class LabelIds:
    """Ids of labels: 64 free ones wait in a queue, and each that is taken lets the next unused one join.

    Ids that came back join only when no unused one is left, so that none is used again before all others were.
    """

    __slots__ = ("_free", "_limit", "_lock", "_next", "_returned")

    def __init__(self, limit: int = MAX_LABELS) -> None:
        self._limit = limit
        self._free = deque(range(min(_AHEAD, limit)))
        self._returned: deque[int] = deque()
        self._next = len(self._free)
        self._lock = threading.Lock()

    def take(self) -> int:
        """Return an id.

        Raises:
            InternalError 507000: all are in use.
        """
        with self._lock:
            if self._next < self._limit:
                self._free.append(self._next)
                self._next += 1
            elif self._returned:
                self._free.append(self._returned.popleft())
            if not self._free:
                raise errors.fault(
                    "RT_ERROR_LABEL_ID", f"all {self._limit} labels are in use",
                    hint="destroy labels of models that are gone",
                )
            return self._free.popleft()

    def give_back(self, number: int) -> None:
        """Take an id back."""
        with self._lock:
            self._returned.append(number)


class Label:
    """A jump target in a stream of a model, once it was set; which model may be known from the start."""

    __slots__ = ("__weakref__", "_ids", "closed", "context", "device", "handle", "label_id", "model", "position",
                 "row", "stream")  # fmt: skip

    def __init__(
        self, device: DevicePort, ids: LabelIds, model: object | None = None, *, context: ContextPort | None = None
    ) -> None:
        """Take an id from `ids`: the model's, or the process's where no model is given.

        Args:
            context: the one that it was made in, where one was current.
        """
        self.device, self._ids, self.model, self.context = device, ids, model, context
        self.label_id = ids.take()
        self.stream: StreamPort | None = None
        self.position = -1
        """Where it was set: the stream, and the position in its queue."""
        self.row: tuple[LabelList, int] | None = None
        """Its list and its index in it; chips that switch by the list need it before the label is set."""
        self.closed = False
        self.handle = device.runtime.handles.add(self)

    def set(self, stream: StreamPort) -> None:
        """Set the label at the position that the stream has reached.

        Raises:
            StreamError 107005: the stream is bound to no model.
            InternalError 507000: another model's label, one that was set before, or one without a list.
        """
        self.check_open()
        stream.check_open()
        model = stream.bound
        if model is None:
            raise self._fault("RT_ERROR_STREAM_MODEL", f"stream {stream.stream_id} is bound to no model", "unbound")
        if self.model is not None and self.model is not model:
            raise self._fault("RT_ERROR_LABEL_MODEL", "the stream is bound to another model than the label's")
        if self.stream is not None:
            before = f"it was set before, in stream {self.stream.stream_id}"
            raise self._fault("RT_ERROR_LABEL_SET", before, "order" if self.stream is stream else "elsewhere")
        if self.row is None:
            raise self._fault("RT_ERROR_LABEL_PHY_ADDR_NULL", "it is in no label list yet", "order")
        labels, index = self.row
        holder = stream.target
        ids = holder.submit(LabelSet(label_id=self.label_id, dst=labels.address_of(index)), owner="label set")
        self.stream, self.position, self.model = stream, ids.position, model
        labels.write(index, holder.queues.sq_id, ids.position, model.counter(holder))

    def _fault(self, code: str, reason: str, message: str = "") -> errors.RuntimeFault:
        """Return a fault; "order" posts what the generation posts for calls in the wrong order."""
        call = "set of a label"
        early = self.device.chip.traits.posts_early_calls
        params: dict[str, tuple[str, tuple[object, ...]]] = {
            "unbound": ("", ()) if early else ("EE1017", (call, "stream", reason)),
            "order": ("EE1018", (call, reason)) if early else ("EE1017", (call, "label", reason)),
            "elsewhere": ("EE1017", (call, "label", reason)),
        }
        number, values = params.get(message, ("", ()))
        return errors.fault(
            code, f"label {self.label_id} cannot be set: {reason}", ee=number, params=values,
            hint="create the label list, bind the stream to the model, then set each label once",
        )

    def check_open(self) -> None:
        """Raise where it was closed."""
        if self.closed:
            raise dead_handle("label", f"label {self.label_id}", self.device.runtime.handles.history(self.handle))

    def close(self) -> None:
        """Give the id back. Closing twice does nothing."""
        if not self.closed:
            self.closed = True
            self.device.runtime.handles.remove(self.handle)
            self._ids.give_back(self.label_id)

    def __repr__(self) -> str:
        return f"<label {self.label_id} of device {self.device.user_id}>"


class LabelList:
    """Labels in the order in which a switch counts them, with a row of device memory for each (chips.programs)."""

    __slots__ = ("__weakref__", "address", "closed", "device", "handle", "labels")

    _ROW = struct.Struct("<QQ")
    """Queue number (bits 0 to 10) and position (from bit 16), then the address of the stream's start counter."""
    _COUNT = struct.Struct("<Q")
    """Behind the rows: how many of them a switch may jump to."""

    def __init__(self, device: DevicePort, labels: Sequence[Label]) -> None:
        """Allocate the rows; each label learns where its own is.

        Raises:
            InternalError 507000: a label is in a list already, or twice in this one. The labels before it count as
                being in this list from now on.
        """
        for label in labels:
            label.check_open()
        self.device, self.labels = device, tuple(labels)
        size = self._ROW.size * len(labels)
        with device.memory.new(size + self._COUNT.size, internal_flags()) as self.address:
            device.memory.write(self.count_address, self._COUNT.pack(len(labels)))
        for number, label in enumerate(labels):
            if label.row is not None:
                raise errors.fault(
                    "ACL_ERROR_RT_INTERNAL_ERROR", f"{label!r} is in a list already",
                    hint="put each label into one list, once",
                )
            label.row = self, number
        self.closed = False
        self.handle = device.runtime.handles.add(self)

    @property
    def count_address(self) -> int:
        """Where the number of labels stands on the device."""
        return self.address_of(len(self.labels))

    def address_of(self, index: int) -> int:
        """Return where the row of a label lies on the device."""
        return self.address + self._ROW.size * index

    def write(self, index: int, sq_id: int, position: int, counter: int) -> None:
        """Tell the device where a label is.

        Args:
            counter: address of the word that counts how often its stream was started.
        """
        self.device.memory.write(self.address_of(index), self._ROW.pack(position << 16 | sq_id, counter))

    def close(self) -> None:
        """Free the rows. Closing twice does nothing."""
        if not self.closed:
            self.closed = True
            self.device.runtime.handles.remove(self.handle)
            for label in self.labels:
                label.row = None
            self.device.memory.free(self.address)
