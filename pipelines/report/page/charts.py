"""Have charts drawn by `draw.py`, in the colours of the page's style; what cannot be drawn is absent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.report.page.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.report.page.markup import Chart

_PROGRAM = Path(__file__).with_name("draw.py")
_SECONDS = 300
_COLOUR = re.compile(r'(fill|stroke)="(#[0-9a-fA-F]{6})"')


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
