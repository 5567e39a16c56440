"""Prove that the warehouse and the current release are what a full build makes of `raw/` and `ledger/`.

A sample, or everything, is built again into a file of its own, by the path of a full build, and compared row by row. A
rotation proves a part of the orders and of the days each time and goes on where the last one ended; what each part
proved is kept in a log. Orders go by ranges of ids without gaps between them, so that an order that the warehouse lost
lies in one. Tables over all orders are proven by verifying everything.

Rows are compared by count and hash, and where these differ, by key and column: a difference names a table, a key and a
column, never a value.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple, Self

import duckdb

from pipelines.clock import utc_now
from pipelines.landing.raw_folder import LandingError, RawFiles, check_raw, raw_files
from pipelines.literals import literal, literals
from pipelines.record import Verdict, current_release
from pipelines.settings import Settings
from pipelines.settings.kinds import ENTITIES, KINDS, WHOLE_KINDS
from pipelines.warehouse import catalogue
from pipelines.warehouse.building import build
from pipelines.warehouse.catalogue.tables import Table
from pipelines.warehouse.increment import OBSERVED
from pipelines.warehouse.inputs.relations import MissingDocumentError
from pipelines.warehouse.inputs.sources import ComparedPart, append_verification, create_sources, states, verifications
from pipelines.warehouse.own import remade
from pipelines.warehouse.own.models import read_models
from pipelines.warehouse.release.manifest import DATABASE, ReleaseManifest, read_manifest
from pipelines.warehouse.rows import session
from pipelines.warehouse.rows.fresh_rows import as_texts
from pipelines.warehouse.rows.session import between
from pipelines.warehouse.storage import count_of, short


@dataclass(frozen=True)
class Difference:
    """The first row of a table that differs from what raw gives; `place` is where: the warehouse or the release."""

    place: str
    table: str
    key: str
    column: str

    def sentence(self) -> str:
        """Name it."""
        return f"{self.table}, {self.key}: {self.column} differs in {self.place}"


def first_difference(
    con: duckdb.DuckDBPyConnection, table: Table, place: str, relation: str, condition: str, leaving: AbstractSet[str]
) -> Difference | None:
    """Return the first difference of `warehouse` and a relation, in rows `t` under a condition, `leaving` columns."""
    names = [column.name for column in table.columns if column.name not in leaving]
    columns = as_texts(table, names)
    ours = f"(select {columns} from warehouse.{table.name} as t where {condition})"
    theirs = f"(select {columns} from {relation} as t where {condition})"
    try:
        if _hashed(con, ours) == _hashed(con, theirs):
            return None
        return Difference(place, table.name, *_located(con, table, names, ours, theirs))
    except duckdb.Error as error:
        return Difference(place, table.name, f"which cannot be read ({short(error)})", "everything")


def parquet_relation(table: Table, release: Path, manifest: ReleaseManifest) -> str:
    """Return the relation of a table's Parquet files of a release."""
    paths = [release / file.path for file in manifest.files if file.table == table.name]
    if not paths:
        return f"(from warehouse.{table.name} where false)"
    return f"read_parquet([{literals(paths)}], hive_partitioning = false)"


def _hashed(con: duckdb.DuckDBPyConnection, relation: str) -> tuple[object, ...] | None:
    return con.execute(f"select count(*), sum(hash(r)) from {relation} as r").fetchone()


def _located(
    con: duckdb.DuckDBPyConnection, table: Table, names: Sequence[str], ours: str, theirs: str
) -> tuple[str, str]:
    """Return the key and the column of the first difference."""
    con.execute(f"create or replace temp table only_ours as (from {ours} except all from {theirs})")
    con.execute(f"create or replace temp table only_theirs as (from {theirs} except all from {ours})")
    key = ", ".join(f'"{name}"' for name in table.key or names)
    both = f"select {key} from only_ours union all select {key} from only_theirs"
    first = con.execute(f"select {key} from ({both}) order by all limit 1").fetchone()
    if first is None:
        return "some row", "the order of its values"
    if not table.key:
        return "a row without a key", "a column"
    spoken = ", ".join(f"{name} {value}" for name, value in zip(table.key, first, strict=True))
    same = " and ".join(f'"{name}" is not distinct from ?' for name in table.key)
    rows = [con.execute(f"from {side} where {same}", list(first)).fetchall() for side in ("only_ours", "only_theirs")]
    if not rows[1]:
        return spoken, "the row, which is missing,"
    if not rows[0]:
        return spoken, "the row, which raw does not have,"
    pairs = zip(names, rows[0][0], rows[1][0], strict=True)
    return spoken, next((name for name, one, other in pairs if one != other), "a column")


PIECE = 20_000  # orders that are verified at once: finished pieces stay done
_LEAST, _MOST = -(2**63), 2**63 - 1


class VerifiedPart(NamedTuple):
    """A part to verify: orders of a range of ids, the orders of a day, or stores and menus."""

    part: str
    first: int | None = None
    last: int | None = None
    day: dt.date | None = None


def next_parts(data_dir: Path, log: Sequence[ComparedPart], fraction: Fraction) -> Iterator[VerifiedPart]:
    """Yield the parts of a warehouse that follow the last proven ones in the log.

    Stores and menus come first whenever the rotation begins again.
    """
    log = [each for each in log if each.is_proven]
    last = next((each.last_order_id for each in reversed(log) if each.part == "orders"), None)
    after = _LEAST if last is None or last == _MOST else last + 1
    if after == _LEAST:
        yield VerifiedPart("entities")
    days = business_days(data_dir)
    last_day = next((each.business_date for each in reversed(log) if each.part == "day"), None)
    later = [day for day in days if last_day is None or day > last_day] or days
    orders = [VerifiedPart("orders", first, end) for first, end in _ranges(data_dir, fraction, after)]
    wanted = later[: -(-len(days) * fraction.numerator // fraction.denominator)]
    both = zip_longest(orders, [VerifiedPart("day", day=day) for day in wanted])
    yield from filter(None, chain.from_iterable(both))


def _ranges(data_dir: Path, fraction: Fraction, after: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of order ids that hold, together, the next fraction of the orders; the last one has no end."""
    ((count, greatest),) = build.stored_rows(data_dir, "select count(*), max(order_id) from core.orders")
    wanted = max(1, -(-count * fraction.numerator // fraction.denominator))
    query = f"""
        select max(order_id) from (
            select order_id, (row_number() over (order by order_id) - 1) // {PIECE} as piece
            from (from core.orders where order_id >= {after} order by order_id limit {wanted})
        ) group by piece order by piece
    """
    for (end,) in list(build.stored_rows(data_dir, query)) or [(greatest,)]:
        if end == greatest:
            yield after, _MOST
            return
        yield after, end
        after = end + 1


def business_days(data_dir: Path) -> list[dt.date]:
    """Return the business days that have orders, in order."""
    query = "select distinct business_date from mart.orders where business_date is not null order by all"
    return [row[0] for row in build.stored_rows(data_dir, query)]


_SHOWN = ("core.", "mart.")  # what a release shows readers whatever else was built


class VerifyError(Exception):
    """Nothing could be verified; the message says why and what to do."""


@dataclass
class Verification:
    """What was verified: how many parts, orders and tables, and the first difference of each table and place."""

    parts: int = 0
    orders: int = 0
    tables: set[str] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    has_release: bool = True

    def add(self, part: Self) -> None:
        """Add the verification of a part."""
        self.parts += part.parts
        self.orders += part.orders
        self.tables |= part.tables
        self.differences += part.differences
        self.left_out |= part.left_out
        self.has_release = part.has_release

    def assess(self) -> Verdict:
        """Whether every row is the same; tables that read what changed since the build wait for the next one."""
        compared = {"orders": self.orders, "tables": len(self.tables), "places": 3 if self.has_release else 1}
        apart = "the current release is of another build, so it was not compared: run `ordermart build` to publish"
        unchecked = [] if self.has_release else [apart]
        return Verdict(compared, [each.sentence() for each in self.differences], unchecked)


@dataclass(frozen=True)
class _Live:
    """The subject of verification: the warehouse as it is, and the release where it shows this warehouse."""

    settings: Settings
    raw: dict[str, RawFiles]
    stale: frozenset[str]  # tables that read a source which has changed since the build
    release: Path | None
    manifest: ReleaseManifest | None
    is_whole: bool  # the release is of the last build; else it shows readers the same, and only that is compared


def verify_next(settings: Settings, fraction: Fraction, budget: dt.timedelta | None = None) -> Verification:
    """Verify the next `fraction` of the orders and days, within a time budget, and at least one part."""
    live, done = _live(settings), Verification()
    started, longest = time.monotonic(), 0.0
    for part in next_parts(settings.data_dir, verifications(settings.data_dir), fraction):
        before = time.monotonic()
        if budget is not None and done.parts and before - started + longest > budget.total_seconds():
            break
        done.add(_verify_part(live, part))
        longest = max(longest, time.monotonic() - before)
    return done


def verify_days(settings: Settings, days: int) -> Verification:
    """Verify the last so many business days that have orders."""
    live, done = _live(settings), Verification()
    for day in reversed(business_days(settings.data_dir)[-days:]):
        done.add(_verify_part(live, VerifiedPart("day", day=day)))
    return done


def verify_all(settings: Settings, progress: Callable[[str, int, int], None] | None = None) -> Verification:
    """Rebuild everything into a file beside the warehouse and compare every table."""
    live = _live(settings)
    done = Verification(parts=1, has_release=live.release is not None)
    started = time.monotonic_ns()
    file = build.warehouse_file(settings.data_dir).with_name("verify.duckdb")
    memory = session.Memory(session.fingerprint_of(settings), states(settings))
    try:
        with _looking(live, VerifiedPart("all"), started), session.session(settings) as con:
            create_sources(con, settings)
            build.rebuild(con, file, live.raw, memory, settings.warehouse.buckets, 1, progress or (lambda *_: None))
            with _beside(con, live), session.attached(con, file):
                _compare(con, live, list(catalogue.tables()), {}, done)
                done.orders = count_of(con.execute("select count(*) from warehouse.core.orders"))
    finally:
        build.remove_database(file)
    if live.release and live.manifest and live.manifest.models == read_models(settings).digest:
        for name, is_same in remade(settings, live.release, live.manifest.own):
            done.tables.add(name)
            if not is_same:
                done.differences.append(Difference(f"{DATABASE} of the release", name, "its rows", "a value"))
    _log(live, VerifiedPart("all"), done, [each.sentence() for each in done.differences], started)
    return done


def _live(settings: Settings) -> _Live:
    """Return the subject; raise VerifyError where the next build would not keep the warehouse."""
    file = build.warehouse_file(settings.data_dir)
    if not file.exists():
        raise VerifyError("there is no warehouse yet: run `ordermart build`")
    raw: dict[str, RawFiles] = {kind: raw_files(settings.data_dir, kind) for kind in KINDS}
    now = session.Memory(session.fingerprint_of(settings), states(settings))
    try:
        with session.session(settings) as con, session.attached(con, file):
            before, applied = session.remembered(con), session.applied_loads(con)
            row = con.execute("select commit_id, shown_in from warehouse.build.memory").fetchone()
    except duckdb.Error as error:
        raise VerifyError(f"the warehouse cannot be read; run `ordermart build`. DuckDB says: {short(error)}") from None
    if before is None or before.fingerprint != now.fingerprint:
        raise VerifyError("code or settings changed since the warehouse was built: run `ordermart build` first")
    if {load_id for files in raw.values() for load_id in files.load_ids} != applied:
        raise VerifyError("documents were landed since the warehouse was built: run `ordermart build` first")
    changed = before.changed_sources(now)
    stale: set[str] = set()
    for table in catalogue.tables():
        if changed & set(table.depends_on) or stale & set(table.depends_on):
            stale.add(table.name)
    release = current_release(settings.data_dir / "published")
    manifest = read_manifest(release) if release else None
    is_of_this = bool(manifest and row and manifest.shown_in == row[1])
    is_whole = bool(manifest and row and manifest.commit == row[0])
    return _Live(settings, raw, frozenset(stale), *((release, manifest) if is_of_this else (None, None)), is_whole)


def _verify_part(live: _Live, part: VerifiedPart) -> Verification:
    started = time.monotonic_ns()
    file = build.warehouse_file(live.settings.data_dir).with_name("verify.duckdb")
    entities = [ENTITIES[kind] for kind in WHOLE_KINDS]
    scopes = {"entities": entities, "orders": ["order"], "day": ["order", "day"]}[part.part]
    tables = [table for table in catalogue.tables() if table.scope in scopes]
    found = Verification(parts=1, has_release=live.release is not None)
    build.remove_database(file)
    try:
        with _looking(live, part, started), session.session(live.settings) as con:
            create_sources(con, live.settings)
            with _beside(con, live), session.attached_draft(con, file):
                found.orders = build.create_sample(con, live.raw, _conditions(con, part))
                build.build_sample(con, live.raw, tables)
                ids = f"(select id from {build.SAMPLE} where kind = 'orders')"
                of_sample = f"{between(con, ids, 't.order_id', 'id')} and t.order_id in {ids}"
                _compare(con, live, tables, {"order": of_sample, "day": f"t.business_date = '{part.day}'"}, found)
    finally:
        build.remove_database(file)
    if part.part == "entities":
        found.orders = 0
    _log(live, part, found, [each.sentence() for each in found.differences], started)
    return found


def _conditions(con: duckdb.DuckDBPyConnection, part: VerifiedPart) -> dict[str, str]:
    if part.part == "entities":
        return dict.fromkeys(WHOLE_KINDS, "true")
    if part.part == "orders":
        return {"orders": f"id between {part.first} and {part.last}"}
    of_day = f"select order_id as id from {build.LIVE}.mart.orders where business_date = ?"
    con.execute(f"create table touched.of_day as {of_day}", [part.day])
    return {"orders": "id in (from touched.of_day)"}


def _compare(
    con: duckdb.DuckDBPyConnection, live: _Live, tables: list[Table], conditions: dict[str, str], done: Verification
) -> None:
    """Compare tables of the reference with the warehouse, and with both forms of the release."""
    for table in tables:
        if table.name in live.stale:
            done.left_out.add(table.name)
            continue
        done.tables.add(table.name)
        condition = conditions.get(table.scope, "true")
        places = {"the warehouse": f"{build.LIVE}.{table.name}"}
        leaving = frozenset() if live.is_whole else OBSERVED
        if live.release and live.manifest and table.is_released and (live.is_whole or table.name.startswith(_SHOWN)):
            places[f"{DATABASE} of the release"] = f"release.{table.name}"
            places["Parquet of the release"] = parquet_relation(table, live.release, live.manifest)
        for place, relation in places.items():
            apart = leaving if "release" in place else frozenset()
            if found := first_difference(con, table, place, relation, condition, apart):
                done.differences.append(found)


@contextmanager
def _beside(con: duckdb.DuckDBPyConnection, live: _Live) -> Iterator[None]:
    """Attach the warehouse as `live` and the release as `release`, to be read."""
    con.execute(f"attach {literal(build.warehouse_file(live.settings.data_dir))} as {build.LIVE} (read_only)")
    try:
        if live.release:
            try:
                con.execute(f"attach {literal(live.release / DATABASE)} as release (read_only)")
            except duckdb.Error as error:
                raise VerifyError(f"{live.release / DATABASE} cannot be read: {short(error)}") from None
        yield
    finally:
        con.execute(f"detach database if exists {build.LIVE}")
        con.execute("detach database if exists release")


@contextmanager
def _looking(live: _Live, part: VerifiedPart, started: int) -> Iterator[None]:
    """Log a part that cannot be verified like one that differs, and name the raw file that cannot be read."""
    try:
        yield
    except Exception as error:  # whatever it is, the part is not verified
        if "interrupted" in str(error).lower():  # DuckDB's word for a signal: the next run goes on here
            raise
        is_plain = isinstance(error, duckdb.Error | LandingError | MissingDocumentError | VerifyError)
        why = short(error) if is_plain else type(error).__name__  # another may quote a value of a document
        try:
            check_raw(live.settings.data_dir, hashes=True)
        except LandingError as damaged:
            why = str(damaged)
        _log(live, part, Verification(), [why], started)
        raise VerifyError(f"nothing could be verified: {why}") from None


def _log(live: _Live, part: VerifiedPart, found: Verification, differences: list[str], started: int) -> None:
    log, took = verifications(live.settings.data_dir), (time.monotonic_ns() - started) // 1_000_000
    counts = found.orders, len(found.tables), len(differences), took
    first, release_id = differences[0] if differences else None, live.manifest.id if live.manifest else None
    number = log[-1].no + 1 if log else 1
    compared = ComparedPart(number, utc_now(), part.part, *counts, part.first, part.last, part.day, first, release_id)
    append_verification(live.settings.data_dir, compared)
