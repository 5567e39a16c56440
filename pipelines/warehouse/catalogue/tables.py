"""Find every table and check, and the order in which they can be built.

A table is `sql/<schema>/<table>.sql`, or a select generated from the shape of documents (`GENERATED`), and the contract
that names it; a check is a file `sql/checks/<schema>.<table>__<claim>.sql`, or generated. Selects that are alike but
for names share a file of `sql/templates/`, see `templates.py`. What a select reads is read from the select itself.
Inputs made by the build (typed documents, states, settings) are in schema `raw`; see `inputs.py`.

A check's file starts with its claim, then its severity, then perhaps another scope than its table's:

    -- Every order line belongs to an order.
    -- severity: blocking | warning
    -- scope: order | menu | store | day | load | all

It selects its violations: `entity_id` BIGINT (the order, menu or store, by scope; may be null for day, load and all),
`location` VARCHAR (where in it, such as 'line 2'), and where they help `residual` DECIMAL(38,4) and `detail` VARCHAR
(codes and ids, never a text that people wrote). Violations of a warning are the rows of `audit.findings`; one
violation of a blocking check keeps the whole build from being committed.

Knows nothing of data, settings or how a build runs.
"""

from __future__ import annotations

import functools
import graphlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from pipelines.landing.shape import SHAPES
from pipelines.resources import resource
from pipelines.warehouse.catalogue import field_values
from pipelines.warehouse.catalogue.facts import contract_of, facts
from pipelines.warehouse.catalogue.match_validation import match_validation
from pipelines.warehouse.catalogue.reads import CatalogueError, Reads, keep_reads, reads
from pipelines.warehouse.catalogue.templates import completed, field_issues, references_a_menu, tie_to_daily_store_sales
from pipelines.warehouse.contracts.facts import Scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.warehouse.contracts.contract import Contract
    from pipelines.warehouse.contracts.facts import Column, Facts

SQL = resource("sql")
SCHEMAS = ("core", "mart", "audit")
GENERATED: dict[str, Callable[[], str]] = {
    "audit.daily_field_values": field_values.daily_field_values,
    "audit.field_values": field_values.field_values,
    "audit.order_field_issues": functools.partial(field_issues, "orders"),
    "audit.menu_field_issues": functools.partial(field_issues, "menus"),
    "audit.store_field_issues": functools.partial(field_issues, "stores"),
}
GENERATED_CHECKS: dict[str, Callable[[], str]] = {
    **{f"core.{kind}__match_validation": functools.partial(match_validation, kind) for kind in SHAPES},
    **{
        f"{table}__tie_to_daily_store_sales": functools.partial(tie_to_daily_store_sales, table)
        for table in ("mart.daily_platform_sales", "mart.hourly_store_sales")
    },
    "core.order_lines__reference_a_known_product": functools.partial(references_a_menu, "product"),
    "core.order_line_modifiers__reference_a_known_modifier": functools.partial(references_a_menu, "modifier"),
}
Severity = Literal["blocking", "warning"]


@dataclass(frozen=True)
class Table:
    """One table: its select, its contract, and the tables (`schema.name`) that the select reads."""

    name: str
    sql: str
    facts: Facts
    reads: Reads

    @property
    def contract(self) -> type[Contract]:
        """The Pandera model, whose import is slow: `facts` have what it says."""
        return contract_of(self.name)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The tables (`schema.name`) that its select reads, sorted."""
        return self.reads.tables

    @property
    def description(self) -> str:
        """Grain, source and caveats, as the contract says."""
        return self.facts.about

    @property
    def is_released(self) -> bool:
        """Whether a release holds it; if not, it is a step from which other tables are made."""
        return self.facts.grain.is_released

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in order, as the contract says."""
        return self.facts.columns

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every claim that a build checks of it: contract, key, and the files of `sql/checks/` and `sql/ties/`."""
        return (
            contract_check(self),
            key_check(self),
            *(each for each in (*checks(), *ties()) if each.table == self.name),
        )

    @property
    def scope(self) -> Scope:
        """What part of it an increment recomputes."""
        return self.facts.grain.scope

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of its key; () if it has none."""
        return self.facts.grain.key


@dataclass(frozen=True)
class Check:
    """One claim about tables, as a select of its violations."""

    name: str
    table: str
    claim: str
    severity: Severity
    scope: Scope
    sql: str
    reads: Reads

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The tables (`schema.name`) that its select reads, sorted."""
        return self.reads.tables


@functools.cache
def tables() -> tuple[Table, ...]:
    """Return every table, each after the tables that it reads; one that reads itself gets its rows as they were.

    Raise CatalogueError where a file or contract lacks its other half, or a select reads what no file makes.
    """
    files = {f"{path.parent.name}.{path.stem}" for schema in SCHEMAS for path in (SQL / schema).glob("*.sql")}
    if lone := sorted(facts().keys() ^ (files | GENERATED.keys())):
        raise CatalogueError(f"without its other half, SQL or contract: {', '.join(lone)}")
    found = {name: _table(name) for name in facts()}
    known = found.keys()
    for table in found.values():
        if stray := [d for d in table.depends_on if not d.startswith("raw.") and d not in known]:
            raise CatalogueError(f"sql for {table.name} reads {stray[0]}, which no file makes")
    order = graphlib.TopologicalSorter(
        {name: sorted(d for d in found[name].depends_on if d in known and d != name) for name in sorted(known)}
    )
    keep_reads()
    return tuple(found[name] for name in order.static_order())


@functools.cache
def released() -> tuple[Table, ...]:
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
    """Return every check of `sql/checks/`, by name."""
    names = {path.stem for path in (SQL / "checks").glob("*.sql")} | GENERATED_CHECKS.keys()
    found = tuple(check(name) for name in sorted(names))
    keep_reads()
    return found


@functools.cache
def build_sql(name: str) -> str:
    """Return a select of `sql/build/`: one that a build runs over relations that it names itself."""
    return (SQL / "build" / f"{name}.sql").read_text(encoding="utf-8")


@functools.cache
def ties() -> tuple[Check, ...]:
    """Return every tie of `sql/ties/`, by name: checks of totals over all rows."""
    found = tuple(_check(path, path.read_text(encoding="utf-8")) for path in sorted((SQL / "ties").glob("*.sql")))
    keep_reads()
    return found


def table(name: str) -> Table:
    """Return the table of that name (`core.orders`), whatever the state of the others."""
    if name not in facts() or not (name in GENERATED or _file(name).exists()):
        raise CatalogueError(f"{name} needs both SQL and a contract")
    return _table(name)


def check(name: str) -> Check:
    """Return the check of that name (`core.orders__match_validation`), whatever the state of the others."""
    path = SQL / "checks" / f"{name}.sql"
    return _check(path, GENERATED_CHECKS[name]() if name in GENERATED_CHECKS else path.read_text(encoding="utf-8"))


def contract_check(table: Table) -> Check:
    """Return the claim that a table's rows are as its contract declares."""
    return Check(
        name=f"{table.name}__keeps_its_contract",
        table=table.name,
        claim="Columns, types, nulls and values are as the contract declares.",
        severity="blocking",
        scope=table.scope,
        sql="",
        reads=Reads((table.name,), frozenset(), frozenset()),
    )


def key_check(table: Table) -> Check:
    """Return the claim that a table's key is unique."""
    return Check(
        name=f"{table.name}__has_a_unique_key",
        table=table.name,
        claim=f"({', '.join(table.key)}) is unique.",
        severity="blocking",
        scope=table.scope,
        sql="",
        reads=Reads((table.name,), frozenset(), frozenset()),
    )


def _file(name: str) -> Path:
    schema, _, stem = name.partition(".")
    return SQL / schema / f"{stem}.sql"


def _table(name: str) -> Table:
    path = _file(name)
    what = facts()[name]
    sql = GENERATED[name]() if name in GENERATED else completed(path.read_text(encoding="utf-8"), what)
    return Table(name, sql, what, _reads(sql, path))


def _reads(sql: str, path: Path) -> Reads:
    """Return what a file's select reads, and what its head says that its rows are gathered from."""
    whole = {name for line in re.findall(r"^-- gathered from: (.+)$", sql, re.MULTILINE) for name in line.split(", ")}
    named = re.findall(r"^-- gathered from ([\w.]+): (.+)$", sql, re.MULTILINE)  # not all of its columns
    try:
        found = reads(sql)
        return Reads(
            tables=tuple(sorted({*found.tables, *whole, *(name for name, _ in named)})),
            names=found.names.union(*(columns.split(", ") for _, columns in named)),
            stars=found.stars | whole,
        )
    except CatalogueError as error:
        raise CatalogueError(f"{path.parent.name}/{path.name}: {error}") from None


def _check(path: Path, sql: str) -> Check:
    about = path.stem.partition("__")[0]
    claim = re.match(r"-- (.+)", sql)
    severity = re.search(r"^-- severity: (blocking|warning)$", sql, re.MULTILINE)
    scope = re.search(rf"^-- scope: ({'|'.join(get_args(Scope))})$", sql, re.MULTILINE)
    if not claim or not severity:
        raise CatalogueError(
            f"{path.parent.name}/{path.name} must start with its claim, then `-- severity: blocking` or `warning`"
        )
    return Check(
        name=path.stem,
        table=about,
        claim=claim[1],
        severity="blocking" if severity[1] == "blocking" else "warning",
        scope=scope[1] if scope else table(about).scope,  # type: ignore[arg-type]
        sql=sql,
        reads=_reads(sql, path),
    )
