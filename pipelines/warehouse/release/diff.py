"""Compare two releases: which rows and amounts differ, by table, store and month.

Only files that differ are read: a month that no commit touched is the same file in both, and its hash says so. Knows
nothing of how a release is written or of how differences are shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.partitions import partition_of
from pipelines.warehouse.increment.changed import OBSERVED
from pipelines.warehouse.rows.session import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from pipelines.warehouse.catalogue import Table
    from pipelines.warehouse.release.manifest import File

READERS = ("core.", "mart.")  # schema audit also logs runs: it differs every night
_ORDERS = "core.orders"


@dataclass(frozen=True)
class Side:
    """A release to be compared: its folder, its files, and the columns of its tables as far as they were read."""

    folder: Path
    files: Sequence[File]
    known: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)

    def parts(self, table: str) -> dict[str, File]:
        """Return the files of a table by month."""
        return {file.month: file for file in self.files if file.table == table}


@dataclass
class Changes:
    """What differs: rows of meta.changes and of meta.changed_amounts."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    amounts: list[dict[str, Any]] = field(default_factory=list)


def differing_bytes(before: Side, after: Side) -> int:
    """Return how many bytes of Parquet a comparison reads."""
    return sum(
        file.bytes for table in _compared() for pair in _differing(before, after, table.name) for file in pair if file
    )


def are_comparable(before: Side, after: Side) -> bool:
    """Tell whether the files of both releases are partitioned in the same way."""
    columns = [{file.table: _partition(file) for file in side.files if file.table} for side in (before, after)]
    return all(columns[1].get(table, column) == column for table, column in columns[0].items())


def _partition(file: File) -> str:
    return file.path.rpartition("=")[0].rpartition("/")[2]


def compare(con: duckdb.DuckDBPyConnection, before: Side, after: Side) -> Changes:
    """Return the differences of two releases in core and mart, those of lineage and observation times aside.

    A row that moved to another store or month is removed from one and added to the other. Amounts are the sums of all
    rows of the store and month; they are compared only in tables whose rows belong to a store, which has one currency.
    Rows without a key are compared as a whole.
    """
    changes = Changes()
    for table in _compared():
        for old, new in _differing(before, after, table.name):
            _compare_part(con, table, (before, old), (after, new), changes)
    return changes


def _compared() -> Iterator[Table]:
    yield from (table for table in sorted(catalogue.released(), key=lambda t: t.name) if table.name.startswith(READERS))


def _differing(before: Side, after: Side, name: str) -> Iterator[tuple[File | None, File | None]]:
    """Give the files of a month, before and after, that are not the same; None where a side has none."""
    old, new = before.parts(name), after.parts(name)
    for month in sorted(old.keys() | new.keys()):
        pair = old.get(month), new.get(month)
        if pair[0] is None or pair[1] is None or pair[0].sha256 != pair[1].sha256:
            yield pair


def _compare_part(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    old: tuple[Side, File | None],
    new: tuple[Side, File | None],
    changes: Changes,
) -> None:
    file = old[1] or new[1]
    month = file.month if file and partition_of(table) else None
    columns = _shared(con, table, old, new)
    if not set(table.key) <= set(columns):
        return  # its rows are others than before: the code that made it changed
    has_store = "store_id" in columns or (_has_order(table) and "order_id" in columns)
    amounts = [c.name for c in table.columns if c.name in columns and _is_amount(c.type)] if has_store else []
    sides = [_rows(table, each, columns) for each in (old, new)]
    key = table.key or tuple(columns)
    numbered = ", ".join(f'"{each}"' for each in columns)
    # rows without a key are compared as a whole; a number distinguishes equal ones
    number = f", row_number() over (partition by {numbered}) as _n" if not table.key else ""
    same = " and ".join(
        f'o."{each}" is not distinct from n."{each}"' for each in (*key, "_store_id", *(["_n"] if number else []))
    )
    compared = [each for each in columns if each not in key and each not in OBSERVED and each[0] != "_"]
    differs = " or ".join(f'o."{each}" is distinct from n."{each}"' for each in compared) or "false"
    sums = "".join(f', sum(o."{each}"), sum(n."{each}")' for each in amounts)
    found = con.execute(
        f"""
        select
            if(n._side is null, o._store_id, n._store_id) as place,
            count(*) filter (where o._side is null),
            count(*) filter (where n._side is null),
            count(*) filter (where o._side is not null and n._side is not null and ({differs}))
            {sums}
        from (select *, 1 as _side{number} from {sides[0]}) as o
        full join (select *, 1 as _side{number} from {sides[1]}) as n on {same}
        group by place order by place
        """
    ).fetchall()
    for store_id, added, removed, changed, *said in found:
        place = {"table_name": table.name, "store_id": store_id, "month": month}
        if added or removed or changed:
            counts = {"added_row_count": added, "removed_row_count": removed, "changed_row_count": changed}
            changes.rows.append(place | counts)
        for name, was, now in zip(amounts, said[::2], said[1::2], strict=True):
            if was != now:
                changes.amounts.append(place | {"column_name": name, "previous_amount": was, "current_amount": now})


def _shared(
    con: duckdb.DuckDBPyConnection, table: Table, old: tuple[Side, File | None], new: tuple[Side, File | None]
) -> list[str]:
    """Return the columns of a table that both sides have, in the same type."""
    found = [_columns(con, side, table.name, file) for side, file in (old, new) if file]
    both = {name for name, _ in frozenset.intersection(*found)}
    return [column.name for column in table.columns if column.name in both]


def _columns(con: duckdb.DuckDBPyConnection, side: Side, name: str, file: File) -> frozenset[tuple[str, str]]:
    """Return names and types of a table's columns: those of one of its files, which are those of all."""
    if name not in side.known:
        described = con.execute(f"describe from {_parquet(side, file)}").fetchall()
        side.known[name] = frozenset((row[0], row[1]) for row in described)
    return side.known[name]


def _rows(table: Table, side: tuple[Side, File | None], columns: list[str]) -> str:
    """Return a relation of a part's rows and their store; without rows if the file is missing."""
    release, file = side
    if file is None:
        spelled = ", ".join(f'null as "{each}"' for each in (*columns, "_store_id"))
        return f"(select {spelled} where false)"
    names = ", ".join(f't."{each}"' for each in columns)
    parquet = _parquet(release, file)
    if "store_id" in columns:
        return f"(select {names}, t.store_id as _store_id from {parquet} as t)"
    orders = release.parts(_ORDERS).get(file.month)
    if not _has_order(table) or orders is None:
        return f"(select {names}, null::bigint as _store_id from {parquet} as t)"
    return f"""(
        select {names}, o.store_id as _store_id
        from {parquet} as t left join {_parquet(release, orders)} as o on t.order_id = o.order_id
    )"""


def _has_order(table: Table) -> bool:
    """Tell whether a table's rows belong to orders of the same month as its file's."""
    return table.scope == "order"


def _is_amount(kind: str) -> bool:
    return kind.startswith("DECIMAL") and kind.endswith(",4)")


def _parquet(side: Side, file: File) -> str:
    return f"read_parquet('{quoted(side.folder / file.path)}', hive_partitioning = false)"
