"""Launching kernels as their producers do: argument blocks with hidden members, made of what the user gives.

What a producer's files say is read in `chips.binary.producers`. Here are the calls: each lays out a block and hands it
to `runtime.launch.kernel`, which knows nothing of producers.
"""
