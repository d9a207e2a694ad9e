"""The former place of STARS v1, kept for plug-ins of other packages; see `chips.generations.v100`."""
