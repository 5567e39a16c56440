"""Contracts of the steps from which mart.orders is made."""

from pipelines.warehouse.contracts.contract import Contract, Count, Id, LocalTime, Text, column

_LOCAL = " in the store's time zone, without offset: in the repeated hour of autumn two instants look the same."


class OrderLocalTimes(Contract, table="audit.order_local_times", scope="order", key=("order_id",), is_released=False):
    """One row per order: its time zone, and its times on that zone's clocks.

    A step: read mart.orders instead.
    Source: core.orders, core.stores, [business_day] timezone and the IANA database.
    """

    order_id: Id = column("The order's id.")
    timezone: Text = column("The time zone of local times and business day.")
    timezone_source: Text = column(
        "store: from the store record. setting: [business_day] timezone, if the record has none or an invalid one.",
        isin=("store", "setting"),
    )
    created_at_local: LocalTime = column("When it was created," + _LOCAL, nullable=True)
    requested_time_local: LocalTime = column("The time that the customer requested," + _LOCAL, nullable=True)
    promised_delivery_time_local: LocalTime = column("The promised delivery time," + _LOCAL, nullable=True)
    promised_pick_up_time_local: LocalTime = column("The promised pick-up time," + _LOCAL, nullable=True)


class CustomerOrderNumbers(
    Contract, table="audit.customer_order_numbers", scope="customer", key=("order_id",), is_released=False
):
    """One row per order that has a customer and a time: its place among the customer's orders.

    A step: read mart.orders instead.
    Source: core.orders with a customer_key. Empty if there are no keys.
    """

    customer_key: Text = column("Pseudonymous key of the customer; no personal data.")
    order_id: Id = column("The order's id.")
    customer_order_no: Count = column("Which of the customer's orders it is, from 1, by created_at, then id.", ge=1)
