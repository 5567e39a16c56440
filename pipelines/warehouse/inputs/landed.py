"""Read landed files into schema `raw` of a build: observations of given loads, and typed documents of given states.

Knows where columns come from and how documents are typed, not which loads or ids are wanted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from pipelines.literals import literals
from pipelines.warehouse.catalogue.generated_selects import filled
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.inputs.relations import create, nothing
from pipelines.warehouse.storage import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from pipelines.landing.raw_folder import RawFile


_MAY_HAVE_UNKNOWN = {"has_unknown": "BOOLEAN"}  # where it is null or absent, only the text can tell
# A file from before load_started_at was stored has the time in the ids of its loads only. Files from before
# [privacy] customer_key was turned off have the keys.
_STORED = {
    "customer_key": "if((select privacy_customer_key from raw.settings), customer_key, null)",
    "load_started_at": "coalesce(load_started_at, try_strptime(left(load_id, 21), '%Y%m%dT%H%M%S%f')::timestamptz)",
}
_OBSERVED = ", ".join(
    f"cast({_STORED.get(column, column)} as {kind}) as {column}" for column, kind in relations.OBSERVATION.items()
)


class MissingDocumentError(Exception):
    """Raw lacks a document that an observation names: files are missing."""


def present(files: Sequence[RawFile]) -> list[Path]:
    """Return the paths of those files that exist: a load without a new document may have none."""
    return [file.path for file in files if file.path.exists()]


def by_loads(files: Sequence[RawFile], loads: Iterable[str]) -> tuple[list[Path], list[Path]]:
    """Return the paths of files that exist: of those that hold any of these loads, and of the others."""
    wanted = set(loads)
    fresh = [file for file in files if wanted.intersection(file.load_ids)]
    return present(fresh), present([file for file in files if file not in fresh])


def rows_per_order(con: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> Fraction:
    """Return how many orders, lines and modifiers an order document of these files is made into, on average."""
    counts = "count(*), cast(sum(1 + lines + modifiers) as bigint)"
    row = con.execute(f"select {counts} from {_files(paths)}").fetchone() if paths else None
    return Fraction(row[1], row[0]) if row and row[0] else Fraction(1)


def create_observations_view(con: duckdb.DuckDBPyConnection, name: str, paths: Sequence[Path]) -> None:
    """Make view `name` of all observations in these files."""
    con.execute(f"create or replace view {name} as select {_OBSERVED} from {_observed(paths)}")


def create_observations(
    con: duckdb.DuckDBPyConnection, name: str, paths: Sequence[Path], loads: Iterable[str], only: str | None = None
) -> None:
    """Make table `name` of the observations of these loads in these files; `only` names a relation of (kind, id)."""
    ids = f"and exists (select 1 from {only} as o where o.kind = files.kind and o.id = files.id)" if only else ""
    con.execute("create or replace temp table wanted_loads (load_id varchar)")
    con.execute("insert into wanted_loads select unnest(?::varchar[])", [list(loads)])
    con.execute(f"""
        create or replace table {name} as
        select {_OBSERVED} from {_observed(paths)} as files
        where load_id in (select load_id from wanted_loads) {ids}
    """)


def create_notes(con: duckdb.DuckDBPyConnection, documents: Mapping[str, Sequence[Path]], loads: Iterable[str]) -> None:
    """Make view raw.document_notes: what validation recorded of the documents of these loads in these files, by kind.

    An undocumented field is recorded as its path and types, `/items/*/foo:string`.
    """
    con.execute("create or replace temp table noted_loads as select unnest(?::varchar[]) as load_id", [list(loads)])
    selects = []
    for kind, paths in documents.items():
        if paths:
            mine = "load_id in (select load_id from noted_loads)"
            selects += [
                f"select '{kind}' as kind, load_id, id, unnest(absences) as note from {_files(paths)} where {mine}",
                f"""
                select '{kind}' as kind, load_id, id, found.key || ':' || found.value as note from (
                    select load_id, id, unnest(map_entries(
                        if(
                            contains(document, '"_unknown":'), -- in the select: among filters it may come first
                            cast(json_extract(document, '$._unknown') as map(varchar, varchar)),
                            null
                        )
                    )) as found
                    from {_named(paths, _MAY_HAVE_UNKNOWN)}
                    where {mine} and has_unknown is distinct from false
                )
                """,
            ]
    con.execute(
        "create or replace view raw.document_notes as "
        + (" union all ".join(selects) or nothing(relations.RAW["raw.document_notes"]))
    )


def create_documents(
    con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], states: str, older: Sequence[Path] = ()
) -> None:
    """Make table raw.latest_<kind>: the typed document of each state of this kind that has one.

    `paths` are looked through for all of `states`; `older`, where the rest of the documents may be, only for what was
    not in them. Raise MissingDocumentError when a document is in neither.
    """
    table = f"raw.latest_{kind}"
    create(con, table)
    wanted = f"(select * from {states} where kind = '{kind}' and sha256 is not null)"
    entity = relations.ENTITY[kind]
    missing = total = _count(con, wanted)
    for each in (paths, older):
        if each and missing:
            con.execute(_typed(con, kind, each, wanted))
            _drop_repeats(con, table, entity)
            wanted = f"(from {wanted} as w where not exists (select 1 from {table} as t where t.{entity} = w.id))"
            missing = total - _count(con, table)
    if missing:
        row = con.execute(f"select min(id) from {wanted}").fetchone()
        raise MissingDocumentError(
            f"data/raw has no document for {missing} of the {kind} that were observed, the first is {row and row[0]}: "
            "bring its files back, or land them again"
        )


def create_earlier_documents(
    con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], wanted: str, older: Sequence[Path] = ()
) -> None:
    """Make table raw.earlier_<kind>: the typed document of each (id, sha256) of relation `wanted`, each once.

    `paths` and `older` as in create_documents. Raise MissingDocumentError when a document is in neither.
    """
    table = f"raw.earlier_{kind}"
    con.execute(f"""
        create or replace table {table} (
            id bigint, sha256 varchar, document {relations.sql_type(relations.DOCUMENTS[kind])}
        )
    """)
    left = f"""(
        select distinct id, sha256 from {wanted} as w
        where not exists (select 1 from {table} as t where t.id = w.id and t.sha256 = w.sha256)
    )"""
    for each in (paths, older):
        row = con.execute(f"select min(id), max(id) from {left}").fetchone()
        if each and row and row[0] is not None:
            con.execute(f"""
                insert into {table}
                select wanted.id, wanted.sha256, from_json(
                    any_value(files.document), '{relations.structure(relations.DOCUMENTS[kind])}'
                )
                from {_files(each)} as files
                inner join {left} as wanted on files.id = wanted.id and files.sha256 = wanted.sha256
                where files.id between {row[0]} and {row[1]}
                group by wanted.id, wanted.sha256 -- one of equal documents that were landed twice
            """)
    if missing := _count(con, left):
        row = con.execute(f"select min(id) from {left}").fetchone()
        raise MissingDocumentError(
            f"data/raw has no document for {missing} earlier versions of {kind}, the first of {row and row[0]}: "
            "bring its files back, or land them again"
        )


def _typed(con: duckdb.DuckDBPyConnection, kind: str, paths: Sequence[Path], states: str) -> str:
    """Return the insert of the documents of `states` found in the files."""
    row = con.execute(f"select min(id), max(id) from {states}").fetchone()
    low, high = row or (0, 0)
    return filled(
        "latest_documents",
        kind=kind,
        structure=relations.structure(relations.DOCUMENTS[kind]),
        customer="wanted.customer_key," if kind == "orders" else "",
        is_deleted=relations.IS_DELETED,
        validated=" ".join(
            f"cast(files.{column.removeprefix('validated_')} as {type_}) as {column},"
            for column, type_ in relations.VALIDATED[kind].items()
        ),
        files=_files(paths),
        states=states,
        low=str(low),
        high=str(high),
    )


def _drop_repeats(con: duckdb.DuckDBPyConnection, table: str, entity: str) -> None:
    """Keep one of equal documents that were landed twice, as happens when the index was rebuilt in between."""
    row = con.execute(f"select count(*) <> count(distinct {entity}) from {table}").fetchone()
    if row and row[0]:
        con.execute(f"""
            delete from {table} where rowid not in (
                select min(rowid) from {table} group by {entity}
            )
        """)


def _observed(paths: Sequence[Path]) -> str:
    """Return a relation of observations; what a file from before a column was added does not have is null."""
    if not paths:
        return f"({nothing(relations.OBSERVATION)})"
    return _named(paths, relations.OBSERVATION)


def _named(paths: Sequence[Path], columns: Mapping[str, str]) -> str:
    """Return a relation of files by the names of their columns; of `columns`, what a file does not have is null."""
    return f"(({nothing(columns)}) union all by name (from {_files(paths, 'union_by_name = true')}))"


def _files(paths: Sequence[Path], *options: str) -> str:
    return f"read_parquet({', '.join([f'[{literals(paths)}]', *options])})"


def _count(con: duckdb.DuckDBPyConnection, relation: str) -> int:
    return count_of(con.execute(f"select count(*) from {relation}"))
