"""A graph as notebooks draw it: a column per stream, nodes from top to bottom, events as arrows between columns."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.feature.graph.recording.node import Node
    from runtime.feature.graph.view import Edge

_WIDTH, _HEIGHT, _GAP, _MOST = 170, 26, 18, 60


def svg(title: str, nodes: list[Node], edges: Iterable[Edge]) -> str:
    """Return the picture of a graph's first 60 nodes as SVG."""
    columns: dict[int, int] = {}
    shown = nodes[:_MOST]
    corners: dict[int, tuple[int, int]] = {}
    parts = []
    for line, node in enumerate(shown):
        column = columns.setdefault(id(node.user), len(columns))
        x, y = column * (_WIDTH + _GAP) + 2, line * (_HEIGHT + _GAP // 2) + 20
        corners[node.index] = x, y
        label = escape(f"{node.index} {node.name}"[:26])
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" fill="#c6dbef" stroke="#555"/>'
            f'<text x="{x + 6}" y="{y + 17}" font-size="11" fill="#000">{label}</text>'
        )
    for edge in edges:
        if edge.source.index in corners and edge.target.index in corners:
            (x1, y1), (x2, y2) = corners[edge.source.index], corners[edge.target.index]
            half, dash = _WIDTH // 2, ' stroke-dasharray="4 2"' if edge.event else ""
            parts.append(
                f'<line x1="{x1 + half}" y1="{y1 + _HEIGHT}" x2="{x2 + half}" y2="{y2}" stroke="#888"{dash}/>'
            )
    width, height = max(len(columns), 1) * (_WIDTH + _GAP), len(shown) * (_HEIGHT + _GAP // 2) + 30
    more = f"<p>and {len(nodes) - _MOST} more nodes</p>" if len(nodes) > _MOST else ""
    return (
        f"<b>{escape(title)}</b><br>"
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{"".join(parts)}</svg>{more}'
    )
