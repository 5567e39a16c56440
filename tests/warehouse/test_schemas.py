"""The Pandera schema of each table: what it says, what it finds in a frame, and that nothing switches it off."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pandera.errors import SchemaError, SchemaErrors, SchemaWarning

from pipelines.read import connect, schema
from pipelines.warehouse import catalogue
from pipelines.warehouse.release.release import publish
from tests.warehouse.conftest import World, menu, order, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECONCILED = "mart.order_reconciliation"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a data folder with a release of seven orders."""
    world = World(tmp_path_factory.mktemp("schemas"), ORDERMART_FORMULA__TOTAL_RULE="observed/unrounded")
    world.land("stores", [{"id": number, "document": store(number)} for number in (1, 2)])
    world.land("menus", [{"id": number, "document": menu(number)} for number in (1, 2)])
    world.land("orders", [{"id": number, "document": order(number)} for number in range(1, 8)])
    publish(world.settings, world.build())
    return world.data


def frame(data: Path, name: str) -> pd.DataFrame:
    """Read a table as the README does."""
    with connect(data) as con:
        return con.sql(f"from {name}").arrow().read_all().to_pandas(types_mapper=pd.ArrowDtype)


def changed(rows: pd.DataFrame, column: str, value: Any) -> pd.DataFrame:
    """Return rows of which the first has another value."""
    other = rows.copy()
    other[column] = pd.array([value, *rows[column][1:]], dtype=rows[column].dtype)
    return other


def inexact(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of which the first has a formula and a residual that are not its total."""
    return changed(changed(rows, "formula_total", Decimal(1)), "total_residual", Decimal(1))


@pytest.mark.slow
def test_every_released_table_keeps_its_schema(data: Path) -> None:
    """A person reads all that the schema demands: types, order, words, keys and claims."""
    for table in catalogue.release_tables():
        rows = frame(data, table.name)
        assert len(schema(table.name, data).validate(rows, lazy=True)) == len(rows)


def test_a_schema_shows_all_that_is_demanded() -> None:
    """Printed, it names key, totals, other tables' keys and ids that occur once, with their claims."""
    shown = str(schema(RECONCILED))
    for claim in ("has_a_unique_key", "total_follows_the_rule", "subtotal_follows_the_rule", "has_exact_residuals"):
        assert f"{RECONCILED}__{claim}" in shown
    assert "The amounts of an order's lines and its unallocated amount add up to its subtotal." in shown
    shown = str(schema("core.order_lines"))
    assert "Every order line belongs to an order." in shown
    assert "No two lines of an order have the same id." in shown
    severity = {check.name: check.raise_warning for check in schema("core.order_lines").checks}
    assert severity == {
        "core.order_lines__has_a_unique_key": False,
        "core.order_lines__belong_to_an_order": False,
        "core.order_lines__have_unique_ids": True,
    }
    assert str(schema("core.orders").columns["order_id"]).startswith("<Schema Column(name=order_id")


@pytest.mark.parametrize(
    ("name", "break_it", "claim"),
    [
        (RECONCILED, inexact, "has_exact_residuals"),
        (RECONCILED, lambda rows: changed(rows, "unallocated_amount", Decimal(7)), "lines_and_unallocated"),
        (RECONCILED, lambda rows: changed(rows, "order_id", 2), "has_a_unique_key"),
        (RECONCILED, lambda rows: changed(rows, "verdict", "fine"), "isin"),
        (RECONCILED, lambda rows: changed(rows, "unallocated_amount", None), "not_nullable"),
        ("core.order_lines", lambda rows: changed(rows, "order_id", 999), "belong_to_an_order"),
        ("core.order_lines", lambda rows: changed(rows, "line_no", 0), "greater_than_or_equal_to"),
        ("core.order_line_modifiers", lambda rows: changed(rows, "line_no", 99), "belong_to_a_line"),
        ("core.orders", lambda rows: rows.astype({"total_price": "float64"}), "dtype"),
    ],
)
def test_a_broken_claim_is_named(
    data: Path, name: str, break_it: Callable[[pd.DataFrame], pd.DataFrame], claim: str
) -> None:
    """One value is enough, and the failure names table, row and claim."""
    rows = frame(data, name)
    words = {n: pd.ArrowDtype(pa.string()) for n, kind in rows.dtypes.items() if "dictionary" in str(kind)}
    with pytest.raises(SchemaErrors) as caught:
        schema(name, data).validate(break_it(rows.astype(words)), lazy=True)
    cases = caught.value.failure_cases
    assert any(claim in str(check) for check in cases["check"])
    with pytest.raises(SchemaError):
        schema(name, data).validate(break_it(rows.astype(words)))


def test_a_broken_warning_warns(data: Path) -> None:
    """What the source may get wrong is a warning that names the claim, and no failure."""
    with pytest.warns(SchemaWarning, match="core.orders__reference_a_known_store"):
        schema("core.orders", data).validate(changed(frame(data, "core.orders"), "store_id", 99))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows.assign(margin=1), "has column margin, which the table has not"),
        (lambda rows: rows.drop(columns="tip"), "lacks column tip"),
        (lambda rows: rows[rows.columns[::-1]], "another order"),
    ],
)
def test_a_frame_of_other_columns_learns_it(
    data: Path, change: Callable[[pd.DataFrame], pd.DataFrame], says: str
) -> None:
    """The message is a sentence about the column, short enough to read."""
    with pytest.raises(SchemaError, match=says) as caught:
        schema("core.orders", data).validate(change(frame(data, "core.orders")))
    assert str(caught.value).startswith("core.orders: the ")
    assert len(str(caught.value)) < 1_000


def test_an_unknown_table_is_told_with_those_there_are(data: Path) -> None:
    """A name without a table is an error that lists the tables."""
    with pytest.raises(catalogue.CatalogueError, match=r"no table core\.order; it has audit\."):
        schema("core.order", data)


@pytest.mark.slow
def test_a_build_counts_what_was_validated(tmp_path: Path) -> None:
    """A full build validates every row of every table once; an increment those that it made."""
    world = World(tmp_path)
    world.land("orders", [{"id": number, "document": order(number)} for number in range(1, 4)])
    result = world.build()
    made = {name: rows for name, rows in result.rows.items() if rows and name != "audit.findings"}
    assert {name: rows for name, rows in result.validated.items() if name != "audit.findings"} == made
    world.land("orders", [{"id": 2, "document": order(2, status="delivered"), "at": 5}])
    result = world.build()
    assert (result.full, result.validated["core.orders"]) == (False, 1)


BROKEN = """
import json, sys, duckdb
from pipelines.warehouse import catalogue
from pipelines.warehouse.rows import schemas
from pipelines.warehouse.rows.fresh_rows import rows_as_declared
table = catalogue.table("core.store_menus")
with duckdb.connect() as con:
    con.execute("set timezone = 'UTC'")
    con.execute("create schema core")
    con.execute(f"create table {table.name} ({', '.join(f'{c.name} {c.type}' for c in table.columns)})")
    con.execute("create table core.stores (store_id bigint)")
    con.execute(f"insert into {table.name} (store_id, menu_id, mention_count) values (1, 1, -5), (1, 1, -5)")
    found = rows_as_declared(con, table, table.name, 2)
    context = schemas.ValidationContext(lambda: con, table.name)
    frame = con.sql(f"from {table.name}").df()
    schemas.hold(frame, [catalogue.check("core.store_menus__belong_to_a_store")], context)
print(json.dumps([*(each.violations for each in found), len(context.broken[0][1])]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"PANDERA_VALIDATION_ENABLED": "False"},
        {"PANDERA_VALIDATION_DEPTH": "SCHEMA_ONLY"},
        {"PANDERA_VALIDATION_DEPTH": "DATA_ONLY"},
        {"PANDERA_USE_NARWHALS_BACKEND": "True", "PANDERA_CACHE_DATAFRAME": "True"},
    ],
    ids=lambda environ: "-".join(environ.values()) or "none",
)
def test_the_environment_switches_nothing_off(environ: dict[str, str]) -> None:
    """Whatever Pandera's variables say, every violation is found."""
    done = subprocess.run(
        [sys.executable, "-c", BROKEN], env=environ, capture_output=True, text=True, check=True, timeout=120
    )
    contract, key, reference = json.loads(done.stdout)
    assert contract >= 4  # of each row: a bound, and a null
    assert (key, reference) == (1, 2)
