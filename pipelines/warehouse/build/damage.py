"""Tell a damaged warehouse file from other trouble, and set it aside, so that it is rebuilt from raw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from pipelines.clock import utc_now
from pipelines.literals import literal
from pipelines.warehouse.rows.opening import why_not_opened
from pipelines.warehouse.rows.session import READ_ONLY

if TYPE_CHECKING:
    from pathlib import Path

# What DuckDB raises on files that are cut, overwritten, or beside the log of another file.
DAMAGE = (
    duckdb.IOException,
    duckdb.CatalogException,
    duckdb.InternalException,
    duckdb.FatalException,
    duckdb.SerializationException,
)
_DISK_FULL = ("no space left", "disk full", "failed to offload")


def unreadable(file: Path) -> str:
    """Return why DuckDB cannot read a database file; "" where it can, may not, or where there is none."""
    if not file.exists():
        return ""
    try:
        with duckdb.connect(":memory:") as con:
            con.execute(f"attach {literal(file)} as damaged {READ_ONLY}")
            con.execute("select count(*) from duckdb_tables() where database_name = 'damaged'").fetchone()
    except duckdb.Error as error:
        return "" if why_not_opened(error) else short(error)
    return ""


def is_damage(error: duckdb.Error, data_dir: Path) -> bool:
    """Tell whether an error of a build is the warehouse file's: no full disk, file in use or raw file."""
    text = str(error)
    is_disk_full = any(words in text.lower() for words in _DISK_FULL)
    is_other = is_disk_full or why_not_opened(error) or str(data_dir / "raw") in text
    return isinstance(error, DAMAGE) and not is_other


def set_aside(file: Path) -> Path:
    """Rename a damaged file, and its log; one that was set aside earlier goes."""
    for older in file.parent.glob(file.name + ".damaged-*"):
        older.unlink()
    target = file.with_name(f"{file.name}.damaged-{utc_now():%Y%m%dT%H%M%S}")
    file.rename(target)
    log = file.with_name(file.name + ".wal")
    if log.exists():
        log.rename(target.with_name(target.name + ".wal"))
    return target


def short(error: Exception) -> str:
    """Return the first line of an error of DuckDB, without what it adds of its own."""
    return str(error).partition("\n")[0]
