"""Closes of the ledger as relations of schema raw: closed days, their orders at close, and restatements since.

Row files are read in place, after their hash was verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.ledger import Closes, ledger_of
from pipelines.ledger.chain import select_rows
from pipelines.ledger.closed_days import CLOSED, CLOSED_ORDERS, POSTED, REOPENED, RESTATED, RESTATEMENTS, REVERSALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import duckdb

# Of raw.closed_components, as settings call them.
_COMPONENT = ("name", "constant", "share", "base", "platform", "dispatch_method", "store", "status", "from", "to")
_OBSERVED = "observed/unrounded"  # assumed where orders are too few to judge a rule
_TYPES: dict[pa.DataType, str] = {
    pa.int64(): "BIGINT",
    pa.string(): "VARCHAR",
    pa.date32(): "DATE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.decimal128(18, 4): "DECIMAL(18,4)",
    pa.decimal128(38, 4): "DECIMAL(38,4)",
    pa.list_(pa.int64()): "BIGINT[]",
}
COLUMNS: dict[str, dict[str, str]] = {
    "raw.day_closes": {
        "business_date": "DATE",
        "store_id": "BIGINT",
        "is_every_store": "BOOLEAN",
        "close_entry_no": "BIGINT",
        "closed_at": "TIMESTAMP WITH TIME ZONE",
        "period": "VARCHAR",
    },
    "raw.closed_orders": {"close_entry_no": "BIGINT", **{field.name: _TYPES[field.type] for field in CLOSED_ORDERS}},
    "raw.closed_rules": {
        "close_entry_no": "BIGINT",
        "rule_no": "BIGINT",
        "rule_target": "VARCHAR",
        "scope": "VARCHAR",
        "scope_value": "VARCHAR",
        "rule": "VARCHAR",
        "basis": "VARCHAR",
        "open_parts": "BIGINT[]",
        "is_assumable": "BOOLEAN",
    },
    "raw.closed_scopes": {
        "close_entry_no": "BIGINT",
        "rule_no": "BIGINT",
        "condition_no": "BIGINT",
        "dimension": "VARCHAR",
        "part": "VARCHAR",
        "is_other": "BOOLEAN",
        "value": "VARCHAR",
        "first_day": "DATE",
        "last_day": "DATE",
    },
    "raw.closed_components": {
        "close_entry_no": "BIGINT",
        "component_no": "BIGINT",
        "name": "VARCHAR",
        "amount": "DECIMAL(18,4)",
        "share": "DECIMAL(9,4)",
        "base": "VARCHAR",
        "platform": "VARCHAR",
        "dispatch_method": "VARCHAR",
        "store_id": "BIGINT",
        "status": "VARCHAR",
        "first_day": "DATE",
        "last_day": "DATE",
    },
    "raw.restated": {
        "entry_no": "BIGINT",
        **{field.name: _TYPES[field.type] for field in RESTATEMENTS},
        "posted_period": "VARCHAR",
        "reversed_period": "VARCHAR",
    },
}


def state_of(*acts: str) -> Callable[[Path], str]:
    """Return a function that returns the hash of the last entry of these acts."""

    def state(data_dir: Path) -> str:
        last = ""
        for entry in ledger_of(data_dir).entries():
            if entry.act in acts:
                last = entry.sha256
        return last

    return state


DAY_CLOSES_STATE = state_of(CLOSED, REOPENED)
CLOSED_ORDERS_STATE = state_of(CLOSED)
RESTATED_STATE = state_of(RESTATED, POSTED, REOPENED)


def create_day_closes(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.day_closes."""
    con.from_arrow(day_closes(Closes(ledger_of(data_dir).entries()))).insert_into(name)


def day_closes(closes: Closes) -> pa.Table:
    """Return the rows of raw.day_closes."""
    found = list(closes.rows())
    times = [close.close_entry_no and closes.closed[close.close_entry_no].moment for close in found]
    return pa.table(
        {
            "business_date": pa.array([close.day for close in found], pa.date32()),
            "store_id": pa.array([close.store_id for close in found], pa.int64()),
            "is_every_store": pa.array([close.is_every_store for close in found], pa.bool_()),
            "close_entry_no": pa.array([close.close_entry_no for close in found], pa.int64()),
            "closed_at": pa.array(times, pa.timestamp("us", tz="UTC")),
            "period": pa.array([close.period for close in found], pa.string()),
        }
    )


def create_closed_orders(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Make raw.closed_orders a view of the row files: millions of rows are not copied for every build."""
    if files := _files(data_dir, CLOSED):
        con.execute(f"drop table {name}")
        columns = ", ".join(f"cast({field.name} as {_TYPES[field.type]}) as {field.name}" for field in CLOSED_ORDERS)
        con.execute(
            f"create or replace view {name} as select entry_no as close_entry_no, {columns} "
            f"from ({select_rows(files, CLOSED_ORDERS.names)})"
        )


def create_closed_rules(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.closed_rules: by scope of closes that did not record rules by order, else by population."""
    rows = [
        (entry_no, rule_no, *(_rule_by_scope(rule) if "source" in rule else _rule_of_population(rule)))
        for entry_no, rule_no, rule in _closed_rules(data_dir)
    ]
    if rows:
        con.executemany(f"insert into {name} values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def create_closed_scopes(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.closed_scopes: of each rule by population the conditions on its orders, one row per value or span."""
    rows = [
        (
            entry_no,
            rule_no,
            condition_no,
            condition.get("dimension"),
            condition.get("part"),
            condition["is_other"],
            *each,
        )
        for entry_no, rule_no, rule in _closed_rules(data_dir)
        for condition_no, condition in enumerate(rule.get("conditions", ()))  # none of a rule by scope
        for each in _values(condition)
    ]
    if rows:
        columns = list(zip(*rows, strict=True))
        names = COLUMNS["raw.closed_scopes"]
        text = {"VARCHAR": pa.string(), "DATE": pa.string(), "BIGINT": pa.int64(), "BOOLEAN": pa.bool_()}
        arrays = {column: pa.array(columns[place], text[kind]) for place, (column, kind) in enumerate(names.items())}
        con.register("scope_rows", pa.table(arrays))
        con.execute(f"insert into {name} from scope_rows")
        con.unregister("scope_rows")


def create_closed_components(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.closed_components: the components of the settings that each close was made with."""
    rows = [
        (entry.no, component_no, *(component.get(key) or None for key in _COMPONENT))
        for entry in ledger_of(data_dir).entries(CLOSED)
        for component_no, component in enumerate(entry.body["settings"]["formula"].get("component", ()), 1)
    ]
    if rows:
        con.executemany(f"insert into {name} values ({', '.join('?' * (len(_COMPONENT) + 2))})", rows)


def _closed_rules(data_dir: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield entry number, rule number and rule; without populations that no order can be known to belong to.

    An order that settings named a rule for belonged to no other population.
    """
    for entry in ledger_of(data_dir).entries(CLOSED):
        named: dict[str, list[str]] = {}
        for rule in entry.body["rules"]:
            if rule.get("is_configured") and rule["conditions"]:
                named.setdefault(rule["rule_target"], []).extend(rule["conditions"][0]["values"])
        for rule_no, rule in enumerate(entry.body["rules"]):
            if "source" in rule:
                yield entry.no, rule_no, rule
            elif "open_parts" in rule and _is_known(rule["conditions"]):
                others = named.get(rule["rule_target"])
                apart = [{"dimension": "rule_setting", "is_other": True, "values": others}] if others else []
                kept = rule["conditions"] + ([] if rule["is_configured"] else apart)
                yield entry.no, rule_no, {**rule, "conditions": kept}


def _is_known(conditions: list[dict[str, Any]]) -> bool:
    return all(each["is_other"] or any(_values(each)) for each in conditions)


def _values(condition: dict[str, Any]) -> list[tuple[str | None, str | None, str | None]]:
    """Return value, first and last day for each value or span of days of a condition."""
    if "spans" in condition:
        return [(None, first, last) for first, last in condition["spans"]]
    return [(value, None, None) for value in condition["values"]]


def _rule_by_scope(rule: dict[str, Any]) -> tuple[Any, ...]:
    basis = {"setting": "configured", "evidence": "supported"}.get(rule["source"])
    return rule["rule_target"], rule["scope"], rule["scope_value"], rule["rule"], basis, [], False


def _rule_of_population(rule: dict[str, Any]) -> tuple[Any, ...]:
    """Return what orders of a population that hold none of its open parts were valued by: as in audit.order_rules."""
    name, open_parts = rule["rule"], rule["open_parts"]
    if rule["is_configured"]:
        basis, open_parts = "configured", []
    elif name is not None:
        basis = "supported" if rule["verdict"] == "supported" else "agreed"
    elif rule["is_assumable"]:
        name, basis, open_parts = _OBSERVED, "assumed", []
    else:
        basis = None
    return rule["rule_target"], "population", None, name, basis, open_parts, rule["is_assumable"]


def create_restated(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.restated, each row with the periods that it was posted to and reversed in."""
    if not (files := _files(data_dir, RESTATED)):
        return
    con.execute(
        f"insert into {name} by name select entry_no, {', '.join(RESTATEMENTS.names)} "
        f"from ({select_rows(files, RESTATEMENTS.names)})"
    )
    for act, column in ((POSTED, "posted_period"), (REOPENED, "reversed_period")):
        if numbers := _files(data_dir, act):
            entries = ledger_of(data_dir).entries(act)
            periods = [(entry.no, entry.body.get("period")) for entry in entries if entry.file]  # of all rows
            con.execute(
                f"update {name} as restated set {column} = coalesce(cast(numbers.period as varchar), periods.period) "
                f"from ({select_rows(numbers, REVERSALS.names)}) as numbers "
                "inner join (select unnest(?::bigint[]) as entry_no, unnest(?::varchar[]) as period) as periods "
                "on numbers.entry_no = periods.entry_no where restated.restatement_no = numbers.restatement_no",
                [[no for no, _ in periods], [period for _, period in periods]],
            )


def _files(data_dir: Path, act: str) -> list[Path]:
    ledger = ledger_of(data_dir)
    return [ledger.file(entry) for entry in ledger.entries(act) if entry.file]
