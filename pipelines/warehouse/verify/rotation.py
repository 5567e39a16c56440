"""Choose what to verify next: the parts of a warehouse that follow those that were proven last.

Orders go by ranges of ids without gaps between them, so that an order that the warehouse lost lies in one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from pipelines.literals import literal

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence
    from fractions import Fraction
    from pathlib import Path

    from pipelines.warehouse.inputs.sources import Verified

PIECE = 20_000  # orders that are verified at once: finished pieces stay done
_LEAST, _MOST = -(2**63), 2**63 - 1


class Part(NamedTuple):
    """A part to verify: orders of a range of ids, the orders of a day, or stores and menus."""

    part: str
    first: int | None = None
    last: int | None = None
    day: dt.date | None = None


def next_parts(file: Path, log: Sequence[Verified], fraction: Fraction) -> Iterator[Part]:
    """Yield the parts of a warehouse that follow the last proven ones in the log.

    Stores and menus come first whenever the rotation begins again.
    """
    log = [each for each in log if each.is_proven]
    last = next((each.last_order_id for each in reversed(log) if each.part == "orders"), None)
    after = _LEAST if last is None or last == _MOST else last + 1
    if after == _LEAST:
        yield Part("entities")
    days = business_days(file)
    last_day = next((each.business_date for each in reversed(log) if each.part == "day"), None)
    later = [day for day in days if last_day is None or day > last_day] or days
    yield from _interleaved(
        [Part("orders", first, end) for first, end in _ranges(file, fraction, after)],
        [Part("day", day=day) for day in later[: -(-len(days) * fraction.numerator // fraction.denominator)]],
    )


def _interleaved(one: list[Part], other: list[Part]) -> Iterator[Part]:
    for place in range(max(len(one), len(other))):
        yield from (*one[place : place + 1], *other[place : place + 1])


def _ranges(file: Path, fraction: Fraction, after: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of order ids that hold, together, the next fraction of the orders; the last one has no end."""
    with _reading(file) as con:
        row = con.execute("select count(*) from warehouse.core.orders").fetchone()
        wanted = max(1, -(-int(row[0] if row else 0) * fraction.numerator // fraction.denominator))
        while wanted > 0:
            size = min(wanted, PIECE)
            row = con.execute(
                f"""
                select count(*), max(order_id) from (
                    select order_id from warehouse.core.orders where order_id >= {after} order by order_id limit {size}
                )
                """
            ).fetchone()
            found, end = row or (0, None)
            more = con.execute(
                f"select 1 from warehouse.core.orders where order_id > {end or _MOST} limit 1"
            ).fetchone()
            if found < size or more is None:
                yield after, _MOST
                return
            yield after, end
            after, wanted = end + 1, wanted - size


def business_days(file: Path) -> list[dt.date]:
    """Return the business days that have orders, in order."""
    with _reading(file) as con:
        rows = con.execute(
            "select distinct business_date from warehouse.mart.orders where business_date is not null order by all"
        ).fetchall()
    return [row[0] for row in rows]


@contextmanager
def _reading(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as con:
        con.execute(f"attach {literal(file)} as warehouse (read_only)")
        yield con
