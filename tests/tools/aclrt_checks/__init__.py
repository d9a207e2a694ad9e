"""A table of what C functions refuse, row by row, run against ours on three chips."""
