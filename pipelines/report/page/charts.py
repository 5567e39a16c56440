"""Have charts drawn by `draw.py`, in the colours of the page's style; what cannot be drawn is absent.

Drawings are kept beside the history of runs: a chart is drawn again where its rows changed, and by a run for webhooks
once an hour, because drawing takes it longer than all it changes; until then the chart says when it was drawn.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.durable import write_whole
from pipelines.kept import fingerprint
from pipelines.report.page.markup import paragraph
from pipelines.report.page.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.report.page.markup import Chart

_PROGRAM = Path(__file__).with_name("draw.py")
_SECONDS = 300
_OLD = dt.timedelta(hours=1)
_SINCE = "Drawn at {:%H:%M} UTC; the table has the figures of this release."
_COLOUR = re.compile(r'(fill|stroke)="(#[0-9a-fA-F]{6})"')


class Drawing(msgspec.Struct, frozen=True):
    """A chart as it was drawn: of what, from which rows, and when."""

    subject: str
    rows: str
    drawn_at: dt.datetime
    svg: str


def drawn(
    charts: Sequence[Chart], kept: Path, now: dt.datetime, *, is_small: bool = False
) -> tuple[Mapping[str, str], bool]:
    """Return the SVG of each chart by its name as far as it can be drawn, and whether all are drawn from their rows.

    `kept` is the file of the last drawings, `is_small` a run for webhooks.
    """
    last, wanted = _last(kept), {chart.name: _undrawn(chart, now) for chart in charts}
    found = {
        name: last[name]
        for name, each in wanted.items()
        if name in last
        and last[name].subject == each.subject
        and (last[name].rows == each.rows or (is_small and abs(now - last[name].drawn_at) < _OLD))
    }
    fresh = draw([chart for chart in charts if chart.name not in found])
    found |= {name: msgspec.structs.replace(wanted[name], svg=svg) for name, svg in fresh.items()}
    if fresh:
        write_whole(kept, msgspec.json.encode(found))
    old = {name for name, each in found.items() if each.rows != wanted[name].rows}
    shown = {
        name: each.svg + (paragraph(_SINCE.format(each.drawn_at), "soft") if name in old else "")
        for name, each in found.items()
    }
    return shown, len(shown) == len(charts) and not old


def _last(kept: Path) -> dict[str, Drawing]:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(kept.read_bytes(), type=dict[str, Drawing])
    return {}


def _undrawn(chart: Chart, now: dt.datetime) -> Drawing:
    """Return what a chart is to be drawn from, without its SVG."""
    rows = json.dumps(list(chart.rows), default=_number)
    return Drawing(fingerprint(chart.kind, chart.title, _code()), fingerprint(rows), now, "")


@functools.cache
def _code() -> str:
    return fingerprint(*sorted(Path(__file__).parent.glob("*.py")))


def draw(charts: Sequence[Chart]) -> Mapping[str, str]:
    """Return the SVG of each chart by its name, {} if none could be drawn; raise nothing."""
    if not charts:
        return {}
    asked = [{"name": chart.name, "kind": chart.kind, "rows": list(chart.rows)} for chart in charts]
    try:
        done = subprocess.run(  # noqa: S603 -- a program of this package
            [sys.executable, "-P", str(_PROGRAM)],
            input=json.dumps(asked, default=_number).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return {name: _COLOUR.sub(_variable, svg) for name, svg in found.items()}


def _variable(match: re.Match[str]) -> str:
    attribute, colour = match.groups()
    name = COLOURS.get(colour.lower())
    return f'{attribute}="var(--{name})"' if name else match.group()


def _number(value: Any) -> float:
    if isinstance(value, Decimal):
        return float(value)  # a length on a screen
    raise TypeError(type(value).__name__)
