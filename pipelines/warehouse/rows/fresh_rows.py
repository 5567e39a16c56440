"""Make fresh rows of tables, one select after the other, and hold them to their contracts, keys, checks and ties.

A table's rows pass three tests. When they are made, Pandera holds every row to its contract (types, nulls, words,
bounds) and its key. Once the tables are there that its claims name, Pandera holds every row to those, such as a key in
another table or a total that follows from the row. Before the commit, ties compare totals of related tables over all
rows. A tie reads neither affected keys nor views, so a build that forgot a day or an order cannot forget it here too.

    mart.orders: sale_class is a listed word (contract); order_id is unique (key); an order has a local time (claim);
    by store, total_price adds up to that of core.orders (tie)

A blocking failure stops the build before anything is committed. Its report names the key of a failed row, and no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.tables import Check, Claims, Severity, Table, contract_check, key_check
from pipelines.warehouse.contracts import Column
from pipelines.warehouse.evidence.gathering import gather_evidence
from pipelines.warehouse.inputs.relations import FORMULA_EVIDENCE
from pipelines.warehouse.rows.session import Staged, made, measure_cost, of_fresh_keys, show
from pipelines.warehouse.storage import count_of

if TYPE_CHECKING:
    import pandas as pd


SAMPLE = 10
ROWS_AT_A_TIME = 200_000


@dataclass(frozen=True)
class CheckResult:
    """How often a claim does not hold, with the keys of the first ten places."""

    name: str
    table: str
    severity: Severity
    violations: int
    sample: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class BuildResult:
    """What a build did; `why` is one sentence, `rows` counts every table as it now is.

    `notes` are sentences for the run's user: damage, and its repair. A row of `changed_tables` differs from before, a
    finding of `changed_checks`; of a full build, all. `validated` counts fresh rows that Pandera validated, by table.
    """

    changed: bool
    full: bool
    why: str
    rows: Mapping[str, int]
    checks: list[CheckResult]
    notes: tuple[str, ...] = ()
    changed_tables: frozenset[str] = frozenset()
    changed_checks: frozenset[str] = frozenset()
    validated: Mapping[str, int] = field(default_factory=dict)


class BuildBlocked(Exception):
    """A blocking check found violations: nothing was committed, the previous release stays current."""

    def __init__(self, checks: list[CheckResult]) -> None:
        self.checks = checks
        self.failed = [each for each in checks if each.severity == "blocking" and each.violations]
        named = "; ".join(f"{each.name}: {each.violations}, first {each.sample[:1]}" for each in self.failed)
        super().__init__(f"nothing was committed, the previous release stays current: {named}")


class Tally:
    """Adds up what a check finds in several parts of a table, and counts the rows that were validated, by table."""

    def __init__(self) -> None:
        self._found: dict[str, CheckResult] = {}
        self.validated: dict[str, int] = {}

    def validate(self, table: str, rows: int) -> None:
        """Count so many rows of a table as validated."""
        self.validated[table] = self.validated.get(table, 0) + rows

    def add(self, result: CheckResult) -> None:
        """Count the result of one part."""
        if known := self._found.get(result.name):
            violations, sample = known.violations + result.violations, (known.sample + result.sample)[:SAMPLE]
            result = replace(result, violations=violations, sample=sample)
        self._found[result.name] = result

    def results(self) -> list[CheckResult]:
        """Return one result per check, in the order in which they first ran."""
        return list(self._found.values())

    def raise_if_blocked(self) -> None:
        """Raise BuildBlocked when a blocking check found anything."""
        if any(each.severity == "blocking" and each.violations for each in self._found.values()):
            raise BuildBlocked(self.results())


def plain(value: Any) -> Any:
    """Return a value of a sample as JSON can show it."""
    return value if value is None or isinstance(value, int | str | bool) else str(value)


FINDING = {"entity_id": "BIGINT", "location": "VARCHAR", "residual": "DECIMAL(38,4)", "detail": "VARCHAR"}
FOUND_RIGHT: set[tuple[str, str, tuple[Column, ...]]] = set()


def columns_as_declared(con: duckdb.DuckDBPyConnection, table: Table) -> CheckResult:
    """Compare the columns of a table's select with the contract's, before anything is made of it.

    They follow from the select and its inputs' types, which do not change in this process: it is bound but once.
    """
    select = (table.name, table.sql, table.columns)
    found = _result(contract_check(table)) if select in FOUND_RIGHT else has_declared_columns(con, table, table.sql)
    if not found.violations:
        FOUND_RIGHT.add(select)
    return found


def has_declared_columns(con: duckdb.DuckDBPyConnection, table: Table, select: str) -> CheckResult:
    """Compare the columns of a select with those of a table's contract: names, types and order."""
    declared = [(column.name, column.type) for column in table.columns]
    types = dict(declared)
    made = con.sql(select)  # a relation, which is planned and not run
    found = [
        # a text fits where the contract lists words
        (name, types[name] if kind == "VARCHAR" and types.get(name, "").startswith("ENUM(") else kind)
        for name, kind in zip(made.columns, map(str, made.types), strict=True)
    ]
    pairs = {name: (types.get(name), dict(found).get(name)) for name in dict(declared + found)}
    wrong = [{"column": name, "declared": one, "found": other} for name, (one, other) in pairs.items() if one != other]
    if not wrong and found != declared:
        wrong = [{"columns": "in another order than declared"}]
    return _result(contract_check(table), len(wrong), wrong[:SAMPLE])


def rows_as_declared(
    con: duckdb.DuckDBPyConnection, table: Table, relation: str, rows: int
) -> tuple[CheckResult, CheckResult]:
    """Hold a relation of so many rows to the schema of the table: to its contract, and to its key."""
    claimed, key = contract_check(table), key_check(table)
    if not rows:
        return _result(claimed), _result(key)
    from pandera.errors import SchemaErrors  # noqa: PLC0415 - half a second for it and pandas

    from pipelines.warehouse.rows import schemas  # noqa: PLC0415 - the same

    context = schemas.ValidationContext(lambda: con, relation if rows > ROWS_AT_A_TIME else "")
    schema = schemas.schema_of(table, context, schemas.key_checks(table, context))
    wrong, sample, repeated, repeats = 0, [], 0, []
    for frame in _frames(con, f"select {as_texts(table, schema.columns)} from {relation}"):
        try:
            schema.validate(frame, lazy=True, inplace=True)
        except SchemaErrors as error:
            cases = error.failure_cases
            cases = cases[cases["schema_context"] == "Column"]
            wrong += len(cases)
            for case in cases.head(SAMPLE).to_dict("records"):
                at = {} if case["index"] is None else _key_of(table, frame, int(case["index"]))
                sample.append(at | {"column": case["column"], "check": str(case["check"])})
        for _, found in context.broken:
            repeated += len(found)
            repeats += [_key_of(table, frame, number) for number in found[:SAMPLE]]
        context.broken.clear()
    return _result(claimed, wrong, sample[:SAMPLE]), _result(key, repeated, repeats[:SAMPLE])


def _frames(con: duckdb.DuckDBPyConnection, select: str) -> Iterator[pd.DataFrame]:
    """Yield the rows of a select as frames backed by Arrow, some rows at a time.

    All rows are read first: checks ask the same connection, which ends a result that is still open.
    """
    import pandas as pd  # noqa: PLC0415 - as above

    for batch in con.execute(select).to_arrow_table(ROWS_AT_A_TIME).to_batches(ROWS_AT_A_TIME):
        yield batch.to_pandas(types_mapper=pd.ArrowDtype)


def _key_of(table: Table, frame: pd.DataFrame, number: int) -> dict[str, Any]:
    """Return the key of a row of a frame."""
    import pandas as pd  # noqa: PLC0415 - as above

    row = frame.iloc[number]
    is_null = {name: not isinstance(row[name], list) and bool(pd.isna(row[name])) for name in table.key}
    return {name: None if is_null[name] else plain(row[name]) for name in table.key}


def violations(check: Check) -> str:
    """Return the relation of the violations that a check selects; columns that it leaves out are null."""
    spelled = ", ".join(f"cast({column} as {kind}) as {column}" for column, kind in FINDING.items())
    absent = ", ".join(f"null as {column}" for column in FINDING)
    return f"(select {spelled} from (select {absent} where false union all by name ({check.sql}\n)))"


def found_in(con: duckdb.DuckDBPyConnection, check: Check, relation: str, count: int) -> CheckResult:
    """Return the result of a check that found so many violations, with the first of them out of a relation."""
    sample = _rows(con, f"select {', '.join(FINDING)} from {relation} order by all limit {SAMPLE}") if count else None
    return _result(check, count, sample)


def _result(claim: Check, violations: int = 0, sample: list[dict[str, Any]] | None = None) -> CheckResult:
    return CheckResult(claim.name, claim.table, claim.severity, violations, sample or [])


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = con.execute(sql)
    names = [each[0] for each in cursor.description or ()]
    return [{name: plain(value) for name, value in zip(names, row, strict=True)} for row in cursor.fetchall()]


def typed(table: Table) -> str:
    """Return the select of a table with its words as the types that its contract declares."""
    casts = [f'cast("{column.name}" as {column.type}) as "{column.name}"' for column in table.columns if column.words]
    return f"select * replace ({', '.join(casts)}) from ({table.sql}\n)" if casts else table.sql


def as_texts(table: Table, names: Iterable[str]) -> str:
    """Return the list of some columns of a table, for a select that gives words as texts."""
    of_words = {column.name for column in table.columns if column.words}
    return ", ".join(f'cast("{name}" as varchar) as "{name}"' if name in of_words else f'"{name}"' for name in names)


FINDINGS = "audit.findings"


class Making:
    """Fresh rows, and what was found in them so far.

    A full build puts them straight into the warehouse file, an increment beside it, in schema `fresh`.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, *, full: bool) -> None:
        self.con = con
        self.staged = Staged(con, {table.name: table for table in catalogue.tables()}, full)
        self.tally = Tally()
        # warnings that were looked for, and the relation of the entities in which; None: everywhere
        self.looked: dict[str, str | None] = {}
        self.findings = 0  # rows of raw.findings
        columns = ", ".join(f"{column.name} {column.type}" for column in catalogue.table(FINDINGS).columns)
        con.execute(f"create table raw.findings ({columns})")

    def make(self, table: Table, keys: str | None) -> int:
        """Make the rows of a table for these keys, check them by themselves, and return how many there are."""
        with measure_cost(table.name):
            show(self.staged, table, keys)
            if "raw.formula_populations" in table.depends_on:
                gather_evidence(self.con)
                self.staged.sources |= FORMULA_EVIDENCE.keys()
            relation = f'fresh."{table.name}"'
            insert = f"insert into warehouse.{table.name} {table.sql}"
            try:
                if self.staged.full:
                    self._declared(columns_as_declared(self.con, table))  # first: an insert would cast
                    # Into the file that nobody reads yet: rows that break a contract go with it.
                    rows = count_of(self.con.execute(insert))
                    relation = f"(from warehouse.{table.name} as t where {made(self.staged, table.name)})"
                else:
                    rows = count_of(self.con.execute(f"create or replace table {relation} as {typed(table)}"))
                    self._declared(has_declared_columns(self.con, table, f"from {relation}"))
                    self.staged.sets[table.name] = keys
            except (duckdb.ConversionException, duckdb.BinderException):
                self._judge_texts(table)
                raise
            for result in rows_as_declared(self.con, table, relation, rows):
                self.tally.add(result)
            if rows:
                self.tally.validate(table.name, rows)
            return rows

    def look(self, check: Check, keys: str | None) -> None:
        """Look for violations of a check, or of all claims about single rows of a table, in the rows of these keys."""
        with measure_cost(check.name):
            show(self.staged, check, keys)
            broken = self._broken(check) if isinstance(check, Claims) else {check}
            for each in check.checks if isinstance(check, Claims) else (check,):
                if each.severity == "warning":
                    self.looked[each.name] = keys
                if each in broken:
                    self._find(each)
                else:
                    self.tally.add(_result(each))

    def _broken(self, claims: Claims) -> set[Check]:
        """Return the claims that a shown row of their table breaks: Pandera says which."""
        from pipelines.warehouse.rows import schemas  # noqa: PLC0415 - slow, as above

        context = schemas.ValidationContext(lambda: self.con, claims.table)
        table = self.staged.catalogue[claims.table]
        read = [column.name for column in table.columns if column.name in claims.reads.names]
        for frame in _frames(self.con, f"select {as_texts(table, read)} from {claims.table}"):
            schemas.hold(frame, claims.checks, context)
        return {check for check, _ in context.broken}

    def _find(self, check: Check) -> None:
        """Find the violations of a check by its select."""
        found = violations(check)
        if check.severity == "blocking":
            count = count_of(self.con.execute(f"select count(*) from {found}"))
        else:
            named = f"'{check.name}', '{check.table}', entity_id, location, residual, detail"
            count = count_of(self.con.execute(f"insert into raw.findings select {named} from {found}"))
            found = f"(from raw.findings where rowid >= {self.findings})"
            self.findings += count
        self.tally.add(found_in(self.con, check, found, count))

    def replace(self, name: str) -> None:
        """Put the fresh rows of a table in the place of those of the same keys."""
        gone = of_fresh_keys(self.staged, name)
        self.con.execute(f'delete from warehouse.{name} where {gone}; insert into warehouse.{name} from fresh."{name}"')

    def differs(self, name: str, select: str = "select *", where: str = "") -> bool:
        """Tell whether fresh rows of a table differ from the stored ones of the same keys, in the selected columns."""
        stored = f"({select} from (from warehouse.{name} where {of_fresh_keys(self.staged, name)}) {where})"
        return differ(self.con, stored, f'({select} from fresh."{name}" {where})')

    def results(self) -> list[CheckResult]:
        """Return a result for every check of the catalogue; warnings count all rows of audit.findings."""
        return results_as_stored(self.con, self.tally.results())

    def _judge_texts(self, table: Table) -> None:
        """Raise BuildBlocked where rows of a table cannot be stored because of its contract's claims.

        A column of listed words takes no other word: rows are made once more, of texts, to be told which they are.
        """
        self._declared(has_declared_columns(self.con, table, table.sql))
        relation = f'fresh."{table.name}"'
        rows = count_of(self.con.execute(f"create or replace table {relation} as {table.sql}"))
        for result in rows_as_declared(self.con, table, relation, rows):
            self.tally.add(result)
        self.tally.raise_if_blocked()

    def _declared(self, result: CheckResult) -> None:
        """Note what was found in a table's columns; go no further where they are wrong."""
        self.tally.add(result)
        if result.violations:
            self.tally.raise_if_blocked()


def differ(con: duckdb.DuckDBPyConnection, left: str, right: str) -> bool:
    """Tell whether two relations of the same columns hold other rows; their order does not matter.

    Counts and a sum of hashes show most differences in one pass; only where both are equal are rows compared.
    """
    # all rows: DuckDB 2.0 reads no other result while one is not fetched to its end
    totals = (f"select count(*), sum(hash(t)) from {side} as t" for side in (left, right))
    one, other = con.execute(" union all ".join(totals)).fetchall()
    if one != other:
        return True
    return bool(con.execute(f"select 1 from (from {left} except all from {right}) limit 1").fetchall())


def results_as_stored(con: duckdb.DuckDBPyConnection, found: Iterable[CheckResult] = ()) -> list[CheckResult]:
    """Return the known state of every check, of blocking ones as they were `found`, where anything was made."""
    by_name, results = {each.name: each for each in found}, []
    counts = con.execute(f"select check_name, count(*) from warehouse.{FINDINGS} group by check_name").fetchall()
    standing = {str(name): int(count) for name, count in counts}
    for table in catalogue.tables():
        for check in table.checks:
            if check.severity == "warning":
                relation = f"(from warehouse.{FINDINGS} where check_name = '{check.name}')"
                results.append(found_in(con, check, relation, standing.get(check.name, 0)))
            else:
                results.append(by_name.get(check.name) or _result(check))
    return results


class TiesBroken(BuildBlocked):
    """The totals of an incremental build do not tie out: nothing was committed."""

    def named(self) -> str:
        """Name the first tie that does not hold, and where."""
        first = self.failed[0]
        place = first.sample[0].get("location") if first.sample else None
        return f"{first.name}: {place}" if place else first.name


def tie_out(con: duckdb.DuckDBPyConnection) -> list[CheckResult]:
    """Return what each tie finds in the attached `warehouse`, as the current transaction sees it."""
    con.execute("use warehouse")  # a select's tables are those of the attached file, not the views of the build
    try:
        selects = [(tie, violations(tie)) for tie in catalogue.ties()]
        counts = [count_of(con.execute(f"select count(*) from {found}")) for _, found in selects]
        return [found_in(con, *select, count) for select, count in zip(selects, counts, strict=True)]
    finally:
        with suppress(duckdb.Error):  # a transaction that an error ended: session.attached() does it after the rollback
            con.execute("use memory")


def require_increment_ties(con: duckdb.DuckDBPyConnection, tally: Tally) -> None:
    """Add the findings of the ties to `tally`; raise TiesBroken where any does not hold."""
    found = tie_out(con)
    for result in found:
        tally.add(result)
    if any(result.violations for result in found):
        raise TiesBroken(tally.results())
