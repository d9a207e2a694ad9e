"""Compare argument blocks, lock areas and grids of Triton kernels with golden rows; prints ``matched N/N``.

python -m tests.tools.triton_layouts layouts.jsonl [locks.jsonl grids.jsonl ...]

What a row is follows from its keys: `types` a block, `expect` a grid, else a lock area. Exits with 1 on a difference.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from chips import find_chip
from chips.binary.errors import BinaryError
from chips.binary.producers.triton import GridRule, LayoutVersion, LockRule, layout_of, parameters_of
from chips.binary.producers.triton.layout import passes_sync_address


def block(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the row's block comes out as."""
    original = row.get("original_grid")
    layout = layout_of(
        parameters_of(row["types"]), LayoutVersion.named(row["version"]),
        sync_address=passes_sync_address(find_chip(row["chip"])), pure_simt=row.get("simt", False),
        original_grid=original is not None,
    )
    hidden = layout.hidden(row["grid"], original or row["grid"], sync=row["ffts"] or 0, locks=row.get("lock", 0),
                           workspace=row.get("workspace", 0))
    return {
        "size": layout.block.size, "members": [[each.name, each.offset, each.size] for each in layout.block.members],
        "hex": layout.pack(row["values"], hidden).hex(),
    }  # fmt: skip


def grid(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the row's grid comes out as; a row that is text wants a refusal, in whatever words."""
    keys = dict(row["keys"])
    cap = keys.pop("cap", False)
    try:
        arranged = GridRule(**keys).arrange(row["grid"], row["cores"], cap=cap)
    except BinaryError as refused:
        return {"expect": row["expect"] if isinstance(row["expect"], str) else refused.rule}
    return {"expect": [list(arranged.grid), arranged.logical, arranged.physical]}


def locks(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the row's lock area comes out as."""
    keys = {{"lock_num": "words", "init": "initial"}.get(key, key): value for key, value in row["keys"].items()}
    image = LockRule(**keys).area(row.get("blocks", 1)).image()
    return {"bytes": len(image), "hex": image.hex()}


def differences(row: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return what a row says and what comes out, of all that is not equal."""
    made = (block if "types" in row else grid if "expect" in row else locks)(row)
    return {key: (row[key], value) for key, value in made.items() if row[key] != value}


def main(paths: list[str]) -> int:
    """Compare all rows of some files."""
    rows = [json.loads(line) for path in paths for line in Path(path).read_text().splitlines() if line.strip()]
    matched = 0
    for row in rows:
        wrong = differences(row)
        matched += not wrong
        for key, (wanted, got) in wrong.items():
            print(f"{row['name']}: {key} is {got}, wanted {wanted}")
    print(f"matched {matched}/{len(rows)}")
    return 0 if rows and matched == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
