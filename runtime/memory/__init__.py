"""Allocation only: device and host memory, argument pools."""
