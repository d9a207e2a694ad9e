"""Binaries, functions, argument lists, launches, and the host addresses that stand for device symbols.

Only `runtime.capi` imports this.
"""
