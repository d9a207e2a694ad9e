"""Callbacks: host functions in stream order, and who is told of failures and of state changes."""
