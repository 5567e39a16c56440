"""Entries of the ledger as relations of schema raw: closes, restatements, and what people decided of breaks.

Closed days, their orders at close, and restatements since; row files are read in place, after their hash was verified.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.ledger import Closes, ledger_of
from pipelines.ledger.chain import select_rows
from pipelines.ledger.closed_days import CLOSED, CLOSED_ORDERS, POSTED, REOPENED, RESTATED, RESTATEMENTS, REVERSALS
from pipelines.ledger.decisions import ACCEPTED, ASSIGNED, COMMENTED, decisions
from pipelines.settings.contradictions import read_conditions
from pipelines.settlements.importing import CREDITS, effective_banks, effective_statements
from pipelines.settlements.lines import LINES
from pipelines.warehouse.inputs.relations import RAW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import duckdb

# Of raw.closed_components, as settings call them.
_COMPONENT = (
    "name", "constant", "share", "base", "price_factor", "step", "round",
    "platform", "dispatch_method", "store", "status", "from", "to",
)  # fmt: skip
_OBSERVED = "observed/unrounded"  # assumed where orders are too few to judge a rule


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


def day_closes(closes: Closes) -> list[tuple[Any, ...]]:
    """Return the rows of raw.day_closes."""
    return [
        (
            close.day,
            close.store_id,
            close.is_every_store,
            close.close_entry_no,
            close.close_entry_no and closes.closed[close.close_entry_no].moment,
            close.period,
        )
        for close in closes.rows()
    ]


def create_closed_orders(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Make raw.closed_orders a view of the row files: millions of rows are not copied for every build."""
    if files := _files(data_dir, CLOSED):
        con.execute(f"drop table {name}")
        types = RAW[name]
        columns = ", ".join(f"cast({each} as {types[each]}) as {each}" for each in CLOSED_ORDERS.names)
        con.execute(
            f"create or replace view {name} as select entry_no as close_entry_no, {columns} "
            f"from ({select_rows(files, CLOSED_ORDERS.names)})"
        )


def closed_rules(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.closed_rules: the rule of each population."""
    return [(entry_no, rule_no, *_rule_of_population(rule)) for entry_no, rule_no, rule in _closed_rules(data_dir)]


def closed_scopes(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.closed_scopes: the conditions of each rule by population, by value or span of days."""
    return [
        (entry_no, rule_no, number, of.get("dimension"), of.get("part"), of["is_other"], *each)
        for entry_no, rule_no, rule in _closed_rules(data_dir)
        for number, of in enumerate(rule["conditions"])
        for each in _values(of)
    ]


def create_closed_components(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.closed_components: the components of the settings that each close was made with."""
    rows = [
        (
            entry.no,
            component_no,
            *(component.get(key) or None for key in _COMPONENT),
            read_conditions(component.get("when", "")),
        )
        for entry in ledger_of(data_dir).entries(CLOSED)
        for component_no, component in enumerate(entry.body["settings"]["formula"].get("component", ()), 1)
    ]
    if rows:
        con.executemany(f"insert into {name} values ({', '.join('?' * (len(_COMPONENT) + 3))})", rows)


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
            if "open_parts" in rule and _is_known(rule["conditions"]):
                others = named.get(rule["rule_target"])
                apart = [{"dimension": "rule_setting", "is_other": True, "values": others}] if others else []
                kept = rule["conditions"] + ([] if rule["is_configured"] else apart)
                yield entry.no, rule_no, {**rule, "conditions": kept}


def _is_known(conditions: list[dict[str, Any]]) -> bool:
    return all(each["is_other"] or any(_values(each)) for each in conditions)


def _values(condition: dict[str, Any]) -> list[tuple[str | None, dt.date | None, dt.date | None]]:
    """Return value, first and last day for each value or span of days of a condition."""
    if "spans" in condition:
        spans = [[day and dt.date.fromisoformat(day) for day in span] for span in condition["spans"]]
        return [(None, first, last) for first, last in spans]
    return [(value, None, None) for value in condition["values"]]


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
    return rule["rule_target"], name, basis, open_parts, rule["is_assumable"]


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


def settlement_statements(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.settlement_statements, one for each effective statement and currency."""
    names = ("timezone", "window_minutes", "short_modulus", "due_days")
    return [
        (
            *(each.entry.no, each.entry.moment, each.platform, body["order_platforms"], body["file"], body["sha256"]),
            *(*(body[name] for name in names), each.ref, each.rows, currency, Decimal(amount)),
        )
        for each in effective_statements(ledger_of(data_dir).entries())
        for body in (each.entry.body,)
        for currency, amount in each.amounts.items()
    ]


def create_settlement_lines(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.settlement_lines with the lines of effective statements."""
    ledger = ledger_of(data_dir)
    refs: dict[int, list[str]] = {}
    files = {}
    for each in effective_statements(ledger.entries()):
        files[each.entry.no] = ledger.file(each.entry)
        refs.setdefault(each.entry.no, []).append(each.ref or "")
    if files:
        con.execute(
            f"insert into {name} select entry_no, {', '.join(LINES.names)} "
            f"from ({select_rows(files.values(), LINES.names)}) as lines "
            "semi join (select unnest(?) as entry_no, unnest(?) as ref) as effective "
            "on lines.entry_no = effective.entry_no and coalesce(lines.statement_ref, '') = effective.ref",
            [[no for no, of in refs.items() for _ in of], [ref for of in refs.values() for ref in of]],
        )


def bank_files(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.bank_files: also a file that names no payout says how far the bank's rows go."""
    return [
        (
            entry.no,
            entry.body["platform"],
            *(dt.date.fromisoformat(entry.body[day]) for day in ("first_day", "last_day")),
        )
        for entry in effective_banks(ledger_of(data_dir).entries())
    ]


def create_bank_payouts(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.bank_payouts from the effective files of banks."""
    ledger = ledger_of(data_dir)
    for entry in effective_banks(ledger.entries()):
        con.execute(
            f"insert into {name} select entry_no, ?, ?, {', '.join(CREDITS.names)} "
            f"from ({select_rows([ledger.file(entry)], CREDITS.names)})",
            [entry.body["platform"], entry.body["file"]],
        )


def _files(data_dir: Path, act: str) -> list[Path]:
    ledger = ledger_of(data_dir)
    return [ledger.file(entry) for entry in ledger.entries(act) if entry.file]


ACTS = (ACCEPTED, ASSIGNED, COMMENTED)


def break_decisions(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.break_decisions: one per break of which anything was decided."""
    return [
        (
            *(key, of.content),
            *((by.body["reason"], by.who, by.body["as"], by.moment) if (by := of.accepted) else (None,) * 4),
            *(of.account_class, of.assignee, len(of.comments), by and by.no),
        )
        for key, of in decisions(ledger_of(data_dir).entries()).items()
    ]
