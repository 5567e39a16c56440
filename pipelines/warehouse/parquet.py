"""Write the tables of a release as Parquet: order tables by month, the others as one file each.

A file is named by a hash of its content, so a reader that lists at the wrong moment may miss a file and never mixes
two releases. A part of a table that no commit has touched since the last release is that release's file, by a hard
link.

Knows nothing of how a release becomes the current one.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pipelines.warehouse import catalogue
from pipelines.warehouse.manifest import File, described
from pipelines.warehouse.session import WHOLE, month_of, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from pipelines.warehouse.catalogue import Table

_MONTHS = "touched.months_of_orders"
_FORMAT = "format parquet, compression zstd"


def write_parquet(
    con: duckdb.DuckDBPyConnection, release: Path, last: Path | None, known: Sequence[File]
) -> list[File]:
    """Write `parquet/<schema>/<table>/` below `release` from the attached database, and return its files.

    `last` is the folder of the release before, `known` its files.
    """
    before = {(file.table, file.month, file.changed_in): file for file in known if file.table}
    files = []
    con.execute(
        f"create table {_MONTHS} as select order_id, {month_of('created_at')} as month from warehouse.core.orders"
    )
    for table in catalogue.released():
        schema, _, name = table.name.partition(".")
        folder = release / "parquet" / schema / name
        folder.mkdir(parents=True)
        wanted = dict(
            con.execute(
                "select month, changed_in from warehouse.build.months where table_name = ? order by month", [table.name]
            ).fetchall()
        )
        for month, changed_in in list(wanted.items()):
            same = before.get((table.name, month, changed_in))
            if same and last and _linked(last / same.path, release / same.path):
                files.append(same)
                del wanted[month]
        if wanted:
            files += _write(con, release, folder, table, wanted)
    return files


def _linked(source: Path, target: Path) -> bool:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)
    return True


def _write(
    con: duckdb.DuckDBPyConnection, release: Path, folder: Path, table: Table, wanted: dict[str, str]
) -> list[File]:
    """Write the parts of a table, a part being a month or the whole."""
    draft = folder / "draft"
    columns = ", ".join(f't."{column.name}"' for column in table.columns)
    if table.scope == "order":
        months = ", ".join(f"'{month}'" for month in wanted)
        con.execute(
            f"""
            copy (
                select {columns}, m.month
                from warehouse.{table.name} as t
                inner join {_MONTHS} as m on m.order_id = t.order_id
                where m.month in ({months})
            )
            to '{quoted(draft)}' ({_FORMAT}, partition_by (month))
            """
        )
        # DuckDB 2.0 writes a leading underscore of a folder's name as %5F
        found = sorted(draft.rglob("*.parquet"))
        drafts = [(unquote(path.parent.name).removeprefix("month="), path) for path in found]
    else:
        draft.mkdir()
        whole = draft / "whole.parquet"
        con.execute(f"copy (select {columns} from warehouse.{table.name} as t) to '{quoted(whole)}' ({_FORMAT})")
        drafts = [(WHOLE, whole)]
    files = []
    for month, path in drafts:
        entry = described(release, path)
        target = (folder / f"month={month}" if month != WHOLE else folder) / f"{entry.sha256[:16]}.parquet"
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
        target.chmod(0o444)
        name = str(target.relative_to(release))
        files.append(File(name, entry.bytes, entry.sha256, table.name, month, wanted[month or WHOLE]))
    shutil.rmtree(draft, ignore_errors=True)
    return files
