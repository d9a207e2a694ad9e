"""Memory of devices and hosts: allocation, mapping, sharing, pools.

Only `runtime.capi` imports this.
"""
