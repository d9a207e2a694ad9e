"""What becomes of the task at the head of a queue when it is tried on the fast path (`fakes.executor.fast_path`)."""

from __future__ import annotations

NOT_PLAIN, RAN, STOPPED, WAITS = range(4)
"""The fast path is not for it; it has run, and may have written to memory; it has failed or hangs; it has to wait."""
