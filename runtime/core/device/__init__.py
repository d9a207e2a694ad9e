"""Devices: opened and closed in the vendor's order, their limits, tables, time limits, health.

Owns the per-device state; creates the default stream and hands out resources to streams and events.
"""
