"""Kernels on the device's AICPU, and the libraries they come from."""
