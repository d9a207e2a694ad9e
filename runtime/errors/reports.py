"""What each thread can ask about its errors afterwards: the last code, and the texts posted since it last asked."""

from __future__ import annotations

import threading
from typing import Final

from runtime.errors.faults import RuntimeFault
from runtime.errors.raising import user_text

__all__ = ["ThreadReports"]

_SUCCESS: Final = 0
_FIRST_RUNTIME_CODE: Final = 107000


class ThreadReports:
    """Last error and recent messages per thread (aclrtGetLastError, aclGetRecentErrMsg; core_spec 19.1).

    Argument errors found by the acl layer are posted but never become the last error: its own codes, and whatever it
    reports with an EH message.
    """

    KEPT: Final = 32
    """Most messages a thread keeps; the first ones, because the deepest reason is posted first."""

    def __init__(self) -> None:
        self._local = threading.local()

    def post(self, problem: RuntimeFault) -> None:
        """Note a fault that a call of this thread reports."""
        if problem.code >= _FIRST_RUNTIME_CODE and not problem.message_id.startswith("EH"):
            self._local.code = problem.code
            if len(self.history()) < self.KEPT:
                self._local.faults = (*self.history(), problem)
        kept: RuntimeFault | None = getattr(self._local, "kept", None)
        if kept is not None:
            problem, self._local.kept = kept, None
        messages = self._messages()
        said = problem.message_id, user_text(problem)
        if len(messages) < self.KEPT and (said[0] or not messages or messages[-1] != said):  # a poll says it once
            messages.append(said)

    def note(self, problem: RuntimeFault) -> None:
        """Keep the message of what a call met on its way and went on from: the next call that fails tells this one."""
        self._local.kept = problem

    def withdraw(self, call: str) -> None:
        """Forget the newest message if it is a call's: it was a question, and that there is nothing is its answer."""
        messages = self._messages()
        if messages and messages[-1][1].startswith(call):
            del messages[-1]

    def peek(self) -> int:
        """Return the code of this thread's last error and keep it; 0 when there was none."""
        code: int = getattr(self._local, "code", _SUCCESS)
        return code

    def history(self) -> tuple[RuntimeFault, ...]:
        """Return this thread's runtime errors since `take`, the first one first: later ones often follow from it."""
        faults: tuple[RuntimeFault, ...] = getattr(self._local, "faults", ())
        return faults

    def take(self) -> int:
        """Return the code of this thread's last error and forget it. Successes in between do not change it."""
        code = self.peek()
        self._local.code, self._local.faults = _SUCCESS, ()
        return code

    def message_ids(self) -> tuple[str, ...]:
        """Return the numbers of the messages that wait in this thread, newest first."""
        return tuple(number for number, _ in reversed(self._messages()) if number)

    def take_text(self) -> str:
        """Return this thread's messages, the first as the reason and the later ones below it, and forget them."""
        messages = self._messages()
        if not messages:
            return ""
        (_, reason), *later = messages
        self._local.messages = []
        return "\n".join([reason, *(f"  after that: {text}" for _, text in later)])

    def _messages(self) -> list[tuple[str, str]]:
        messages: list[tuple[str, str]] | None = getattr(self._local, "messages", None)
        if messages is None:
            messages = self._local.messages = []
        return messages
