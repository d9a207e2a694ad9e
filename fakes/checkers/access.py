"""How tasks touch memory: what the executor and kernels tell the checkers."""

from __future__ import annotations

READ, WRITE, RELEASE, LOAD, ARGUMENTS = range(5)
"""How bytes are touched: read, written, written for others that wait for the value, looked at by such a wait, read as
the arguments of a graph's kernel."""
