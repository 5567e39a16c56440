"""The morning page and the page of a reconciliation: self-contained HTML without scripts, rendered from templates.

Untrusted text is escaped; the policy of a page allows one style, no script and no request.
"""

import base64
import functools
import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipelines.finance.reconciliation import describe_total
from pipelines.finance.released import NOT_STATED, measure_text, money
from pipelines.landing.shape import currency_decimals
from pipelines.literals import one_line as plain
from pipelines.report.text import counted, fitted, width

_LONGEST = 600  # characters of a cell
_DAY = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?")
# Viridis without its darkest fifth, which a dark page has for days without an order.
_VIRIDIS = (
    "#414487 #3b528b #355f8d #2f6c8e #2a788e #25848e #21918c #1e9c89 #22a884 #2fb47c #44bf70 #5ec962 #7ad151 #9bd93c "
    "#bddf26 #dfe318 #fde725"
).split()
_TICKS = 4


def render(name: str, **facts: Any) -> str:
    """Return the page of a template, filled with facts."""
    return _environment().get_template(name).render(facts)


@functools.cache
def _environment() -> Environment:
    folder = Path(__file__).parent
    loader, strict = FileSystemLoader(folder), StrictUndefined
    made = Environment(loader=loader, autoescape=True, undefined=strict, trim_blocks=True, lstrip_blocks=True)
    made.finalize = lambda value: value if isinstance(value, Markup) else plain(value)
    style = (folder / "style.css").read_text(encoding="utf-8")
    made.globals |= {
        "style": Markup(style),  # noqa: S704 -- our own file
        "style_hash": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "scale": scale,
        "NOT_STATED": NOT_STATED,
    }
    made.filters |= {
        "cell": _cell,
        "change": lambda part: f"{part:+.1%}",
        "colour_of_share": lambda share: _VIRIDIS[min(int(share * len(_VIRIDIS)), len(_VIRIDIS) - 1)],
        "counted": lambda number, noun: counted(number, noun, f"{noun}s"),
        "describe_total": describe_total,
        "fitted": lambda text, columns: fitted(plain(text), columns).strip(),
        "measure_text": measure_text,
        "minute": lambda at: f"{at:%Y-%m-%d %H:%M}",
        "money": money,
        "rounded_money": lambda amount, currency: (
            money(round(amount, currency_decimals(currency)), currency) if amount else None
        ),
        "number": lambda number: f"{number:,}",
        "share": lambda part, decimals=1: f"{part:.{decimals}%}",
        "text_width": lambda labels: max((width(plain(label)) for label in labels), default=0),
        "words": lambda text: text.replace("_", " "),
    }
    made.tests["match_start"] = lambda text, start: str(text).startswith(start)
    made.tests["day"] = lambda value: _DAY.fullmatch(str(value)) is not None
    return made


def _cell(value: object) -> str:
    shown = "–" if value is None else str(value)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


@dataclass(frozen=True)
class Scale:
    """The numbers of an axis from `low` to `high`, both a tick."""

    low: float
    high: float
    step: float

    def share(self, value: Any) -> float:
        """Return where a number is between the ends of the axis, 0 to 1."""
        return (float(value) - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The place of each tick and its label."""
        values = [self.low + place * self.step for place in range(round((self.high - self.low) / self.step) + 1)]
        return [(self.share(value), _short(value)) for value in values]


def scale(values: Iterable[Any]) -> Scale:
    """Return an axis that has zero and all values, with about four ticks at 1, 2 or 5 times a power of ten."""
    found = [0.0, *(float(value) for value in values if value is not None)]
    least, most = min(found), max(found)
    rough = (most - least) / _TICKS or 1
    power = 10 ** math.floor(math.log10(rough))
    step = power * next(size for size, above in ((10, 7.1), (5, 3.2), (2, 1.5), (1, 0)) if rough / power >= above)
    return Scale(math.floor(least / step) * step, math.ceil(most / step) * step or step, step)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
