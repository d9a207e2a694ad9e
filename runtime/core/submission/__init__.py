"""Submission: task slots, sending, completion and reclaim; the only room that writes a ring.

Everybody else hands tasks to `submit` or holds a prepared send.
"""
