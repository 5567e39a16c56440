"""An order that is new to a closed day takes the rule that its population was closed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.released import circumstances
from pipelines.ledger import CLOSED, CLOSED_ORDERS, Closes, Ledger
from pipelines.settings import load_settings
from pipelines.warehouse.inputs.relations import RAW, fill
from pipelines.warehouse.inputs.sources import closed_rules, closed_scopes, create_closed_orders, day_closes

if TYPE_CHECKING:
    from pathlib import Path

USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
OTHER = "line_price/no_modifiers/all_add/before_discount/unrounded"
OBSERVED = "observed/unrounded"
UNKNOWN = {"timezone", "payload_sha256", "fetched_at", "last_checked_at", "line_amount"}
UNKNOWN |= {"total_residual", "total_parts", "total_part_amounts", "break_content"}


@pytest.mark.long  # its values differ since closed days keep their components
@pytest.mark.slow
def test_a_late_order_is_valued_as_its_population_was(
    make_orders: Any, state: Any, gather: Any, regather: Any, tmp_path: Path
) -> None:
    """A day has two rules by platform: a late order of each takes its own."""
    many, few = make_orders(4, 1500), make_orders(5, 1500)
    state(many, USUAL, OBSERVED)
    state(few, OTHER, OBSERVED)
    for order in few:
        order.order_id += 10_000
        order.platform = "kiosk"
    con = gather(many + few)
    late = [many[0].order_id, few[0].order_id]
    ledger = Ledger(tmp_path / "ledger")
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path)})
    days = sorted({order.business_date for order in many + few})
    columns = ", ".join(
        f"cast({'null' if name in UNKNOWN else name} as {kind}) as {name}"
        for name, kind in RAW["raw.closed_orders"].items()
        if name in CLOSED_ORDERS.names
    )
    closed = con.execute(
        f"select {columns} from mart.orders join audit.order_rules using (order_id) where order_id not in (?, ?)", late
    ).to_arrow_table()
    body = {
        "days": [{"day": day.isoformat(), "stores": None} for day in days],
        **circumstances(settings, con, None, {}),
    }
    ledger.append(CLOSED, body, closed.cast(CLOSED_ORDERS))
    fill(con, "raw.day_closes", day_closes(Closes(ledger.entries())))
    fill(con, "raw.closed_rules", closed_rules(tmp_path))
    fill(con, "raw.closed_scopes", closed_scopes(tmp_path))
    create_closed_orders(con, "raw.closed_orders", tmp_path)
    regather(con)
    rules = "select order_id, subtotal_rule, subtotal_basis, total_rule from audit.order_rules where order_id in (?, ?)"
    assert con.execute(f"{rules} order by order_id", late).fetchall() == [
        (late[0], USUAL, "supported", OBSERVED),
        (late[1], OTHER, "supported", OBSERVED),
    ]
    con.execute("delete from raw.closed_scopes")
    con.execute("delete from raw.closed_rules")
    regather(con)
    assert con.execute(f"{rules} order by order_id", late).fetchall() == [
        (late[0], None, None, OBSERVED),
        (late[1], None, None, OBSERVED),
    ], "without them the day has two subtotal rules: none"
