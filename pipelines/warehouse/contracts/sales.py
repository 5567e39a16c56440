"""Contracts of sales by hour, platform, customer and day, for restaurants."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Contract,
    Count,
    Day,
    Flag,
    Id,
    Instant,
    Share,
    Text,
    Units,
    column,
)
from pipelines.warehouse.contracts.marts import AVERAGE_ORDER_VALUE, SALE_CLASSES

_STORE = "The store's id; null for orders that name none."
_STORE_NAME = "The store's name; null if no store record has one."
_DAY = "The business day, as in mart.orders; null for orders without that time."
_SALE_CLASS = "counted, excluded, unmapped or deleted, as in mart.orders: always filter by it."
_CURRENCY = "The currency, as in mart.orders; null if not stated. Do not add across currencies."
_SUM = "Sum of {0} over the orders that state it; null if none does."
_UNITS = "Sum of the stated quantities; null if none is."


class HourlyStoreSales(
    Contract, table="mart.hourly_store_sales", scope="day", key=("store_id", "business_date", "hour", "sale_class")
):
    """One row per store, business day, hour of the day and sale class.

    Source: mart.orders; a blocking check ties counts and amounts to mart.daily_store_sales.
    Caveats: the hour is that of created_at_local, whatever [business_day] time_field is; hours before [business_day]
    day_start belong to the business day before. In the repeated hour of autumn two hours are one. An hour without
    orders has no row.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    hour: Count = column(
        "The hour in which orders were created, 0 to 23, in the store's time zone; null without created_at.",
        nullable=True,
        ge=0,
        le=23,
    )
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    daypart: Text = column("The daypart of that hour, as in mart.orders; null without one.", nullable=True)
    store_name: Text = column(_STORE_NAME, nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    order_count: Count = column("Number of orders.", ge=1)
    line_count: Count = column("Number of order lines.", ge=0)
    unit_count: Units = column(_UNITS, nullable=True)
    subtotal_price: Amount = column(_SUM.format("subtotal_price"), nullable=True)
    delivery_price: Amount = column(_SUM.format("delivery_price"), nullable=True)
    tip: Amount = column(_SUM.format("tip"), nullable=True)
    discount: Amount = column(_SUM.format("discount"), nullable=True)
    loyalty_discount: Amount = column(_SUM.format("loyalty_discount"), nullable=True)
    total_price: Amount = column(_SUM.format("total_price"), nullable=True)
    average_order_value: Amount = column(AVERAGE_ORDER_VALUE, nullable=True, adds_up=False)


class DailyPlatformSales(
    Contract,
    table="mart.daily_platform_sales",
    scope="day",
    key=("store_id", "business_date", "sale_class", "platform", "dispatch_method"),
):
    """One row per store, business day, sale class, platform and dispatch method.

    Source: mart.orders; a blocking check ties counts and amounts to mart.daily_store_sales.
    Caveats: platform and dispatch_method are as sent. The finer twin of mart.daily_store_sales: do not join the two.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    platform: Text = column("Where orders were placed, as sent (observed: web).", nullable=True)
    dispatch_method: Text = column("How they are dispatched, as sent (observed: store_delivery).", nullable=True)
    store_name: Text = column(_STORE_NAME, nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    order_count: Count = column("Number of orders.", ge=1)
    line_count: Count = column("Number of order lines.", ge=0)
    unit_count: Units = column(_UNITS, nullable=True)
    subtotal_price: Amount = column(_SUM.format("subtotal_price"), nullable=True)
    delivery_price: Amount = column(_SUM.format("delivery_price"), nullable=True)
    tip: Amount = column(_SUM.format("tip"), nullable=True)
    discount: Amount = column(_SUM.format("discount"), nullable=True)
    loyalty_discount: Amount = column(_SUM.format("loyalty_discount"), nullable=True)
    total_price: Amount = column(_SUM.format("total_price"), nullable=True)
    average_order_value: Amount = column(AVERAGE_ORDER_VALUE, nullable=True, adds_up=False)


class Customers(Contract, table="mart.customers", scope="customer", key=("customer_key", "sale_class", "currency")):
    """One row per customer, sale class and currency.

    Source: mart.orders with a customer_key. Empty if there are no keys.
    Caveats: one person may have several keys, as customer_key of mart.orders says; who orders without phone or e-mail
    is in no row. First and last are among orders of the class and currency that have been observed, not of all time.
    """

    customer_key: Text = column("Pseudonymous key of the customer; no personal data.")
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    first_created_at: Instant = column("When the first order was created; null if none states it.", nullable=True)
    last_created_at: Instant = column("When the last order was created; null if none states it.", nullable=True)
    first_order_id: Id = column("The first order; of equal or no times the lowest id.")
    last_order_id: Id = column("The last order; of equal or no times the highest id.")
    order_count: Count = column("Number of orders.", ge=1)
    store_count: Count = column("Number of stores ordered from.", ge=0)
    day_count: Count = column("Number of business days with an order.", ge=0)
    subtotal_price: Amount = column(_SUM.format("subtotal_price"), nullable=True)
    discount: Amount = column(_SUM.format("discount"), nullable=True)
    loyalty_discount: Amount = column(_SUM.format("loyalty_discount"), nullable=True)
    total_price: Amount = column(_SUM.format("total_price"), nullable=True)


class Calendar(Contract, table="mart.calendar", scope="all", key=("store_id", "business_date")):
    """One row per store and day from its first to its last business day with orders, days without orders included.

    Source: mart.daily_store_sales, audit.coverage, the ledger's closes, and audit.loads for how far was observed.
    Caveats: an order_count of 0 is a day without known orders; whether there were none, is_day_over, stale_count and
    completeness say. Days after a store's last order have no row, since no document says whether it closed for good:
    for one that has none now see audit.inactive_periods. Nor have days more than twenty years before the last
    observation.
    """

    store_id: Id = column("The store's id.")
    business_date: Day = column("The day, in the store's time zone.")
    store_name: Text = column(_STORE_NAME, nullable=True)
    weekday: Count = column("1 for Monday to 7 for Sunday.", ge=1, le=7)
    week_start_date: Day = column("The Monday of its week.")
    month_start_date: Day = column("The first day of its month.")
    is_day_over: Flag = column(
        "Whether the day had ended when an order was last observed; null if no time of observation is known.",
        nullable=True,
    )
    is_closed: Flag = column("Whether the day is closed in the ledger.")
    stale_count: Count = column("Notified orders of the day that are not up to date.", ge=0)
    completeness: Share = column("As in audit.coverage: against a control total; null without one.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    order_count: Count = column("Number of orders of every sale class.", ge=0)
    counted_order_count: Count = column("Number of orders with sale_class 'counted'.", ge=0)
    counted_total_price: Amount = column(
        "Sum of total_price over them; null if none states it, or there are none.", nullable=True
    )
