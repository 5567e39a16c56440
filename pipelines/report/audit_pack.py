"""Write an audit pack for a period: closed orders, restatements, effective rules, tables, receipts and a verifier.

Everything in it comes from the current release and the ledger, neither of which contains personal data. It is written
under another name and renamed when complete.
"""

import datetime as dt
import hashlib
import importlib.metadata
import random
import secrets
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from pipelines.clock import utc_now
from pipelines.durable import file_hash
from pipelines.finance.released import BookPeriod, FinanceError, Released, finance_sql, open_release
from pipelines.ledger import Closes, Ledger, LedgerEntry, ledger_of, verify
from pipelines.ledger.chain import select_rows
from pipelines.ledger.entries import CLOSED, CLOSED_ORDERS, POSTED, REOPENED, RESTATED
from pipelines.ledger.signed_head import check_heads
from pipelines.literals import cell_in_sql, literal
from pipelines.report.explain import receipt
from pipelines.settings import Settings, without_secrets
from pipelines.warehouse.inputs.relations import table_of
from pipelines.warehouse.inputs.sources import day_closes

VERIFIER = Path(__file__).with_name("verify_audit_pack.py")
# Tables with a business date are written for the period's days only.
TABLES = (
    "mart.closed_days mart.period_books mart.restatements mart.daily_reconciliations mart.order_reconciliation "
    "audit.breaks workings.formula_evidence audit.formula_populations audit.status_evidence audit.control_totals "
    "audit.coverage audit.quarantine audit.loads audit.findings"
).split()
_DAYS = ("business_date", "closed_business_date")
_PACKAGES = ("ordermart", "duckdb", "pyarrow", "pandera", "dagster", "tzdata")  # that a figure may depend on
_READ_ME = """Audit pack for {name}: {period.first_day} to {period.last_day}
made {made} from release {manifest.id}, published {manifest.published_at}

Ledger entries newer than the release are in ledger/ and closes.csv, but not in tables/.

ledger/          every entry of the ledger, and the rows (Parquet) of the entries about this period
closes.csv       the orders of the period as they were at close, under the active closes
tables/          tables of the release, by name; tables with a business date only for the period
receipts/        {receipts} orders, sampled at random (seed {seed}) from the {population:,} orders of the period, with \
their arithmetic
settings.json    the settings, without secrets
versions.json    the release, the hashes of its files, and the versions of the software
period.json      the first and the last day of the period
head.txt         the head of the ledger: compare it with a copy kept elsewhere
SHA256SUMS       the hash of every file in the pack
verify.py        verifies the pack with Python's standard library: python3 -I verify.py

Open tables/ in a spreadsheet: text there that it would run as a formula begins with an apostrophe. closes.csv and
ledger/ are compared with hashes character by character, so their texts are as the service sent them: import
closes.csv as text, or use mart.closed_days.csv in tables/.
"""


@dataclass(frozen=True)
class Pack:
    """A written pack: its path, file and receipt counts, and the hashes to keep."""

    path: Path
    files: int
    receipts: int
    head: str
    sums: str


def make_pack(settings: Settings, period: BookPeriod, out: Path, *, sample: int = 25, seed: int = 1) -> Pack:
    """Write the pack into a new folder `out`; raise FinanceError if it exists, LedgerError for a changed ledger."""
    if out.exists():
        raise FinanceError(f"--out: {out} already exists; name a new folder")
    ledger = ledger_of(settings.data_dir)
    check_heads(settings, ledger)
    verified = verify(ledger)
    entries = list(islice(ledger.entries(), verified.entries))  # not those written meanwhile
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    try:
        for folder in ("ledger", "tables", "receipts"):
            (draft / folder).mkdir(parents=True)
        closed = _ledger(ledger, entries, period, draft)
        with open_release(settings) as release:
            _tables(release, period, draft)
            population = _closes(release, period, Closes(entries), closed, draft)
            drawn = sorted(random.Random(seed).sample(population, min(sample, len(population))))  # noqa: S311 - repeatable
            for order_id in drawn:
                _write(draft / "receipts" / f"{order_id}.txt", "\n".join(receipt(release.con, order_id)) + "\n")
            manifest = release.manifest
        name, made = period.name or period.first_day, utc_now().isoformat(timespec="seconds")
        counts = {"receipts": len(drawn), "seed": seed, "population": len(population)}
        read_me = _READ_ME.format(period=period, name=name, made=made, manifest=manifest, **counts)
        _write(draft / "README.txt", read_me)
        installed = {name: next(iter(importlib.metadata.distributions(name=name)), None) for name in _PACKAGES}
        versions = {name: found.version if found else "not installed" for name, found in installed.items()}
        _write(draft / "versions.json", _json({"release": msgspec.to_builtins(manifest), "packages": versions}))
        _write(draft / "settings.json", _json(_shown(settings)))
        _write(draft / "head.txt", verified.head + "\n")
        _write(draft / "period.json", _json({"first_day": period.first_day, "last_day": period.last_day}))
        shutil.copyfile(VERIFIER, draft / "verify.py")
        files = sorted(path for path in draft.rglob("*") if path.is_file())
        sums = "".join(f"{file_hash(path)}  {path.relative_to(draft).as_posix()}\n" for path in files)
        _write(draft / "SHA256SUMS", sums)
        draft.rename(out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Pack(out, len(files) + 1, len(drawn), verified.head, hashlib.sha256(sums.encode()).hexdigest())


def _ledger(ledger: Ledger, entries: list[LedgerEntry], period: BookPeriod, draft: Path) -> list[Path]:
    """Copy the chain and the row files of entries about the period; return those of closes."""
    chain = draft / "ledger" / "ledger.jsonl"
    chain.touch()
    if entries:
        with (ledger.folder / chain.name).open("rb") as lines:  # without an incomplete last line
            chain.write_bytes(b"".join(islice(lines, len(entries))))
    copied = []
    for entry in entries:
        if entry.file is not None and _is_about(entry, period):
            path = draft / "ledger" / entry.file
            shutil.copyfile(ledger.file(entry), path)
            if entry.act == CLOSED:
                copied.append(path)
    return copied


def _is_about(entry: LedgerEntry, period: BookPeriod) -> bool:
    if entry.act == CLOSED:
        days = [dt.date.fromisoformat(closed["day"]) for closed in entry.body["days"]]
        return any(period.first_day <= day <= period.last_day for day in days)
    return entry.act in {REOPENED, RESTATED, POSTED, "totals"}


def _tables(release: Released, period: BookPeriod, draft: Path) -> None:
    """Write the tables, text that a spreadsheet would take for a formula after an apostrophe."""
    for table in TABLES:
        kinds = {name: kind for name, kind, *_ in release.con.execute(f"describe {table}").fetchall()}
        day = next((name for name in _DAYS if name in kinds), None)
        where = f"where {day} between date '{period.first_day}' and date '{period.last_day}'" if day else ""
        if table == "mart.restatements" and period.name:
            where += f" or {literal(period.name)} in (posted_period, reversed_period)"
        columns = ", ".join(_for_spreadsheets(name, kind) for name, kind in kinds.items())
        _copy(release.con, f"select {columns} from {table} {where} order by all", draft / "tables" / f"{table}.csv")


def _closes(release: Released, period: BookPeriod, closes: Closes, files: list[Path], draft: Path) -> list[int]:
    """Write the period's closed orders, and return their ids; if no close is active, those of the release."""
    days = {"first_day": period.first_day, "last_day": period.last_day}
    con = release.con
    if files:
        # By the ledger, not by the release: a day may have been closed since the last build.
        con.register("day_closes", table_of("raw.day_closes", day_closes(closes)))
        con.execute(f"create temp view closed_orders as {select_rows(files, CLOSED_ORDERS.names)}")
        closed = con.execute(finance_sql("active_closed_orders"), days).to_arrow_table()
    else:
        closed = CLOSED_ORDERS.append(pa.field("close_entry_no", pa.int64())).empty_table()
    con.register("period_closes", closed)
    _copy(con, "from period_closes", draft / "closes.csv")
    orders = "select distinct order_id from period_closes order by order_id"
    current = "select order_id from mart.orders where business_date between $first_day and $last_day order by order_id"
    found = con.execute(orders).fetchall() or con.execute(current, days).fetchall()
    return [row[0] for row in found]


def _shown(settings: Settings) -> dict[str, Any]:
    """Return the settings without secrets and without the request body that may contain credentials."""
    shown = without_secrets(settings)
    body = shown["partner"]["authenticate"]["body"]
    shown["partner"]["authenticate"]["body"] = dict.fromkeys(sorted(body), "(not shown)")
    shown["partner"]["base_url"] = shown["partner"]["base_url"].rpartition("@")[2]
    return shown


def _for_spreadsheets(name: str, kind: str) -> str:
    if kind != "VARCHAR" and not kind.startswith("ENUM"):
        return f'"{name}"'
    return cell_in_sql(f'"{name}"::varchar') + f' as "{name}"'


def _copy(con: duckdb.DuckDBPyConnection, select: str, path: Path) -> None:
    con.execute(f"copy ({select}) to {literal(path)} (format csv, header)")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode() + "\n"
