"""Streams: creation by flags, failure modes, groups, ending by force and in order.

Owns a stream's identity and state. What is sent goes through `submission`.
"""
