"""A pack of evidence about a period, for auditors: what was sealed, what changed since, by which rules, and the proof.

Everything in it is out of the current release and the ledger, neither of which holds personal data. It is written
beside its place and put there in one rename. Knows nothing of how any of it came to be.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib.metadata
import random
import secrets
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from pipelines.finance.released import FinanceError, released
from pipelines.ledger import Ledger, Seals, ledger_of, verify
from pipelines.ledger.closing import CLOSED, POSTED_ACT, REOPENED, RESTATED_ACT, SEALED
from pipelines.report.explain import receipt
from pipelines.settings import without_secrets

if TYPE_CHECKING:
    import duckdb

    from pipelines.finance.periods import Period
    from pipelines.finance.released import Released
    from pipelines.ledger import Entry
    from pipelines.settings import Settings

VERIFIER = Path(__file__).with_name("verify_evidence.py")
# Table → what it shows an auditor; those with a business date only for the period's days.
TABLES = {
    "mart.closed_days": "what was sealed, posted, is open and is there now",
    "mart.restatements": "what changed in sealed days, and why",
    "mart.daily_reconciliations": "how far each day's prices explain each other",
    "mart.order_reconciliation": "each order's parts and residuals",
    "audit.formula_populations": "which formula holds for which orders, and how well it is supported",
    "audit.formula_evidence": "how well each formula fits",
    "audit.status_evidence": "what the status values look like",
    "audit.control_totals": "what somebody else says a day came to",
    "audit.coverage": "what was announced, held and missing",
    "audit.quarantine": "what was refused, and why",
    "audit.loads": "what was loaded when",
    "audit.findings": "which claims the source's data break",
}
_DAYS = ("business_date", "closed_business_date")
_PACKAGES = ("ordermart", "duckdb", "pyarrow", "pandera", "dagster", "tzdata")
_READ_ME = """Evidence for {period}: {first} to {last}
made {made} from release {release}, published {published}

Acts that are younger than the release are in ledger/ and seals.csv, and not in tables/ yet.

ledger/          every act of the ledger, and the sealed rows (Parquet) of the acts about this period
seals.csv        the orders of the period as they were sealed, under the seals in force
tables/          tables of the release, by name; of those with a business day, the days of the period
receipts/        {receipts} orders, drawn at random (seed {seed}) from {population}, with their arithmetic
settings.json    the settings in force, without secrets
versions.json    the release, its files' hashes, and the versions of what made it
head.txt         the head of the ledger's chain: compare it with one that was kept elsewhere
SHA256SUMS       the hash of every file here
verify.py        checks all of this with Python's standard library: python3 -I verify.py

{absent}
"""


@dataclass(frozen=True)
class Pack:
    """A pack that was written: where, how many orders were drawn, which tables the release lacks, hashes to keep."""

    path: Path
    files: int
    receipts: int
    absent: tuple[str, ...]
    head: str
    sums: str


def make_pack(settings: Settings, period: Period, out: Path, *, sample: int = 25, seed: int = 1) -> Pack:
    """Write the pack into a new folder `out` and return what it holds.

    Raise FinanceError where `out` is there already or there is no release, LedgerError where the chain does not hold.
    """
    if out.exists():
        raise FinanceError(f"{out} is there already: name a folder that is not")
    ledger = ledger_of(settings.data_dir)
    held = verify(ledger)
    entries = list(islice(ledger.entries(), held.entries))  # not those that come meanwhile
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    try:
        for folder in ("ledger", "tables", "receipts"):
            (draft / folder).mkdir(parents=True)
        sealed = _ledger(ledger, entries, period, draft)
        with released(settings) as release:
            absent = _tables(release, period, draft)
            population = _seals(release, period, Seals(entries), sealed, draft)
            drawn = _receipts(release, population, sample, seed, draft)
            _versions(release, draft)
            _read_me(release, period, draft, drawn, seed, len(population), absent)
        _write(draft / "settings.json", _json(_shown(settings)))
        _write(draft / "head.txt", held.head + "\n")
        shutil.copyfile(VERIFIER, draft / "verify.py")
        files = sorted(path for path in draft.rglob("*") if path.is_file())
        sums = "".join(f"{_sha256(path)}  {path.relative_to(draft).as_posix()}\n" for path in files)
        _write(draft / "SHA256SUMS", sums)
        draft.rename(out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Pack(out, len(files) + 1, drawn, tuple(absent), held.head, hashlib.sha256(sums.encode()).hexdigest())


def _ledger(ledger: Ledger, entries: list[Entry], period: Period, draft: Path) -> list[Path]:
    """Copy the chain and the sealed files of acts about the period; return those of closings."""
    chain = draft / "ledger" / "ledger.jsonl"
    chain.touch()
    if entries:
        with (ledger.folder / chain.name).open("rb") as lines:  # what a kill left of a line is no act
            chain.write_bytes(b"".join(islice(lines, len(entries))))
    copied = []
    for entry in entries:
        if entry.file is not None and _is_about(entry, period):
            path = draft / "ledger" / entry.file
            shutil.copyfile(ledger.file(entry), path)
            if entry.act == CLOSED:
                copied.append(path)
    return copied


def _is_about(entry: Entry, period: Period) -> bool:
    if entry.act == CLOSED:
        days = [dt.date.fromisoformat(each["day"]) for each in entry.body["days"]]
        return any(period.first_day <= day <= period.last_day for day in days)
    return entry.act in {REOPENED, RESTATED_ACT, POSTED_ACT, "totals"}


def _tables(release: Released, period: Period, draft: Path) -> list[str]:
    """Write each table that the release holds, and return the names of those it does not."""
    absent = []
    for name in TABLES:
        if not release.has(name):
            absent.append(name)
            continue
        columns = [row[0] for row in release.con.execute(f"describe {name}").fetchall()]
        day = next((each for each in _DAYS if each in columns), None)
        where = f"where {day} between date '{period.first_day}' and date '{period.last_day}'" if day else ""
        if name == "mart.restatements" and period.name:
            where += f" or posted_period = {_text(period.name)}"
        _copy(release.con, f"from {name} {where} order by all", draft / "tables" / f"{name}.csv")
    return absent


def _seals(release: Released, period: Period, seals: Seals, sealed: list[Path], draft: Path) -> list[int]:
    """Write the sealed orders of the period, and return their ids; without a seal in force, those of the release."""
    days = f"business_date between date '{period.first_day}' and date '{period.last_day}'"
    current = release.con.execute(f"select order_id from mart.orders where {days} order by order_id").fetchall()
    if not sealed:
        _write(draft / "seals.csv", ",".join([*SEALED.names, "close_entry_no"]) + "\n")
        return [row[0] for row in current]
    paths = ", ".join(_text(str(path)) for path in sealed)
    in_force = list(seals.rows())
    counting = pa.table(
        {
            "day": pa.array([each.day for each in in_force], pa.date32()),
            "store_id": pa.array([each.store_id for each in in_force], pa.int64()),
            "is_every_store": pa.array([each.is_every_store for each in in_force], pa.bool_()),
            "close_entry_no": pa.array([each.close_entry_no for each in in_force], pa.int64()),
        }
    )
    release.con.register("day_closes", counting)
    # By the ledger, not by the release: a day may have been sealed since the last build.
    release.con.execute(
        f"""
        create temp table seals as
        select sealed.* exclude (filename)
        from (
            select *, cast(split_part(parse_filename(filename), '-', 1) as bigint) as close_entry_no
            from read_parquet([{paths}], filename = true) where {days}
        ) as sealed
        left join day_closes as own
            on sealed.business_date = own.day and sealed.store_id = own.store_id and not own.is_every_store
        left join day_closes as every_store on sealed.business_date = every_store.day and every_store.is_every_store
        where sealed.close_entry_no = if(own.day is null, every_store.close_entry_no, own.close_entry_no)
        """
    )
    _copy(release.con, "from seals order by business_date, order_id, close_entry_no", draft / "seals.csv")
    found = release.con.execute("select distinct order_id from seals order by order_id").fetchall()
    return [row[0] for row in found or current]


def _receipts(release: Released, population: list[int], sample: int, seed: int, draft: Path) -> int:
    drawn = sorted(random.Random(seed).sample(population, min(sample, len(population))))  # noqa: S311 - repeatable
    for order_id in drawn:
        _write(draft / "receipts" / f"{order_id}.txt", "\n".join(receipt(release.con, order_id)) + "\n")
    return len(drawn)


def _versions(release: Released, draft: Path) -> None:
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            packages[name] = "not installed"
    _write(draft / "versions.json", _json({"release": msgspec.to_builtins(release.manifest), "packages": packages}))


def _read_me(
    release: Released, period: Period, draft: Path, drawn: int, seed: int, population: int, absent: list[str]
) -> None:
    missing = f"Not in this release: {', '.join(absent)}." if absent else "Every table that a pack can hold is here."
    text = _READ_ME.format(
        period=period.name or period.first_day,
        first=period.first_day,
        last=period.last_day,
        made=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        release=release.manifest.id,
        published=release.manifest.published_at,
        receipts=drawn,
        seed=seed,
        population=f"the {population:,} orders of the period",
        absent=missing,
    )
    _write(draft / "README.txt", text)


def _shown(settings: Settings) -> dict[str, Any]:
    """Return the settings without secrets, nor the values of the body that may hold credentials."""
    shown = without_secrets(settings)
    body = shown["partner"]["authenticate"]["body"]
    shown["partner"]["authenticate"]["body"] = dict.fromkeys(sorted(body), "(not shown)")
    shown["partner"]["base_url"] = shown["partner"]["base_url"].rpartition("@")[2]
    return shown


def _copy(con: duckdb.DuckDBPyConnection, select: str, path: Path) -> None:
    con.execute(f"copy ({select}) to {_text(str(path))} (format csv, header)")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode() + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
