"""Triton-Ascend: what a cache folder says of a kernel, and the block of arguments that its launcher would pass.

Sources: third_party/ascend/backend of triton-lang/triton-ascend (driver.py of 3.2 and 3.5, the generated launcher of
3.6, launcher.py, program_grid.py and launcher_args.h of the newest), measured with the wheel 3.2.0.
"""

from chips.binary.producers.triton.cache import CacheEntry, find_entry, read_entry
from chips.binary.producers.triton.grid import Arranged, GridRule
from chips.binary.producers.triton.layout import KernelLayout, layout_of
from chips.binary.producers.triton.locks import LockArea, LockRule
from chips.binary.producers.triton.metadata import LayoutVersion, Metadata, read_metadata
from chips.binary.producers.triton.signature import Parameter, parameters_of, read_signature

__all__ = [
    "Arranged",
    "CacheEntry",
    "GridRule",
    "KernelLayout",
    "LayoutVersion",
    "LockArea",
    "LockRule",
    "Metadata",
    "Parameter",
    "find_entry",
    "layout_of",
    "parameters_of",
    "read_entry",
    "read_metadata",
    "read_signature",
]
