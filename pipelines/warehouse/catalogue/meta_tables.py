"""The tables of schema `meta`, which say what a release holds, and of `ref`, the user's own CSV files of [reference].

Declares their columns, and gives the rows of those that follow from the catalogue alone. The rows of
`meta.not_available` are the questions that the source cannot answer, why, and where to join it from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.warehouse.catalogue.macros import examples, macros
from pipelines.warehouse.catalogue.tables import partition_of, released

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class NotAvailable(NamedTuple):
    """Something that people ask for and no document states."""

    subject: str
    reason: str
    closest: str
    join_from: str


NOT_AVAILABLE = (
    NotAvailable(
        "tax",
        "No field of an order or a menu states a tax amount, a rate, or whether prices include tax.",
        "A constant share of the total that no field explains is found in audit.formula_populations.residual_pattern.",
        "Point-of-sale or accounting system, by order_id; rates by product_id and store.",
    ),
    NotAvailable(
        "net sales",
        "Tax, refunds and commission are not stated, so nothing can be subtracted from what was charged.",
        "mart.daily_store_sales: subtotal_price less discount and loyalty_discount, before or with tax unknown.",
        "Accounting system, by store and business_date.",
    ),
    NotAvailable(
        "refunds",
        "No document states a refund. A later version may have a lower total, without saying why or who was paid.",
        "mart.order_amendments: amounts that changed after the order was placed.",
        "Payment provider, by order_id.",
    ),
    NotAvailable(
        "payment method",
        "Orders do not state how or whether they were paid.",
        "None; platform says where an order was placed, not how it was paid.",
        "Payment provider or point-of-sale system, by order_id.",
    ),
    NotAvailable(
        "commission",
        "The interface shows no fees of platforms or of the service.",
        "None; mart.daily_platform_sales has the sales by platform that rates apply to.",
        "Contracts or invoices of the platforms, by platform and month.",
    ),
    NotAvailable(
        "payout",
        "The interface shows no settlements or bank transfers.",
        "audit.control_totals compares orders with totals that somebody supplies.",
        "Settlement reports or bank statements, by store and period, as control totals.",
    ),
    NotAvailable(
        "actual delivery time",
        "Orders state requested and promised times only; a delivery has a status and no times.",
        "core.delivery_status_observations: when a status was first observed, which depends on how often it was asked.",
        "Courier or dispatch system, by order_id or delivery_id.",
    ),
    NotAvailable(
        "reason of cancelling",
        "A status may say that an order was cancelled; no field says why or by whom.",
        "core.order_status_observations: when it was observed, and from which status.",
        "Point-of-sale system or customer service, by order_id.",
    ),
    NotAvailable(
        "cost of goods",
        "Menus state sales prices and no costs or recipes.",
        "mart.product_mix: units and amounts by product.",
        "Inventory system, by product_id.",
    ),
)


@dataclass(frozen=True)
class MetaTable:
    """A table of schema meta: what a row is, and its columns by name, type and meaning."""

    name: str
    description: str
    key: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]


_TABLE = ("table_name", "VARCHAR", "The table, such as mart.orders.")
TABLES = MetaTable(
    "meta.tables",
    "One row per table of this release.",
    ("table_name",),
    (
        _TABLE,
        ("grain", "VARCHAR", "What a row is, in one sentence."),
        ("description", "VARCHAR", "Grain, source and caveats."),
        ("key_columns", "VARCHAR[]", "The columns of its key; empty if it is a list without a key."),
        ("partitioned_by", "VARCHAR", "The month by which its Parquet files are partitioned; null if it is one file."),
        ("row_count", "BIGINT", "Number of rows in this release."),
    ),
)
COLUMNS = MetaTable(
    "meta.columns",
    "One row per column of a table of this release.",
    ("table_name", "column_no"),
    (
        _TABLE,
        ("column_no", "BIGINT", "The column's position, from 1."),
        ("column_name", "VARCHAR", "The column's name; it has one meaning in all tables."),
        ("data_type", "VARCHAR", "The type in the DuckDB file; an ENUM is a text in Parquet."),
        ("is_nullable", "BOOLEAN", "Whether it may be null: not stated, never zero."),
        ("is_key", "BOOLEAN", "Whether it is part of the table's key."),
        ("description", "VARCHAR", "What it means."),
    ),
)
EXAMPLES = MetaTable(
    "meta.examples",
    "One row per question with a query that answers it; tests run each of them.",
    ("example_no",),
    (
        ("example_no", "BIGINT", "The example's position, from 1."),
        ("example_name", "VARCHAR", "A short name."),
        ("question", "VARCHAR", "The question."),
        ("query", "VARCHAR", "A select, to be run in this file."),
        ("table_names", "VARCHAR[]", "The tables that it reads."),
    ),
)
MACROS = MetaTable(
    "meta.macros",
    "One row per macro: a select with parameters, used as a table.",
    ("macro_call",),
    (
        ("macro_call", "VARCHAR", "How it is called: `from` and this, with values for the parameters."),
        ("description", "VARCHAR", "What it gives."),
    ),
)
MISSING = MetaTable(
    "meta.not_available",
    "One row per subject that people ask for and the source does not state.",
    ("subject",),
    (
        ("subject", "VARCHAR", "What is asked for."),
        ("reason", "VARCHAR", "Why no table has it."),
        ("closest_answer", "VARCHAR", "What a release has instead."),
        ("join_from", "VARCHAR", "Which other system usually has it, and by what it joins."),
    ),
)
_STORE = ("store_id", "BIGINT", "The store of the rows; null if they have none.")
_MONTH = ("month", "VARCHAR", "The partition of the rows, see meta.tables; null if the table is one file.")
RELEASE = MetaTable(
    "meta.release",
    "One row: this release, and the one that meta.changes compares it with.",
    ("release_id",),
    (
        ("release_id", "VARCHAR", "The name of the release's folder."),
        ("as_of", "TIMESTAMP WITH TIME ZONE", "When it was made; no load that began later is in it."),
        (
            "previous_release_id",
            "VARCHAR",
            "The one current before; null if there was none, or too much differs for a run: see `ordermart diff`.",
        ),
        ("code_version", "VARCHAR", "The version of ordermart that made it."),
    ),
)
CHANGES = MetaTable(
    "meta.changes",
    "One row per table, store and month with rows of core, mart or own that differ from the previous release.",
    ("table_name", "store_id", "month"),
    (
        _TABLE,
        _STORE,
        _MONTH,
        ("added_row_count", "BIGINT", "Rows with a key that the previous release lacks."),
        ("removed_row_count", "BIGINT", "Rows with a key that this release lacks."),
        ("changed_row_count", "BIGINT", "Rows with another value; lineage and times of observation do not count."),
    ),
)
CHANGED_AMOUNTS = MetaTable(
    "meta.changed_amounts",
    "One row per table, store, month and column of amounts whose sum differs from the previous release.",
    ("table_name", "store_id", "month", "column_name"),
    (
        _TABLE,
        _STORE,
        _MONTH,
        ("column_name", "VARCHAR", "The column that was added up."),
        ("previous_amount", "DECIMAL(38,4)", "Its sum over all rows of the store and month in the previous release."),
        ("current_amount", "DECIMAL(38,4)", "The same in this release."),
    ),
)
MODELS = MetaTable(
    "meta.models",
    "One row per table of schema own, and per model, check or example that is wrong.",
    ("model_name",),
    (
        ("model_name", "VARCHAR", "The table, such as own.weekly, or the file, such as checks/weekly__adds_up."),
        ("made_at", "TIMESTAMP WITH TIME ZONE", "When its rows were made; null if there are none."),
        ("problem", "VARCHAR", "Why it could not be made for this release, which has its last rows; else null."),
        ("warnings", "VARCHAR[]", "Its checks that warn and found rows, with how many."),
    ),
)
SCHEMAS = MetaTable(
    "meta.schemas",
    "One row per schema, in the order to look at them: start with mart.",
    ("schema_name",),
    (
        ("schema_name", "VARCHAR", "The schema."),
        ("description", "VARCHAR", "What its tables are for, and which to open first."),
    ),
)
ABOUT = {
    "mart": "Answers: start here. mart.orders has a row per order, mart.daily_store_sales one per store and day.",
    "core": "What the service sent, flat and typed, nothing interpreted.",
    "audit": "Evidence about the data and the loads: audit.quarantine has what was rejected.",
    "own": "Tables of your own, from the files of [models].",
    "ref": "Your own CSV files, named in [reference].",
    "meta": "What a release says of itself: meta.tables and meta.columns describe all, meta.examples has queries.",
}
ALWAYS = (SCHEMAS, TABLES, COLUMNS, EXAMPLES, MACROS, MISSING)
COMPARED = (RELEASE, CHANGES, CHANGED_AMOUNTS)
OF_OWN = (MODELS,)


def rows_of(meta: MetaTable, row_counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the rows of one of ALWAYS; `row_counts` are those of the release's tables."""
    names = [name for name, _, _ in meta.columns]
    return [dict(zip(names, row, strict=True)) for row in _GIVEN[meta.name](row_counts)]


def _tables(row_counts: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    for table in sorted(released(), key=lambda table: table.name):
        grain = " ".join(table.description.split("\n\n")[0].split())
        partition = partition_of(table) or None
        yield table.name, grain, table.description, list(table.key), partition, row_counts[table.name]


def _columns(_: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    for table in sorted(released(), key=lambda table: table.name):
        for number, column in enumerate(table.columns, 1):
            is_key = column.name in table.key
            yield table.name, number, column.name, column.type, column.nullable, is_key, column.description


def _examples(_: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    for number, example in enumerate(examples(), 1):
        yield number, example.name, example.question, example.sql, list(example.tables)


def _macros(_: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    yield from ((macro.call, macro.about) for macro in macros())


def _not_available(_: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    yield from NOT_AVAILABLE


def _schemas(_: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    yield from ABOUT.items()


def of_meta_and_ref() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of meta.tables and meta.columns about meta and ref themselves, without counts."""
    tables, columns = [], []
    for meta in (*ALWAYS, *COMPARED, *OF_OWN, *REFERENCE):
        said = (meta.name, meta.description, meta.description, list(meta.key), None, None)
        tables.append(dict(zip([name for name, _, _ in TABLES.columns], said, strict=True)))
        for number, (name, kind, meaning) in enumerate(meta.columns, 1):
            row = (meta.name, number, name, kind, name not in meta.key, name in meta.key, meaning)
            columns.append(dict(zip([each for each, _, _ in COLUMNS.columns], row, strict=True)))
    return tables, columns


_GIVEN = {
    SCHEMAS.name: _schemas,
    TABLES.name: _tables,
    COLUMNS.name: _columns,
    EXAMPLES.name: _examples,
    MACROS.name: _macros,
    MISSING.name: _not_available,
}


STORES = MetaTable(
    "ref.stores",
    "One row per store in the file of [reference] stores; empty without one.",
    ("store_id",),
    (
        ("store_id", "BIGINT", "The store's id."),
        ("own_code", "VARCHAR", "Your own code of the store."),
        ("legal_entity", "VARCHAR", "The company that runs it."),
        ("region", "VARCHAR", "Its region."),
        ("timezone", "VARCHAR", "Its time zone by your records; business days follow the store record and settings."),
        ("currency", "VARCHAR", "Its currency by your records; amounts follow the store record and settings."),
        ("opened_on", "DATE", "When it opened."),
        ("closed_on", "DATE", "When it closed for good."),
    ),
)
PRODUCTS = MetaTable(
    "ref.products",
    "One row per product in the file of [reference] products; empty without one.",
    ("product_id",),
    (
        ("product_id", "BIGINT", "The product's id."),
        ("plu", "VARCHAR", "Your own number of the product."),
        ("category", "VARCHAR", "Its category."),
        ("is_combo", "BOOLEAN", "Whether it combines other products."),
    ),
)
PLATFORMS = MetaTable(
    "ref.platforms",
    "One row per platform in the file of [reference] platforms; empty without one.",
    ("platform",),
    (
        ("platform", "VARCHAR", "The platform, as orders state it."),
        ("platform_name", "VARCHAR", "Your own name of it."),
        ("platform_group", "VARCHAR", "The group that it belongs to, such as own or marketplace."),
    ),
)
UNMATCHED = MetaTable(
    "ref.unmatched",
    "One row per id that a file of [reference] and the data do not both have.",
    ("reference_table", "id", "problem"),
    (
        ("reference_table", "VARCHAR", "The table of schema ref."),
        ("id", "VARCHAR", "The store, product or platform, as a text."),
        ("problem", "VARCHAR", "not_in_data: only the file has it. not_in_file: only the data have it."),
    ),
)
FILES = {"stores": STORES, "products": PRODUCTS, "platforms": PLATFORMS}
REFERENCE = (*FILES.values(), UNMATCHED)
