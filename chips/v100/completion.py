"""The former name of `chips.generations.v100.completion`."""

from chips.generations.v100.completion import classify, parse_cqe

__all__ = ["classify", "parse_cqe"]
