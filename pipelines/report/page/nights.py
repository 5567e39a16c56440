"""Show the last nights: how long each took and how it ended, as a chart drawn here and a table.

The chart changes with every night, also an idle one, so it must not need the second that `draw.py` takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.record import NIGHT
from pipelines.report.page.markup import Chart, Section, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.record import Run

SHOWN = 30
_TABLE = 10
_WIDTH, _HEIGHT, _LEFT, _STEP = 440, 130, 38, 13
_OUTCOMES = {"good": "blue", "incomplete": "orange", "failed": "red", "stopped": "red", "killed": "red"}


def nights_section(runs: Sequence[Run]) -> tuple[Section, str]:
    """Return the section of the last nights, and the SVG of its chart."""
    nights = [run for run in runs if run.kind == NIGHT][-SHOWN:]
    ended = {name: sum(run.verdict == name for run in nights) for name in _OUTCOMES}
    counts = ", ".join(f"{number} {name}" for name, number in ended.items() if number)
    slowest = max((run.seconds for run in nights), default=0)
    chart = Chart(
        "nights",
        "nights",
        "Seconds of a night",
        f"Bars of the run times of the last {len(nights)} nights: {counts}; the longest took {slowest:,.0f} seconds.",
        (),
        [(colour, name) for name, colour in _OUTCOMES.items() if ended[name]],
    )
    rows = [
        (_moment(run), run.verdict, _duration(run.seconds), "yes" if run.is_new else "no", _landed(run))
        for run in reversed(nights)
    ]
    table = Table(
        "Last nights",
        ("ended (UTC)", "outcome", "took", "released", "accepted"),
        rows[:_TABLE],
        frozenset({2}),
        len(rows),
        "data/runs",
        is_folded=True,
    )
    return Section("nights", f"Last {len(nights)} nights", (chart, table)), _svg(nights)


def _svg(nights: Sequence[Run]) -> str:
    """Return bars, newest at the right; failed ones have a cross below, so that colour is not needed."""
    top = max((run.seconds for run in nights), default=1) or 1
    parts = []
    for place in range(4):
        y, value = _HEIGHT - 25 - place * (_HEIGHT - 40) / 3, top * place / 3
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 6}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--line)"/>'
            f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{_tick(value, top)}</text>'
        )
    first = _WIDTH - 6 - _STEP * SHOWN
    for place, run in enumerate(nights, SHOWN - len(nights)):
        how, x = run.verdict, first + place * _STEP + 1
        height = max(run.seconds / top * (_HEIGHT - 40), 1.5)
        parts.append(
            f'<rect x="{x}" y="{_HEIGHT - 25 - height:.1f}" width="{_STEP - 3}" height="{height:.1f}" '
            f'fill="var(--{_OUTCOMES[how]})"/>'
        )
        if _OUTCOMES[how] == "red":
            parts.append(f'<text x="{x + 5}" y="{_HEIGHT - 14}" text-anchor="middle">×</text>')
        day = run.ended_at or run.started_at
        if (SHOWN - place) % 7 == 1:
            parts.append(f'<text x="{x + _STEP - 3}" y="{_HEIGHT - 3}" text-anchor="end">{day:%-d %b}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="11" fill="var(--soft)">{"".join(parts)}</svg>'
    )


def _tick(seconds: float, top: float) -> str:
    return f"{seconds:.1f}" if top < 10 else f"{seconds:,.0f}"


def _moment(run: Run) -> str:
    return f"{run.ended_at or run.started_at:%Y-%m-%d %H:%M}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def _landed(run: Run) -> str:
    found = {kind: verdicts.get("accepted", 0) for kind, verdicts in run.landed.items()}
    return ", ".join(f"{number:,} {kind}" for kind, number in found.items() if number) or "nothing new"
