"""Write schema `meta` into a release that nobody reads yet: into its DuckDB file, and as Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.literals import literal
from pipelines.warehouse.catalogue.meta import ALWAYS, rows_of
from pipelines.warehouse.contracts.contract import ARROW_TYPES
from pipelines.warehouse.release.manifest import described

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import duckdb

    from pipelines.warehouse.catalogue.meta import MetaTable
    from pipelines.warehouse.release.manifest import File


def write_meta(con: duckdb.DuckDBPyConnection, release: Path, row_counts: Mapping[str, int]) -> list[File]:
    """Create schema meta in the release's own file, opened itself, and its Parquet; return the files."""
    con.execute("create schema meta")
    return [write_table(con, release, meta, rows_of(meta, row_counts)) for meta in ALWAYS]


def write_table(con: duckdb.DuckDBPyConnection, release: Path, meta: MetaTable, rows: list[dict[str, Any]]) -> File:
    """Create one table of schema meta with these rows, and its Parquet; return the file."""
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind, _ in meta.columns])
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in meta.columns)
    con.execute(f"create table {meta.name} ({columns})")
    con.from_arrow(pa.Table.from_pylist(rows, schema=schema)).insert_into(meta.name)
    con.execute(f"comment on table {meta.name} is {literal(meta.description)}")
    for name, _, meaning in meta.columns:
        con.execute(f"comment on column {meta.name}.{name} is {literal(meaning)}")
    folder = release / "parquet" / meta.name.replace(".", "/")
    folder.mkdir(parents=True)
    draft = folder / "draft.parquet"
    con.execute(f"copy {meta.name} to {literal(draft)} (format parquet, compression zstd)")
    file = described(release, draft)
    target = folder / f"{file.sha256[:16]}.parquet"
    draft.rename(target)
    target.chmod(0o444)
    return described(release, target)
