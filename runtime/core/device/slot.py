"""Who holds a device: counted references on its primary context, contexts of users' own, and the Python owner.

core_spec 2.3, 2.4, 3.1 and 3.2. The counts are the process's, not a thread's: any thread may give a reference back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from npuhal.changed import Changed
from runtime import errors
from runtime.core.callbacks.observers import StreamState
from runtime.core.diagnostics import leaks
from runtime.core.process.context import Context

if TYPE_CHECKING:
    from runtime.core.device.device import Device


class DeviceState(IntEnum):
    """What observers of devices get (rt_device.h, rtDeviceState)."""

    SET_PRE = 0
    SET_POST = 1
    RESET_PRE = 2
    RESET_POST = 3


_LOOK_S = 1.0
"""How often a thread that waits for its turn looks by itself: who had it may have been interrupted before it told."""


class DeviceSlot:
    """One user device id: the open device, if there is one, and everything that keeps it open.

    Opening and closing is done by one thread at a time; others wait for it. The device closes when the last of
    `references`, `owned` and `contexts` is gone.
    """

    __slots__ = (
        "_changing", "_lock", "_make", "_notify", "_turn", "contexts", "device", "index", "owned", "references",
    )  # fmt: skip

    def __init__(
        self, index: int, make: Callable[[int], Device], notify: Callable[[int, DeviceState], None]
    ) -> None:
        """Start closed.

        Args:
            make: opens the device of a user id.
            notify: passes a change of state on to observers.
        """
        self.index, self._make, self._notify = index, make, notify
        self.references = 0
        """How often the primary context was set and not yet reset."""
        self.owned = False
        """Whether `own` was called: the device stays open until it is closed as a whole."""
        self.contexts: list[Context] = []
        """Contexts of users' own that are alive on the device."""
        self.device: Device | None = None
        self._lock = threading.RLock()
        self._turn = Changed(self._lock)
        self._changing: int | None = None

    @property
    def primary(self) -> Context | None:
        """The primary context while it is in use."""
        device = self.device
        return device.context if device is not None and not device.context.closed else None

    # -- the primary context ---------------------------------------------------------------------------------------

    def retain(self) -> Device:
        """Add a reference to the primary context; the first one opens the device.

        Raises:
            DeviceUnavailable 507033: the device could not be opened; the cause is attached.
        """
        with self._change():
            device = self._with_primary()
            self.references += 1
            return device

    def own(self) -> Device:
        """Return the device and keep it open until it is closed as a whole."""
        with self._change():
            device = self._with_primary()
            self.owned = True
            return device

    def release(self, *, drain: bool = False) -> bool:
        """Take one reference back, or all of them; with the last one the primary context ends.

        A failure to end it leaves the references as they were. Returns whether the last one went.

        Raises:
            ContextError 507007: there is no reference.
        """
        with self._change():
            if self.references == 0:
                raise errors.fault(
                    "RT_ERROR_CONTEXT_DEL", f"device {self.index} is not set: nothing to reset", ee="EE1018",
                    params=("reset of a device", f"device {self.index} is not set, or not any more"),
                    hint="pair each reset with one set",
                )
            if self.references > 1 and not drain:
                self.references -= 1
                return False
            if self.owned:
                self.references = 0
                return True
            assert self.device is not None
            notified = partial(self._notify, self.index, DeviceState.RESET_PRE)
            with leaks.told(self.device, wanted=not self.contexts), self._ended(
                self.device.context, force=True, notified=notified
            ):
                self.references = 0
                self.device.runtime.logs.life("device %d reset", self.index)
                self._close_if_unused()
                self._notify(self.index, DeviceState.RESET_POST)
            return True

    def _with_primary(self) -> Device:
        device = self._opened()
        if device.context.closed:
            try:
                device.context.set_up()
            except BaseException:
                self._close_if_unused()
                raise
        return device

    # -- contexts of users' own ------------------------------------------------------------------------------------

    def create_context(self) -> Context:
        """Make a context; it keeps the device open until it is destroyed."""
        with self._change():
            device = self._opened()
            context = Context(device, primary=False)
            try:
                context.set_up()
            except BaseException:
                self._close_if_unused()
                raise
            self.contexts.append(context)
            return context

    def destroy_context(self, context: Context, *, force: bool = True) -> None:
        """End a context and what it owns; a failure leaves it usable.

        Raises:
            ContextError 507007: it has been destroyed already, by another thread perhaps.
        """
        with self._change():
            if context not in self.contexts:
                raise errors.fault(
                    "RT_ERROR_CONTEXT_DEL", f"{context!r} was destroyed before", ee="EE1017",
                    params=("destroy of a context", "context", "it was destroyed before"),
                )
            with self._ended(context, force=force):
                self.contexts.remove(context)
                self._close_if_unused()

    # -- the device ------------------------------------------------------------------------------------------------

    def close(self, *, force: bool, tells: bool = True) -> None:
        """End all contexts and the device, whoever holds it; a closed slot stays as it is.

        Args:
            force: end running tasks instead of waiting for them.
            tells: tell a checker of leaks what is open; not by force, where all of it is to be taken back.
        """
        with self._change():
            if self.device is None:
                return
            with leaks.told(self.device, wanted=tells and not force), ExitStack() as ends:
                for context in list(self.contexts):
                    ends.enter_context(self._ended(context, force=force))
                    self.contexts.remove(context)
                if not self.device.context.closed:
                    ends.enter_context(self._ended(self.device.context, force=force))
                self.references, self.owned = 0, False
                self._close_if_unused()

    @staticmethod
    @contextmanager
    def _ended(context: Context, *, force: bool, notified: Callable[[], None] | None = None) -> Iterator[None]:
        """End a context, then do the body, which does the bookkeeping.

        A context that cannot be ended raises before the body; what could not be given back raises after it, and not
        at all for a device that is lost.
        """
        context.notify_default(StreamState.DESTROY_PRE)
        if notified is not None:
            notified()
        health, failure = context.device.health, None
        health.look()
        try:
            context.tear_down(force=force)
        except errors.RuntimeFault as fault:
            if not context.closed:
                raise
            failure = fault
        yield
        if failure is not None and health.lost is None:
            raise failure

    def _opened(self) -> Device:
        if self.device is None:
            self._notify(self.index, DeviceState.SET_PRE)
            self.device = device = self._make(self.index)
            device.runtime.logs.life("device %d opened: %s, driver's number %d", self.index, device.chip.soc,
                                     device.device_id)  # fmt: skip
        return self.device

    def _close_if_unused(self) -> None:
        if self.device is not None and not (self.references or self.owned or self.contexts):
            device, self.device = self.device, None
            device.shut()
            device.runtime.logs.life("device %d closed", self.index)

    def _await_turn(self) -> None:
        """Wait, with the lock held, while another thread opens or closes; in no `with`, see `npuhal.changed`."""
        while self._changing is not None:
            self._turn.wait(_LOOK_S)

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Wait for the turn to open or close; a callback of the change itself must not ask for it."""
        me = threading.get_ident()
        with self._lock:
            if self._changing == me:
                raise errors.fault(
                    "ACL_ERROR_RT_INTERNAL_ERROR",
                    f"device {self.index} is being opened or closed by this very thread",
                    hint="do not set or reset a device in a callback that tells of its own opening or closing",
                )
        try:
            with self._lock:
                self._await_turn()
                self._changing = me
            yield
        finally:
            if self._changing == me:  # not where a wait for the turn was interrupted
                self._changing = None
                with self._lock:
                    self._turn.notify_all()

    def __repr__(self) -> str:
        if self.device is None:
            return f"<device {self.index}: closed>"
        owner = "owned, " if self.owned else ""
        return f"<device {self.index}: {owner}set {self.references} times, {len(self.contexts)} contexts>"
