"""The Ascend HAL from Python: typed calls, structs and constants of libascend_hal.so, and where to find it.

>>> hal = npuhal.open_hal()                      # or "fake://ascend910b3", "hal:///path/libascend_hal.so"
>>> count = ctypes.c_uint32()
>>> npuhal.check(hal.drvGetDevNum(ctypes.byref(count)), "drvGetDevNum")

Names of functions, structs and constants are exactly those of the C headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late
from npuhal.release import __version__ as __version__

if TYPE_CHECKING:
    from npuhal import constants, errors, prototypes, structs
    from npuhal.api import HalApi, LibraryApi
    from npuhal.errors import check
    from npuhal.loader import HalUrl, Search, open_hal
    from npuhal.version import decode_version, encode_version, shake_hands
else:
    __getattr__, __dir__ = late.names(__name__, {
        "npuhal.api": "HalApi LibraryApi",
        "npuhal.errors": ". check",
        "npuhal.loader": "HalUrl Search open_hal",
        "npuhal.version": "decode_version encode_version shake_hands",
        **dict.fromkeys((
            "npuhal.constants", "npuhal.declarations", "npuhal.layouts", "npuhal.packages", "npuhal.prototypes",
            "npuhal.structs", "npuhal.tuples", "npuhal.words",
        ), "."),
    })  # fmt: skip

__all__ = [
    "open_hal", "HalApi", "LibraryApi", "HalUrl", "Search",
    "check", "errors", "structs", "constants", "prototypes",
    "shake_hands", "encode_version", "decode_version",
]  # fmt: skip
