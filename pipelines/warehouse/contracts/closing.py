"""Contracts of closed days: their totals at close, the restatements since, and the identity of both with today."""

from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Instant, Text, column
from pipelines.warehouse.contracts.marts import SALE_CLASSES

MEASURES = (
    "order_count",
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
    "deleted",
    "business_date_changed",
    "moved_to_another_store",
    "lost_its_date",
    "sale_class_changed",
    "setting_changed",
    "rule_changed",
    "released_from_quarantine",
    "pipeline_changed",
)

_STORE = "The store, as the service numbers it; null for orders that name none."
_DAY = "The closed business day."
_CLASS = "The sale class of the amount: counted, excluded, unmapped or deleted."
_MEASURE = (
    "A price field of the order; or order_count, where one order is 1.0000; or line_amount, the sum of its lines under "
    "the effective subtotal rule. Never add measures to one another."
)
_CURRENCY = "Currency of the amounts, from the store's record; null where it names none."
_CLOSE = "The ledger entry that closed the day."
_SUM = "Sum over its orders; null if no order states it."
_FINGERPRINT = "An xor of hashes of the orders and their amounts: equal days have equal fingerprints."


class DailyFingerprints(
    Contract,
    table="audit.daily_fingerprints",
    scope="day",
    key=("store_id", "business_date", "sale_class"),
    is_released=False,
):
    """One row per store, business day and sale class: its order count and a fingerprint.

    A step: read audit.pending_restatements instead.
    Source: mart.order_reconciliation.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column("The business day; null for orders without one.", nullable=True)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    order_count: Count = column("Orders.", ge=1)
    fingerprint: Text = column(_FINGERPRINT)


class ClosedDayTotals(
    Contract,
    table="audit.closed_day_totals",
    scope="all",
    key=("store_id", "business_date", "sale_class"),
    is_released=False,
):
    """One row per store, closed business day and sale class: totals of the active close.

    A step: read mart.closed_days instead.
    Source: raw.closed_orders under raw.day_closes, from the ledger: rebuilt only when a day is closed or reopened.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    order_count: Count = column("Orders at close.", ge=1)
    fingerprint: Text = column(_FINGERPRINT)
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Amount = column(_SUM, nullable=True)
    delivery_price: Amount = column(_SUM, nullable=True)
    tip: Amount = column(_SUM, nullable=True)
    discount: Amount = column(_SUM, nullable=True)
    loyalty_discount: Amount = column(_SUM, nullable=True)
    total_price: Amount = column(_SUM, nullable=True)
    line_amount: Amount = column(_SUM, nullable=True)


class ChangedClosedDays(
    Contract,
    table="audit.changed_closed_days",
    scope="all",
    key=("store_id", "business_date", "sale_class"),
    is_released=False,
):
    """One row per store, closed day and sale class whose orders may differ from their books.

    A step: read audit.pending_restatements instead.
    Source: audit.closed_day_totals, audit.daily_fingerprints, raw.restated and raw.day_closes.
    """

    business_date: Day = column(_DAY)
    store_id: Id = column(_STORE, nullable=True)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    close_entry_no: Count = column(_CLOSE, ge=1)


class PendingRestatements(
    Contract,
    table="audit.pending_restatements",
    scope="all",
    key=("order_id", "store_id", "business_date", "sale_class", "measure"),
):
    """One row per order, store-day, sale class and measure whose booked and current amounts differ.

    Source: audit.changed_closed_days, raw.closed_orders and raw.restated, from the ledger, against
    mart.order_reconciliation.
    Caveats: empty in a release, because every row is recorded as a restatement before the release is published.
    """

    order_id: Id = column("The order, as the service numbers it.")
    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    measure: Text = column(_MEASURE, isin=MEASURES)
    close_entry_no: Count = column(_CLOSE, ge=1)
    currency: Text = column(_CURRENCY, nullable=True)
    closed_amount: Amount = column("The order's amount here at close; zero if the close does not have it here.")
    prior_restated_amount: Amount = column("Sum of the restatements recorded since.")
    current_amount: Amount = column("The order's current amount here; zero if it has left.")
    restatement_amount: Amount = column("current_amount - closed_amount - prior_restated_amount.")


class Restatements(Contract, table="mart.restatements", scope="all", key=("restatement_no",)):
    """One row per restatement: a recorded change to an order's measure on a closed day. Append-only.

    Source: the ledger, to which a run appends restatements before it publishes its release.
    Caveats: each row is a change to all rows before it: add restatement_amount, not current_amount. An order that moved
    between closed days has rows on both, which net to zero (source_changed if an amount changed too); one that
    moved to an unclosed day has a row on the closed day only. If a day is reopened, its rows stay unchanged but no
    longer count: filter by is_close_active. The books of a period are what its days were closed with, plus what was
    posted to it, less what was reversed in it.
    """

    restatement_no: Count = column("Number of the restatement, from 1, without gaps, never reused.", ge=1)
    order_id: Id = column("The order, as the service numbers it.")
    store_id: Id = column(_STORE, nullable=True)
    measure: Text = column(_MEASURE, isin=MEASURES)
    closed_business_date: Day = column(_DAY)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    closed_amount: Amount = column("The order's amount here at close; zero if the close does not have it here.")
    prior_restated_amount: Amount = column("Sum of the restatements before this one.")
    current_amount: Amount = column("The order's amount here when this was recorded; zero if it had left.")
    restatement_amount: Amount = column("current_amount - closed_amount - prior_restated_amount.")
    cause: Text = column(
        "late_arriving: first seen after the close. released_from_quarantine: quarantined at close, accepted since. "
        "deleted: deleted at source. lost_its_date: its document no longer has the time that decides its day. "
        "moved_to_another_store: its document names another store. business_date_changed: its document, or its store's "
        "time zone, puts it on another day. sale_class_changed: its status changed and no amount did, or it is not "
        "deleted any more. source_changed: its document changed otherwise. setting_changed: same document, other "
        "[sales] or [business_day]. rule_changed: same document, other effective rule. pipeline_changed: only the "
        "pipeline's code differs. All rows of an order that one run records have the same: the first that applies, in "
        "the order of docs/DECISIONS.md.",
        isin=CAUSES,
    )
    current_business_date: Day = column(
        "The order's business day when this was recorded; null if it had none.", nullable=True
    )
    current_sale_class: Text = column("The order's sale class when this was recorded.", isin=SALE_CLASSES)
    detected_at: Instant = column("When it was found and recorded.")
    close_entry_no: Count = column(_CLOSE, ge=1)
    is_close_active: Flag = column("Whether that close is active: false once its day was reopened.")
    posted_period: Text = column("The period it was posted to; null while unposted.", nullable=True)
    reversed_period: Text = column(
        "The period in which its posting was reversed, when its day was reopened; else null.", nullable=True
    )


class ClosedDays(
    Contract, table="mart.closed_days", scope="all", key=("business_date", "store_id", "sale_class", "measure")
):
    """One row per store, closed business day, sale class and measure.

    closed_amount + posted_amount + unposted_amount = current_amount, exactly, or nothing is published.
    Source: audit.closed_day_totals (from the ledger), mart.restatements and mart.daily_reconciliations.
    Caveats: a reopened day has no rows, nor has a closed day without orders. Never add measures to one another, nor
    stores of two currencies.
    """

    business_date: Day = column(_DAY)
    store_id: Id = column(_STORE, nullable=True)
    sale_class: Text = column(_CLASS, isin=SALE_CLASSES)
    measure: Text = column(_MEASURE, isin=MEASURES)
    close_entry_no: Count = column(_CLOSE, ge=1)
    closed_at: Instant = column("When it was closed.")
    currency: Text = column(_CURRENCY, nullable=True)
    closed_amount: Amount = column("Total at close.")
    posted_amount: Amount = column("Sum of the restatements posted to a period.")
    unposted_amount: Amount = column("Sum of the unposted restatements.")
    current_amount: Amount = column("Current total.")
