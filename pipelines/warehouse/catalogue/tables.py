"""Find every table and check, and the order in which they can be built.

A table is `sql/<schema>/<table>.sql`: its contract, which is the file's head (`contracts.py`), and its select,
which of some is generated from the shape of documents (`GENERATED`). A check is a file
`sql/checks/<schema>.<table>__<claim>.sql`, generated, or declared in `sql/comparisons.toml` or in the head of its
table. Selects that are alike but for names share a file of `sql/templates/`, see `generated_selects.py`. What a select
reads is read from the select itself. Inputs of the build (typed documents, states, settings) are in schema `raw`; see
`inputs/relations.py`.

A check's file starts with its claim, then its severity, then perhaps another scope than its table's:

    -- Every order line belongs to an order.
    -- severity: blocking | warning
    -- scope: order | menu | store | day | load | all

It selects its violations: `entity_id` BIGINT (the order, menu or store, by scope; may be null for day, load and all),
`location` VARCHAR (where in it, such as 'line 2'), and where they help `residual` DECIMAL(38,4) and `detail` VARCHAR
(codes and ids, never a text that people wrote). Violations of a warning are the rows of `audit.findings`; one
violation of a blocking check keeps the whole build from being committed.

The Parquet files of a mart with a business day are partitioned by `business_month`, those of every other table of
orders by `created_month`, the month of the order's `created_at` in UTC; the rest are one file each. A month is a text
such as 2026-10, and `unknown` where there is no time: readers take `__HIVE_DEFAULT_PARTITION__`, the usual name, for a
null, and pandas then fails.
"""

from __future__ import annotations

import functools
import graphlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pipelines.landing.shape import SHAPES, read_sql
from pipelines.resources import resource
from pipelines.settings.kinds import ENTITIES, KINDS
from pipelines.warehouse import contracts
from pipelines.warehouse.catalogue import selects
from pipelines.warehouse.catalogue.selects import Reads, keep_reads, reads
from pipelines.warehouse.contracts import CatalogueError, Column, Contract, Join, TableHead

CREATED, BUSINESS = "created_month", "business_month"
NO_MONTH = "unknown"
WHOLE = ""  # the month of a table that is published as one file


def partition_of(table: Table) -> str:
    """Return the column by which a table's files are partitioned; "" if it is one file."""
    if table.name.startswith("mart.") and any(column.name == "business_date" for column in table.columns):
        return BUSINESS
    return CREATED if table.scope == "order" else ""


def month_of(time: str) -> str:
    """Return the expression of the month, in UTC, in which a time lies; no time is a month of its own."""
    utc = f"make_timestamp(epoch_us({time}))"  # strftime of a time with a zone takes four times as long
    return f"coalesce(strftime({utc}, '%Y-%m'), '{NO_MONTH}')"


def months_of_days(relation: str) -> str:
    """Return a select of the months, each once, of the business days in a relation."""
    month = f"coalesce(strftime(business_date, '%Y-%m'), '{NO_MONTH}') as month"
    return f"select distinct {month} from (select distinct business_date from {relation})"


def is_in_business_month(month: str) -> str:
    """Return the condition that a row `t` has a business day in a month."""
    if month == NO_MONTH:
        return "t.business_date is null"
    first = f"date '{month}-01'"
    return f"t.business_date between {first} and last_day({first})"


SQL = resource("sql")
SCHEMAS = ("core", "mart", "audit", "workings")
# By the template that the head names.
_ISSUES = functools.partial(selects.filled, "field_issues")
GENERATED: dict[str, Callable[[], str]] = {
    "daily_field_values": selects.daily_field_values,
    "field_values": selects.field_values,
    **{f"field_issues of {kind}": functools.partial(_ISSUES, kind=kind, entity=ENTITIES[kind]) for kind in KINDS},
}
GENERATED_CHECKS: dict[str, Callable[[], str]] = {
    **{f"core.{kind}__match_validation": functools.partial(selects.match_validation, kind) for kind in SHAPES},
    "core.order_lines__reference_a_known_product": functools.partial(selects.references_a_menu, "product"),
    "core.order_line_modifiers__reference_a_known_modifier": functools.partial(selects.references_a_menu, "modifier"),
}
Severity = Literal["blocking", "warning"]


@dataclass(frozen=True)
class Table(Contract):
    """One table: its contract, its select, and the tables (`schema.name`) that the select reads."""

    name: str
    sql: str
    reads: Reads

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The tables (`schema.name`) that its select reads, sorted."""
        return self.reads.tables

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every claim that a build checks of it: contract, key, checks and ties."""
        stated = (each for each in (*checks(), *ties()) if each.table == self.name)
        return (contract_check(self), key_check(self), *stated)


@dataclass(frozen=True)
class Check:
    """One claim about tables, as a select of its violations."""

    name: str
    table: str
    claim: str
    severity: Severity
    scope: str
    sql: str
    reads: Reads

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The tables (`schema.name`) that its select reads, sorted."""
        return self.reads.tables

    @property
    def is_by_row(self) -> bool:
        """Whether each row of its table keeps or breaks the claim, of the rows of a release."""
        found = _BY_ROW.fullmatch(self.sql.strip())
        if not found or found["table"] != self.table or _GATHERED.search(found["rest"] or ""):
            return False
        return not any(name.startswith("raw.") for name in self.depends_on)

    def by_row(self, frame: str, whole: str) -> str:
        """Return the select of `row_no` of the rows of a frame that break the claim; `whole` is the whole table."""
        found = _BY_ROW.fullmatch(self.sql.strip())
        if not found:
            raise CatalogueError(f"{self.name} is not about single rows")
        rest = re.sub(rf"\b{re.escape(self.table)}\b", whole, found["rest"] or "")
        alias = found["alias"] or "t"
        return f"select {alias}.row_no from {frame} as {alias}{rest}"


@dataclass(frozen=True)
class Claims(Check):
    """The checks about single rows of a table that a build looks at together: each row once."""

    checks: tuple[Check, ...] = ()


# A select of rows of one table: what comes after its name joins and leaves rows out, and adds nothing up.
_BY_ROW = re.compile(r"(?s)(?:--[^\n]*\n)*select\n.*?\nfrom (?P<table>[\w.]+)(?: as (?P<alias>\w+))?(?P<rest>\n.*)?")
_GATHERED = re.compile(r"^(?:group by|having|qualify|union)", re.MULTILINE)


def listed(
    name: str, description: str, key: tuple[str, ...], columns: Iterable[Column], reads: tuple[str, ...] = ()
) -> Table:
    """Return a table that no file of sql/ makes, as readers of a release see it."""
    contract = Contract(description, key, "all", (), is_released=True, columns=tuple(columns))
    return Table(**vars(contract), name=name, sql="", reads=Reads(reads, frozenset(), frozenset()))


@functools.cache
def tables() -> tuple[Table, ...]:
    """Return every table, each after the tables that it reads; one that reads itself gets its rows as they were.

    Raise CatalogueError where a file lacks a part of its contract, or a select reads what no file makes.
    """
    files = [path for schema in SCHEMAS for path in sorted((SQL / schema).glob("*.sql"))]
    found = {name: table(name) for name in (f"{path.parent.name}.{path.stem}" for path in files)}
    known = found.keys()
    for each in found.values():
        if stray := [d for d in each.depends_on if not d.startswith("raw.") and d not in known]:
            raise CatalogueError(f"sql for {each.name} reads {stray[0]}, which no file makes")
    graph = {name: sorted(d for d in found[name].depends_on if d in known and d != name) for name in sorted(known)}
    keep_reads()
    return tuple(found[name] for name in graphlib.TopologicalSorter(graph).static_order())


@functools.cache
def release_tables() -> tuple[Table, ...]:
    """Return the tables that a release holds: all but steps."""
    return tuple(table for table in tables() if table.is_released)


@functools.cache
def downstream_of_orders() -> frozenset[str]:
    """Return the tables that read orders, or read a table that does."""
    found = set()
    for each in tables():
        if each.scope == "order" or any(name in found or name.startswith("raw.order") for name in each.depends_on):
            found.add(each.name)
    return frozenset(found)


@functools.cache
def joins() -> tuple[Join, ...]:
    """Return the joins that the heads of tables name, by table: the dictionary lists them, and tests prove each."""
    heads = ((each.name, _head(each.name)) for each in tables())
    ordered = sorted(heads, key=lambda each: each[0])
    return tuple(join for name, head in ordered for join in contracts.joins_of(name, head))


@functools.cache
def stages() -> dict[str, int]:
    """Return for each table how often a full build has gone through the orders before, before it can make it.

    An order table that reads what all orders say (which rule is in force) waits until they have been heard.
    """
    found: dict[str, int] = {}
    heard = {each.name for each in tables() if each.scope != "order"} & downstream_of_orders()
    for each in tables():
        waits = [found[name] + (each.scope == "order" and name in heard) for name in each.depends_on if name in found]
        found[each.name] = max(waits, default=0)
    return found


@functools.cache
def checks() -> tuple[Check, ...]:
    """Return every check of `sql/checks/`, and every declared or generated one, by name."""
    names = {path.stem for path in (SQL / "checks").glob("*.sql")}
    claimed = (name for each in tables() for name in _claims(each.name))
    names |= {*GENERATED_CHECKS, *selects.comparisons("checks"), *claimed}
    found = tuple(check(name) for name in sorted(names))
    keep_reads()
    return found


@functools.cache
def claims(table: str) -> tuple[Check, ...]:
    """Return the checks about single rows of a table."""
    return tuple(check for check in checks() if check.table == table and check.is_by_row)


@functools.cache
def looks() -> tuple[Check, ...]:
    """Return every check in the way that a build looks at it: those about single rows of a table at once."""
    by_row: dict[tuple[str, str], list[Check]] = {}
    for each in checks():
        if each.is_by_row:
            by_row.setdefault((each.table, each.scope), []).append(each)
    together = []
    for (about, scope), found in by_row.items():
        reads = [each.reads for each in found]
        tables_read = tuple(sorted({name for each in reads for name in each.tables}))
        names, stars = ({each for of in reads for each in of.names}, {each for of in reads for each in of.stars})
        read, name = Reads(tables_read, frozenset(names), frozenset(stars)), f"{about}__keeps_its_claims_{scope}"
        together.append(Claims(name, about, "", "warning", scope, "", read, tuple(found)))
    return (*(each for each in checks() if not each.is_by_row), *together)


@functools.cache
def ties() -> tuple[Check, ...]:
    """Return every tie of `sql/ties/` and every declared one, by name: checks of totals over all rows."""
    written = {path.stem: read_sql(path) for path in (SQL / "ties").glob("*.sql")}
    found = tuple(check_of(name, sql) for name, sql in sorted((written | selects.comparisons("ties")).items()))
    keep_reads()
    return found


@functools.cache
def table(name: str) -> Table:
    """Return the table of that name (`core.orders`), whatever the state of the others."""
    schema, _, stem = name.partition(".")
    path = SQL / schema / f"{stem}.sql"
    try:
        text = read_sql(path)
        head = contracts.head_of(text)
        made = GENERATED.get(head.facts.get("template", ""))
        sql = made() if made else selects.completed(name, text, head)
        found = _reads(sql)
        return Table(**vars(contracts.contract_of(head, found.columns)), name=name, sql=sql, reads=found)
    except (CatalogueError, FileNotFoundError) as error:
        raise CatalogueError(f"sql/{schema}/{stem}.sql: {error}") from None


def check(name: str) -> Check:
    """Return the check of that name (`core.orders__match_validation`), whatever the state of the others."""
    if name in GENERATED_CHECKS:
        return check_of(name, GENERATED_CHECKS[name]())
    declared = selects.comparisons("checks").get(name) or _claims(name.partition("__")[0]).get(name)
    return check_of(name, declared or read_sql(SQL / "checks" / f"{name}.sql"))


@functools.cache
def _claims(table: str) -> dict[str, str]:
    """Return the checks that a table's head declares."""
    return selects.claims_of(table, _head(table))


@functools.cache
def _head(table: str) -> TableHead:
    return contracts.head_of(read_sql(SQL / f"{table.replace('.', '/')}.sql"))


def contract_check(table: Table) -> Check:
    """Return the claim that a table's rows are as its contract declares."""
    return _own_claim(table, "keeps_its_contract", "Columns, types, nulls and values are as the contract declares.")


def key_check(table: Table) -> Check:
    """Return the claim that a table's key is unique."""
    return _own_claim(table, "has_a_unique_key", f"({', '.join(table.key)}) is unique.")


def _own_claim(table: Table, name: str, claim: str) -> Check:
    reads_itself = Reads((table.name,), frozenset(), frozenset())
    return Check(f"{table.name}__{name}", table.name, claim, "blocking", table.scope, "", reads_itself)


def _reads(sql: str) -> Reads:
    """Return what a file's select reads, and what its head says that its rows are gathered from."""
    whole = {name for line in re.findall(r"^-- gathered from: (.+)$", sql, re.MULTILINE) for name in line.split(", ")}
    named = re.findall(r"^-- gathered from ([\w.]+): (.+)$", sql, re.MULTILINE)  # not all of its columns
    found = reads(sql)
    read = tuple(sorted({*found.tables, *whole, *(name for name, _ in named)}))
    names = found.names.union(*(columns.split(", ") for _, columns in named))
    return Reads(read, names, found.stars | whole, found.columns)


def check_of(name: str, sql: str, scope: str = "") -> Check:
    """Return the check that a file states; its scope is its table's unless the file, or `scope`, is of another."""
    claim = re.match(r"-- (.+)", sql)
    severity = re.search(r"^-- severity: (blocking|warning)$", sql, re.MULTILINE)
    own_scope = re.search(rf"^-- scope: ({'|'.join(contracts.SCOPES)})$", sql, re.MULTILINE)
    if not claim or not severity:
        raise CatalogueError(f"{name} must start with its claim, then `-- severity: blocking` or `warning`")
    try:
        read = _reads(sql)
    except CatalogueError as error:
        raise CatalogueError(f"{name}: {error}") from None
    about = name.partition("__")[0]
    how: Severity = "blocking" if severity[1] == "blocking" else "warning"
    scope = own_scope[1] if own_scope else scope or table(about).scope
    return Check(name, about, claim[1], how, scope, sql, read)
