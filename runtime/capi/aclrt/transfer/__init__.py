"""Tensors and messages between threads and processes (acl_tdt.h, acl_tdt_queue.h).

Only `runtime.capi` imports this.
"""
