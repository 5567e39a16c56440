"""Contracts of what finance should look at: what statuses look like, and orders that may be one order twice."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    ComparisonScope,
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
from pipelines.warehouse.contracts.marts import SALE_CLASSES

_CURRENCY = "What the amounts are in, as in mart.orders; null where nothing says. Do not add across currencies."


class DailyStatuses(
    Contract, table="audit.daily_statuses", scope="day", key=("business_date", "status", "currency"), is_released=False
):
    """One row per business day, order status and currency: what orders with it look like, as last observed.

    A step: read audit.status_evidence instead.
    Source: mart.orders. Kept by day: a night counts touched days only.
    """

    business_date: Day = column("The business day of the orders; null for orders without that time.", nullable=True)
    status: Text = column("The order's status, as sent; null where the service gave none.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    sale_class: Text = column(
        "How [sales] takes it: counted, excluded or unmapped; null where the service knows none of them any more.",
        nullable=True,
        isin=SALE_CLASSES,
    )
    orders: Count = column("How many orders have it.", ge=1)
    deleted_count: Count = column("How many of them the service no longer knows.", ge=0)
    zero_total_count: Count = column("How many of them have a total of exactly zero.", ge=0)
    missing_total_count: Count = column("How many of them state no total.", ge=0)
    subtotal_price: Amount = column("Sum of their subtotals, where stated.", nullable=True)
    total_price: Amount = column("Sum of their totals, where stated.", nullable=True)
    first_created_at: Instant = column("When the oldest of them was created.", nullable=True)
    last_created_at: Instant = column("When the newest of them was created.", nullable=True)
    ages: Ids = column("Each age met, in whole hours from creation to when the service was last asked, ascending.")
    orders_by_age: Ids = column("How many orders are of each of those ages.")
    week_old_count: Count = column("How many of them still had it a week after creation or later.", ge=0)


class StatusEvidence(Contract, table="audit.status_evidence", scope="all", key=("status", "currency")):
    """One row per order status and currency: what orders with it look like, and what became of those that had it.

    Source: audit.daily_statuses and audit.status_transitions. Which statuses are sales is said by [sales], not by the
    interface.
    Caveats: evidence, not an answer. transitioned_count, transition_rate and next_statuses are about all currencies of
    the status: never add them over rows. A status that orders had and none has any more stands with 0 orders.
    """

    status: Text = column("The order's status, as sent; null where the service gave none.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    sale_class: Text = column(
        "How [sales] takes it: counted, excluded or unmapped; null where no order has it now.",
        nullable=True,
        isin=SALE_CLASSES,
    )
    orders: Count = column("How many orders have it, as last observed.", ge=0)
    deleted_count: Count = column("How many of them the service no longer knows.", ge=0)
    zero_total_count: Count = column("How many of them have a total of exactly zero.", ge=0)
    missing_total_count: Count = column("How many of them state no total.", ge=0)
    subtotal_price: Amount = column("Sum of their subtotals, where stated.", nullable=True)
    total_price: Amount = column("Sum of their totals, where stated.", nullable=True)
    first_created_at: Instant = column("When the oldest of them was created.", nullable=True)
    last_created_at: Instant = column("When the newest of them was created.", nullable=True)
    median_age_hours: Count = column(
        "Whole hours from creation to when the service was last asked, of the order in the middle: a status that only "
        "young orders have is passed through.",
        nullable=True,
    )
    week_old_count: Count = column("How many of them still had it a week after creation or later.", ge=0)
    transitioned_count: Count = column("How often an order with it was later seen with another status.", ge=0)
    transition_rate: Share = column(
        "transitioned_count as a share of the times that it was met: those, and the orders of all currencies that have it.",
        ge=0,
        le=1,
    )
    next_statuses: Texts = column("To which statuses, and how often each, the most frequent first.")


class SalesSetEvidence(Contract, table="audit.sales_set_evidence", scope="all", key=("statuses",)):
    """One row per set of statuses that could be the sales: how many store-days it ties with control totals.

    Source: mart.orders and the control totals of sales (class counted) that stand in the ledger. A set is proposed when
    it ties all but the tolerated share of the store-days that tell it from each rival, of which there must be enough:
    [formula] max_violation_rate and min_distinguishing_orders, here of store-days. [sales] decides; nothing takes a
    proposal over.
    Caveats: orders that are gone are in no set. A store-day whose orders do not state the part of the total is left
    out. Without control totals there is no row; of more than 10 statuses sets are not compared, and one row says so.
    """

    statuses: Texts = column("The statuses of the set, of those met on such store-days; '(none)' where none was sent.")
    is_configured: Flag = column("Whether [sales] counts exactly these, of the statuses met on such store-days.")
    verdict: Text = column(
        "proposed: its rivals fail; one set at most. refuted: it fails against the best set. untold: on no store-day "
        "does it come to other figures than that. undecided: else.",
        isin=("proposed", "refuted", "untold", "undecided"),
    )
    reason: Text = column("Why, in one sentence, for the best set; null for the others.", nullable=True)
    days: Count = column("How many store-days can be compared.", ge=0)
    days_tied: Count = column("How many of them it ties.", ge=0)
    telling_days: Count = column("How many tell it from the best set: it comes to other figures there.", ge=0)
    telling_days_tied: Count = column("How many of those it ties.", ge=0)


class PossibleDuplicateOrders(
    Contract,
    table="audit.possible_duplicate_orders",
    scope="comparison",
    key=("order_id",),
    comparison_scope=ComparisonScope(
        ("customer_key", "store_id", "lines"), clock="created_at", minutes="finance_duplicate_minutes"
    ),
):
    """One row per order that repeats an earlier one: same customer, store and lines, within minutes.

    Source: mart.orders, core.order_lines and core.order_line_modifiers; the minutes are [finance] duplicate_minutes.
    Caveats: a suspicion: people do order the same twice. Nothing is left out of any other table for it. Lines are the
    same when products, quantities, prices and modifiers are, in any order. Orders without a customer, a store, a time
    or lines are not compared.
    """

    order_id: Id = column("The later order, as the service numbers it.")
    original_order_id: Id = column("The earlier order that it is like; of several the last.")
    store_id: Id = column("The store of both.")
    business_date: Day = column("The business day of the later order; see mart.orders.", nullable=True)
    sale_class: Text = column("The later order's sale class; see mart.orders.", isin=SALE_CLASSES)
    created_at: Instant = column("When the later order was created.")
    seconds_later: Count = column("How many seconds after the earlier one.", ge=0)
    currency: Text = column(_CURRENCY, nullable=True)
    total_price: Money = column("The later order's total, as sent.", nullable=True)
