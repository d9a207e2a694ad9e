"""Devices: setting and resetting, contexts, attributes, peers, limits, failed memory.

Only `runtime.capi` imports this.
"""
