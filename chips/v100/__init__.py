"""The former module of STARS v1, kept for plug-ins of other packages; see `chips.generations.v100`."""
