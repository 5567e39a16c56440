"""The exact amounts that forms give for orders: for those whose rounding or residual is asked for.

Reads the temporary tables facts (order_id, node) and leaves (node, and what its form does). Knows nothing of verdicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

_SUBTOTAL = """
    select
        facts.order_id,
        facts.node,
        facts.pattern_no,
        orders.subtotal_price as stated,
        smallest_unit(orders.currency, orders.subtotal_price) as unit,
        currency_digits(orders.currency) as digits,
        [0, -1, 1][leaves.parameters[6] + 1] * orders.discount as rest,
        coalesce(leaves.parameters[2], 0) = 1 as is_counted,
        leaves.parameters[3] = 0 as is_per_unit,
        cast(lines.quantity as decimal(18, 0)) as quantity,
        case leaves.parameters[5] when 1 then 0 when 2 then -1 else 1 end as sign,
        if(leaves.parameters[4] = 1, lines.add_once, lines.add_own)
            + sign * if(leaves.parameters[4] = 1, lines.other_once, lines.other_own) as added,
        -- what is counted for each unit, and what once for the line
        cast(if(leaves.parameters[1] = 0, lines.price, 0) as decimal(38, 4))
            + if(is_counted and is_per_unit, added, 0) as per_unit,
        cast(if(leaves.parameters[1] = 1, lines.price, 0) as decimal(38, 4))
            + if(is_counted and not is_per_unit, added, 0) as per_line,
        leaves.parameters[1] = 0 and not (is_counted and not is_per_unit) as is_by_unit
    from facts
    inner join leaves on facts.node = leaves.node
    inner join wanted on facts.order_id = wanted.order_id
    inner join mart.orders as orders on facts.order_id = orders.order_id
    inner join audit.order_line_sums as lines on facts.order_id = lines.order_id
"""
_TOTAL = """
    select
        facts.order_id,
        facts.node,
        facts.pattern_no,
        orders.total_price as stated,
        smallest_unit(orders.currency, orders.total_price) as unit,
        currency_digits(orders.currency) as digits,
        cast(0 as decimal(38, 4)) as rest,
        cast(1 as decimal(18, 0)) as quantity,
        cast(0 as decimal(38, 8)) as per_unit,
        cast(leaves.parameters[1] * orders.subtotal_price as decimal(38, 8))
            + leaves.parameters[2] * orders.delivery_price
            + leaves.parameters[3] * orders.tip
            + leaves.parameters[4] * orders.discount
            + leaves.parameters[5] * orders.loyalty_discount
            + coalesce(components.amount, 0) as per_line,
        false as is_by_unit
    from facts
    inner join leaves on facts.node = leaves.node
    inner join wanted on facts.order_id = wanted.order_id
    inner join mart.orders as orders on facts.order_id = orders.order_id
    left join (
        select order_id, sum(amount) as amount from audit.order_components group by order_id
    ) as components on facts.order_id = components.order_id
"""
LINES = {"subtotal": _SUBTOTAL, "total": _TOTAL}


def create_leaves(con: duckdb.DuckDBPyConnection, target: str, forms: Mapping[int, int]) -> None:
    """Make the temporary table leaves from node → form place."""
    con.execute("create or replace temp table leaf_forms (node integer, form_no bigint)")
    con.executemany("insert into leaf_forms values (?, ?)", [(node, form + 1) for node, form in forms.items()])
    con.execute(
        "create or replace temp table leaves as select leaf_forms.*, forms.rule_parameters as parameters "
        "from leaf_forms inner join audit.formula_forms as forms "
        f"on forms.rule_target = '{target}' and leaf_forms.form_no = forms.form_no"
    )
