"""mart.settlement_rates: a rate is in force only where the lines of its days agree."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.sql.test_settlement_pairs import ROW

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def lines(first: int, days: range, rate: str, **more: Any) -> list[dict[str, Any]]:
    """Return a line on each day: items of another amount each, and the commission that the rate comes to."""
    made = []
    for place, day in enumerate(days):
        items = Decimal(1000 + 137 * (first + place) % 1500) / 100
        commission = (items * Decimal(rate)).quantize(Decimal("0.01"))
        bases = [items + 2 + place % 3, items, items - 1]
        made.append(
            ROW
            | {"settlement_no": first + place, "sold_on": f"2026-10-{day:02d}", "gross_amount": bases[0]}
            | {"commission_bases": bases, "commission_amount": commission}
            | more
        )
    return made


def rates(run_table: Run, *rows: dict[str, Any], given: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Return days, base, rate, whether it is in force, and the lines that agree and do not."""
    names = ("from_date", "to_date", "base", "rate", "is_in_force", "agreeing_count", "exception_count")
    lines_of = run_table("workings.settlement_commissions", {"workings.settlement_rows": list(rows)} | (given or {}))
    found = run_table("mart.settlement_rates", {"workings.settlement_commissions": lines_of})
    return [(*(row[name].day for name in names[:2]), *(row[name] for name in names[2:])) for row in found]


def test_a_change_is_found_on_its_day(run_table: Run) -> None:
    """Two rates of items, one after the other; 15.25% is one, too; a store without commission has none."""
    found = rates(run_table, *lines(2, range(1, 11), "0.1525"), *lines(20, range(11, 21), "0.18"))
    assert found == [
        (1, 10, "items", Decimal("0.1525"), True, 10, 0),
        (11, 20, "items", Decimal("0.18"), True, 10, 0),
    ]
    assert rates(run_table, *lines(2, range(1, 11), "0")) == []


def test_exceptions_are_few_or_no_rate_is_in_force(run_table: Run) -> None:
    """One of ten charged another share is an exception; two rates that are used side by side are both in force."""
    good = lines(2, range(1, 20), "0.15")
    wrong = lines(30, range(12, 13), "0.2")
    assert rates(run_table, *good, *wrong) == [(1, 19, "items", Decimal("0.15"), True, 19, 1)]
    both = rates(run_table, *good, *lines(30, range(2, 19), "0.3"))
    assert both == [(1, 19, "items", Decimal("0.15"), True, 36, 0)]
    assert rates(run_table, *lines(2, range(1, 3), "0.15")) == []


def test_the_base_is_what_the_lines_agree_with(run_table: Run) -> None:
    """A share of gross is no share of items; if both are the same, it is one of gross."""
    of_gross = [
        row | {"commission_amount": (row["gross_amount"] * Decimal("0.3")).quantize(Decimal("0.01"))}
        for row in lines(2, range(1, 11), "0")
    ]
    assert rates(run_table, *of_gross)[0][2:4] == ("gross", Decimal("0.3"))
    alike = [row | {"commission_bases": [row["commission_bases"][1]] * 3} for row in lines(2, range(1, 11), "0.3")]
    assert rates(run_table, *alike)[0][2:4] == ("gross", Decimal("0.3"))
