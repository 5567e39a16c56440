"""The tables of schemas `meta`, which say what a release holds, and `ref`, the user's own CSV files of [reference].

Declares their columns, and gives the rows of those that follow from the catalogue alone. The rows of
`meta.not_available` are the questions that the source cannot answer, why, and where to join it from.

The macros of a release are `sql/macros/<name>.sql`, one select each, over the tables that the release holds. A file
starts with what it is called with and what it gives, in comment lines:

    -- orders_as_of(ts): one row per order that had been observed by then, as its version at that time says.

The example queries are `sql/examples/<number>_<name>.sql`: the question that it answers, in one comment line, and one
select. They are the rows of `meta.examples` and the text of docs/QUESTIONS.md, and a test runs each of them.
"""

import csv
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from pipelines.landing.shape import read_sql
from pipelines.literals import literal
from pipelines.resources import resource
from pipelines.warehouse.catalogue.selects import keep_reads, reads
from pipelines.warehouse.catalogue.tables import SQL, Table, listed, partition_of, release_tables
from pipelines.warehouse.contracts import CatalogueError, Column


@dataclass(frozen=True)
class Macro:
    """A table macro: `from name(parameters)`; `about` says what it gives."""

    name: str
    parameters: tuple[str, ...]
    about: str
    sql: str

    @property
    def call(self) -> str:
        """How it is called."""
        return f"{self.name}({', '.join(self.parameters)})"


@functools.cache
def macros() -> tuple[Macro, ...]:
    """Return every macro, by name. Raise CatalogueError where a file does not say how it is called."""
    return tuple(_macro(path) for path in sorted((SQL / "macros").glob("*.sql")))


def create_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Create every macro, with its comment, in the schema main of a database that was opened itself.

    A macro finds its tables where it is created, so an attached database will not do.
    """
    for macro in macros():
        con.execute(f"create macro main.{macro.call} as table {macro.sql}")
        con.execute(f"comment on macro table main.{macro.name} is {literal(macro.about)}")


def _macro(path: Path) -> Macro:
    sql = read_sql(path)
    head = re.match(rf"-- {path.stem}\(([\w, ]*)\): (.+(?:\n-- .+)*)", sql)
    if not head:
        raise CatalogueError(f"macros/{path.name} must start with `-- {path.stem}(…): ` and what it gives")
    parameters = tuple(each.strip() for each in head[1].split(",") if each.strip())
    about = head[2].replace("\n-- ", " ")
    return Macro(path.stem, parameters, about[0].upper() + about[1:], sql)


@dataclass(frozen=True)
class Example:
    """A question and the select that answers it; `tables` are those that the select or its macro reads."""

    name: str
    question: str
    sql: str
    tables: tuple[str, ...]


@functools.cache
def examples() -> tuple[Example, ...]:
    """Return every example in the order of its file. Raise CatalogueError for one that starts with no question."""
    found = tuple(example_of(path.stem, path.read_text("utf-8")) for path in sorted((SQL / "examples").glob("*.sql")))
    keep_reads()
    return found


def example_of(file: str, text: str) -> Example:
    """Return the example that a file states."""
    head = re.match(r"-- (.+\?)\n", text)
    if not head:
        raise CatalogueError(f"examples/{file}.sql must start with `-- ` and its question")
    sql = text[head.end() :].strip().rstrip(";")
    tables = {*reads(sql).tables}
    for macro in macros():
        if f"{macro.name}(" in sql:
            tables.update(reads(macro.sql).tables)
    return Example(re.sub(r"^\d+_", "", file), head[1], sql, tuple(sorted(tables)))


class NotAvailable(NamedTuple):
    """Something that people ask for and no document states."""

    subject: str
    reason: str
    closest: str
    join_from: str
    unless: str  # a select: a release in which it has rows has what is asked for


@functools.cache
def not_available() -> tuple[NotAvailable, ...]:
    """Return the rows of `sql/not_available.csv`."""
    lines = (resource("sql") / "not_available.csv").read_text(encoding="utf-8").splitlines()
    return tuple(NotAvailable(**row) for row in csv.DictReader(lines))


def _declared(text: str) -> Iterator[Table]:
    """Yield the table of each paragraph: its name, key and grain, then a line for each column; an indented one goes on.

    A column says name, type and meaning. Those of the key are not null.
    """
    for paragraph in text.replace("\n    ", " ").strip().split("\n\n"):
        head, *lines = paragraph.splitlines()
        named, _, grain = head.partition("): ")
        name, _, key = named.partition(" (")
        columns = []
        for of, _, meaning in (line.partition(": ") for line in lines):
            column, kind = of.split(" ", 1)
            columns.append(Column(column, kind, column not in key.split(", "), meaning))
        yield listed(name, grain, tuple(key.split(", ")), columns)


_STORE_AND_MONTH = """store_id BIGINT: The store of the rows; null if they have none.
month VARCHAR: The partition of the rows, see meta.tables; null if the table is one file."""
TABLES, COLUMNS, EXAMPLES, MACROS, MISSING, RELEASE, CHANGES, CHANGED_AMOUNTS, MODELS, SCHEMAS = _declared(f"""
meta.tables (table_name): One row per table of this release.
table_name VARCHAR: The table, such as mart.orders.
grain VARCHAR: What a row is, in one sentence.
description VARCHAR: Grain, source and caveats.
key_columns VARCHAR[]: The columns of its key; empty if it is a list without a key.
partitioned_by VARCHAR: The month by which its Parquet files are partitioned; null if it is one file.
row_count BIGINT: Number of rows in this release.

meta.columns (table_name, column_no): One row per column of a table of this release.
table_name VARCHAR: The table, such as mart.orders.
column_no BIGINT: The column's position, from 1.
column_name VARCHAR: The column's name; it has one meaning in all tables.
data_type VARCHAR: The type in the DuckDB file; an ENUM is a text in Parquet.
is_nullable BOOLEAN: Whether it may be null: not stated, never zero.
is_key BOOLEAN: Whether it is part of the table's key.
description VARCHAR: What it means.

meta.examples (example_no): One row per question with a query that answers it; tests run each of them.
example_no BIGINT: The example's position, from 1.
example_name VARCHAR: A short name.
question VARCHAR: The question.
query VARCHAR: A select, to be run in this file.
table_names VARCHAR[]: The tables that it reads.

meta.macros (macro_call): One row per macro: a select with parameters, used as a table.
macro_call VARCHAR: How it is called: `from` and this, with values for the parameters.
description VARCHAR: What it gives.

meta.not_available (subject): One row per subject that people ask for and neither documents nor statements of this
    release state.
subject VARCHAR: What is asked for.
reason VARCHAR: Why no table has it.
closest_answer VARCHAR: What a release has instead.
join_from VARCHAR: Which other system usually has it, and by what it joins.

meta.release (release_id): One row: this release, and the one that meta.changes compares it with.
release_id VARCHAR: The name of the release's folder.
as_of TIMESTAMP WITH TIME ZONE: When it was made; no load that began later is in it.
previous_release_id VARCHAR: The one current before; null if there was none, or too much differs for a run: see
    `ordermart diff`.
code_version VARCHAR: The version of ordermart that made it.

meta.changes (table_name, store_id, month): One row per table, store and month with rows of core, mart or own that
    differ from the previous release.
table_name VARCHAR: The table, such as mart.orders.
{_STORE_AND_MONTH}
added_row_count BIGINT: Rows with a key that the previous release lacks.
removed_row_count BIGINT: Rows with a key that this release lacks.
changed_row_count BIGINT: Rows with another value; lineage and times of observation do not count.

meta.changed_amounts (table_name, store_id, month, column_name): One row per table, store, month and column of amounts
    whose sum differs from the previous release.
table_name VARCHAR: The table, such as mart.orders.
{_STORE_AND_MONTH}
column_name VARCHAR: The column that was added up.
previous_amount DECIMAL(38,4): Its sum over all rows of the store and month in the previous release.
current_amount DECIMAL(38,4): The same in this release.

meta.models (model_name): One row per table of schema own, and per model, check or example that is wrong.
model_name VARCHAR: The table, such as own.weekly, or the file, such as checks/weekly__adds_up.
made_at TIMESTAMP WITH TIME ZONE: When its rows were made; null if there are none.
problem VARCHAR: Why it could not be made for this release, which has its last rows; else null.
warnings VARCHAR[]: Its checks that warn, or a doubt, with how many rows.

meta.schemas (schema_name): One row per schema, in the order to look at them: start with mart.
schema_name VARCHAR: The schema.
description VARCHAR: What its tables are for, and which to open first.
""")
ABOUT = {
    "mart": "Answers: start here. mart.orders has a row per order, mart.daily_store_sales one per store and day.",
    "core": "What the service sent, flat and typed, nothing interpreted.",
    "audit": "Evidence about the data and the loads: audit.quarantine has what was rejected.",
    "own": "Tables of your own, from the files of [models].",
    "ref": "Your own CSV files, named in [reference].",
    "workings": "Internal: the figures that other tables are made of, and the evidence in detail. Look here last.",
    "meta": "What a release says of itself: meta.tables and meta.columns describe all, meta.examples has queries.",
}
ALWAYS = (SCHEMAS, TABLES, COLUMNS, EXAMPLES, MACROS, MISSING)
COMPARED = (RELEASE, CHANGES, CHANGED_AMOUNTS)
META = (*ALWAYS, *COMPARED, MODELS)


def row_of(meta: Table, *values: Any) -> dict[str, Any]:
    """Return a row of a table, by the names of its columns."""
    return dict(zip([column.name for column in meta.columns], values, strict=True))


def in_tables(table: Table, row_count: int | None, about: str = "") -> dict[str, Any]:
    """Return the row of meta.tables about a table; `about` starts with its grain, if its description does not."""
    grain = " ".join((about or table.description).split("\n\n")[0].split())
    partition = partition_of(table) or None
    return row_of(TABLES, table.name, grain, table.description, list(table.key), partition, row_count)


def in_columns(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of meta.columns about a table."""
    for number, column in enumerate(table.columns, 1):
        facts = column.name, column.type, column.nullable, column.name in table.key, column.description
        yield row_of(COLUMNS, table.name, number, *facts)


def in_examples(number: int, example: Example) -> dict[str, Any]:
    """Return the row of meta.examples about an example."""
    return row_of(EXAMPLES, number, example.name, example.question, example.sql, list(example.tables))


def meta_rows(meta: Table, row_counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the rows of a table of META that are known before own ones; those of meta and ref are counted later."""
    described = sorted(release_tables(), key=lambda table: table.name)
    given: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
        SCHEMAS.name: lambda: (row_of(SCHEMAS, *each) for each in ABOUT.items()),
        TABLES.name: lambda: (in_tables(each, row_counts.get(each.name)) for each in (*described, *META, *REFERENCE)),
        COLUMNS.name: lambda: (row for each in (*described, *META, *REFERENCE) for row in in_columns(each)),
        EXAMPLES.name: lambda: (in_examples(number, each) for number, each in enumerate(examples(), 1)),
        MACROS.name: lambda: (row_of(MACROS, macro.call, macro.about) for macro in macros()),
        MISSING.name: lambda: (row_of(MISSING, *each[:-1]) for each in not_available()),
    }
    return list(given[meta.name]()) if meta.name in given else []


STORES, PRODUCTS, PLATFORMS, UNMATCHED = _declared("""
ref.stores (store_id): One row per store in the file of [reference] stores; empty without one.
store_id BIGINT: The store's id.
own_code VARCHAR: Your own code of the store.
legal_entity VARCHAR: The company that runs it.
region VARCHAR: Its region.
timezone VARCHAR: Its time zone by your records; business days follow the store record and settings.
currency VARCHAR: Its currency by your records; amounts follow the store record and settings.
opened_on DATE: When it opened.
closed_on DATE: When it closed for good.

ref.products (product_id): One row per product in the file of [reference] products; empty without one.
product_id BIGINT: The product's id.
plu VARCHAR: Your own number of the product.
category VARCHAR: Its category.
is_combo BOOLEAN: Whether it combines other products.

ref.platforms (platform): One row per platform in the file of [reference] platforms; empty without one.
platform VARCHAR: The platform, as orders state it.
platform_name VARCHAR: Your own name of it.
platform_group VARCHAR: The group that it belongs to, such as own or marketplace.

ref.unmatched (reference_table, id, problem): One row per id that a file of [reference] and the data do not both have.
reference_table VARCHAR: The table of schema ref.
id VARCHAR: The store, product or platform, as a text.
problem VARCHAR: not_in_data: only the file has it. not_in_file: only the data have it.
""")
FILES = {"stores": STORES, "products": PRODUCTS, "platforms": PLATFORMS}
REFERENCE = (*FILES.values(), UNMATCHED)
