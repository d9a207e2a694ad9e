"""Events, notifies, labels, and the time limits of waits.

Only `runtime.capi` imports this.
"""
