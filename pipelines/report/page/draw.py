"""Draw charts: read them as JSON from standard input, write each one's SVG as JSON. A program of its own.

Altair and the renderer, which is a JavaScript engine, need a second and 100 MB: they have them in a process that ends.
Charts are pictures; the exact amounts are in the tables beside them. Imports nothing of the project.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
from typing import Any

import altair as alt
import vl_convert

WIDTH = 440  # of a whole chart, its labels included
_INK, _SOFT, _LINE, _BLUE, _ORANGE, _RED = "#1b2430", "#5a6573", "#d5dbe3", "#0072b2", "#e69f00", "#d55e00"
_FONT = "Helvetica, Arial, sans-serif"
# The page's policy forbids styles of elements; roles inside an image mean nothing.
_UNWANTED = re.compile(r' (?:style|role|aria-[a-z]+)="[^"]*"')
_SHORT_DAY = "utcFormat(toDate(datum.value), '%-d %b')"


def sales(rows: list[dict[str, Any]]) -> Any:
    """Return bars of a day's sales, with a tick for the same weekday four weeks before."""
    base = alt.Chart(_data(rows), width=WIDTH, height=150)
    x = alt.X("day:O", axis=_days(rows), title=None)
    axis = alt.Axis(format="~s", tickCount=4, domain=False, ticks=False)
    bars = base.mark_bar(color=_BLUE).encode(x=x, y=alt.Y("now:Q", axis=axis, title=None))
    ticks = base.mark_tick(color=_INK, thickness=2, width=11, orient="horizontal").encode(x=x, y="before:Q")
    return bars + ticks


def coverage(rows: list[dict[str, Any]]) -> Any:
    """Return a heat map of known order ids by store and day, with a dot where ids are open."""
    stores = list(dict.fromkeys(row["store"] for row in rows))
    days = sorted({row["day"] for row in rows})
    axis = alt.Axis(labelLimit=140, domain=False, ticks=False, title=None)
    x = alt.X("day:O", axis=_days(rows), scale=alt.Scale(domain=days), title=None)
    y = alt.Y("store:N", sort=stores, axis=axis)
    # Without the darkest part, which a dark page has for days without an order.
    scale = alt.Scale(scheme=alt.SchemeParams(name="viridis", extent=[0.2, 1]))
    colour = alt.Color("ids:Q", scale=scale, legend=None)
    base = alt.Chart(_data(rows), width=WIDTH, height=alt.Step(14))
    cells = base.transform_filter("datum.ids > 0").mark_rect().encode(x=x, y=y, color=colour)
    dots = base.transform_filter("datum.open > 0").mark_circle(color=_RED, size=46, stroke="white", strokeWidth=1)
    return cells + dots.encode(x=x, y=y)


def reasons(rows: list[dict[str, Any]]) -> Any:
    """Return bars of counts by reason, longest first."""
    axis = alt.Axis(labelLimit=200, domain=False, ticks=False, title=None)
    y = alt.Y("reason:N", sort=[row["reason"] for row in rows], axis=axis)
    x = alt.X("count:Q", axis=alt.Axis(format=",d", tickCount=4, tickMinStep=1, domain=False, ticks=False), title=None)
    return alt.Chart(_data(rows), width=WIDTH, height=alt.Step(20)).mark_bar(color=_ORANGE).encode(x=x, y=y)


def waterfall(rows: list[dict[str, Any]]) -> Any:
    """Return a waterfall: each step from where the one before ended; sums begin at zero."""
    axis = alt.Axis(labelLimit=240, domain=False, ticks=False, title=None, labelColor=_INK)
    y = alt.Y("label:N", sort=[row["label"] for row in rows], axis=axis)
    x = alt.X("start:Q", axis=alt.Axis(format="~s", tickCount=4, domain=False, ticks=False), title=None)
    colours = alt.Scale(domain=["sum", "up", "down", "break"], range=[_SOFT, _BLUE, _ORANGE, _RED])
    colour = alt.Color("kind:N", scale=colours, legend=None)
    stroke = alt.Stroke("kind:N", scale=colours, legend=None)  # a step too small to see keeps a line
    chart = alt.Chart(_data(rows), width=WIDTH, height=alt.Step(22))
    return chart.mark_bar(strokeWidth=1).encode(x=x, x2="end:Q", y=y, color=colour, stroke=stroke)


_KINDS = {"sales": sales, "coverage": coverage, "reasons": reasons, "waterfall": waterfall}


def svg(kind: str, rows: list[dict[str, Any]]) -> str:
    """Return a chart as SVG without styles of its own."""
    chart = _KINDS[kind](rows).configure(
        aria=False,
        background="transparent",
        font=_FONT,
        padding={"left": 22, "right": 4, "top": 4, "bottom": 2},
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(labelColor=_SOFT, titleColor=_SOFT, gridColor=_LINE, domainColor=_LINE, labelFontSize=11),
        scale=alt.ScaleConfig(bandPaddingInner=0.12),
    )
    return _UNWANTED.sub("", vl_convert.vegalite_to_svg(chart.to_dict(validate=False), vl_version="6.4"))


def _data(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _days(rows: list[dict[str, Any]]) -> Any:
    """Return an axis of days on which Mondays are named."""
    mondays = sorted({row["day"] for row in rows if dt.date.fromisoformat(row["day"]).weekday() == 0})
    return alt.Axis(values=mondays, labelExpr=_SHORT_DAY, labelAngle=0, ticks=False)


if __name__ == "__main__":
    json.dump({chart["name"]: svg(chart["kind"], chart["rows"]) for chart in json.load(sys.stdin)}, sys.stdout)
