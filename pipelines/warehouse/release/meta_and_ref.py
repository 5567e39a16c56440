"""Write schemas `meta` and `ref` into a release that nobody reads yet: into its DuckDB file, and as Parquet.

`ref` holds the rows of the user's own files, and one row per id that a file and the data do not both have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.literals import literal
from pipelines.warehouse.catalogue.meta_tables import ALWAYS, FILES, UNMATCHED, rows_of
from pipelines.warehouse.contracts import ARROW_TYPES
from pipelines.warehouse.release.manifest import described

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import duckdb

    from pipelines.warehouse.catalogue.meta_tables import MetaTable
    from pipelines.warehouse.inputs.reference import Reference
    from pipelines.warehouse.release.manifest import File


def create_meta(con: duckdb.DuckDBPyConnection, row_counts: Mapping[str, int]) -> None:
    """Create schema meta in the release's own file, opened itself, with the catalogue's facts."""
    con.execute("create schema meta")
    for meta in ALWAYS:
        create_table(con, meta, rows_of(meta, row_counts))


def write_table(con: duckdb.DuckDBPyConnection, release: Path, meta: MetaTable, rows: list[dict[str, Any]]) -> File:
    """Create one table of schema meta or ref with these rows, and its Parquet; return the file."""
    create_table(con, meta, rows)
    return write_file(con, release, meta)


def create_table(con: duckdb.DuckDBPyConnection, meta: MetaTable, rows: list[dict[str, Any]]) -> None:
    """Create one table with these rows."""
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in meta.columns)
    con.execute(f"create table {meta.name} ({columns})")
    add_rows(con, meta, rows)
    con.execute(f"comment on table {meta.name} is {literal(meta.description)}")
    for name, _, meaning in meta.columns:
        con.execute(f"comment on column {meta.name}.{name} is {literal(meaning)}")


def add_rows(con: duckdb.DuckDBPyConnection, meta: MetaTable, rows: list[dict[str, Any]]) -> None:
    """Add rows to a table."""
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind, _ in meta.columns])
    con.from_arrow(pa.Table.from_pylist(rows, schema=schema)).insert_into(meta.name)


def count_rows(con: duckdb.DuckDBPyConnection) -> None:
    """Count in meta.tables the rows of the tables of meta and ref, once they have them."""
    for (name,) in con.execute("select table_name from meta.tables where row_count is null").fetchall():
        con.execute(f"update meta.tables set row_count = (select count(*) from {name}) where table_name = '{name}'")


def write_file(con: duckdb.DuckDBPyConnection, release: Path, meta: MetaTable) -> File:
    """Write the Parquet of one table, and return the file."""
    folder = release / "parquet" / meta.name.replace(".", "/")
    folder.mkdir(parents=True)
    draft = folder / "draft.parquet"
    con.execute(f"copy {meta.name} to {literal(draft)} (format parquet, compression zstd)")
    file = described(release, draft)
    target = folder / f"{file.sha256[:16]}.parquet"
    draft.rename(target)
    target.chmod(0o444)
    return described(release, target)


_IDS = {
    "ref.stores": "select store_id from core.stores union select store_id from core.orders",
    "ref.products": "select product_id from mart.products",
    "ref.platforms": "select platform from core.orders",
}


def write_reference(
    con: duckdb.DuckDBPyConnection, release: Path, reference: Reference
) -> tuple[list[File], list[str]]:
    """Create schema ref in the release's own file, opened itself, and its Parquet; return files and sentences.

    A sentence says how many ids do not match; ref.unmatched lists them. No row of another table depends on it.
    """
    con.execute("create schema ref")
    files = [write_table(con, release, table, reference.rows.get(table.name, [])) for table in FILES.values()]
    unmatched, notes = [], []
    for name, table in FILES.items():
        if table.name in reference.rows:
            found = _unmatched(con, table)
            unmatched += found
            counts = [sum(row["problem"] == problem for row in found) for problem in ("not_in_data", "not_in_file")]
            if any(counts):
                notes.append(
                    f"[reference] {name}: {counts[0]:,} ids are not in the data, {counts[1]:,} of the data are not in "
                    "the file; see ref.unmatched."
                )
    return [*files, write_table(con, release, UNMATCHED, unmatched)], notes


def _unmatched(con: duckdb.DuckDBPyConnection, table: MetaTable) -> list[dict[str, Any]]:
    (key,) = table.key
    ids = f"select distinct {key} from ({_IDS[table.name]}) where {key} is not null"
    found = con.execute(
        f"""
        select f.{key} is null as is_missing, coalesce(f.{key}, d.{key})::varchar as id
        from {table.name} as f full join ({ids}) as d on f.{key} = d.{key}
        where f.{key} is null or d.{key} is null
        order by all
        """
    ).fetchall()
    problems = {True: "not_in_file", False: "not_in_data"}
    return [{"reference_table": table.name, "id": text, "problem": problems[missing]} for missing, text in found]
