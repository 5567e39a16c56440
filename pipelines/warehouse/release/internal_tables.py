"""Drop the internal tables of a release's file, of which DuckDB only marks the blocks as free.

Some have the names of undocumented fields, which may be a person's; the file that readers get must not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse import catalogue

if TYPE_CHECKING:
    import duckdb

_HIDDEN = r"""
select 1
from warehouse.audit.load_notes
where kind = 'orders'
    and note[1] = '/'
    and regexp_replace(note, ':[a-z|]+$', '') not in (
        select path from warehouse.audit.field_profile where kind = 'orders'
    )
limit 1
"""
_FREE = """
select (free_blocks + 2) * block_size // 8
from pragma_database_size()
where database_name = 'warehouse'
"""


def drop_internal_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Drop what `warehouse` does not show to readers, and overwrite it if it holds names that the rest does not."""
    has_names = con.execute(_HIDDEN).fetchone() is not None
    con.execute("begin")  # one write to disk instead of dozens
    con.execute("drop schema warehouse.build cascade")
    for table in catalogue.tables():
        if not table.is_released:
            con.execute(f"drop table warehouse.{table.name}")
    con.execute("commit")
    if has_names:
        _overwrite_free_blocks(con)


def _overwrite_free_blocks(con: duckdb.DuckDBPyConnection) -> None:
    """Fill the free blocks of `warehouse` with numbers that do not compress, and free them again."""
    con.execute("checkpoint warehouse")
    (count,) = con.execute(_FREE).fetchone() or (0,)
    con.execute(f"create table warehouse.main.filler as select hash(range) as n from range({count})")
    con.execute("checkpoint warehouse")
    con.execute("drop table warehouse.main.filler")
    con.execute("checkpoint warehouse")
