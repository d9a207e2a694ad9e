"""Streams: creation and settings, host functions and callbacks, overflow reports, values in memory.

Only `runtime.capi` imports this.
"""
