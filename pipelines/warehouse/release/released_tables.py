"""Write the tables of a release that nobody reads yet: Parquet of all, and schemas `meta`, `ref` and `own` in its file.

Parquet is partitioned by month as the catalogue says, other tables are one file each. Every table has at least one
file, if need be one without rows: readers take the columns from it. A file is named by a hash of its content, so a
reader that lists at the wrong moment may miss a file and never mixes two releases. A part of a table that no commit has
touched since the last release is that release's file, by a hard link.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec
import pyarrow as pa

from pipelines.durable import copy_file
from pipelines.literals import literal
from pipelines.settings import Settings
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import meta_tables
from pipelines.warehouse.catalogue.meta_tables import COLUMNS, EXAMPLES, FILES, MODELS, TABLES, UNMATCHED
from pipelines.warehouse.catalogue.tables import CREATED, NO_MONTH, WHOLE, Table, is_in_business_month, month_of
from pipelines.warehouse.inputs.relations import ARROW_TYPES
from pipelines.warehouse.inputs.sources import ReferenceRows
from pipelines.warehouse.own.making import OwnTables, state_file
from pipelines.warehouse.own.models import Models
from pipelines.warehouse.release.manifest import ReleaseFile, described
from pipelines.warehouse.release.release_diff import Side
from pipelines.warehouse.rows.session import between
from pipelines.warehouse.storage import comment

_MONTHS = "touched.months_of_orders"
_MONTH = "touched.orders_of_month"
_FORMAT = "format parquet, compression zstd"


class _TablePart(NamedTuple):
    """A table's rows of a month, or all of them, and the commit that last changed them."""

    table: Table
    month: str
    changed_in: str


def write_parquet(
    con: duckdb.DuckDBPyConnection, release: Path, last: Path | None, known: Sequence[ReleaseFile], lost: list[str]
) -> list[ReleaseFile]:
    """Write `parquet/<schema>/<table>/` from the attached database; link files of `last`, `known` but for `lost`."""
    before = {(file.table, file.month, file.changed_in): file for file in known if file.table}
    commits = {file.changed_in for file in known if file.table}
    wanted: dict[tuple[str, str], list[_TablePart]] = {}
    months: dict[str, list[tuple[str, str]]] = {}
    files = []
    query = "select table_name, month, changed_in from warehouse.build.months"
    for name, month, changed_in in con.execute(query).fetchall():
        months.setdefault(name, []).append((month, changed_in))
    for table in catalogue.release_tables():
        _folder(release, table.name).mkdir(parents=True)
        for month, changed_in in months.get(table.name, ()):
            same = before.get((table.name, month, changed_in))
            if same is None and changed_in in commits:
                continue  # the last release was of that commit and has no file: there are no rows
            if same and last and same.path not in lost and linked(last / same.path, release / same.path):
                files.append(same)
            else:
                parts = wanted.setdefault((catalogue.partition_of(table), month), [])
                parts.append(_TablePart(table, month, changed_in))
    months_of_orders = f"select order_id, {month_of('created_at')} as month from warehouse.core.orders"
    con.execute(f"create table {_MONTHS} as {months_of_orders}")
    # A file at a time: DuckDB's own partitioning sorts all rows into parts first, which takes half as long again. Two
    # at once: a month is but a row group or two, which is all that DuckDB shares out.
    with ThreadPoolExecutor(2) as pool:
        for (partition, month), parts in sorted(wanted.items()):
            condition = _condition(con, partition, month)
            written = [pool.submit(_write, con.cursor(), release, part, condition) for part in parts]
            files += [file for each in written if (file := each.result())]
    filled = {file.table for file in files}
    for table in catalogue.release_tables():
        if table.name not in filled:
            month = NO_MONTH if catalogue.partition_of(table) else WHOLE
            empty = _write(con, release, _TablePart(table, month, ""), "false", is_needed=True)
            files += [empty] if empty else []
    return sorted(files, key=lambda file: file.path)


def _condition(con: duckdb.DuckDBPyConnection, partition: str, month: str) -> str:
    """Return the condition that a row `t` is in a part of a table."""
    if partition != CREATED:
        return is_in_business_month(month) if partition else "true"
    con.execute(f"create or replace table {_MONTH} as select order_id from {_MONTHS} where month = '{month}'")
    return f"{between(con, _MONTH, 't.order_id', 'order_id')} and t.order_id in (select order_id from {_MONTH})"


def _folder(release: Path, table: str) -> Path:
    return release / "parquet" / table.replace(".", "/")


def linked(source: Path, target: Path) -> bool:
    """Make a file of a release the same as another release's; tell whether that is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except OSError:  # a file system without hard links
        copy_file(source, target)
    return True


def _write(
    con: duckdb.DuckDBPyConnection, release: Path, part: _TablePart, condition: str, *, is_needed: bool = False
) -> ReleaseFile | None:
    """Write the rows of a part, those under a condition about `t`; nothing if there are none, unless needed."""
    folder = _folder(release, part.table.name)
    draft = folder / f"draft{part.month}.parquet"
    columns = ", ".join(f't."{column.name}"' for column in part.table.columns)
    select = f"select {columns} from warehouse.{part.table.name} as t where {condition}"
    row = con.execute(f"copy ({select}) to {literal(draft)} ({_FORMAT})").fetchone()
    if not is_needed and not (row and row[0]):
        draft.unlink()
        return None
    file = described(release, draft, table=part.table.name, month=part.month, changed_in=part.changed_in)
    partition = catalogue.partition_of(part.table)
    return _named(release, file, folder / f"{partition}={part.month}" if partition else folder)


def _named(release: Path, file: ReleaseFile, folder: Path) -> ReleaseFile:
    """Give a file that was just written its place and name, a hash of its content, and return it so."""
    folder.mkdir(exist_ok=True)
    target = folder / f"{file.sha256[:16]}.parquet"
    (release / file.path).rename(target)
    target.chmod(0o444)
    return msgspec.structs.replace(file, path=str(target.relative_to(release)))


def create_table(con: duckdb.DuckDBPyConnection, meta: Table, rows: list[dict[str, Any]]) -> None:
    """Create one table with these rows."""
    con.execute(f"create table {meta.name} ({', '.join(f'{c.name} {c.type}' for c in meta.columns)})")
    add_rows(con, meta, rows)
    comment(con, meta.name, meta.description, ((c.name, c.description) for c in meta.columns))


def add_rows(con: duckdb.DuckDBPyConnection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Add rows to a table."""
    schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in table.columns])
    con.from_arrow(pa.Table.from_pylist(rows, schema=schema)).insert_into(table.name)


def write_file(con: duckdb.DuckDBPyConnection, release: Path, name: str, **facts: str) -> ReleaseFile:
    """Write the Parquet of a table that is one file, and return the file, of which the manifest says these facts."""
    folder = _folder(release, name)
    folder.mkdir(parents=True)
    draft = folder / "draft.parquet"
    con.execute(f"copy {name} to {literal(draft)} ({_FORMAT})")
    return _named(release, described(release, draft, **facts), folder)


_IDS = {
    "ref.stores": "select store_id from core.stores union select store_id from core.orders",
    "ref.products": "select product_id from mart.products",
    "ref.platforms": "select platform from core.orders",
}


def write_reference(
    con: duckdb.DuckDBPyConnection, release: Path, reference: ReferenceRows
) -> tuple[list[ReleaseFile], list[str]]:
    """Create schema ref in the release's own file, opened itself, and its Parquet; return files and sentences.

    A sentence says how many ids do not match; ref.unmatched lists them. No row of another table depends on it.
    """
    con.execute("create schema ref")
    unmatched, notes = [], []
    for name, table in FILES.items():
        create_table(con, table, reference.rows.get(table.name, []))
        if table.name in reference.rows:
            found = _unmatched(con, table)
            unmatched += found
            counts = [sum(row["problem"] == problem for row in found) for problem in ("not_in_data", "not_in_file")]
            if any(counts):
                apart = f"{counts[0]:,} ids are not in the data, {counts[1]:,} of the data are not in the file"
                notes.append(f"[reference] {name}: {apart}; see ref.unmatched.")
    create_table(con, UNMATCHED, unmatched)
    return [write_file(con, release, table.name) for table in (*FILES.values(), UNMATCHED)], notes


def _unmatched(con: duckdb.DuckDBPyConnection, table: Table) -> list[dict[str, Any]]:
    (key,) = table.key
    ids = f"select distinct {key} from ({_IDS[table.name]}) where {key} is not null"
    found = con.execute(f"""
        select f.{key} is null as is_missing, coalesce(f.{key}, d.{key})::varchar as id
        from {table.name} as f full join ({ids}) as d on f.{key} = d.{key}
        where f.{key} is null or d.{key} is null order by all
    """).fetchall()
    problems = {True: "not_in_file", False: "not_in_data"}
    return [{"reference_table": table.name, "id": text, "problem": problems[missing]} for missing, text in found]


Facts = dict[str, list[dict[str, Any]]]


def write_own(
    con: duckdb.DuckDBPyConnection, settings: Settings, made: OwnTables, release: Path, previous: Side | None
) -> list[ReleaseFile]:
    """Create schema own in the release's file, opened itself; return its Parquet, unchanged rows in the last one's."""
    if not made.tables:
        return []
    before = {(file.table, file.changed_in): file for file in previous.files} if previous else {}
    con.execute(f"attach {literal(state_file(settings.data_dir))} as state (read_only)")
    con.execute("begin")
    con.execute("create schema own")
    files = []
    for table in made.tables.values():
        con.execute(f"create table {table.name} as from state.{table.name}")
        comment(con, table.name, table.description, ((each.name, each.description) for each in table.columns))
        same = before.get((table.name, table.version))
        is_there = same and previous and linked(previous.folder / same.path, release / same.path)
        fresh = {"table": table.name, "changed_in": table.version}
        files.append(same if same and is_there else write_file(con, release, table.name, **fresh))
    con.execute("commit")
    con.execute("detach state")
    return files


def of_own(made: OwnTables, models: Models) -> Facts:
    """Return the rows of tables of meta that are about own tables."""
    first = len(meta_tables.examples()) + 1
    facts: Facts = {
        TABLES.name: [meta_tables.in_tables(own.table(), own.rows, own.about) for own in made.tables.values()],
        COLUMNS.name: [row for own in made.tables.values() for row in meta_tables.in_columns(own.table())],
        EXAMPLES.name: [meta_tables.in_examples(first + number, each) for number, each in enumerate(models.examples)],
        MODELS.name: [],
    }
    for name in sorted(made.tables.keys() | made.wrong.keys()):
        own = made.tables.get(name)
        warnings = [f"{check}: {count}" for check, count in sorted(own.warnings.items())] if own else []
        row = meta_tables.row_of(MODELS, name, own and own.made_at, made.wrong.get(name), warnings)
        facts[MODELS.name].append(row)
    return facts
