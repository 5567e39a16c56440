"""sql/examples/: answers on given rows, where running the query on a release would not show a wrong one."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = "2026-10-06"


def counted(order_id: int, **more: Any) -> dict[str, Any]:
    """Return a row of mart.orders or of a mart of its lines: counted, of one day, in EUR."""
    return {"order_id": order_id, "sale_class": "counted", "business_date": DAY, "currency": "EUR"} | more


def test_promised_against_requested_across_a_clock_change_is_of_instants(run_example: Run) -> None:
    """45 minutes are 45 minutes while clocks go back an hour; a minute that has begun does not count."""
    times = [
        (1, "2026-10-25T00:30:00Z", "2026-10-25T01:15:00Z"),
        (2, "2026-10-25T00:30:40Z", "2026-10-25T01:15:30Z"),
    ]
    orders = [
        counted(number, store_id=number, requested_time=requested, promised_delivery_time=promised)
        | {"requested_time_local": "2026-10-25 02:30", "promised_delivery_time_local": "2026-10-25 02:15"}
        for number, requested, promised in times
    ]
    rows = run_example("promised_against_requested", {"mart.orders": orders})
    assert [(row["store_id"], row["median_minutes"]) for row in rows] == [(1, 45), (2, 44)]


def test_pairs_of_products_are_of_the_last_28_days_of_the_data(run_example: Run) -> None:
    """The window ends with the last business day, not today: years later the answer is the same."""
    sold = [(1, "2020-01-29"), (2, "2020-01-02"), (3, "2020-01-01")]
    lines = [counted(of, line_no=no, product_id=no, business_date=date) for of, date in sold for no in (1, 2)]
    rows = run_example("pairs_of_products", {"mart.order_lines": lines})
    assert [tuple(row.values()) for row in rows] == [(1, 2, 2)]


def test_price_variances_of_unknown_size_are_listed_last(run_example: Run) -> None:
    """A price that matches no menu price has a row, whichever variance is unknown, a modifier's too."""
    variances = [("neither", 1, None), ("neither", None, 3), ("neither", -2, 3), ("delivery_price", 2, 0)]
    given = [
        counted(number, line_no=1, price_match=match, price_variance=price, delivery_price_variance=delivery)
        for number, (match, price, delivery) in enumerate(variances)
    ]
    given[0] |= {"modifier_no": 1}
    rows = run_example("price_variances", {"mart.orders": [counted(1)], "mart.price_variances": given})
    assert [(row["order_id"], row["modifier_no"]) for row in rows] == [(2, None), (0, 1), (1, None)]


def test_price_variances_rank_within_their_currency(run_example: Run) -> None:
    """A variance of 5 USD is not hidden behind 20 larger ones in JPY, and every row names its currency."""
    given = [
        counted(
            number,
            line_no=1,
            price_match="neither",
            currency="USD" if number == 30 else "JPY",
            price_variance=5 if number == 30 else 100 + number,
        )
        for number in range(1, 31)
    ]
    rows = run_example("price_variances", {"mart.orders": [counted(1)], "mart.price_variances": given})
    assert [(row["order_id"], row["currency"]) for row in rows] == [
        *((number, "JPY") for number in range(29, 9, -1)),
        (30, "USD"),
    ]


def test_new_and_returning_follow_the_first_order(run_example: Run) -> None:
    """A customer's first order may be no sale: later sales are of one who returns; without a key it is unknown."""
    orders = [
        counted(1, customer_key="c", is_first_order=True, sale_class="excluded"),
        counted(2, customer_key="c", is_first_order=False),
        counted(3, customer_key="c", is_first_order=False),
        counted(4),
    ]
    orders += [counted(5, customer_key="d", is_first_order=True)]
    rows = run_example("new_and_returning", {"mart.orders": orders})
    assert [tuple(row.values())[1:] for row in rows] == [("EUR", 1, 2, 1)]


def test_modifiers_sold_count_lines_once(run_example: Run) -> None:
    """A modifier twice on one line is on one line, with both amounts."""
    places = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)]
    given = [counted(of, line_no=line, modifier_no=no, modifier_id=7, modifier_amount="0.5") for of, line, no in places]
    rows = run_example("modifiers_sold", {"mart.order_line_modifiers": given})
    assert [(row["line_count"], row["modifier_amount"]) for row in rows] == [(3, Decimal(2))]


def test_top_products_are_of_each_stores_last_day_that_is_over(run_example: Run) -> None:
    """Neither a day that goes on, nor one without sales, nor a later day of another store hides a store's last one."""
    days = [(1, "2026-10-05", True, 1), (1, "2026-10-06", False, 1), (2, "2026-10-03", True, 1)]
    days += [(2, "2026-10-04", True, 0)]
    calendar = [
        {"store_id": store, "business_date": date, "is_day_over": over, "counted_order_count": orders}
        for store, date, over, orders in days
    ]
    mix = [
        {"store_id": store, "business_date": date, "sale_class": "counted", "product_id": 5, "unit_count": 1}
        for store, date, _, orders in [*days, (2, "2026-10-02", True, 1)]
        if orders
    ]
    rows = run_example("top_products_of_a_day", {"mart.product_mix": mix, "mart.calendar": calendar})
    assert [(row["store_id"], str(row["business_date"])) for row in rows] == [(1, "2026-10-05"), (2, "2026-10-03")]
