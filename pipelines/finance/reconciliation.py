"""Reconcile selected days and stores of a release: sums, breaks, restatements and control totals.

Sums are exact decimals, computed by the database. What people decide of breaks is recorded in the ledger; an accepted
break no longer counts until its amounts change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.finance import released
from pipelines.landing.shape import PRICES
from pipelines.ledger import LedgerEntry
from pipelines.ledger.entries import ACCEPTED, ASSIGNED, COMMENTED, User, decisions, order_key
from pipelines.record import Verdict
from pipelines.settings import Settings
from pipelines.warehouse.release.manifest import ReleaseManifest

Record = dict[str, Any]

COUNTS = tuple(
    "order_count balanced_count total_break_count subtotal_break_count both_break_count indeterminate_count "
    "break_count".split()
)
_LEFT = "line_amount unallocated_amount subtotal_residual subtotal_abs_residual total_residual total_abs_residual"
AMOUNTS = (*PRICES, *_LEFT.split())
_DAY = ("currency", "sale_class", "business_date")
_SUMS = ", ".join(f"cast(sum(rows.{name}) as bigint) as {name}" for name in COUNTS)
_SUMS += "".join(f", cast(sum(rows.{name}) as decimal(38, 4)) as {name}" for name in AMOUNTS)
_SHOWN = 5
_RECORDED = ("order_id", "store_id", "business_date", "currency", "total_residual", "subtotal_residual", "content")
_OF_SETTLEMENT = ("break_kind", "platform", "order_id", "currency", "amount", "content")


@dataclass(frozen=True)
class Reconciliation:
    """A reconciliation of an open release; its connection must stay open."""

    db: duckdb.DuckDBPyConnection
    manifest: ReleaseManifest
    selection: released.Selection

    def lines(self) -> list[Record]:
        """Return one row per currency and sale class, with counts and sums: the lines of the summary."""
        return released.records(
            self.db,
            f"select {LINE} as line, currency, sale_class, {_SUMS} from mart.daily_reconciliations as rows "
            f"where {self.selection.where()} group by currency, sale_class order by line",
        )

    def days(self) -> list[Record]:
        """Return a row per line of the summary and business day; a closed day without orders has one if unposted."""
        select = f"select currency, sale_class, business_date, {_SUMS} from mart.daily_reconciliations as rows"
        found = released.records(self.db, f"{select} where {self.selection.where()} group by all")
        rows = self.db.execute(
            "select currency, sale_class, closed_business_date, count(*) from mart.restatements as rows "
            f"where {UNPOSTED} and {self.selection.where('closed_business_date')} group by all"
        ).fetchall()
        unposted = {tuple(row[:3]): row[3] for row in rows}
        for day in found:
            day["unposted_count"] = unposted.pop(tuple(day[key] for key in _DAY), 0)
        nothing = dict.fromkeys(COUNTS, 0) | dict.fromkeys(AMOUNTS, Decimal(0))
        left = [dict(zip(_DAY, key, strict=True)) | nothing | {"unposted_count": n} for key, n in unposted.items()]
        return sorted([*found, *left], key=lambda day: [(day[key] is None, day[key]) for key in _DAY])

    def unposted_restatements(self) -> list[Record]:
        """Return one row per currency, sale class and measure with unposted restatements: line, count and sum."""
        return released.records(
            self.db,
            f"select {RESTATED_LINE} as line, currency, sale_class, measure, count(*) as restatement_count, "
            "cast(sum(restatement_amount) as decimal(38, 4)) as restatement_amount from mart.restatements as rows "
            f"where {UNPOSTED} and {self.selection.where('closed_business_date')} "
            "group by currency, sale_class, measure order by line",
        )

    def control_total_variances(self) -> list[Record]:
        """Return the control totals that do not tie out."""
        return [row for row in untied_totals(self.db, self.selection) if row["tie_out_status"] == "variance"]

    def populations(self) -> list[tuple[str, str, str | None]]:
        """Return scope, sentence and proposed settings of each population: what orders show of rules, largest first."""
        select = "select scope, sentence, settlement from audit.formula_populations where order_count > 0"
        return self.db.execute(f"{select} order by rule_target desc, order_count desc, population_no").fetchall()

    def largest_breaks(self, most: int = 5) -> list[tuple[str | None, list[int]]]:
        """Return each currency with the ids of its largest open breaks, largest first: none ranks across currencies."""
        return self.db.execute(
            f"select currency, list(order_id order by abs_residual desc, order_id)[:{most:d}] "
            f"from open_breaks as rows where {self.selection.where()} group by currency order by currency nulls last"
        ).fetchall()

    def undated_order_count(self) -> int:
        """Return the number of orders that a limit on days excludes because they have no business day."""
        if self.selection.since is None and self.selection.until is None:
            return 0
        store = released.Selection(store_id=self.selection.store_id).where()
        query = f"select count(*) as n from mart.orders as rows where business_date is null and {store}"
        return int(released.records(self.db, query)[0]["n"])

    def variances(self) -> dict[str, int]:
        """Return the number of variances by kind."""
        restated = sum(row["restatement_count"] for row in self.unposted_restatements())
        found = {"break": self.count("open_breaks"), "unposted restatement": restated}
        return found | {"control total variance": len(self.control_total_variances())}

    def assess(self) -> Verdict:
        """Whether it is balanced; orders whose totals cannot be tested are not, and without an order nothing is."""
        lines = self.lines()
        wrong = [f"{number:,} {kind}{'s' * (number != 1)}" for kind, number in self.variances().items() if number]
        number = self.indeterminate_count()
        untested = [f"{number:,} indeterminate order{'s' * (number != 1)}"] if number else []
        if not lines and not wrong:
            untested = ["no order is selected"]
        return Verdict({"orders": sum(int(line["order_count"]) for line in lines)}, wrong, untested)

    def indeterminate_count(self) -> int:
        """Return the number of orders whose totals cannot be tested."""
        return sum(int(line["indeterminate_count"]) for line in self.lines())

    def count(self, table: str) -> int:
        """Return the number of rows of a table, or a view, that the selection has."""
        query = f"select count(*) as n from {table} as rows where {self.selection.where()}"
        return int(released.records(self.db, query)[0]["n"])


# Rows refer to a line of the summary by number: a currency's label comes from outside, and a spreadsheet would read one
# such as ">0" or "*" as a condition.
LINE = "dense_rank() over (order by currency nulls last, sale_class)"
RESTATED_LINE = "dense_rank() over (order by currency nulls last, sale_class, measure)"
UNPOSTED = "rows.posted_period is null and rows.is_close_active and rows.restatement_amount <> 0"


def reconciliation(release: released.Released, selection: released.Selection) -> Reconciliation:
    """Return the reconciliation of an open release."""
    create_break_views(release)
    return Reconciliation(release.con, release.manifest, selection)


def create_break_views(release: released.Released) -> None:
    """Create the views breaks, and open_breaks: those that nobody accepted as they are, by the ledger of now."""
    accepted = ((key, each.content) for key, each in decisions(release.ledger.entries()).items() if each.content)
    rows = released.arrow_table(accepted, break_key=pa.string(), content=pa.string())
    release.con.register("accepted_breaks", rows)
    release.con.execute(f"create or replace temp view breaks as {released.finance_sql('breaks')}")
    left = "from breaks anti join accepted_breaks using (break_key, content)"
    release.con.execute(f"create or replace temp view open_breaks as {left}")


def list_breaks(settings: Settings, selection: released.Selection) -> list[Record]:
    """Return breaks by currency, the largest first, with decisions; `state`: open, accepted, changed since accepted."""
    with released.open_release(settings) as release:
        found = decisions(release.ledger.entries())
        create_break_views(release)
        order = "currency nulls last, abs_residual desc, order_id"
        breaks = released.records(release.con, f"from breaks as rows where {selection.where()} order by {order}")
    for row in breaks:
        decided = found.get(row["break_key"])
        is_accepted = decided is not None and decided.content == row["content"]
        row["decisions"] = decided
        row["state"] = "accepted" if is_accepted else "changed" if decided and decided.content else "open"
    return breaks


def accept_breaks(
    settings: Settings, keys: Sequence[int | str], reason: str, user: User, account_class: str = ""
) -> LedgerEntry:
    """Record that breaks are accepted as they are; raise FinanceError if one is not open.

    A key is an order's id, or names a break as audit.settlement_breaks does. A journal writes the residual of the total
    off to `account_class`, which may also be named later.
    """
    with released.open_release(settings) as release:
        of_class = {"account_class": account_class or None}
        found = _found(release, keys, is_open=not account_class)
        breaks = [
            {"key": row["break_key"], **of_class}
            | {name: _plain(row[name]) for name in (_OF_SETTLEMENT if row["break_kind"] else _RECORDED)}
            for row in found
        ]
        body = {"breaks": breaks, "reason": reason, "release": release.manifest.id, **user.body}
        return release.ledger.append(ACCEPTED, body)


def assign_breaks(settings: Settings, keys: Sequence[int | str], assignee: str, user: User) -> LedgerEntry:
    """Record who looks after breaks; raise FinanceError where there is none."""
    return _record(settings, ASSIGNED, keys, {"assignee": assignee}, user)


def comment_on_breaks(settings: Settings, keys: Sequence[int | str], text: str, user: User) -> LedgerEntry:
    """Record a comment on breaks; raise FinanceError where there is none."""
    return _record(settings, COMMENTED, keys, {"comment": text}, user)


def _record(settings: Settings, act: str, keys: Sequence[int | str], said: dict[str, str], user: User) -> LedgerEntry:
    with released.open_release(settings) as release:
        found = _found(release, keys)
        return release.ledger.append(act, {"keys": [row["break_key"] for row in found], **said, **user.body})


def _found(release: released.Released, keys: Sequence[int | str], *, is_open: bool = False) -> list[Record]:
    """Return breaks of orders' prices and of settlements by their keys; only those that are open need the ledger."""
    if is_open:
        create_break_views(release)
    else:
        release.con.execute(f"create or replace temp view breaks as {released.finance_sql('breaks')}")
    named = [order_key(key) if isinstance(key, int) else key for key in keys]
    select = (
        "from (from breaks union all by name select *, null as business_date from audit.settlement_breaks) "
        f"{'anti join accepted_breaks using (break_key, content) ' if is_open else ''}"
        "where break_key in (select unnest(?::varchar[])) order by order_id, break_key"
    )
    found = released.records(release.con, select, [named])
    if lacking := sorted({*named} - {row["break_key"] for row in found}, key=lambda key: (len(key), key)):
        shown = ", ".join(lacking[:_SHOWN]).replace(order_key(""), "order ", 1).replace(order_key(""), "")
        more = ", …" if len(lacking) > _SHOWN else ""
        which = "`ordermart breaks list` and `settlements list`"
        raise released.FinanceError(f"{shown}{more} has no break{' that is open' if is_open else ''}: see {which}")
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: an amount and a day as text."""
    return value if value is None or isinstance(value, int | str) else str(value)


def untied_totals(db: duckdb.DuckDBPyConnection, selection: released.Selection) -> list[dict[str, Any]]:
    """Return the control totals that differ, or that cannot be compared, with the currency of their store."""
    return released.records(
        db,
        "select rows.*, sales.currency from audit.control_totals as rows left join ("
        "select store_id, max(currency) as currency from mart.daily_store_sales group by store_id"
        f") as sales on rows.store_id = sales.store_id where tie_out_status <> 'tied' and {selection.where()} "
        "order by rows.business_date, rows.store_id, rows.amount_field, rows.sale_classes",
    )


def describe_total(total: Mapping[str, Any]) -> str:
    """Return a control total in words: where, and the stated and actual figures if they differ."""
    where = f"{total['business_date']} store {total['store_id']} {total['amount_field']} ({total['sale_classes']})"
    if total["unknown_reason"]:
        return f"{where}: {total['unknown_reason']}"
    differences = []
    if total["order_count_variance"]:
        differences.append(f"{total['control_order_count']:,} orders stated, {total['actual_order_count']:,} actual")
    if total["amount_variance"]:
        currency = total["currency"]
        stated = released.money(total["control_amount"], currency)
        actual = released.money_of(total["actual_amount"], currency)
        differences.append(f"{stated} stated, {actual} actual")
    return f"{where}: {', '.join(differences)}"
