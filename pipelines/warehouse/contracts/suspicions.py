"""Contracts of evidence for finance to review: order statuses, sets of sales statuses, possible duplicate orders."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Contract,
    Count,
    Day,
    Flag,
    Id,
    Ids,
    Instant,
    Money,
    Share,
    Text,
    Texts,
    column,
)
from pipelines.warehouse.contracts.facts import ComparisonScope
from pipelines.warehouse.contracts.marts import SALE_CLASSES

_CURRENCY = "Currency of the amounts, as in mart.orders; null if unknown. Do not add across currencies."
_STATUS = "Status of the order, as sent; null if the service sent none."
_DELETED = "Orders among them that were deleted at source."
_ZERO = "Orders among them with a total of exactly zero."
_MISSING = "Orders among them without a total."
_SUBTOTAL = "Sum of their stated subtotals."
_TOTAL = "Sum of their stated totals."
_WEEK_OLD = "Orders among them last requested a week after creation or later."


class DailyStatuses(
    Contract, table="audit.daily_statuses", scope="day", key=("business_date", "status", "currency"), is_released=False
):
    """One row per business day, order status and currency: figures of the orders that have it, as last observed.

    A step: read audit.status_evidence instead.
    Source: mart.orders. Kept by day: a run counts affected days only.
    """

    business_date: Day = column("The business day of the orders; null for orders without that time.", nullable=True)
    status: Text = column(_STATUS, nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    sale_class: Text = column(
        "Its class in [sales]: counted, excluded or unmapped; null if all its orders were deleted.",
        nullable=True,
        isin=SALE_CLASSES,
    )
    order_count: Count = column("Orders that have it.", ge=1)
    deleted_count: Count = column(_DELETED, ge=0)
    zero_total_count: Count = column(_ZERO, ge=0)
    missing_total_count: Count = column(_MISSING, ge=0)
    subtotal_price: Amount = column(_SUBTOTAL, nullable=True)
    total_price: Amount = column(_TOTAL, nullable=True)
    first_created_at: Instant = column("When the oldest of them was created.", nullable=True)
    last_created_at: Instant = column("When the newest of them was created.", nullable=True)
    ages: Ids = column("Distinct ages in whole hours, from creation to the last request, ascending.")
    order_counts_by_age: Ids = column("Order count of each of those ages.")
    week_old_count: Count = column(_WEEK_OLD, ge=0)


class StatusEvidence(Contract, table="audit.status_evidence", scope="all", key=("status", "currency")):
    """One row per order status and currency: figures of the orders that have it, and the later statuses of others.

    Source: audit.daily_statuses and audit.status_transitions. [sales] decides which statuses are sales; the interface
    does not say.
    Caveats: evidence, not an answer. transitioned_count, transition_rate and next_statuses cover all currencies of the
    status: never add them across rows. A status that no order has any more is listed with 0 orders.
    """

    status: Text = column(_STATUS, nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    sale_class: Text = column(
        "Its class in [sales]: counted, excluded or unmapped; null if no order has it now.",
        nullable=True,
        isin=SALE_CLASSES,
    )
    order_count: Count = column("Orders that have it, as last observed.", ge=0)
    deleted_count: Count = column(_DELETED, ge=0)
    zero_total_count: Count = column(_ZERO, ge=0)
    missing_total_count: Count = column(_MISSING, ge=0)
    subtotal_price: Amount = column(_SUBTOTAL, nullable=True)
    total_price: Amount = column(_TOTAL, nullable=True)
    first_created_at: Instant = column("When the oldest of them was created.", nullable=True)
    last_created_at: Instant = column("When the newest of them was created.", nullable=True)
    median_age_hours: Count = column(
        "Median age in whole hours, from creation to the last request: a status that only young orders have is "
        "transient.",
        nullable=True,
    )
    week_old_count: Count = column(_WEEK_OLD, ge=0)
    transitioned_count: Count = column("How often an order with it was later observed with another status.", ge=0)
    transition_rate: Share = column(
        "transitioned_count / (transitioned_count + orders of all currencies that have it).", ge=0, le=1
    )
    next_statuses: Texts = column("The next statuses with their counts, the most frequent first.")


class SalesSetEvidence(Contract, table="audit.sales_set_evidence", scope="all", key=("statuses",)):
    """One row per set of statuses that may count as sales: how many store-days it ties to control totals.

    Source: mart.orders and the control totals of sales (class counted) in the ledger. A set is proposed if it ties all
    but a tolerated share ([formula] max_violation_rate) of the store-days that distinguish it from each rival, and
    there are at least min_distinguishing_orders such store-days. [sales] decides; a proposal is never applied.
    Caveats: deleted orders are in no set. A store-day whose orders do not state the amount of the total is left out, as
    is one with a sum of more than 17 digits. Without control totals there is no row; above 10 statuses sets are not
    compared, and one row states that.
    """

    statuses: Texts = column("Statuses of the set, of those on such store-days; '(none)' if the service sent none.")
    is_configured: Flag = column("Whether [sales] counts exactly these, of the statuses on such store-days.")
    verdict: Text = column(
        "proposed: every rival is refuted; at most one set. refuted: it fails against the best set. indistinguishable: "
        "on no store-day do its figures differ from those of the best set. undecided: otherwise.",
        isin=("proposed", "refuted", "indistinguishable", "undecided"),
    )
    reason: Text = column("Why, in one sentence, for the best set; null for the others.", nullable=True)
    store_day_count: Count = column("Comparable store-days.", ge=0)
    tied_store_day_count: Count = column("Store-days that the set ties.", ge=0)
    distinguishing_day_count: Count = column("Store-days on which its figures differ from the best set's.", ge=0)
    distinguishing_tied_count: Count = column("Distinguishing store-days that it ties.", ge=0)


class PossibleDuplicateOrders(
    Contract,
    table="audit.possible_duplicate_orders",
    scope="comparison",
    key=("order_id",),
    comparison_scope=ComparisonScope(
        ("customer_key", "store_id", "line_count"), clock="created_at", minutes="finance_duplicate_minutes"
    ),
):
    """One row per order that repeats an earlier one: same customer, store and lines, within minutes.

    Source: mart.orders, core.order_lines and core.order_line_modifiers; the minutes are [finance] duplicate_minutes.
    Caveats: a suspicion: customers do order the same twice. No other table leaves these orders out. Lines are the same
    if products, quantities, prices and modifiers are, in any order. Orders without a customer, a store, a time or lines
    are not compared.
    """

    order_id: Id = column("The later order, as the service numbers it.")
    original_order_id: Id = column("The earlier order that it repeats; the last of several.")
    store_id: Id = column("The store of both.")
    business_date: Day = column("The business day of the later order; see mart.orders.", nullable=True)
    sale_class: Text = column("The later order's sale class; see mart.orders.", isin=SALE_CLASSES)
    created_at: Instant = column("When the later order was created.")
    seconds_later: Count = column("Seconds after the earlier one.", ge=0)
    currency: Text = column(_CURRENCY, nullable=True)
    total_price: Money = column("The later order's total, as sent.", nullable=True)
