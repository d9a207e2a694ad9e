"""How calls reach the fake: directly, through C function pointers, or not at all (null://)."""
