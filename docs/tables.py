"""Write docs/DICTIONARY.md, docs/QUESTIONS.md and docs/contract.odcs.yaml out of `sql/`: `python docs/tables.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.descriptions import CONTRACT, odcs
from pipelines.warehouse.catalogue.meta_tables import (
    META,
    REFERENCE,
    examples,
    macros,
    not_available,
)
from pipelines.warehouse.catalogue.tables import joins, partition_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.warehouse.catalogue.tables import Table
    from pipelines.warehouse.contracts import Join

_DICTIONARY = """\
# Dictionary

Every table of a release, out of the heads of `sql/core/`, `sql/mart/` and `sql/audit/`: do not edit, run
`python docs/tables.py`. The same texts are comments in the release's DuckDB file.

Money is DECIMAL(18,4) as sent, and DECIMAL(38,4) where it is added up; exact, never a float. Times are in UTC unless a
column ends with `_local`. A column has one meaning and one name everywhere. Null means not stated, never
zero. Columns that start with an underscore say where a row comes from. An ENUM is a text of which all words are
listed, in the order of the alphabet: it compares and sorts as a text does, and is a plain text in Parquet.

DuckDB's `.df()` turns decimals into floats: take `.arrow()`, `pl.from_arrow` or pandas with Arrow types, as
[BI.md](BI.md) shows. Parquet is partitioned by `created_month` (of `created_at`, in UTC) or `business_month` (of
`business_date`, in the store's time zone), texts such as 2026-10, or `unknown`. [QUESTIONS.md](QUESTIONS.md) has a
query for each common question.
"""
_SCHEMAS = {
    "mart": "Answers: start here.",
    "core": "What the source says, flat and typed, nothing interpreted.",
    "audit": "Evidence about the data and the loads, as people ask for it.",
    "workings": "Internal: the figures that other tables are made of, and the evidence in detail.",
}


def dictionary() -> str:
    """Return the whole text of docs/DICTIONARY.md."""
    return "\n".join(_of_dictionary())


def _of_dictionary() -> Iterator[str]:
    tables = sorted(catalogue.release_tables(), key=lambda table: table.name)
    steps = sorted(set(catalogue.tables()) - set(tables), key=lambda table: table.name)
    yield _DICTIONARY
    for schema, says in _SCHEMAS.items():
        yield f"- **{schema}**: {says}"
        for table in tables:
            if table.name.startswith(f"{schema}."):
                yield f"  - [{table.name}](#{_anchor(table.name)}): {_grain(table)}"
    yield "- **meta** and **ref**: What a release says of itself, and your own tables."
    yield from (f"  - [{meta.name}](#{_anchor(meta.name)}): {meta.description}" for meta in (*META, *REFERENCE))
    yield "- **in no release**: steps on the way to tables above, in `data/warehouse/` alone."
    yield from (f"  - {table.name}: {_grain(table)}" for table in steps)
    yield ""
    yield "## Macros\n"
    yield "In the DuckDB file of a release, opened itself: `from orders_as_of(timestamptz '2026-11-20 10:00:00Z')`.\n"
    yield from _table(("macro", "gives"), ((f"`{macro.call}`", macro.about) for macro in macros()))
    yield "## Joins that multiply rows\n"
    yield "Each table's section lists the joins that keep its rows one for one. These do not:\n"
    yield from _table(("from", "to", "on", "why"), (_cells(join) for join in joins() if not join.keeps))
    for schema in _SCHEMAS:
        for table in tables:
            if table.name.startswith(f"{schema}."):
                yield from _section(table)
    for meta in (*META, *REFERENCE):
        yield f"## {meta.name}\n"
        yield f"{meta.description}\n"
        yield f"Key: {', '.join(f'`{column}`' for column in meta.key)}.\n"
        yield from _table(("column", "type", "meaning"), ((f"`{c.name}`", c.type, c.description) for c in meta.columns))


def _section(table: Table) -> Iterator[str]:
    yield f"## {table.name}\n"
    yield f"{table.description}\n"
    key = ", ".join(f"`{column}`" for column in table.key)
    yield f"Key: {key}.\n" if key else "No key: it is a list.\n"
    if partition := partition_of(table):
        yield f"Parquet: by `{partition}`.\n"
    yield from _table(
        ("column", "type", "null", "meaning"),
        ((f"`{c.name}`", c.type, "null" if c.nullable else "", c.description) for c in table.columns),
    )
    kept = [join for join in joins() if join.keeps and join.left == table.name]
    if kept:
        yield "Joins that keep its rows one for one:\n"
        yield from (f"- `left join {join.right} using ({', '.join(join.on)})`: {join.so_that}." for join in kept)
        yield ""
    claims = [check for check in catalogue.checks() if check.table == table.name]
    if claims:
        yield "Claims:\n"
        yield from (f"- {_claim(check.claim)} ({check.severity}: `{check.name}`)" for check in claims)
        yield ""


def _grain(table: Table) -> str:
    return " ".join(table.description.split("\n\n")[0].split())


def _claim(claim: str) -> str:
    return claim if claim.endswith(".") else f"{claim}."


def _cells(join: Join) -> tuple[str, ...]:
    return join.left, join.right, ", ".join(f"`{column}`" for column in join.on), join.so_that


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield _row(head)
    yield _row(tuple("---" for _ in head))
    yield from (_row(row) for row in rows)
    yield ""


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _anchor(name: str) -> str:
    return name.replace(".", "")


_QUESTIONS = """\
# Questions and queries

Each question with a query that answers it, from `sql/examples/`: do not edit, run
`python docs/tables.py`. Tests run every query. A release has them in `meta.examples`:

```sql
select question, query from meta.examples order by example_no;
```

Amounts of two currencies never add up to anything: queries group by `currency`. `sale_class = 'counted'` are the
orders that `[sales]` counts as sales; until it names statuses, all are `unmapped`.
"""


def questions() -> str:
    """Return the whole text of docs/QUESTIONS.md."""
    return "\n".join(_of_questions())


def _of_questions() -> Iterator[str]:
    yield _QUESTIONS
    for number, example in enumerate(examples(), 1):
        yield f"## {number}. {example.question}\n"
        yield f"Reads {', '.join(f'`{name}`' for name in example.tables)}.\n"
        yield f"```sql\n{example.sql};\n```\n"
    yield "## What the source cannot answer\n"
    yield "A release has this table as `meta.not_available`.\n"
    yield "| subject | why | closest answer | join from |"
    yield "| --- | --- | --- | --- |"
    yield from (f"| {each.subject} | {each.reason} | {each.closest} | {each.join_from} |" for each in not_available())
    yield ""


def documents() -> dict[Path, str]:
    """Return the text of each document, by its file."""
    docs = Path(__file__).resolve().parent
    return {docs / "DICTIONARY.md": dictionary(), docs / "QUESTIONS.md": questions(), docs / CONTRACT: odcs()}


if __name__ == "__main__":
    for file, text in documents().items():
        file.write_text(text, encoding="utf-8")
