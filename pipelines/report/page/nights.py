"""Facts of the last nights for the morning page: how long each took and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.record import NIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.record import Run

SHOWN = 30
_COLOURS = {"good": "blue", "incomplete": "orange", "failed": "red", "stopped": "red", "killed": "red"}


def nights_facts(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the last nights, oldest first, and how many ended in which way."""
    nights = [_night(run) for run in runs if run.kind == NIGHT][-SHOWN:]
    for place, night in enumerate(reversed(nights)):
        night["name"] = f"{night['ended_at']:%-d %b}" if place % 7 == 0 else ""
    counts = {name: sum(night["outcome"] == name for night in nights) for name in _COLOURS}
    return {
        "nights": nights,
        "ended": ", ".join(f"{number} {name}" for name, number in counts.items() if number),
        "legend": [(_COLOURS[name], name) for name, number in counts.items() if number],
        "slowest": max((night["value"] for night in nights), default=0),
    }


def _night(run: Run) -> dict[str, Any]:
    accepted = {kind: verdicts.get("accepted", 0) for kind, verdicts in run.landed.items()}
    return {
        "ended_at": run.ended_at or run.started_at,
        "outcome": run.verdict,
        "value": run.seconds,
        "before": None,
        "took": f"{run.seconds:.1f} s" if run.seconds < 60 else f"{run.seconds // 60:.0f} min {run.seconds % 60:.0f} s",
        "is_new": run.is_new,
        "accepted": ", ".join(f"{number:,} {kind}" for kind, number in accepted.items() if number) or "nothing new",
        "colour": _COLOURS[run.verdict],
        "mark": "×" if _COLOURS[run.verdict] == "red" else "",  # so that colour is not needed
    }
