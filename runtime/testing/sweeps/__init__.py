"""Sweeps: every driver call of a program fails once, and what is left afterwards is looked at.

`cases` says which failures there are, `trial` makes one of them in a machine of its own, `sweep` makes all of them.
"""
