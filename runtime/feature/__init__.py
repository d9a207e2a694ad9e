"""What the runtime can do beyond streams and launches: one package per feature, on top of core and launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if not TYPE_CHECKING:  # each is loaded when it is used, by import or as an attribute
    __getattr__, __dir__ = late.names(__name__, {
        "runtime.feature.fusion": "", "runtime.feature.graph": "", "runtime.feature.messages": "",
        "runtime.feature.snapshot": "",
    })  # fmt: skip

__all__: list[str] = []
