"""Write a reconciliation as one self-contained HTML page, for phones and for print.

No scripts, no external links; untrusted text is escaped. Knows nothing of terminals or workbooks.
"""

from __future__ import annotations

import datetime as dt
import html
from typing import TYPE_CHECKING, Any

from pipelines.finance.currencies import measured
from pipelines.report.files import draft_of
from pipelines.report.listings import MEASURES, Column, listings
from pipelines.report.text import plain
from pipelines.report.verdict import undated, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.finance.reconciliation import Reconciliation

MOST_ROWS = 2_000  # per table; the workbook has all
_STYLE = """
:root{color-scheme:light;--ink:#1c2430;--soft:#5b6675;--line:#d7dde5;--head:#eef2f6;--bad:#a3182a;--good:#17663a}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.25rem;max-width:110rem;font:15px/1.45 system-ui,sans-serif;color:var(--ink)}
h1{font-size:1.5rem;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2rem 0 .25rem}
p{margin:.25rem 0}.soft{color:var(--soft)}.bad{color:var(--bad);font-weight:600}.good{color:var(--good);font-weight:600}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:6px;margin-top:.5rem}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{padding:.3rem .55rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th,th.n{background:var(--head);position:sticky;top:0;white-space:normal;min-width:4.2rem}td{min-width:3rem}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td.n,td.k{white-space:nowrap}td.x{color:var(--soft)}
tr:last-child td{border-bottom:0}
nav a{margin-right:1rem}
@media (max-width:44rem){body{padding:.75rem}.wide{border:0}thead{display:none}
table,tbody,tr,td{display:block}tr{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.35rem .6rem}
td,td.n,td.k{display:flex;justify-content:space-between;gap:1rem;border:0;padding:.12rem 0;text-align:right;
white-space:normal;overflow-wrap:anywhere}
td::before{content:attr(data-name);color:var(--soft);text-align:left;flex:none;max-width:55%}td.x{display:none}}
@media print{@page{size:A4 landscape;margin:10mm}body{max-width:none;padding:0;font-size:10px}nav{display:none}
.wide{overflow:visible;border:0}table{font-size:6.5px}th,th.n,td{padding:1px 3px;min-width:0}td.n{white-space:normal}
th{position:static}thead{display:table-header-group}tr{break-inside:avoid}}
"""
# The page has no live sums, so rows need not name their line of the summary.
_LINE = "line"
_KINDS = {"count": "n", "amount": "n", "day": "k", "id": "k", "clock": "k", "instant": "k"}
_SUMMARY = (Column("currency", "text"), Column("sale_class", "text"), *MEASURES)


def write_page(reconciled: Reconciliation, path: Path, *, most_rows: int = MOST_ROWS) -> None:
    """Write the page to `path` atomically; raise ReportFileError. Tables are cut at `most_rows` rows, with a note."""
    with draft_of(path) as draft, draft.open("w", encoding="utf-8") as page:
        page.writelines(line + "\n" for line in page_lines(reconciled, most_rows))


def page_lines(reconciled: Reconciliation, most_rows: int = MOST_ROWS) -> Iterator[str]:
    """Yield the page, line by line."""
    chosen = listings(reconciled, all_orders=False)
    title = f"Reconciliation: {reconciled.selection.description}"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{_text(title)}</h1>"
    yield (
        f'<p class="soft">Release {_text(reconciled.manifest.id)}, published at '
        f"{_text(reconciled.manifest.published_at)} (UTC)</p>"
    )
    yield _verdict(reconciled)
    yield "<nav>" + "".join(f'<a href="#{listing.name}">{listing.name}</a>' for listing in chosen) + "</nav>"
    yield '<h2 id="summary">summary</h2>'
    yield '<p class="soft">One row per currency and sale class; amounts are never added across either.</p>'
    lines = reconciled.lines()
    yield from _table(_SUMMARY, ([line[column.name] for column in _SUMMARY] for line in lines))
    for listing in chosen:
        rows = listing.count(reconciled.db)
        yield f'<h2 id="{listing.name}">{listing.name}</h2><p class="soft">{_text(listing.description)}</p>'
        if rows > most_rows:
            yield (
                f'<p class="bad">First {most_rows:,} of {rows:,} rows; the workbook has all '
                "(<code>ordermart reconcile --xlsx FILE</code>).</p>"
            )
        shown = [index for index, column in enumerate(listing.columns) if column.name != _LINE]
        if rows:
            columns = [listing.columns[index] for index in shown]
            found = listing.rows(reconciled.db, most_rows)
            yield from _table(columns, ([row[index] for index in shown] for row in found))
        else:
            yield "<p>none</p>"
    yield "</body></html>"


def _verdict(reconciled: Reconciliation) -> str:
    note = f"<p>{undated(reconciled)}</p>" if undated(reconciled) else ""
    look = "good" if reconciled.is_balanced() else "bad"
    return f'<p class="{look}">{_text(verdict(reconciled))}</p>{note}'


def _table(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    kinds = [_KINDS.get(column.kind, "") for column in columns]
    names = [column.name for column in columns]
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(
        f"<th{_class(kind)}>{column.name.replace('_', ' ')}</th>" for kind, column in zip(kinds, columns, strict=True)
    )
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = zip(kinds, columns, row, strict=True)
        named = dict(zip(names, row, strict=True))
        yield "<tr>" + "".join(_cell(kind, column, value, named) for kind, column, value in cells) + "</tr>"
    yield "</tbody></table></div>"


def _cell(kind: str, column: Column, value: Any, row: Mapping[str, Any]) -> str:
    name = column.name.replace("_", " ")
    if value is None:
        return f'<td class="x" data-name="{name}">–</td>'
    return f'<td{_class(kind)} data-name="{name}">{_text(_shown(column, value, row))}</td>'


def _shown(column: Column, value: Any, row: Mapping[str, Any]) -> str:
    if column.kind == "amount":
        return measured(row.get("measure", ""), value, row.get("currency"))
    if column.kind == "count":
        return f"{value:,}"
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value)


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _text(text: object) -> str:
    """Escape untrusted text, for element content and attributes."""
    return html.escape(plain(text), quote=True)
