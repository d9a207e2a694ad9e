"""Copies, fills, reductions, cache operations, random numbers.

Only `runtime.capi` imports this.
"""
