"""Callbacks: host functions in stream order, callbacks for failures and for state changes."""
