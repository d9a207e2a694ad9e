"""Order and waiting: events, signals, notifies, labels, values in memory, synchronize.

Asks `submission` to send records and waits, and reads positions of rings; never writes them.
"""
