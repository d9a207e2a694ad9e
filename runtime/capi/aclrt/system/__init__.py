"""The process: initialisation, versions, snapshots, numbers.

Only `runtime.capi` imports this.
"""
