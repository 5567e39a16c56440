"""The exact amounts that forms give for orders: for those whose rounding or residual is asked for.

Reads the temporary tables facts (order_id, node) and leaves (node, and what its form does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.catalogue.generated_selects import filled

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb


def lines(target: str) -> str:
    """Return the select of the lines of the orders that are wanted, as their forms count them."""
    return filled(f"{target}_lines")


def create_leaves(con: duckdb.DuckDBPyConnection, target: str, forms: Mapping[int, int]) -> None:
    """Make the temporary table leaves from node → form place."""
    con.execute("create or replace temp table leaf_forms (node integer, form_no bigint)")
    con.executemany("insert into leaf_forms values (?, ?)", [(node, form + 1) for node, form in forms.items()])
    con.execute(
        "create or replace temp table leaves as select leaf_forms.*, forms.rule_parameters as parameters "
        "from leaf_forms inner join audit.formula_forms as forms "
        f"on forms.rule_target = '{target}' and leaf_forms.form_no = forms.form_no"
    )
