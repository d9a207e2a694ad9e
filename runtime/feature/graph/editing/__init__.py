"""Editing: other arguments, tasks and kernels in a graph that exists."""
