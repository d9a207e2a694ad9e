"""Diagnostics: what a run says of itself: tracing seams, logs, hang and resource reports. Reads, changes nothing."""
