"""One package per chip generation: its layouts (sqe.yaml), its builders by topic, its completion rules.

Only `chips.registry` imports from here; what a generation needs alone lives with it.
"""
