"""Entries as notebooks show them: 64 bytes, coloured by the field that each belongs to, and the fields with values.

>>> from chips.show import Sqe
>>> Sqe(row, "ascend910b3")
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from chips import glossary
from chips.catalog import find_chip
from chips.layout import SQE_BYTES
from chips.registry import plugin
from npuhal.records import dataclass

_COLOURS = ("#c6dbef", "#fdd0a2", "#c7e9c0", "#dadaeb", "#fcbba1", "#d9f0f0", "#fee391", "#e5d8bd")
_RESERVED = "#f0f0f0"
_PER_ROW = 16


@dataclass(frozen=True, slots=True)
class Sqe:
    """One 64-byte entry of a chip, for people to look at.

    Attributes:
        row: the 64 bytes.
        soc: the SoC or family whose generation reads them.
    """

    row: bytes
    soc: str

    def __str__(self) -> str:
        decoded = plugin(find_chip(self.soc)).decode(self.row)
        fields = " ".join(f"{name}={value:#x}" for name, value in decoded.fields.items() if value)
        return f"{decoded.type.name if decoded.type is not None else 'no known task'}: {fields}"

    def _repr_html_(self) -> str:
        made = plugin(find_chip(self.soc))
        decoded = made.decode(self.row)
        layout = made.layouts[decoded.layout]
        owners: list[str] = [""] * SQE_BYTES
        colours: dict[str, str] = {"": _RESERVED}
        for number, field in enumerate(layout.fields):
            colours[field.name] = _COLOURS[number % len(_COLOURS)]
            for byte in range(field.offset // 8, (field.offset + field.width - 1) // 8 + 1):
                owners[byte] = owners[byte] or field.name
        cells = [
            f'<td style="background:{colours[owner]};color:#000;font-family:monospace" title="{escape(owner)}">'
            f"{value:02x}</td>" for owner, value in zip(owners, self.row, strict=True)
        ]  # fmt: skip
        rows = "".join(
            f"<tr><th>{at:02x}</th>{''.join(cells[at : at + _PER_ROW])}</tr>" for at in range(0, SQE_BYTES, _PER_ROW)
        )
        named = [
            (f'<span style="background:{colours[name]};color:#000">{escape(name)}</span>', f"{value:#x}",
             escape(glossary.explain(name, value)))
            for name, value in decoded.fields.items() if value
        ]  # fmt: skip
        head = escape(f"{decoded.type.name if decoded.type is not None else 'no known task'} on {self.soc}")
        return f"<b>{head}</b><table>{rows}</table>{table(('field', 'value', 'meaning'), named)}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; cells are HTML already."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
