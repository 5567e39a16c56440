"""Inputs of a build that no load brings: ledger entries, logs of other packages, what settings and their files say.

Each is one relation of schema `raw`; `relations.RAW` declares its columns. A build remembers the state of every source
that it read; a table is recomputed when a source that it reads has another one. A table of scope order (menu, store)
that reads a source is then recomputed whole: such a source may change its values, never which rows it has.

The log of verifications says which part of the warehouse was proven when, as lines of JSON beside the warehouse. A
rebuild does not restore it. The files of [reference] are the user's own stores, products and platforms, as CSV.

Entries of the ledger as relations of schema raw: closes, restatements, and what people decided of breaks.

Closed days, their orders at close, and restatements since; row files are read in place, after their hash was verified.
"""

import contextlib
import csv
import datetime as dt
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from pipelines.inbox.store import naming_deliveries, span
from pipelines.inventory import write_noted
from pipelines.landing.data_folder import service_log, service_log_state
from pipelines.ledger import Closes, effective_totals, entries, ledger_of
from pipelines.ledger.chain import select_rows
from pipelines.literals import unmarked
from pipelines.partner.behaviour import with_shown_keys
from pipelines.settings import Settings, SettingsError
from pipelines.settings.assumptions import assumptions
from pipelines.settings.contradictions import read_conditions
from pipelines.settlements import importing
from pipelines.settlements.importing import BANK, CREDITS, HEADS, STATED, STATEMENT, UNDONE
from pipelines.settlements.lines import BALANCES, LINES
from pipelines.warehouse.catalogue import Table
from pipelines.warehouse.catalogue.meta_tables import FILES
from pipelines.warehouse.inputs.relations import ARROW_TYPES, RAW, create, fill

# Of raw.closed_components, as settings call them.
_COMPONENT = (
    "name", "constant", "share", "base", "price_factor", "step", "round",
    "platform", "dispatch_method", "store", "status", "from", "to",
)  # fmt: skip
_OBSERVED = "observed/unrounded"  # assumed where orders are too few to judge a rule


def state_of(*acts: str) -> Callable[[Path], str]:
    """Return a function that returns the hash of the last entry of these acts."""

    def state(data_dir: Path) -> str:
        of_acts = [entry.sha256 for entry in ledger_of(data_dir).entries() if entry.act in acts]
        return of_acts[-1] if of_acts else ""

    return state


DAY_CLOSES_STATE = state_of(entries.CLOSED, entries.REOPENED)
CLOSED_ORDERS_STATE = state_of(entries.CLOSED)
RESTATED_STATE = state_of(entries.RESTATED, entries.POSTED, entries.REOPENED)


def day_closes(closes: Closes) -> list[tuple[Any, ...]]:
    """Return the rows of raw.day_closes."""
    return [
        (close.day, close.store_id, close.is_every_store, no, no and closes.closed[no].moment, close.period)
        for close in closes.rows()
        for no in (close.close_entry_no,)
    ]


def create_closed_orders(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Make raw.closed_orders a view of the row files: millions of rows are not copied for every build."""
    if files := _files(data_dir, entries.CLOSED):
        con.execute(f"drop table {name}")
        names, types = entries.CLOSED_ORDERS.names, RAW[name]
        columns = ", ".join(f"cast({each} as {types[each]}) as {each}" for each in names)
        select = f"select entry_no as close_entry_no, {columns} from ({select_rows(files, names)})"
        con.execute(f"create or replace view {name} as {select}")


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
        (entry.no, no, *(said.get(key) or None for key in _COMPONENT), read_conditions(said.get("when", "")))
        for entry in ledger_of(data_dir).entries(entries.CLOSED)
        for no, said in enumerate(entry.body["settings"]["formula"].get("component", ()), 1)
    ]
    if rows:
        con.executemany(f"insert into {name} values ({', '.join('?' * (len(_COMPONENT) + 3))})", rows)


def _closed_rules(data_dir: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield entry number, rule number and rule; without populations that no order can be known to belong to.

    An order that settings named a rule for belonged to no other population.
    """
    for entry in ledger_of(data_dir).entries(entries.CLOSED):
        named: dict[str, list[str]] = {}
        for rule in entry.body["rules"]:
            if rule.get("is_configured") and rule["conditions"]:
                named.setdefault(rule["rule_target"], []).extend(rule["conditions"][0]["values"])
        for rule_no, rule in enumerate(entry.body["rules"]):
            is_known = all(each["is_other"] or any(_values(each)) for each in rule["conditions"])
            if "open_parts" in rule and is_known:
                others = named.get(rule["rule_target"])
                apart = [{"dimension": "rule_setting", "is_other": True, "values": others}] if others else []
                kept = rule["conditions"] + ([] if rule["is_configured"] else apart)
                yield entry.no, rule_no, {**rule, "conditions": kept}


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
    if not (files := _files(data_dir, entries.RESTATED)):
        return
    names = entries.RESTATEMENTS.names
    con.execute(f"insert into {name} by name select entry_no, {', '.join(names)} from ({select_rows(files, names)})")
    for act, column in ((entries.POSTED, "posted_period"), (entries.REOPENED, "reversed_period")):
        if numbers := _files(data_dir, act):
            posted = [entry for entry in ledger_of(data_dir).entries(act) if entry.file]
            periods = [[entry.no for entry in posted], [entry.body.get("period") for entry in posted]]  # of all rows
            con.execute(
                f"update {name} as restated set {column} = coalesce(cast(numbers.period as varchar), periods.period) "
                f"from ({select_rows(numbers, entries.REVERSALS.names)}) as numbers "
                "inner join (select unnest(?::bigint[]) as entry_no, unnest(?::varchar[]) as period) as periods "
                "on numbers.entry_no = periods.entry_no where restated.restatement_no = numbers.restatement_no",
                periods,
            )


def settlement_statements(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.settlement_statements, one for each effective statement and currency."""
    names = ("timezone", "window_minutes", "short_modulus", "due_days")
    return [
        (
            *(each.entry.no, each.entry.moment, each.platform, body["order_platforms"], body["file"], body["sha256"]),
            *(*(body[name] for name in names), each.ref, each.rows, currency, Decimal(amount)),
        )
        for each in importing.effective_statements(ledger_of(data_dir).entries())
        for body in (each.entry.body,)
        for currency, amount in each.amounts.items()
    ]


def create_settlement_lines(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.settlement_lines with the lines of effective statements."""
    ledger = ledger_of(data_dir)
    refs: dict[int, list[str]] = {}
    files = {}
    for each in importing.effective_statements(ledger.entries()):
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
    if heads := importing.stated_of_statements(ledger):
        con.register("heads", pa.Table.from_pylist(heads, schema=STATED))
        balance = "{0} = coalesce(lines.{0}, if(lines.currency = heads.currency, heads.{0}, null))"  # of the lines'
        con.execute(
            f"update {name} as lines set payout_ref = coalesce(lines.payout_ref, heads.payout_ref), "
            f"{', '.join(map(balance.format, BALANCES))} from heads "
            "where (lines.statement_ref, lines.settled_currency) = (heads.statement_ref, heads.currency) "
            "and list_contains(heads.entries, lines.entry_no)"
        )
        con.unregister("heads")


def bank_files(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.bank_files: also a file that names no payout says how far the bank's rows go."""
    days = "first_day", "last_day"
    return [
        (entry.no, entry.body["platform"], *(dt.date.fromisoformat(entry.body[day]) for day in days))
        for entry in importing.effective_banks(ledger_of(data_dir).entries())
    ]


def create_bank_payouts(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.bank_payouts from the effective files of banks."""
    ledger = ledger_of(data_dir)
    for entry in importing.effective_banks(ledger.entries()):
        select = f"{', '.join(CREDITS.names)} from ({select_rows([ledger.file(entry)], CREDITS.names)})"
        values = [entry.body["platform"], entry.body["file"]]
        con.execute(f"insert into {name} select entry_no, ?, ?, {select}", values)


def _files(data_dir: Path, act: str) -> list[Path]:
    ledger = ledger_of(data_dir)
    return [ledger.file(entry) for entry in ledger.entries(act) if entry.file]


ACTS = (entries.ACCEPTED, entries.ASSIGNED, entries.COMMENTED)


def break_decisions(data_dir: Path) -> list[tuple[Any, ...]]:
    """Return the rows of raw.break_decisions: one per break of which anything was decided."""
    return [
        (
            *(key, of.content),
            *((by.body["reason"], by.who, by.body["as"], by.moment) if (by := of.accepted) else (None,) * 4),
            *(of.account_class, of.assignee, len(of.comments), by and by.no),
        )
        for key, of in entries.decisions(ledger_of(data_dir).entries()).items()
    ]


KEPT = 2_000  # entries: a rotation of 64 nights, several parts a night


class ComparedPart(msgspec.Struct, frozen=True):
    """One part that was compared: `part` is orders (a range of ids), day, entities (stores and menus) or all."""

    no: int
    verified_at: dt.datetime
    part: str
    order_count: int
    table_count: int
    difference_count: int
    duration_ms: int
    first_order_id: int | None = None
    last_order_id: int | None = None
    business_date: dt.date | None = None
    first_difference: str | None = None
    release_id: str | None = None

    @property
    def is_proven(self) -> bool:
        """Whether every row was the same."""
        return not self.difference_count


def verifications(data_dir: Path) -> list[ComparedPart]:
    """Return what was verified, oldest first; a line that cannot be read is left out."""
    found: list[ComparedPart] = []
    with contextlib.suppress(FileNotFoundError):
        for line in _file(data_dir).read_bytes().splitlines():
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                found.append(msgspec.json.decode(line, type=ComparedPart))
    return found


def append_verification(data_dir: Path, verified: ComparedPart) -> None:
    """Add an entry, durably; the oldest beyond so many go."""
    kept = [*verifications(data_dir), verified][-KEPT:]
    write_noted(data_dir, _file(data_dir), b"".join(msgspec.json.encode(each) + b"\n" for each in kept))


def verifications_state(data_dir: Path) -> str:
    """Return a text that differs when the log does."""
    try:
        stat = _file(data_dir).stat()
    except FileNotFoundError:
        return ""
    return f"{stat.st_size}:{stat.st_mtime_ns}"


def _file(data_dir: Path) -> Path:
    return data_dir / "warehouse" / "verifications.jsonl"


_MAX_BYTES = 32 * 2**20


@dataclass(frozen=True)
class ReferenceRows:
    """The rows of each configured file by its table, and a hash of all files."""

    rows: Mapping[str, list[dict[str, Any]]]
    digest: str


def read_reference(settings: Settings, *only: str) -> ReferenceRows:
    """Read the files of [reference], or `only` those; raise SettingsError, with line and column, for a wrong value."""
    digest, rows = hashlib.sha256(), {}
    for name in only or FILES:
        table = FILES[name]
        if file := str(getattr(settings.reference, name)):
            path = settings.file.parent / file
            content = _bytes(path, f"[reference] {name}: {path}")
            digest.update(f"{name} {len(content)}\n".encode() + content)
            rows[table.name] = _rows(content, table, f"[reference] {name}: {path.name}")
    return ReferenceRows(rows, digest.hexdigest() if rows else "")


def categories(settings: Settings) -> list[tuple[int, str | None]]:
    """Return product_id and category of each row of the file of [reference] products; nothing without a file."""
    rows = read_reference(settings, "products").rows.get(FILES["products"].name, [])
    return [(row["product_id"], row["category"]) for row in rows]


def _bytes(path: Path, where: str) -> bytes:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise SettingsError(f"{where} is larger than 32 MiB")
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror}") from None


def _rows(content: bytes, table: Table, where: str) -> list[dict[str, Any]]:
    """Return the rows of a file; columns that it leaves out are null."""
    columns = {column.name: column.type for column in table.columns}
    (key,) = table.key
    try:
        lines = csv.reader(io.StringIO(unmarked(content).decode(), newline=""), strict=True)
        head = next(lines, [])
        if key not in head or len(set(head)) < len(head) or set(head) - columns.keys():
            names = ", ".join(columns)
            raise SettingsError(f"{where}: the first line must name {key}, and of {names} each at most once")
        rows: dict[Any, dict[str, Any]] = {}
        for line in filter(None, lines):
            at = f"{where}, line {lines.line_num}"
            if len(line) != len(head):
                raise SettingsError(f"{at}: has {len(line)} values, the first line has {len(head)}")
            texts = dict(zip(head, line, strict=True))
            row = {name: _value(texts.get(name, ""), of, f"{at}, {name}") for name, of in columns.items()}
            if row[key] is None or row[key] in rows:
                raise SettingsError(f"{at}: {key} {'is empty' if row[key] is None else 'is listed twice'}")
            rows[row[key]] = row
    except (UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"{where} is not a CSV file in UTF-8: {type(error).__name__}") from None
    return list(rows.values())


def _value(text: str, kind: str, where: str) -> Any:
    text = text.strip()
    if not text:
        return None
    try:
        return _READ[kind](text)
    except (ValueError, KeyError):
        raise SettingsError(f"{where}: is not {_WORDS[kind]}") from None


def _integer(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


_READ: dict[str, Callable[[str], Any]] = {
    "VARCHAR": str,
    "BIGINT": _integer,
    "DATE": dt.date.fromisoformat,
    "BOOLEAN": lambda text: {"true": True, "false": False}[text.lower()],
}
_WORDS = {"BIGINT": "a whole number", "DATE": "a date such as 2026-10-31", "BOOLEAN": "true or false"}


@dataclass(frozen=True)
class Source:
    """A relation's origin: `state` costs next to nothing and differs when rows do; `create` fills the empty table."""

    state: Callable[[Path], str]
    create: Callable[[duckdb.DuckDBPyConnection, str, Path], None]


def states(settings: Settings) -> dict[str, str]:
    """Return source → state, to be read before the rows: what comes in between is seen by the next build."""
    said = {name: json.dumps(of(settings)).encode() for name, of in _OF_SETTINGS.items()}
    found = {name: source.state(settings.data_dir) for name, source in SOURCES.items()}
    return found | {name: hashlib.sha256(each).hexdigest() for name, each in said.items()}


def create_sources(con: duckdb.DuckDBPyConnection, settings: Settings, *only: str) -> None:
    """Make the table of each source, or only of those named."""
    names = only or all_sources()
    if of_files := [name for name in names if name not in _OF_SETTINGS]:
        create(con, *of_files)
    for name in names:
        if name in _OF_SETTINGS:
            fill(con, name, _OF_SETTINGS[name](settings))
        else:
            SOURCES[name].create(con, name, settings.data_dir)


def all_sources() -> tuple[str, ...]:
    """Return the names of all sources."""
    return *SOURCES, *_OF_SETTINGS


def _assumptions(settings: Settings) -> list[tuple[int, str, str, str, str, str]]:
    """Return the rows of raw.assumptions: what settings answer, and no secret, as each is shown to readers."""
    all_of_them = assumptions(settings)
    return [(no, each.question, each.section, each.undocumented, said, each.ask) for no, each, said in all_of_them]


# What settings, the files that they name, and this package say: the rows of a source, which are its state, too.
_Rows = Callable[[Settings], list[Any]]
_OF_SETTINGS: dict[str, _Rows] = {"raw.assumptions": _assumptions, "raw.product_categories": categories}


def _hints_state(data_dir: Path) -> str:
    path = data_dir / "inbox" / "worklist.sqlite"
    return "{}-{}".format(*span(path)) if path.exists() else ""


def _create_hints(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.hints a page at a time: a sender that repeats itself leaves millions."""
    schema = pa.schema([(column, ARROW_TYPES[kind]) for column, kind in RAW[name].items()])
    inbox = data_dir / "inbox" / "worklist.sqlite"
    for page in naming_deliveries(inbox) if inbox.exists() else ():
        arrays = [pa.array(values) for values in zip(*page, strict=True)]
        con.from_arrow(pa.table(arrays, names=schema.names).cast(schema)).insert_into(name)


def _verifications(data_dir: Path) -> list[dict[str, Any]]:
    compared = map(msgspec.structs.asdict, verifications(data_dir))
    return [{"verification_no": each.pop("no"), **each} for each in compared]


def _payouts(data_dir: Path) -> list[Any]:
    return importing.stated_payouts(ledger_of(data_dir))


def _control_totals(data_dir: Path) -> list[tuple[Any, ...]]:
    return [(entry.no, entry.moment, *total) for entry, total in effective_totals(ledger_of(data_dir))]


def _create_service_log(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    (known,) = con.execute("select known_fields from raw.settings").fetchone() or ([],)
    fill(con, name, map(msgspec.structs.asdict, with_shown_keys(service_log(data_dir), known)))


def _filled(rows: Callable[[Path], list[Any]]) -> Callable[[duckdb.DuckDBPyConnection, str, Path], None]:
    return lambda con, name, data_dir: fill(con, name, rows(data_dir))


HINTS = "raw.hints"  # the ids that webhooks named
SOURCES: dict[str, Source] = {
    "raw.service_log": Source(service_log_state, _create_service_log),
    HINTS: Source(_hints_state, _create_hints),
    "raw.verifications": Source(verifications_state, _filled(_verifications)),
    "raw.control_totals": Source(state_of(entries.TOTALS_ACT), _filled(_control_totals)),
    "raw.day_closes": Source(DAY_CLOSES_STATE, _filled(lambda of: day_closes(Closes(ledger_of(of).entries())))),
    "raw.closed_orders": Source(CLOSED_ORDERS_STATE, create_closed_orders),
    "raw.closed_rules": Source(CLOSED_ORDERS_STATE, _filled(closed_rules)),
    "raw.closed_scopes": Source(CLOSED_ORDERS_STATE, _filled(closed_scopes)),
    "raw.closed_components": Source(CLOSED_ORDERS_STATE, create_closed_components),
    "raw.restated": Source(RESTATED_STATE, create_restated),
    "raw.settlement_statements": Source(state_of(STATEMENT, UNDONE), _filled(settlement_statements)),
    "raw.settlement_lines": Source(state_of(STATEMENT, HEADS, UNDONE), create_settlement_lines),
    "raw.settlement_payouts": Source(state_of(STATEMENT, HEADS, UNDONE), _filled(_payouts)),
    "raw.bank_files": Source(state_of(BANK, UNDONE), _filled(bank_files)),
    "raw.bank_payouts": Source(state_of(BANK, UNDONE), create_bank_payouts),
    "raw.break_decisions": Source(state_of(*ACTS), _filled(break_decisions)),
}
