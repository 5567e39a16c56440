"""The amounts that an order states, in one list: documents, tables, formula, ledger and reports read it.

A line of SQL that names `$price` stands for as many lines, one for each amount, and one that names `$optional` for
those alone that the first release did not know: with `$label`, or with `${sign}` of those that the total counts, and
`$no`. `$prices` in brackets are the names of all, as texts.
"""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING, Literal, NamedTuple

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
_LIST = re.compile(r"\((?P<before>[^()]*)\$prices(?P<after>[^()]*)\)")


def read_sql(path: Path) -> str:
    """Return the text of a file of sql/, with a line for each amount where it names `$price` or `$optional`."""
    return expanded(path.read_text(encoding="utf-8"))


def expanded(sql: str) -> str:
    """Return a text of SQL with a line for each amount where it names `$price` or `$optional`."""
    if "$" not in sql:
        return sql
    lines: list[str] = []
    for line in _LIST.sub(_with_prices, sql).split("\n"):
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


def _with_prices(found: re.Match[str]) -> str:
    """Return a list of words with the amounts among them, in the order of the alphabet."""
    words = [*re.findall(r"'[^']*'", found["before"] + found["after"]), *(f"'{name}'" for name in PRICES)]
    return f"({', '.join(sorted(words))})"
