"""Copies, fills, reductions, cache operations and random numbers: work on memory, now or in a stream."""
