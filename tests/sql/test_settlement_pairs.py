"""workings.settlement_pairs: which order a settlement names, by each rule; the rest is in tests/settlements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ORDER = {
    "order_id": 1,
    "store_id": 7,
    "platform": "web",
    "sale_class": "counted",
    "currency": "EUR",
    "total_price": "10",
    "created_at": "2026-10-01T10:00:00Z",
    "created_at_local": "2026-10-01 12:00",
}
ROW = {
    "entry_no": 1,
    "settlement_no": 2,
    "platform": "p",
    "statement_kind": "order",
    "order_ref": "1",
    "order_id": 1,
    "store_id": 7,
    "line_date": "2026-10-01",
    "last_line_date": "2026-10-01",
    "sold_on": "2026-10-01",
    "currency": "EUR",
    "settled_currency": "EUR",
    "gross_amount": 10,
    "refund_amount": 0,
    "cost_amount": 0,
    "net_amount": 10,
    "window_minutes": 60,
    "commission_bases": [10, 10, 10],
    "commission_amount": 0,
}


def states(run_table: Run, orders: list[dict[str, Any]], *rows: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return state and order of each pair."""
    pairs = run_table(
        "workings.settlement_pairs",
        {
            "workings.settlement_rows": [ROW | row for row in rows],
            "mart.orders": orders,
            "raw.settlement_statements": [
                {"entry_no": 1, "platform": "p", "order_platforms": ["web", "renamed"], "timezone": "store"}
            ],
        },
    )
    return [(pair["match_state"], pair["order_id"]) for pair in pairs]


def test_an_id_is_held_to_store_currency_platform_and_class(run_table: Run) -> None:
    """Of another store, currency or platform it is not ours; an order that is not counted is no sale."""
    assert states(run_table, [ORDER], {}) == [("matched", 1)]
    assert states(run_table, [ORDER | {"platform": "renamed"}], {}) == [("matched", 1)]
    for other in ({"store_id": 8}, {"currency": "USD"}, {"platform": "phone"}):
        assert states(run_table, [ORDER | other], {}) == [("not_ours", 1)], other
    assert states(run_table, [ORDER | {"sale_class": "excluded"}], {}) == [("not_a_sale", 1)]
    assert states(run_table, [ORDER], {"order_id": 5}) == []


def test_an_order_is_claimed_once(run_table: Run) -> None:
    """The earlier line claims it, whatever the order of rows; a refund claims nothing."""
    later = {"settlement_no": 3, "line_date": "2026-09-30"}
    assert states(run_table, [ORDER], {}, later) == [("settled_twice", 1), ("matched", 1)]
    refund = {"settlement_no": 3, "statement_kind": "refund", "gross_amount": 0, "refund_amount": -3}
    assert states(run_table, [ORDER], refund, {}) == [("matched", 1), ("matched", 1)]


def test_a_short_number_needs_store_and_day(run_table: Run) -> None:
    """The same number on another day is another order; two of a day are candidates."""
    short = {"order_id": None, "short_no": 1, "short_modulus": 5, "order_date": "2026-10-01"}
    orders = [ORDER, ORDER | {"order_id": 6, "created_at_local": "2026-10-02 12:00"}]
    assert states(run_table, orders, short) == [("matched", 1)]
    orders.append(ORDER | {"order_id": 11})
    assert states(run_table, orders, short) == [("one_of", 1), ("one_of", 11)]


def test_a_period_is_settled_if_all_of_it_is(run_table: Run) -> None:
    """Count and amount are the same, or it differs; a second statement of it settles it twice."""
    total = {
        "statement_kind": "total",
        "order_id": None,
        "order_ref": None,
        "gross_amount": 20,
        "stated_order_count": 2,
    }
    total |= {"period_from": "2026-10-01", "period_to": "2026-10-07"}
    orders = [ORDER, ORDER | {"order_id": 2}]
    assert states(run_table, orders, total) == [("group", 1), ("group", 2)]
    assert states(run_table, orders, total | {"gross_amount": "19.99"}) == [("differs", 1), ("differs", 2)]
    assert states(run_table, orders, total | {"stated_order_count": 3}) == [("differs", 1), ("differs", 2)]
    again = total | {"settlement_no": 3}
    assert states(run_table, orders, total, again) == [
        ("group", 1),
        ("group", 2),
        ("settled_twice", 1),
        ("settled_twice", 2),
    ]


def test_a_short_number_of_no_sale_is_said(run_table: Run) -> None:
    """A number that only a cancelled order has is no sale; beside a sale of the same number it is none of it."""
    short = {"order_id": None, "short_no": 1, "short_modulus": 5, "order_date": "2026-10-01"}
    cancelled = ORDER | {"sale_class": "excluded"}
    assert states(run_table, [cancelled], short) == [("not_a_sale", 1)]
    assert states(run_table, [cancelled], short | {"statement_kind": "refund"}) == [("not_a_sale", 1)]
    assert states(run_table, [cancelled, ORDER | {"order_id": 6}], short) == [("matched", 6)]
    assert states(run_table, [cancelled | {"created_at_local": "2026-10-02 12:00"}], short) == []


def test_a_row_may_complete_an_order(run_table: Run) -> None:
    """A later tip is of the order's match and settles nothing twice; without the order's row it claims the order."""
    tip = {"settlement_no": 3, "statement_kind": "addition", "line_date": "2026-09-20", "gross_amount": 1}
    assert states(run_table, [ORDER], tip, {}, tip | {"settlement_no": 4}) == [("matched", 1)] * 3
    assert states(run_table, [ORDER], tip) == [("matched", 1)]
    assert states(run_table, [ORDER], {}, tip, {"settlement_no": 5}) == [
        ("matched", 1),
        ("matched", 1),
        ("settled_twice", 1),
    ]
    first, rest = {"gross_amount": 9}, {"gross_amount": 1, "settlement_no": 3, "line_date": "2026-10-09"}
    short = {"order_id": None, "short_no": 1, "short_modulus": 5, "order_date": "2026-10-01"}
    for key in ({}, short):  # with the first it is the total, to the cent: no repeat
        assert states(run_table, [ORDER], first | key, rest | key) == [("matched", 1)] * 2
        again = rest | key | {"settlement_no": 4, "line_date": "2026-10-10"}
        assert states(run_table, [ORDER], first | key, again, rest | key).count(("settled_twice", 1)) == 1
        off = first | key | {"gross_amount": "8.99"}
        assert states(run_table, [ORDER], off, rest | key) == [("matched", 1), ("settled_twice", 1)]
    total = {"statement_kind": "total", "order_id": None, "order_ref": None, "gross_amount": 10}
    total |= {"period_from": "2026-10-01", "period_to": "2026-10-01"}
    assert sorted(states(run_table, [ORDER], total, tip)) == [("group", 1), ("settled_twice", 1)]


def test_a_time_that_occurs_twice_names_the_orders_of_both(run_table: Run) -> None:
    """02:45 when clocks go back: of two orders it is open; if only one of the hours has one, that is it."""
    timed = {"order_id": None, "order_ref": None, "ordered_at": "2026-10-25T00:45:00Z", "window_minutes": 10}
    timed |= {"ordered_at_else": "2026-10-25T01:45:00Z"}
    early, late = (
        ORDER | {"order_id": no, "created_at": f"2026-10-25T0{no}:45:00Z", "created_at_local": "2026-10-25 02:45"}
        for no in (0, 1)
    )
    assert states(run_table, [early, late], timed) == [("one_of", 0), ("one_of", 1)]
    assert states(run_table, [late], timed) == [("matched", 1)]
    assert states(run_table, [early], timed) == [("matched", 0)]
    assert states(run_table, [early, late], timed | {"ordered_at_else": None}) == [("matched", 0)]
