"""Compare two releases: which rows and amounts differ, by table, store and month.

Only files that differ are read: a month that no commit touched is the same file in both, and its hash says so.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from pipelines.literals import literals
from pipelines.settings import Settings
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import Table
from pipelines.warehouse.catalogue.tables import partition_of
from pipelines.warehouse.increment import OBSERVED
from pipelines.warehouse.own.making import OwnTable
from pipelines.warehouse.release.manifest import ReleaseFile, read_manifest
from pipelines.warehouse.rows.session import plain_session

READERS = ("core.", "mart.", "own.")  # schema audit also logs runs: it differs every night
_ORDERS = "core.orders"


class Side(NamedTuple):
    """A release to be compared: its folder, its files, and what shaped its tables, as its manifest says."""

    folder: Path
    files: Sequence[ReleaseFile]
    fingerprint: Mapping[str, str]
    own: Sequence[OwnTable] = ()

    def parts(self, table: str) -> dict[str, ReleaseFile]:
        """Return the files of a table by month."""
        return {file.month: file for file in self.files if file.table == table}


_Differing = tuple[Side, list[ReleaseFile]]  # with those of its files that differ


@dataclass
class Changes:
    """What differs: rows of meta.changes and of meta.changed_amounts."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    amounts: list[dict[str, Any]] = field(default_factory=list)


def differing_bytes(before: Side, after: Side) -> int:
    """Return how many bytes of Parquet a comparison reads."""
    return sum(file.bytes for table in _compared() for side in _differing(before, after, table.name) for file in side)


def are_comparable(before: Side, after: Side) -> bool:
    """Tell whether the files of both releases are partitioned in the same way."""
    files = ([file for file in side.files if file.table] for side in (before, after))
    one, other = ({file.table: file.path.rpartition("=")[0].rpartition("/")[2] for file in of} for of in files)
    return all(other.get(table, column) == column for table, column in one.items())


def compare(con: duckdb.DuckDBPyConnection, before: Side, after: Side, only: Iterable[Table] | None = None) -> Changes:
    """Return the differences of two releases in core, mart and own, but for lineage and times of observation.

    A row that moved to another store or month is removed from one and added to the other. Amounts are the sums of all
    rows of the store and month; they are compared only in tables whose rows belong to a store, which has one currency.
    Rows without a key are compared as a whole.
    """
    con.execute("set parquet_metadata_cache = true")  # a file is read up to three times
    changes = Changes()
    own = {each.name: each.table() for side in (before, after) for each in side.own}
    for table in (*_compared(), *own.values()) if only is None else only:
        old, new = _differing(before, after, table.name)
        if old or new:
            _compare_table(con, table, (before, old), (after, new), changes)
    return changes


def _compared() -> Iterator[Table]:
    ordered = sorted(catalogue.release_tables(), key=lambda table: table.name)
    yield from (table for table in ordered if table.name.startswith(READERS))


def _differing(before: Side, after: Side, name: str) -> tuple[list[ReleaseFile], list[ReleaseFile]]:
    """Return the files of a table, before and after, that are not the same in the other release."""
    old, new = before.parts(name), after.parts(name)
    same = {month for month in old.keys() & new.keys() if old[month].sha256 == new[month].sha256}
    return [old[month] for month in sorted(old.keys() - same)], [new[month] for month in sorted(new.keys() - same)]


def _compare_table(
    con: duckdb.DuckDBPyConnection, table: Table, old: _Differing, new: _Differing, changes: Changes
) -> None:
    columns = _shared(con, table, old, new)
    if not columns or not set(table.key) <= set(columns):
        return  # its rows are others than before: the code that made it changed
    has_store = "store_id" in columns or (table.scope == "order" and "order_id" in columns)
    added_up = [c.name for c in table.columns if re.fullmatch(r"DECIMAL.*,4\)", c.type) and c.adds_up]
    amounts = [name for name in added_up if has_store and name in columns]
    rows = [_rows(table, each, columns) for each in (old, new)]
    # what says something to readers, besides which row it is: neither lineage nor an observation
    said = ", ".join(f'"{each}"' for each in columns if each not in {*table.key, *OBSERVED} and each[0] != "_")
    # rows are compared by a hash of their values: far less to join than the rows themselves
    hashed = f"{_key(table, columns)}, _store_id, _month, hash({said or 'null'}) as _said"
    sides = [f"(select {hashed} from {each})" for each in rows]
    names = (*(table.key or ("_all", "_n")), "_store_id", "_month")
    same = " and ".join(f'o."{each}" is not distinct from n."{each}"' for each in names)
    found = con.execute(f"""
        select
            if(n._said is null, o._store_id, n._store_id) as place, if(n._said is null, o._month, n._month) as month,
            count(*) filter (where o._said is null), count(*) filter (where n._said is null),
            count(*) filter (where o._said <> n._said),
        from {sides[0]} as o full join {sides[1]} as n on {same}
        where o._said is distinct from n._said
        group by place, month order by place, month
    """).fetchall()
    for store, month, added, removed, changed in found:
        counts = {"added_row_count": added, "removed_row_count": removed, "changed_row_count": changed}
        changes.rows.append({"table_name": table.name, "store_id": store, "month": month} | counts)
    if found and amounts:
        _compare_amounts(con, table, rows, amounts, [(row[0], row[1]) for row in found], changes)


_Places = list[tuple[int | None, str | None]]


def _compare_amounts(
    con: duckdb.DuckDBPyConnection, table: Table, rows: list[str], amounts: list[str], places: _Places, changes: Changes
) -> None:
    """Add the amounts of the stores and months in which rows differ, where their sums do."""
    select = "select _store_id, _month, " + ", ".join(f'sum("{each}")' for each in amounts)
    sums = (con.execute(f"{select} from {each} group by _store_id, _month").fetchall() for each in rows)
    was, now = ({(store, month): said for store, month, *said in each} for each in sums)
    nothing = [None] * len(amounts)
    for store, month in places:
        pairs = zip(amounts, was.get((store, month), nothing), now.get((store, month), nothing), strict=True)
        for name, one, other in pairs:
            if one != other:
                place = {"table_name": table.name, "store_id": store, "month": month, "column_name": name}
                changes.amounts.append(place | {"previous_amount": one, "current_amount": other})


def _key(table: Table, columns: list[str]) -> str:
    """Return the columns by which rows are matched; a list's rows by what they say, and a number for equal ones."""
    if table.key:
        return ", ".join(f'"{each}"' for each in table.key)
    all_columns = ", ".join(f'"{each}"' for each in columns)
    return f"hash({all_columns}) as _all, row_number() over (partition by {all_columns}) as _n"


def _shared(con: duckdb.DuckDBPyConnection, table: Table, old: _Differing, new: _Differing) -> list[str]:
    """Return the columns of a table that both sides have, in the same type."""
    if table.sql and old[0].fingerprint and old[0].fingerprint == new[0].fingerprint:
        return [column.name for column in table.columns]  # the same code made both
    parquet = (_parquet(side, files[:1]) for side, files in (old, new) if files)
    found = [{(row[0], row[1]) for row in con.execute(f"describe from {each}").fetchall()} for each in parquet]
    both = {name for name, _ in set.intersection(*found)}
    return [column.name for column in table.columns if column.name in both]


def _rows(table: Table, side: _Differing, columns: list[str]) -> str:
    """Return a relation of rows with their store and month; without rows if there are no files."""
    release, files = side
    if not files:
        spelled = ", ".join(f'null as "{each}"' for each in columns)
        return f"(select {spelled}, null::bigint as _store_id, null::varchar as _month where false)"
    names = ", ".join(f't."{each}"' for each in columns)
    month = "nullif(regexp_extract(t.filename, '_month=([^/]+)/[^/]+$', 1), '')" if partition_of(table) else "null"
    parquet = f"(from {_parquet(release, files)}) as t"
    said = f"{names}, cast({month} as varchar) as _month"
    if "store_id" in columns:
        return f"(select {said}, t.store_id as _store_id from {parquet})"
    orders = [file for file in release.files if file.table == _ORDERS and file.month in {each.month for each in files}]
    if table.scope != "order" or not orders:  # the rows of an order are in its month's file
        return f"(select {said}, null::bigint as _store_id from {parquet})"
    return f"""(
        select {said}, o.store_id as _store_id
        from {parquet} left join (from {_parquet(release, orders)}) as o on t.order_id = o.order_id
    )"""


def _parquet(side: Side, files: list[ReleaseFile]) -> str:
    paths = literals(side.folder / file.path for file in files)
    return f"read_parquet([{paths}], hive_partitioning = false, filename = true)"


class NoSuchReleaseError(Exception):
    """A release to be compared does not exist; the message says which there are."""


@dataclass(frozen=True)
class Diff:
    """Two releases, by id, and what differs."""

    before: str
    after: str
    changes: Changes


def diff(settings: Settings, before: str = "", after: str = "") -> Diff:
    """Compare two releases of the data folder, by default the last one and the one before it.

    Raise NoSuchReleaseError for a name that is none, where there are not two, or where files are partitioned otherwise.
    """
    releases = settings.data_dir / "published" / "releases"
    names = sorted(each.name for each in releases.iterdir() if each.name[0] != ".") if releases.exists() else []
    last = _named(names, after) if after else names[-1:]
    earlier = [name for name in names if not last or name < last[0]]
    first = _named(names, before) if before else earlier[-1:]
    if not first or not last:
        only = ", ".join(names) or "none"
        raise NoSuchReleaseError(f"there are not two releases to compare in {releases}, only {only}")
    sides = []
    for folder in (releases / first[0], releases / last[0]):
        if not (manifest := read_manifest(folder)):
            raise NoSuchReleaseError(f"{folder} has no manifest that can be read")
        sides.append(Side(folder, manifest.files, manifest.fingerprint, manifest.own))
    if not are_comparable(*sides):
        both = f"{first[0]} and {last[0]}"
        raise NoSuchReleaseError(f"{both} cannot be compared: their files are partitioned differently")
    with plain_session(settings) as con:
        return Diff(first[0], last[0], compare(con, sides[0], sides[1]))


def _named(names: Sequence[str], wanted: str) -> list[str]:
    found = [name for name in names if name.startswith(wanted)]
    if len(found) != 1:
        problem = f"names {len(found)} releases" if found else "is not a release"
        raise NoSuchReleaseError(f"{wanted!r} {problem}; there are: {', '.join(names) or 'none'}")
    return found
