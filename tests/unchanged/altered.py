"""Run every select on rows that no build would leave: altered, so that checks and ties find something, too.

Values move to the next row or get lost, rows are missing or there twice, and rows of few values (`few.py`) are beside
them, in the sources that a ledger or a log fills, too.
"""

from __future__ import annotations

import datetime as dt
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.finance.closing import create_entries
from pipelines.finance.released import Selection, effective_settings, finance_sql
from pipelines.landing.shape import read_sql
from pipelines.literals import literal
from pipelines.record import current_release
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.catalogue import create_macros, examples, macros
from pipelines.warehouse.inputs.relations import RAW
from pipelines.warehouse.inputs.sources import SOURCES, create_sources
from pipelines.warehouse.rows.session import session
from tests.unchanged.few import FEW_IDS, few_rows, roll_dice
from tests.unchanged.hashed import Hashes, hashes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection as Connection

    from pipelines.settings import Settings

REFUSALS, RESTATED = "build.refusals", "mart.restatements"
TIMES = (None, "2026-10-20 11:00:00+00", "2026-11-05 13:00:00+00", "2026-11-12 00:00:00+00")
CLOCK = dt.datetime(2026, 11, 12, tzinfo=dt.UTC)
DAYS = {"first_day": dt.date(2026, 10, 23), "last_day": dt.date(2026, 11, 3)}
TREES = ("workings.formula_divisions", "core.modifier_edges")  # whose rows lead to others: in a circle, were they drawn
FEW_DAY = dt.date(2026, 10, 25)
KNOWN = {"details": ["some"], "items": ["release"], "last_restatement_no": 7, "detected_at": CLOCK}
# Which parameters the selects of finance get, one after the other.
VALUES: tuple[dict[str, Any], ...] = (
    {"store_id": None, "only_breaks": False, **DAYS, **KNOWN},
    {"store_id": 1, "only_breaks": True, **DAYS, **KNOWN},
    {"store_id": None, "only_breaks": False, **DAYS, **KNOWN},
)
SELECTED = (Selection(), Selection(DAYS["first_day"], DAYS["last_day"], 1), Selection(FEW_DAY, FEW_DAY))
CHANGED = "table_name, store_id, month, added_row_count, removed_row_count, changed_row_count"
CHANGES = "('core.orders', 1, '2026-10', 3, 1, 4), ('core.orders', 2, null, 5, 2, 7), ('mart.orders', 1, null, 1, 9, 0)"
SCOPE = "(date '2026-10-23', null, false), (date '2026-10-23', 1, true), (date '2026-10-28', 2, false)"


@contextmanager
def altered(settings: Settings, *, backwards: bool = False, keep: Path | None = None) -> Iterator[Connection]:
    """Give a database with the tables of a warehouse, altered, and its sources; `backwards`: rows the other way.

    `keep` is a file that gets the altered tables, too.
    """
    with session(settings) as con:
        create_sources(con, settings)
        con.execute(f"attach {literal(warehouse_file(settings.data_dir))} as warehouse (read_only)")
        direction = "desc" if backwards else ""
        roll_dice(con, direction)
        for table in catalogue.tables():
            types = {column.name: column.type for column in table.columns}
            few = few_rows(table.name, f"warehouse.{table.name}", types, table.key)
            beside = "limit 0" if table.name in TREES else ""
            con.execute(f"create table {table.name} as (from ({_alter(table, direction)})) union all ({few} {beside})")
        for name in SOURCES:
            few = few_rows(name, name, RAW[name], ())
            con.execute(f"create temp table more as from {name} union all ({few})")
            _drop(con, name)
            con.execute(f"create table {name} as from more; drop table more")
        con.execute(f"insert into {RESTATED} {catalogue.table(RESTATED).sql}")  # recorded since the build
        con.execute(f"create schema build; create table {REFUSALS} as from warehouse.{REFUSALS}")
        con.execute("detach warehouse")
        if keep:
            con.execute(f"attach {literal(keep)} as kept")
            for schema in (*catalogue.SCHEMAS, "build", "raw"):
                con.execute(f"create schema kept.{schema}")
            for name in (*(table.name for table in catalogue.tables()), REFUSALS, *SOURCES):
                con.execute(f"create table kept.{name} as from {name}")
            con.execute("detach kept")
        _complete(con, settings)
        yield con


@contextmanager
def opened(settings: Settings, file: Path) -> Iterator[Connection]:
    """Give the same from a file of altered tables that was kept."""
    with session(settings) as con:
        create_sources(con, settings)
        roll_dice(con)
        con.execute(f"attach {literal(file)} as kept (read_only)")
        con.execute("create schema build")
        there = "select schema_name || '.' || table_name from duckdb_tables() where database_name = 'kept'"
        for (name,) in con.execute(there).fetchall():
            if name in SOURCES:
                _drop(con, name)
            con.execute(f"create view {name} as from kept.{name}")
        _complete(con, settings)
        yield con


def _drop(con: Connection, source: str) -> None:
    con.execute(f"drop {'view' if source == 'raw.closed_orders' else 'table'} {source}")  # one is a view of files


def _complete(con: Connection, settings: Settings) -> None:
    """Create what else selects read: the selects of finance, with their parameters, and the macros."""
    con.execute("create table raw.findings as from audit.findings")
    create_macros(con)
    _create_release_tables(con, settings)
    create_entries(con, settings.data_dir, {"settings": effective_settings(settings), "rules": []})
    # Entries of the present circumstances and of others, in every combination.
    for number, name in enumerate(("business_day_hash", "sales_hash", "rules_hash")):
        other = f"if((entry_no >> {number}) % 2 = 1, 'other', (select {name} from memory.present))"
        con.execute(f"update memory.entries set {name} = {other}")
    of_entries = "select close_entry_no as entry_no, * exclude (close_entry_no) from raw.closed_orders"
    con.execute(f"create temp view closed_orders as {of_entries}")
    con.execute("create temp view day_closes as from raw.day_closes")
    con.execute("create temp view orders_to_close as from mart.orders")
    con.execute(f"create temp view open_breaks as {finance_sql('breaks')}")
    con.execute("create temp view drafted as select * exclude (close_entry_no) from raw.closed_orders limit 0")
    con.execute(f"create temp view order_total_parts as {finance_sql('total_parts')}")
    con.execute(f"create temp table close_scope as from (values {SCOPE}) as t (business_date, store_id, is_excluded)")
    for step, key in (("last_booked", ("order_id",)), ("restated_orders", ("order_id", "close_entry_no"))):
        once = f"order_id < {FEW_IDS} and count(*) over (partition by {', '.join(key)}) = 1"
        con.execute(f"create temp table {step} as select * from ({finance_sql(step)}) qualify {once}")
        types = {name: kind for name, kind, *_ in con.execute(f"describe {step}").fetchall()}
        con.execute(f"insert into {step} {few_rows(step, step, types, key)}")


def _create_release_tables(con: Connection, settings: Settings) -> None:
    """Create what examples read of a release's own tables: the files of [reference], and some made-up changes."""
    release = current_release(settings.data_dir / "published")
    con.execute(f"attach {literal(release / 'ordermart.duckdb')} as release (read_only)" if release else "select 1")
    con.execute("create schema ref; create schema meta")
    for name in ("stores", "products", "platforms"):
        con.execute(f"create table ref.{name} as from release.ref.{name}")
    con.execute(f"create table meta.changes as from (values {CHANGES}) as t ({CHANGED})")
    con.execute("detach release")


def altered_results(con: Connection) -> Iterator[tuple[str, Hashes]]:
    """Give the name of each select that can be run, and the hashes of its result."""
    yield from results(con, dict(selects(con)))


def results(con: Connection, texts: dict[str, str]) -> Iterator[tuple[str, Hashes]]:
    """Give the same of these selects, by name."""
    yield from ((name, _result(con, name, sql)) for name, sql in texts.items())


def _alter(table: catalogue.Table, direction: str) -> str:
    """Return a select of the altered rows of a table; the columns of its key lose nothing but their place."""
    columns = []
    for number, column in enumerate(table.columns):
        place, name = f"(row_no * 31 + {17 * number + len(table.name)})", f'"{column.name}"'
        lost = "" if column.name in table.key else f"when {place} % 29 = 0 then null "
        columns.append(
            f"case {lost}when {place} % 13 = 0 then lag({name}) over rows_in_order else {name} end as {name}"
        )
    key = ", ".join(f'"{each}"' for each in table.key) or "all"
    numbered = f"select *, row_number() over (order by {key}) as row_no from warehouse.{table.name}"
    if not table.key:
        numbered = f"select *, row_number() over () as row_no from (from warehouse.{table.name} order by all)"
    # No two rows of one key: a select may take either.
    names = ", ".join(f'"{each}"' for each in table.key)
    once = f"qualify count(*) over (partition by {names}) = 1" if table.key else ""
    moved = (
        f"select {', '.join(columns)}, row_no from ({numbered}) where row_no % 23 <> 2 "
        "window rows_in_order as (order by row_no)"
    )
    twice = "unnest(if(row_no % 19 = 3, [1, 2], [1]))"
    return (
        f"select * exclude (row_no, copy_no) from (select *, {twice} as copy_no from (select * from ({moved}) {once})) "
        f"order by row_no {direction}"
    )


def selects(con: Connection) -> Iterator[tuple[str, str]]:
    """Give the selects of tables, checks, ties, examples and finance, and calls of the macros."""
    there = {
        f"{schema}.{name}"
        for schema, name in con.execute("select table_schema, table_name from information_schema.tables").fetchall()
    }
    for table in catalogue.tables():
        if set(table.depends_on) <= there:
            yield f"select {table.name}", table.sql
    for check in (*catalogue.checks(), *catalogue.ties()):
        if set(check.depends_on) <= there:
            yield f"check {check.name}", check.sql
    for example in examples():
        yield f"example {example.name}", example.sql
    for macro in macros():
        for number, time in enumerate(TIMES):
            yield (
                f"macro {macro.name} {number}",
                f"from {macro.name}({'null' if time is None else repr(time)}::timestamptz)",
            )
    for path in sorted((Path(__file__).parents[2] / "sql" / "finance").glob("*.sql")):
        text = read_sql(path)
        for number in range(len(VALUES) if "$" in text else 1):
            yield f"finance {path.stem} {number}", text.replace("$selected", SELECTED[number].where())


def _is_ordered(name: str, sql: str) -> bool:
    """Return whether readers get the rows of a select in the order that it states."""
    return name.startswith(("example ", "finance ")) and re.search(r"^order by\b", sql, re.MULTILINE) is not None


def _result(con: Connection, name: str, sql: str) -> Hashes:
    number = name.rpartition(" ")[2]
    given = VALUES[int(number)] if name.startswith("finance ") else {}
    values = {name: value for name, value in given.items() if f"${name}" in sql}
    try:
        found = con.execute(sql, values) if values else con.execute(sql)
        columns = [column[0] for column in found.description or ()]
        return hashes(columns, found.fetchall(), in_order=_is_ordered(name, sql))
    except duckdb.Error as error:
        return {"error": type(error).__name__}
