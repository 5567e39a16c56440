"""Write HTML: tables that are cut with a note, charts with a title and a description, sections.

Whatever comes from outside is escaped here. Knows nothing of releases.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.report.page.style import STYLE
from pipelines.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LONGEST = 600  # characters of a cell
_DAY = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?")
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Table:
    """A table: its caption, headings, rows of text, and how many rows there are in all.

    `numbers` are the positions of columns to align right. `source` is where all rows are: a table or a query. Rows of
    a flat table keep to one line, and its frame scrolls.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    numbers: frozenset[int] = frozenset()
    total: int | None = None
    source: str = ""
    is_folded: bool = False
    is_flat: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart to draw: its kind and rows as `draw.py` takes them, what it shows in a sentence, and its legend.

    `name` is unique on the page; `legend` pairs a colour's class with its meaning.
    """

    name: str
    kind: str
    title: str
    description: str
    rows: Sequence[Mapping[str, Any]]
    legend: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Section:
    """A section of a page: its id, title, how urgent it is ('', good, warn, bad) and its parts in order."""

    id: str
    title: str
    parts: Sequence[str | Table | Chart] = ()
    level: str = ""


def text(value: object) -> str:
    """Escape untrusted text, for element content and attributes; control characters are replaced."""
    return html.escape(plain(value), quote=True)


def paragraph(sentence: str, kind: str = "") -> str:
    """Return a paragraph of text; words between backquotes are code."""
    parts = text(sentence).split("`")
    marked = "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
    return f"<p{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{marked}</p>"


def page(title: str, body: str) -> str:
    """Return a whole page: one style, which the policy names by its hash, and no scripts or requests."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def section_html(section: Section, drawn: Mapping[str, str]) -> str:
    """Return a section; `drawn` has the SVG of each chart by name, as far as it could be drawn."""
    return "\n".join(_section(section, drawn))


def _section(section: Section, drawn: Mapping[str, str]) -> Iterator[str]:
    classes = f"card {section.level}".strip()
    yield f'<section class="{classes}" id="{section.id}" aria-labelledby="{section.id}-title">'
    yield f'<h2 id="{section.id}-title">{text(section.title)}</h2>'
    for part in section.parts:
        if isinstance(part, Chart):
            yield _figure(part, drawn.get(part.name))
        elif isinstance(part, Table):
            yield table_html(part)
        else:
            yield part
    yield "</section>"


def _figure(chart: Chart, svg: str | None) -> str:
    legend = "".join(f'<span class="key {colour}">{text(meaning)}</span> ' for colour, meaning in chart.legend)
    caption = f"<figcaption><b>{text(chart.title)}</b> {legend}</figcaption>"
    if svg is None:
        return f'<figure>{caption}<p class="soft">The chart could not be drawn; the table has its figures.</p></figure>'
    identity = f"{chart.name}-chart"
    label = (
        f'<title id="{identity}-title">{text(chart.title)}</title>'
        f'<desc id="{identity}-desc">{text(chart.description)}</desc>'
    )
    named = f'role="img" aria-labelledby="{identity}-title" aria-describedby="{identity}-desc"'
    opening, _, rest = svg.partition(">")
    return f"<figure>{caption}{opening} {named}>{label}{rest}</figure>"


def table_html(table: Table) -> str:
    """Return a table in a frame that scrolls by itself, or a sentence if it is empty; folded if it asks for that."""
    if not table.rows:
        return f'<p class="soft">{text(table.caption)}: none.</p>'
    shown = "\n".join(_table(table))
    if table.is_folded:
        return f"<details><summary>{text(table.caption)}</summary>{shown}</details>"
    return shown


def _table(table: Table) -> Iterator[str]:
    hidden = "" if not table.is_folded else ' class="unseen"'
    flat = ' class="flat"' if table.is_flat else ""
    yield f'<div class="frame" role="region" tabindex="0" aria-label="{text(table.caption)}"><table{flat}>'
    yield f"<caption{hidden}>{text(table.caption)}</caption><thead><tr>"
    yield "".join(_cell("th", place, name, table) for place, name in enumerate(table.head))
    yield "</tr></thead><tbody>"
    for row in table.rows:
        yield "<tr>" + "".join(_cell("td", place, value, table) for place, value in enumerate(row)) + "</tr>"
    yield "</tbody></table></div>"
    hidden_count = (len(table.rows) if table.total is None else table.total) - len(table.rows)
    if hidden_count > 0:
        yield paragraph(f"First {len(table.rows):,} of {table.total:,}; all in `{table.source}`.", "soft")


def _cell(tag: str, place: int, value: object, table: Table) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    shown = "–" if value is None else str(value)
    kind = ' class="n"' if place in table.numbers else ' class="k"' if _DAY.fullmatch(shown) else ""
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    return f"<{tag}{scope}{kind}>{text(shown)}</{tag}>"
