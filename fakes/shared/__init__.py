"""One card, several processes: what they see of each other when they open `fake://...&shared=NAME`.

Each process runs its own queues on a machine of its own; common are the ids of a card, the bytes that are left of its
memory, the state of its events and notifies (`table`), and what is exported under a name or a number (`names`). Device
memory stays in a memory file of its process; who imports some maps it through /proc. So the system itself takes back
the memory of a process that was killed, as soon as nobody has it mapped any more, and what the table says of such a
process is wiped by whoever needs it next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from fakes.shared.card import Shared
    from fakes.shared.imports import Imports
    from fakes.shared.names import Export, Names, Source
else:
    __getattr__, __dir__ = late.names(__name__, {
        "fakes.shared.card": "Shared",
        "fakes.shared.imports": "Imports",
        "fakes.shared.names": "Export Names Source",
    })  # fmt: skip

__all__ = ["Export", "Imports", "Names", "Shared", "Source"]
