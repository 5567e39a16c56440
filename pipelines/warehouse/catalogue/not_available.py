"""The questions that the source cannot answer, why, and where to join it from: the rows of `meta.not_available`."""

from __future__ import annotations

from typing import NamedTuple


class NotAvailable(NamedTuple):
    """Something that people ask for and no document states."""

    subject: str
    reason: str
    closest: str
    join_from: str


NOT_AVAILABLE = (
    NotAvailable(
        "tax",
        "No field of an order or a menu states a tax amount, a rate, or whether prices include tax.",
        "A constant share of the total that no field explains is found in audit.formula_populations.residual_pattern.",
        "Point-of-sale or accounting system, by order_id; rates by product_id and store.",
    ),
    NotAvailable(
        "net sales",
        "Tax, refunds and commission are not stated, so nothing can be subtracted from what was charged.",
        "mart.daily_store_sales: subtotal_price less discount and loyalty_discount, before or with tax unknown.",
        "Accounting system, by store and business_date.",
    ),
    NotAvailable(
        "refunds",
        "No document states a refund. A later version may have a lower total, without saying why or who was paid.",
        "mart.order_amendments: amounts that changed after the order was placed.",
        "Payment provider, by order_id.",
    ),
    NotAvailable(
        "payment method",
        "Orders do not state how or whether they were paid.",
        "None; platform says where an order was placed, not how it was paid.",
        "Payment provider or point-of-sale system, by order_id.",
    ),
    NotAvailable(
        "commission",
        "The interface shows no fees of platforms or of the service.",
        "None; mart.daily_platform_sales has the sales by platform that rates apply to.",
        "Contracts or invoices of the platforms, by platform and month.",
    ),
    NotAvailable(
        "payout",
        "The interface shows no settlements or bank transfers.",
        "audit.control_totals compares orders with totals that somebody supplies.",
        "Settlement reports or bank statements, by store and period, as control totals.",
    ),
    NotAvailable(
        "actual delivery time",
        "Orders state requested and promised times only; a delivery has a status and no times.",
        "core.delivery_status_observations: when a status was first observed, which depends on how often it was asked.",
        "Courier or dispatch system, by order_id or delivery_id.",
    ),
    NotAvailable(
        "reason of cancelling",
        "A status may say that an order was cancelled; no field says why or by whom.",
        "core.order_status_observations: when it was observed, and from which status.",
        "Point-of-sale system or customer service, by order_id.",
    ),
    NotAvailable(
        "cost of goods",
        "Menus state sales prices and no costs or recipes.",
        "mart.product_mix: units and amounts by product.",
        "Inventory system, by product_id.",
    ),
)
