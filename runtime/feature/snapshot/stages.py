"""Functions that users want called at the stages of a snapshot, once for each open device."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterable
from typing import Any

from runtime import errors


class Stage(enum.IntEnum):
    """When a function is called (acl_rt.h, aclrtSnapShotStage)."""

    LOCK_PRE = 0
    BACKUP_PRE = 1
    BACKUP_POST = 2
    RESTORE_PRE = 3
    RESTORE_POST = 4
    UNLOCK_POST = 5


StageFunction = Callable[[int, Any], Any]
"""Takes the user device id and what it was registered with; a result that is neither None nor 0 is a failure."""


class StageCallbacks:
    """Functions by stage, in the order in which they were registered."""

    __slots__ = ("_functions", "_lock")

    def __init__(self) -> None:
        self._functions: dict[Stage, list[tuple[StageFunction, Any]]] = {stage: [] for stage in Stage}
        self._lock = threading.Lock()

    def register(self, stage: int, function: StageFunction, data: Any = None) -> None:
        """Have a function called at a stage.

        Raises:
            InvalidArgument 107000: there is no such stage.
            SnapshotError 507913: the function is registered for it already.
        """
        known = self._known(stage, "registration of a snapshot callback")
        with self._lock:
            if any(function == other for other, _ in self._functions[known]):
                raise errors.fault(
                    "RT_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED",
                    f"{function!r} is registered for {known.name} already",
                    ee="EE1017", params=("registration of a snapshot callback", "callback", "it is registered already"),
                    hint="register a function once per stage",
                )
            self._functions[known].append((function, data))

    def unregister(self, stage: int, function: StageFunction) -> None:
        """Call a function no more.

        Raises:
            InvalidArgument 107000: there is no such stage, or the function is not registered for it.
        """
        known = self._known(stage, "removal of a snapshot callback")
        with self._lock:
            entry = next((entry for entry in self._functions[known] if entry[0] == function), None)
            if entry is not None:
                self._functions[known].remove(entry)
                return
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{function!r} is not registered for {known.name}", ee="EE1017",
            params=("removal of a snapshot callback", "callback", f"it is not registered for {known.name}"),
            hint="unregister with the function and the stage that were registered",
        )

    def call(self, stage: Stage, devices: Iterable[int]) -> None:
        """Call the functions of a stage, each for all devices (user ids); the first failure ends it.

        Raises:
            SnapshotError 507912: one has raised, or returned something else than 0; what was raised is the cause.
        """
        with self._lock:
            functions = list(self._functions[stage])
        numbers = list(devices)
        for function, data in functions:
            for number in numbers:
                problem: BaseException | None = None
                try:
                    answer = function(number, data)
                except Exception as raised:
                    answer, problem = raised, raised
                if answer not in (None, 0):
                    raise errors.fault(
                        "RT_ERROR_SNAPSHOT_CALLBACK_FAILED",
                        f"the callback {function!r} of {stage.name} failed for device {number}: {answer!r}",
                        hint="the state of the process is what it was before; repair the callback and try again",
                    ) from problem

    @staticmethod
    def _known(stage: int, call: str) -> Stage:
        if stage not in tuple(Stage):
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"{call}: there is no stage {stage}", ee="EE1003",
                params=(call, stage, "stage", f"[0, {max(Stage):d}]"), hint="use a Stage value",
            )
        return Stage(stage)
