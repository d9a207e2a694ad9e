"""HAL chapter "mbuf": groups of processes with shared memory, and message buffers in it."""
