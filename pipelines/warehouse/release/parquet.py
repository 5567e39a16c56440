"""Write the tables of a release as Parquet: partitioned by month as the catalogue says, the others as one file each.

Every table has at least one file, if need be one without rows: readers take the columns from it.
A file is named by a hash of its content, so a reader that lists at the wrong moment may miss a file and never mixes
two releases. A part of a table that no commit has touched since the last release is that release's file, by a hard
link.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipelines.literals import literal
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.partitions import (
    CREATED,
    NO_MONTH,
    WHOLE,
    is_in_business_month,
    month_of,
    partition_of,
)
from pipelines.warehouse.release.manifest import File, described

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from pipelines.warehouse.catalogue.tables import Table

_MONTHS = "touched.months_of_orders"
_MONTH = "touched.orders_of_month"
_FORMAT = "format parquet, compression zstd"


class _Part(NamedTuple):
    """A table's rows of a month, or all of them, and the commit that last changed them."""

    table: Table
    month: str
    changed_in: str


def write_parquet(
    con: duckdb.DuckDBPyConnection, release: Path, last: Path | None, known: Sequence[File]
) -> list[File]:
    """Write `parquet/<schema>/<table>/` below `release` from the attached database, and return its files.

    `last` is the folder of the release before, `known` its files.
    """
    before = {(file.table, file.month, file.changed_in): file for file in known if file.table}
    files = []
    wanted: dict[tuple[str, str], list[_Part]] = {}
    months: dict[str, list[tuple[str, str]]] = {}
    for name, *part in con.execute("select table_name, month, changed_in from warehouse.build.months").fetchall():
        months.setdefault(name, []).append((part[0], part[1]))
    for table in catalogue.released():
        _folder(release, table).mkdir(parents=True)
        for month, changed_in in months.get(table.name, ()):
            same = before.get((table.name, month, changed_in))
            if same and last and linked(last / same.path, release / same.path):
                files.append(same)
            else:
                wanted.setdefault((partition_of(table), month), []).append(_Part(table, month, changed_in))
    con.execute(
        f"create table {_MONTHS} as select order_id, {month_of('created_at')} as month from warehouse.core.orders"
    )
    # A file at a time: DuckDB's own partitioning sorts all rows into parts first, which takes half as long again. Two
    # at once: a month is but a row group or two, which is all that DuckDB shares out.
    with ThreadPoolExecutor(2) as pool:
        for (partition, month), parts in sorted(wanted.items()):
            condition = _condition(con, partition, month)
            written = [pool.submit(_write, con.cursor(), release, part, condition) for part in parts]
            files += [file for each in written if (file := each.result())]
    filled = {file.table for file in files}
    for table in catalogue.released():
        if table.name not in filled:
            month = NO_MONTH if partition_of(table) else WHOLE
            empty = _write(con, release, _Part(table, month, ""), "false", is_needed=True)
            files += [empty] if empty else []
    return sorted(files, key=lambda file: file.path)


def _condition(con: duckdb.DuckDBPyConnection, partition: str, month: str) -> str:
    """Return the condition that a row `t` is in a part of a table."""
    if not partition:
        return "true"
    return _of_month(con, month) if partition == CREATED else is_in_business_month(month)


def _folder(release: Path, table: Table) -> Path:
    schema, _, name = table.name.partition(".")
    return release / "parquet" / schema / name


def _of_month(con: duckdb.DuckDBPyConnection, month: str) -> str:
    """Return the condition that a row `t` is about an order of a month."""
    con.execute(f"create or replace table {_MONTH} as select order_id from {_MONTHS} where month = '{month}'")
    # rows lie roughly in the order of their ids: most of a table is not looked at
    row = con.execute(f"select min(order_id), max(order_id) from {_MONTH}").fetchone()
    if row is None or row[0] is None:
        return "false"
    return f"t.order_id between {row[0]} and {row[1]} and t.order_id in (select order_id from {_MONTH})"


def linked(source: Path, target: Path) -> bool:
    """Make a file of a release the same as another release's; tell whether that is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)
    return True


def _write(
    con: duckdb.DuckDBPyConnection, release: Path, part: _Part, condition: str, *, is_needed: bool = False
) -> File | None:
    """Write the rows of a part, those under a condition about `t`; nothing if there are none, unless needed."""
    folder = _folder(release, part.table)
    draft = folder / f"draft{part.month}.parquet"
    columns = ", ".join(f't."{column.name}"' for column in part.table.columns)
    select = f"select {columns} from warehouse.{part.table.name} as t where {condition}"
    row = con.execute(f"copy ({select}) to {literal(draft)} ({_FORMAT})").fetchone()
    if not is_needed and not (row and row[0]):
        draft.unlink()
        return None
    file = described(release, draft, table=part.table.name, month=part.month, changed_in=part.changed_in)
    partition = partition_of(part.table)
    target = (folder / f"{partition}={part.month}" if partition else folder) / f"{file.sha256[:16]}.parquet"
    target.parent.mkdir(exist_ok=True)
    draft.rename(target)
    target.chmod(0o444)
    return msgspec.structs.replace(file, path=str(target.relative_to(release)))
