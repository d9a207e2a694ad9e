"""Capture, models, graphs as data.

Only `runtime.capi` imports this.
"""
