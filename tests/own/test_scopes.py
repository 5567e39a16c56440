"""A scope is refused, with the reason, where rows could come of several days or orders."""

from __future__ import annotations

import pytest

from pipelines.warehouse.contracts import CatalogueError
from pipelines.warehouse.own import read_model

ORDERS = "from mart.orders"
BY_DAY = f"select business_date, count(*) as n {ORDERS} group by business_date"
LINES = "from core.order_lines as l inner join mart.orders as o using (order_id)"
ALLOWED = {
    "day": (
        BY_DAY,
        f"{BY_DAY} union all {BY_DAY}",
        f"select business_date, row_number() over (partition by business_date order by order_id) as n {ORDERS}",
        f"with days as ({BY_DAY}) select business_date, n from days where n > 1",
        f"select o.business_date, sum(l.quantity) as n {LINES} group by o.business_date",
        "select o.business_date, s.name as n from mart.orders as o left join core.stores as s using (store_id)",
    ),
    "order": (
        f"select l.order_id, count(*) as n {LINES} group by l.order_id",
        f"select order_id, total_price {ORDERS} where total_price > 1",
    ),
}
REFUSED = (
    ("day", f"select count(*) as n {ORDERS}", "does not give business_date by name"),
    ("day", f"select business_date + 1 as business_date {ORDERS}", "does not give business_date by name"),
    ("day", f"select business_date, sum(total_price) over () as n {ORDERS}", "a window is not partitioned"),
    ("day", f"select business_date, 1 as n {ORDERS} order by business_date limit 5", "has a limit"),
    ("day", f"select distinct on (store_id) business_date {ORDERS}", "distinct on"),
    ("day", f"{BY_DAY} union {BY_DAY}", "only union all"),
    ("day", f"select business_date, (select count(*) {ORDERS}) as n {ORDERS}", "a subquery in an expression"),
    ("day", "select a.business_date from mart.orders as a join mart.orders as b using (store_id)", "a join is not on"),
    ("day", f"select max(business_date) as business_date {ORDERS} group by store_id", "does not give business_date"),
    ("day", f"select business_date from (select last_day(business_date) as business_date {ORDERS})", "another value"),
    ("day", f"select business_date, count(*) as n {ORDERS} group by rollup (business_date)", "without grouping"),
    ("order", f"select order_id from (select store_id, sum(tip) as tip {ORDERS} group by store_id)", "without"),
    ("order", BY_DAY, "does not give order_id by name"),
)  # fmt: skip


def model(scope: str, sql: str) -> str:
    """Return the scope of a model of this select."""
    return read_model("own.a", f"-- One row.\n--\n-- scope: {scope}\n{sql}").head.scope


@pytest.mark.parametrize("scope", ALLOWED)
def test_scope_that_a_select_permits(scope: str) -> None:
    """Groups, windows, joins and parts that keep days or orders apart, and what has none."""
    assert {model(scope, sql) for sql in ALLOWED[scope]} == {scope}


@pytest.mark.parametrize(("scope", "sql", "why"), REFUSED)
def test_scope_that_a_select_does_not_permit(scope: str, sql: str, why: str) -> None:
    """The reason is named."""
    with pytest.raises(CatalogueError, match=f"scope {scope} is not possible, leave it out: .*{why}"):
        model(scope, sql)
