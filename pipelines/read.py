"""Open the current release in a notebook or script, `con = connect()`, and validate frames: `schema("core.orders")`."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pipelines.record import current_release
from pipelines.settings import load_settings
from pipelines.warehouse import catalogue
from pipelines.warehouse.release.manifest import DATABASE, read_manifest
from pipelines.warehouse.release.object_storage import download_database, is_storage_url

if TYPE_CHECKING:
    from pipelines.warehouse.rows.schemas import TableSchema


class NoReleaseError(Exception):
    """There is no release to open; the message says where."""


def connect(
    data: Path | str | None = None, *, config: Path | str | None = None, options: Mapping[str, str] | None = None
) -> duckdb.DuckDBPyConnection:
    """Open the current release, read-only and in UTC; the connection stays on it whatever is published later.

    `data` is a data folder, a release's own folder, or the URL of a copy in object storage, whose file is downloaded
    once; without it, the data folder of the settings (`config`, else as the command finds them). `options` are
    DuckDB's, such as memory_limit. Raise NoReleaseError if there is no release, CopyError for a copy without one.
    Amounts: take `.arrow()` or `.fetchall()`; `.df()` turns decimals into floats.
    """
    if isinstance(data, str) and is_storage_url(data):
        file = download_database(data)
    else:
        file = _release(data, config).resolve() / DATABASE
    con = duckdb.connect(str(file), read_only=True, config=dict(options or {}))
    con.execute("set timezone = 'UTC'")
    return con


def schema(name: str, data: Path | str | None = None, *, config: Path | str | None = None) -> "TableSchema":
    """Return the Pandera schema of a table (`core.orders`, or a model's `own.weekly`): print it, or validate a frame.

    The frame has all columns of the table, with the types that `.arrow().read_all().to_pandas(types_mapper=
    pd.ArrowDtype)` gives. `validate` raises SchemaError at the first claim that does not hold, with `lazy=True`
    SchemaErrors with all; a claim that is a warning warns. Keys in other tables are looked up in the current release,
    found as by `connect`. Raise CatalogueError where there is no such table.
    """
    from pipelines.warehouse.rows.schemas import ValidationContext, schema_of  # noqa: PLC0415 - a second for pandas and Pandera
    from pipelines.warehouse.rows.session import create_functions  # noqa: PLC0415 - the same

    known = {table.name: table for table in catalogue.release_tables()}
    if name not in known:
        manifest = read_manifest(_release(data, config))
        known |= {own.name: own.table() for own in (manifest.own if manifest else ())}
    if name not in known:
        raise catalogue.CatalogueError(f"a release has no table {name}; it has {', '.join(sorted(known))}")

    @functools.cache
    def opened() -> duckdb.DuckDBPyConnection:
        con = connect(data, config=config)
        create_functions(con, "temp macro")
        return con

    return schema_of(known[name], ValidationContext(opened))


def _release(data: Path | str | None, config: Path | str | None) -> Path:
    folder = Path(data) if data is not None else load_settings(Path(config) if config else None).data_dir
    release = folder if (folder / DATABASE).exists() else current_release(folder / "published")
    if release is None:
        raise NoReleaseError(f"there is no release in {folder / 'published'}: run `ordermart run` first")
    return release
