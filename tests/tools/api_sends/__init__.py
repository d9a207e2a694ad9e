"""Replay of recorded API sequences: the same calls must send the same entries on the same queues."""
