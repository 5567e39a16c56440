"""Write the user's own tables into a release that nobody reads yet: into its file, as Parquet, and into meta."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from pipelines.literals import literal
from pipelines.warehouse.catalogue.meta_tables import COLUMNS, EXAMPLES, MODELS, TABLES
from pipelines.warehouse.own.making import state_file
from pipelines.warehouse.release.manifest import described
from pipelines.warehouse.release.parquet import linked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from pipelines.settings import Settings
    from pipelines.warehouse.catalogue.meta_tables import MetaTable
    from pipelines.warehouse.own.making import Made
    from pipelines.warehouse.own.models import Models
    from pipelines.warehouse.release.manifest import File

Facts = dict[str, list[dict[str, Any]]]


def write_own(
    con: duckdb.DuckDBPyConnection,
    settings: Settings,
    made: Made,
    release: Path,
    last: Path | None,
    known: Sequence[File],
) -> list[File]:
    """Create schema own in the release's own file, opened itself, and its Parquet; return the files.

    Rows that are those of the last release are its file.
    """
    if not made.tables:
        return []
    before = {(file.table, file.changed_in): file for file in known}
    con.execute(f"attach {literal(state_file(settings.data_dir))} as state (read_only)")
    con.execute("begin")
    con.execute("create schema own")
    files = []
    for table in made.tables:
        con.execute(f"create table {table.name} as from state.{table.name}")
        con.execute(f"comment on table {table.name} is {literal(table.description)}")
        for column in table.columns:
            con.execute(f'comment on column {table.name}."{column.name}" is {literal(column.description)}')
        same = before.get((table.name, table.version))
        if same and last and linked(last / same.path, release / same.path):
            files.append(same)
            continue
        folder = release / "parquet" / table.name.replace(".", "/")
        folder.mkdir(parents=True)
        draft = folder / "draft.parquet"
        con.execute(f"copy {table.name} to {literal(draft)} (format parquet, compression zstd)")
        target = folder / f"{described(release, draft).sha256[:16]}.parquet"
        draft.rename(target)
        target.chmod(0o444)
        files.append(described(release, target, table=table.name, changed_in=table.version))
    con.execute("commit")
    con.execute("detach state")
    return files


def of_own(made: Made, models: Models, examples: int) -> Facts:
    """Return the rows of tables of meta that are about own tables; `examples` are there already."""
    facts: Facts = {meta.name: [] for meta in (TABLES, COLUMNS, EXAMPLES, MODELS)}
    for table in made.tables:
        grain = " ".join(table.about.split("\n\n")[0].split())
        row: tuple[Any, ...] = (table.name, grain, table.description, list(table.key), None, table.rows)
        facts[TABLES.name].append(_row(TABLES, row))
        for number, column in enumerate(table.columns, 1):
            is_key = column.name in table.key
            said: tuple[Any, ...] = (
                table.name,
                number,
                column.name,
                column.type,
                column.nullable,
                is_key,
                column.description,
            )
            facts[COLUMNS.name].append(_row(COLUMNS, said))
    for number, example in enumerate(models.examples, examples + 1):
        row = (number, example.name, example.question, example.sql, list(example.tables))
        facts[EXAMPLES.name].append(_row(EXAMPLES, row))
    names = {each.name: each for each in made.tables}
    for name in sorted(names.keys() | made.wrong.keys()):
        found = names.get(name)
        warnings = [f"{check}: {count}" for check, count in sorted(found.warnings.items())] if found else []
        made_at = dt.datetime.fromisoformat(found.made_at) if found else None
        said = (name, made_at, made.wrong.get(name), warnings)
        facts[MODELS.name].append(_row(MODELS, said))
    return facts


def _row(meta: MetaTable, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip([name for name, _, _ in meta.columns], values, strict=True))
