"""Execution: queues and memory that a graph runs on, its start, and events from outside."""
