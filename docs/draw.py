"""Draw the Mermaid block of ARCHITECTURE.md as architecture.svg: `python docs/draw.py`.

Standard library only. Nodes are ranked by their longest path from a source and spread evenly over their rank; edges
that lead back up are dashed.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
WIDTH, ROW, BOX_HEIGHT = 1080, 104, 40
_NODE = re.compile(r"(\w+)(?:\[([^\]]+)\]|\(\[([^\]]+)\]\))?")
_EDGE = re.compile(r"\s*(.+?) -->\|(.+?)\| (.+)")
ARROW = (
    '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
)
# Edges that close a cycle; they do not count for ranks.
BACK = {("finance", "ledger"), ("privacy", "ledger"), ("privacy", "landing")}


class Drawing(NamedTuple):
    """Names of nodes with their labels, which of them are outside the code, and labelled edges."""

    labels: dict[str, str]
    outside: set[str]
    edges: list[tuple[str, str, str]]


def read(text: str) -> Drawing:
    """Read the first Mermaid block of a Markdown text."""
    block = text.partition("```mermaid\n")[2].partition("```")[0]
    labels: dict[str, str] = {}
    outside: set[str] = set()
    edges = []
    for line in block.splitlines():
        if match := _EDGE.fullmatch(line):
            ends = []
            for part in (match[1], match[3]):
                node = _NODE.fullmatch(part)
                assert node, f"not a node: {part}"  # noqa: S101 - a program for whoever edits the drawing
                labels.setdefault(node[1], node[2] or node[3] or node[1])
                if node[3]:
                    outside.add(node[1])
                ends.append(node[1])
            edges.append((ends[0], match[2], ends[1]))
    return Drawing(labels, outside, edges)


def ranks(drawing: Drawing) -> dict[str, int]:
    """Return each node's row: below everything that leads to it."""
    forward = [(a, b) for a, _, b in drawing.edges if (a, b) not in BACK]
    found = dict.fromkeys(drawing.labels, 0)
    for _ in found:
        for a, b in forward:
            found[b] = max(found[b], found[a] + 1)
    for a in found:  # a source goes just above what it leads to
        targets = [found[b] for source, b in forward if source == a]
        if targets and not any(b == a for _, b in forward):
            found[a] = min(targets) - 1
    return found


def svg(drawing: Drawing) -> str:
    """Return the drawing as SVG."""
    rows: dict[int, list[str]] = {}
    for name, rank in ranks(drawing).items():
        rows.setdefault(rank, []).append(name)
    place = {}
    for rank, names in rows.items():
        for number, name in enumerate(names):
            place[name] = ((number + 0.5) * WIDTH / len(names), rank * ROW + 40)
    height = (max(rows) + 1) * ROW - 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        ARROW,
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    texts = []
    for a, label, b in drawing.edges:
        (x1, y1), (x2, y2) = place[a], place[b]
        down = y2 > y1
        y1, y2 = (y1 + BOX_HEIGHT / 2, y2 - BOX_HEIGHT / 2) if down else (y1 - BOX_HEIGHT / 2, y2 + BOX_HEIGHT / 2)
        middle = (y1 + y2) / 2
        dash = "" if down else ' stroke-dasharray="5 4"'
        out.append(
            f'<path d="M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}" fill="none" '
            f'stroke="#555"{dash} marker-end="url(#a)"/>'
        )
        share = 0.66 if down else 0.3  # labels of edges from one node lie apart nearer to their ends
        x, y = x1 + (x2 - x1) * (3 * share**2 - 2 * share**3), y1 + (y2 - y1) * share
        width = 6.6 * len(label) + 6
        texts.append(
            f'<rect x="{x - width / 2:g}" y="{y - 9:g}" width="{width:g}" height="16" fill="#fff" opacity="0.85"/>'
            f'<text x="{x:g}" y="{y + 3:g}" text-anchor="middle" font-size="11" fill="#333">{escape(label)}</text>'
        )
    for name, (x, y) in place.items():
        width = 9 * len(drawing.labels[name]) + 24
        radius, fill = (20, "#f1f1f1") if name in drawing.outside else (4, "#dbe9f6")
        texts.append(
            f'<rect x="{x - width / 2:g}" y="{y - BOX_HEIGHT / 2:g}" width="{width}" height="{BOX_HEIGHT}" '
            f'rx="{radius}" fill="{fill}" stroke="#345"/>'
            f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle" font-size="13">{escape(drawing.labels[name])}</text>'
        )
    return "\n".join([*out, *texts, "</svg>"]) + "\n"


if __name__ == "__main__":
    drawn = svg(read((HERE / "ARCHITECTURE.md").read_text(encoding="utf-8")))
    (HERE / "architecture.svg").write_text(drawn, encoding="utf-8")
