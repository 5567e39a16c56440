"""Contracts of closing: what was sealed, what was found to differ since, and that both add up to what is there."""

from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Instant, Text, column
from pipelines.warehouse.contracts.marts import SALE_CLASSES

PARTS = (
    "orders",
    "subtotal_price",
    "delivery_price",
    "tip",
    "discount",
    "loyalty_discount",
    "total_price",
    "line_amount",
)
CAUSES = (
    "late_arriving",
    "source_changed",
    "gone",
    "business_date_changed",
    "sale_class_changed",
    "setting_changed",
    "rule_changed",
    "released_from_quarantine",
    "pipeline_changed",
)

_STORE = "The store, as the service numbers it; null for orders that name none."
_DAY = "The sealed business day."
_CLASS = "The sale class in which the amount stood or stands: counted, excluded, unmapped or deleted."
_PART = (
    "A price field of the order; or orders, which counts orders (1.0000 is one); or line_amount, the sum of its lines "
    "under the subtotal rule in force. Never add parts to one another."
)
_CURRENCY = "What the amounts are in, from the store's record; null where it names none."
_SEAL = "The number of the act in the ledger that sealed the day."


class DailyFingerprints(
    Contract, table="audit.daily_fingerprints", scope="day", key=("store_id", "business_date", "sale_class")
):
    """One row per store, business day and sale class: how many orders it has, and their fingerprint.

    For machines: a step on the way to audit.pending_restatements, which is what to read.
    Source: mart.order_reconciliation.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column("The business day; null where an order has none.", nullable=True)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    orders: Count = column("How many orders.", ge=1)
    fingerprint: Text = column("An xor of hashes of its orders and their amounts: equal where they are.")


class ClosedDayTotals(
    Contract, table="audit.closed_day_totals", scope="all", key=("store_id", "business_date", "sale_class")
):
    """One row per store, sealed business day and sale class: what the seal in force holds, added up.

    For machines: a step on the way to mart.closed_days, which is what to read.
    Source: raw.closed_orders under raw.day_closes, out of the ledger: made anew only when a day is sealed or reopened.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    orders: Count = column("How many orders were sealed.", ge=1)
    fingerprint: Text = column("An xor of hashes of its orders and their amounts, as in audit.daily_fingerprints.")
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Amount = column("Sum over its orders; null where none states it.", nullable=True)
    delivery_price: Amount = column("Sum over its orders; null where none states it.", nullable=True)
    tip: Amount = column("Sum over its orders; null where none states it.", nullable=True)
    discount: Amount = column("Sum over its orders; null where none states it.", nullable=True)
    loyalty_discount: Amount = column("Sum over its orders; null where none states it.", nullable=True)
    total_price: Amount = column("Sum over its orders; null where none states it.", nullable=True)
    line_amount: Amount = column("Sum over its orders; null where none has one.", nullable=True)


class PendingRestatements(
    Contract,
    table="audit.pending_restatements",
    scope="all",
    key=("order_id", "store_id", "business_date", "sale_class", "part"),
):
    """One row per order, place and part whose booked amount is not what the order adds now; empty in a release.

    Source: raw.day_closes, raw.closed_orders and raw.restated, out of the ledger, against mart.order_reconciliation.
    Traps: between a build and its release each of these is recorded as a restatement, so a reader sees none.
    """

    order_id: Id = column("The order, as the service numbers it.")
    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    part: Text = column(_PART, isin=PARTS)
    close_entry_no: Count = column(_SEAL, ge=1)
    currency: Text = column(_CURRENCY, nullable=True)
    sealed: Amount = column("What was sealed of this order here; zero where it was not in the seal.")
    prior_restated_amount: Amount = column("What restatements have recorded since.")
    now: Amount = column("What the order adds here now; zero where it adds nothing any more.")
    difference: Amount = column("now less sealed less prior_restated_amount.")


class Restatements(Contract, table="mart.restatements", scope="all", key=("number",)):
    """One row per order, place and part that was found to differ from what was booked: append-only.

    Source: the ledger, in which a night records what it finds before its release is switched.
    Traps: a row is a difference to all rows before it, so differences add up and `now` does not. An order that moved
    between sealed days has rows on both, which net to zero (a part that also changed: source_changed); one that
    moved to an open day has a row on the sealed day alone.
    Rows whose seal was reopened stand as they were and no longer count: filter by is_close_active.
    """

    number: Count = column("The number of the restatement, from 1, without gaps, never given twice.", ge=1)
    order_id: Id = column("The order, as the service numbers it.")
    store_id: Id = column(_STORE, nullable=True)
    part: Text = column(_PART, isin=PARTS)
    closed_business_date: Day = column(_DAY)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    sealed: Amount = column("What was sealed of this order here; zero where it was not in the seal.")
    prior_restated_amount: Amount = column("What restatements before this one have added.")
    now: Amount = column("What the order added here when this was found; zero where it added nothing any more.")
    difference: Amount = column("now less sealed less prior_restated_amount: what this row adds.")
    cause: Text = column(
        "late_arriving: first seen after the seal. released_from_quarantine: its document was refused when the day was sealed, "
        "and was accepted since. gone: the service no longer knows it. business_date_changed: its document, or its "
        "store's timezone, puts it on another day. sale_class_changed: the partner changed its status and no money, or "
        "knows it again. source_changed: its document changed otherwise. setting_changed: the same document, "
        "another [sales] or [business_day]. rule_changed: the same document, another rule in force. pipeline_changed: "
        "nothing but our code differs. The first of these that applies, in the order of docs/DECISIONS.md.",
        isin=CAUSES,
    )
    current_business_date: Day = column(
        "The order's business day when this was found; null where it had none.", nullable=True
    )
    current_sale_class: Text = column("The order's sale class when this was found.", isin=SALE_CLASSES)
    detected_at: Instant = column("When it was found and recorded.")
    close_entry_no: Count = column(_SEAL, ge=1)
    is_close_active: Flag = column("Whether that seal still counts: false once its day was reopened.")
    posted_period: Text = column("The period it was posted to; null while it is open.", nullable=True)


class ClosedDays(
    Contract, table="mart.closed_days", scope="all", key=("business_date", "store_id", "sale_class", "part")
):
    """One row per store, sealed business day, sale class and part: sealed + posted + open = now, to the cent.

    Source: the sealed orders of the ledger by audit.closed_day_totals, mart.restatements and mart.daily_reconciliations.
    Traps: a day that was reopened is not here, and a sealed day without any order has no row. Never add parts to one
    another, nor stores of two currencies.
    """

    business_date: Day = column(_DAY)
    store_id: Id = column(_STORE, nullable=True)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    part: Text = column(_PART, isin=PARTS)
    close_entry_no: Count = column(_SEAL, ge=1)
    closed_at: Instant = column("When it was sealed.")
    currency: Text = column(_CURRENCY, nullable=True)
    sealed: Amount = column("Sum of what was sealed.")
    posted: Amount = column("Sum of the restatements that were posted to a period.")
    open: Amount = column("Sum of the restatements that are open.")
    now: Amount = column("Sum of what the orders add now.")
