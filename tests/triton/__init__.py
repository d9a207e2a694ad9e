"""`@triton.jit` end to end with the real front end of Triton-Ascend: `make test-triton`; skipped where it is absent."""
