"""Many tasks with one call: batches of several kinds, many launches of one kernel, and their runs of entries."""
