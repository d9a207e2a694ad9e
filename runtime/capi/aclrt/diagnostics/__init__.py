"""Failures and last errors, marks, profiling, dumps.

Only `runtime.capi` imports this.
"""
