"""Submission: task slots, sending, completion and reclaim; the only package that writes a ring.

Everybody else hands tasks to `submit` or holds a prepared send.
"""
