"""The amounts that an order states, in one list: documents, tables, formula, ledger and reports read it.

A line of SQL that names `$price` stands for as many lines, one for each amount, and one that names `$optional` for
those alone that the first release did not know: with `$label`, or with `${sign}` of those that the total counts, and
`$no`. `$prices` in brackets are the names of all, as texts. A line `$closes_of days` stands for the joins of
`sql/templates/closes_of.sql`: what closed the store's day of each row of `days`.
"""

from __future__ import annotations

import re
from string import Template
from textwrap import indent
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipelines.resources import resource

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "0.1.0"


class Charge(NamedTuple):
    """An amount of an order that may be part of its total.

    Of those of the first release the orders show how often the total counts them, and one that is null is unknown. An
    order may lack a later one: null adds nothing then, and the total counts it as its sign says.
    """

    name: str
    label: str
    sign: Literal[1, -1]  # how often it counts in the total, as far as is known
    part_of: Literal["total", ""] = "total"  # "": stated, but no part of the total
    since: str = FIRST  # the release that knows it first


CHARGES = (
    Charge("subtotal_price", "subtotal", 1),
    Charge("delivery_price", "delivery", 1),
    Charge("tip", "tip", 1),
    Charge("discount", "discount", -1),
    Charge("loyalty_discount", "loyalty discount", -1),
)
TOTAL = "total_price"
OPTIONAL = tuple(charge for charge in CHARGES if charge.since != FIRST)
PRICES = (*(charge.name for charge in CHARGES), TOTAL)
REQUIRED_PRICES = tuple(name for name in PRICES if name not in {charge.name for charge in OPTIONAL})
_PRICE = re.compile(r"\$price\b")
_CLOSES = re.compile(r"^(?P<indent> *)\$closes_of (?P<of>\w+)(?: in (?P<closes>[\w.]+))?$", re.MULTILINE)
_LIST = re.compile(r"\((?P<before>[^()]*)\$prices(?P<after>[^()]*)\)")


def read_sql(path: Path) -> str:
    """Return the text of a file of sql/, as it is run: with a line for each amount, and the joins of closes."""
    return expanded(path.read_text(encoding="utf-8"))


def expanded(sql: str) -> str:
    """Return a text of SQL with what its lines that name `$price`, `$optional` or `$closes_of` stand for."""
    if "$" not in sql:
        return sql
    lines: list[str] = []
    for line in _LIST.sub(_with_prices, _CLOSES.sub(_joins, sql)).split("\n"):
        if _PRICE.search(line):
            lines += [_PRICE.sub(name, line) for name in PRICES]
        elif "$optional" in line or "${optional}" in line:
            for number, charge in enumerate(OPTIONAL, 1):
                if charge.part_of or "${sign}" not in line:
                    sign = "-" if charge.sign < 0 else ""
                    lines.append(
                        Template(line).substitute(optional=charge.name, label=charge.label, sign=sign, no=1000 + number)
                    )
        else:
            lines.append(line)
    return "\n".join(lines)


def _joins(found: re.Match[str]) -> str:
    template = (resource("sql") / "templates" / "closes_of.sql").read_text(encoding="utf-8")
    closes = found["closes"] or "raw.day_closes"
    return indent(Template(template.rstrip("\n")).substitute(of=found["of"], closes=closes), found["indent"])


def _with_prices(found: re.Match[str]) -> str:
    """Return a list of words with the amounts among them, in the order of the alphabet."""
    words = [*re.findall(r"'[^']*'", found["before"] + found["after"]), *(f"'{name}'" for name in PRICES)]
    return f"({', '.join(sorted(words))})"
