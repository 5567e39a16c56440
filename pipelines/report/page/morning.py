"""Write the morning page after every run: `published/morning.html`, atomically, and a copy in a new release.

What follows from the release, charts above all, is taken from the last page if that showed the same release, so that
a run without news costs little. A page that cannot be written fails no run.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import write_whole
from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import FinanceError, released
from pipelines.finance.selection import Selection
from pipelines.kept import fingerprint
from pipelines.record import NIGHT, WEBHOOKS, current_release, ended_runs
from pipelines.report.page.charts import drawn
from pipelines.report.page.headline import Books, Headline, headline
from pipelines.report.page.markup import Chart, Section, Table, page, paragraph, section_html, text
from pipelines.report.page.nights import nights_section
from pipelines.report.page.quality import checks_section, coverage_section, drift_section, quarantine_section
from pipelines.report.page.reconciled import (
    breaks_section,
    control_totals_section,
    largest_breaks,
    restatements_section,
    rules_section,
)
from pipelines.report.page.sales import last_day, sales_section
from pipelines.report.page.waterfall import waterfall_section
from pipelines.report.status import status
from pipelines.resources import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.finance.reconciliation import Reconciliation
    from pipelines.finance.released import Released
    from pipelines.record import Run
    from pipelines.settings import Settings

PAGE = "morning.html"
_DRAWINGS = "notify/charts.json"  # below the data folder
_READABLE = 0o644
_BREAKS, _RESTATEMENTS, _TOTALS = 6, 8, 8
# The part that follows from the release, with the fingerprint of what made it, and in it what changes with each run.
_KEPT = re.compile(r"<!-- release (\w+) -->.*<!-- end of release -->", re.DOTALL)
_NIGHT = re.compile(r"<!-- night -->.*<!-- end of night -->", re.DOTALL)
_PLACE = "<!-- night --><!-- end of night -->"


def morning_page(published: Path) -> Path:
    """Return where the page is, below `published`."""
    return published / PAGE


def write_morning_page(settings: Settings, run: Run, now: dt.datetime | None = None) -> str:
    """Write the page of a run that ended; return why it could not be written, "" if it was. Raise nothing."""
    try:
        _write(settings, run, now or utc_now())
    except Exception as error:  # noqa: BLE001 -- the run is over; its page must not change how it ended
        return f"The morning page could not be written: {type(error).__name__}"
    return ""


def _write(settings: Settings, run: Run, now: dt.datetime) -> None:
    runs = [*(each for each in ended_runs(settings.data_dir, is_any_alive=True) if each.id != run.id), run]
    file = morning_page(settings.data_dir / "published")
    release = current_release(settings.data_dir / "published")
    state = status(settings, now)
    books, kept = None, f"{_PLACE}{paragraph('There is no release yet.')}"
    if release is not None:
        try:
            with released(settings) as opened:
                reconciled = reconciliation(opened, Selection())
                books = _books(reconciled)
                kept = _of_release(opened, reconciled, file, run, now)
        except (duckdb.Error, FinanceError) as error:
            kept = _PLACE + paragraph(f"The release cannot be read: {type(error).__name__}. See `ordermart doctor`.")
    nights, svg = nights_section(runs)
    shown = [_run(run, state), *_last_night(run, runs)]
    night = "\n".join([*(section_html(each, {}) for each in shown), section_html(nights, {"nights": svg})])
    parts = [
        "<header>",
        f"<h1>ordermart, {now:%A %-d %B %Y, %H:%M} UTC</h1>",
        *_verdict(headline(run, state, books)),
        _nav(),
        "</header>\n<main>",
        _NIGHT.sub(lambda _: f"<!-- night -->\n{night}\n<!-- end of night -->", kept),
        "</main>",
        _footer(release, state),
    ]
    body = "\n".join(parts)
    content = page("ordermart: the morning page", body).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    copies = [release / PAGE] if release is not None and not (release / PAGE).exists() else []
    for written in (file, *copies):
        write_whole(written, content)
        written.chmod(_READABLE)  # as releases are; what else a run writes is its owner's alone


def _books(reconciled: Reconciliation) -> Books:
    largest = largest_breaks(reconciled, 1)
    first = largest[0]["order_id"] if largest else None
    return Books(reconciled.variances(), reconciled.indeterminate_count(), first)


def _of_release(opened: Released, reconciled: Reconciliation, file: Path, run: Run, now: dt.datetime) -> str:
    """Return the part of the page that follows from release, ledger and code: the last page's if nothing differs."""
    code = sorted((PACKAGE / "report" / "page").glob("*.py"))
    chain = opened.ledger.folder / "ledger.jsonl"  # entries are only appended
    shown = fingerprint(opened.manifest.id, str(chain.stat().st_size if chain.exists() else 0), *code)
    try:
        last = _KEPT.search(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        last = None
    if last and last[1] == shown:
        return _NIGHT.sub(_PLACE, last[0])
    breaks, *sections = _sections(opened, reconciled)
    charts = [part for section in sections for part in section.parts if isinstance(part, Chart)]
    svgs, are_current = drawn(charts, file.parents[1] / _DRAWINGS, now, is_small=run.kind == WEBHOOKS)
    sales, *others = [section_html(section, svgs) for section in sections]
    cards = "\n".join([sales, _PLACE, *others])
    whole = f'{section_html(breaks, {})}\n<div class="cards">\n{cards}\n</div>\n'
    whole = f"{_figures(opened, reconciled)}\n{whole}"
    return f"<!-- release {shown} -->\n{whole}<!-- end of release -->" if are_current else whole


def _sections(opened: Released, reconciled: Reconciliation) -> Sequence[Section]:
    db = opened.con
    last = last_day(db, _published(opened))
    return [
        breaks_section(reconciled, _BREAKS),
        sales_section(db, last)[0],
        coverage_section(db, last),
        waterfall_section(reconciled),
        quarantine_section(db),
        checks_section(db, opened.manifest.checks),
        control_totals_section(reconciled, _TOTALS),
        restatements_section(reconciled, _RESTATEMENTS),
        rules_section(reconciled),
        drift_section(db),
    ]


def _figures(opened: Released, reconciled: Reconciliation) -> str:
    """Return the main figures: sales by currency and the size of the warehouse."""
    db = opened.con
    figures = sales_section(db, last_day(db, _published(opened)))[1]
    shown = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(amount)}<small>{text(change)}</small></dd></div>"
        for name, amount, change in figures
    )
    counts = db.execute("select count(*), count(distinct store_id), min(business_date) from mart.orders").fetchone()
    orders, stores, since = counts or (0, 0, None)
    days = f"{stores:,} stores, since {text(since or 'no day')}"
    shown += f"<div><dt>Orders in the warehouse</dt><dd>{orders:,}<small>{days}</small></dd></div>"
    tested = sum(line["balanced_count"] for line in reconciled.lines())
    share = f"{tested / orders:.2%} of all orders" if orders else "no orders"
    shown += f"<div><dt>Orders that add up exactly</dt><dd>{tested:,}<small>{share}</small></dd></div>"
    return f'<dl class="figures">{shown}</dl>'


def _published(opened: Released) -> dt.date:
    return dt.datetime.fromisoformat(opened.manifest.published_at).date()


def _verdict(said: Headline) -> Iterator[str]:
    mark = {"good": "Good", "warn": "Look", "bad": "Act"}[said.level]
    yield f'<div class="verdict {said.level}" role="status"><p class="say"><span class="mark">{mark}:</span> '
    yield f"{text(said.sentence)}</p>"
    if said.command:
        reason = f" {text(said.reason)}" if said.reason else ""
        yield f'<p class="next">Next: <code>{text(said.command)}</code>{reason}</p>'
    else:
        yield paragraph(said.reason, "next")
    yield "</div>"


def _nav() -> str:
    links = "breaks sales coverage quarantine reconciliation checks restatements rules drift".split()
    return (
        '<nav aria-label="Sections"><ul>'
        + "".join(f'<li><a href="#{name}">{name.capitalize()}</a></li>' for name in links)
        + "</ul></nav>"
    )


def _run(run: Run, state: Mapping[str, Any]) -> Section:
    """Return what this run did: errors and alarms first, then what came in by kind."""
    parts: list[str | Table] = [paragraph(said, "bad") for said in _failures(run)]
    parts += [paragraph(f"Alarm since {alarm['since'][:16].replace('T', ' ')} UTC: {alarm['text']}")
              for alarm in state["alarms"]]  # fmt: skip
    waiting = [(kind, f"{counts.get('due', 0):,}", f"{counts.get('waiting', 0):,}", f"{counts.get('dead', 0):,}")
               for kind, counts in state["work_list"].items()]  # fmt: skip
    work = Table("Work list", ("kind", "due", "waiting", "given up"), waiting, frozenset({1, 2, 3}))
    kind = "night" if run.kind == NIGHT else "run for webhooks"
    title = f"This {kind}, ended {run.ended_at or run.started_at:%H:%M} UTC after {run.seconds:,.1f} s"
    return Section("run", title, [*parts, _came(run), work])


def _last_night(run: Run, runs: Sequence[Run]) -> Iterator[Section]:
    """Yield what the last night did, if this run is none: it must not be gone by the morning."""
    night = next((each for each in reversed(runs) if each.kind == NIGHT), None)
    if night and run.kind == WEBHOOKS:
        ended = night.ended_at or night.started_at
        title = f"The last night, ended {ended:%-d %B, %H:%M} UTC after {night.seconds:,.1f} s: {night.verdict}"
        yield Section("night", title, [*(paragraph(said, "bad") for said in _failures(night)), _came(night)])


def _failures(run: Run) -> list[str]:
    return [*run.errors, *([f"The run {run.how}."] if run.stopped_by else [])]


def _came(run: Run) -> Table:
    verdicts = sorted({verdict for counts in run.landed.values() for verdict, number in counts.items() if number})
    return Table(
        "What came in, by kind",
        ("kind", *(verdict.replace("_", " ") for verdict in verdicts)),
        [(kind, *(f"{counts.get(verdict, 0):,}" for verdict in verdicts)) for kind, counts in run.landed.items()]
        if verdicts
        else [],
        frozenset(range(1, len(verdicts) + 1)),
    )


def _footer(release: Path | None, state: Mapping[str, Any]) -> str:
    name = f"Release <code>{text(release.name)}</code>. " if release else ""
    free = f"{state['free_bytes'] / 10**9:.1f} GB free on the disk. " if state["free_bytes"] is not None else ""
    return (
        f"<footer><p>{name}{free}Amounts are as sent by the partner service, exact, and never added across currencies; "
        "this page has no personal data. Every table of the release is described in <code>docs/DICTIONARY.md</code>."
        "</p></footer>"
    )
