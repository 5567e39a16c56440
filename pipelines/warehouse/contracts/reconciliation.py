"""Contracts of the reconciliation: which rule holds for an order, what its lines amount to, what is left over."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Contract,
    Count,
    Day,
    Id,
    Ids,
    Money,
    Text,
    Texts,
    column,
)
from pipelines.warehouse.contracts.formula import FITS, HOLDS
from pipelines.warehouse.contracts.marts import SALE_CLASSES

VERDICTS = ("balanced", "total_break", "subtotal_break", "both_break", "indeterminate")
CAUSES = (
    "tip",
    "delivery",
    "discount",
    "loyalty_discount",
    "modifiers",
    "line",
    "rounding",
    "factor_of_100",
    "sign",
    "sign_of_delivery",
    "sign_of_tip",
    "sign_of_discount",
    "sign_of_loyalty_discount",
)

BASES = ("configured", "supported", "agreed", "assumed", "closed")
_BASIS = (
    "configured: settings name the rule. supported: the orders bear it out. agreed: all candidates that remain give the "
    "same amount. assumed: too few orders to judge. closed: an order that came after its day was closed has the day's. "
    "Null without a rule."
)
_ORDER = "The order, as the service numbers it."
_STORE = "The store it belongs to; null for orders that name none."
_DAY = "The business day of the order, as in mart.orders; null for orders without that time."
_SALE_CLASS = "counted, excluded, unmapped or deleted, as in mart.orders: filter by it, never ignore it."
_CURRENCY = "What the amounts are in, as in mart.orders; null where nothing says. Do not add across currencies."
_SUM = "Sum of {0} of the orders that state one; null where none does."
_CAUSE = (
    "What alone explains {0} to the cent, whichever way: the amount of one part (tip, delivery, discount, "
    "loyalty_discount), of all modifiers, of one line; rounding: stated in whole units of 1, 0.1, 0.01 or 0.001 and "
    "less than one of them off, or one cent off; factor_of_100; sign: of the whole or of one part. Null where nothing "
    "or more than one thing does."
)


class OrderPopulations(Contract, table="audit.order_populations", scope="order", key=("order_id",), is_released=False):
    """One row per order: the populations it belongs to.

    A step: read audit.order_rules instead.
    Source: mart.orders, audit.formula_divisions and what the order holds.
    """

    order_id: Id = column(_ORDER)
    subtotal_population_no: Id = column("Its population: audit.formula_populations.")
    total_population_no: Id = column("Its population: audit.formula_populations.")


class OrderRules(Contract, table="audit.order_rules", scope="order", key=("order_id",)):
    """One row per order: the rules by which its lines make its subtotal, and its parts its total.

    Source: audit.formula_populations, audit.subtotal_patterns, audit.total_patterns, and the ledger for closed days,
    which keep the rules they were closed with until they are reopened.
    Caveats: no rule where every candidate is refuted, or where candidates remain that treat what the order holds
    differently. With too few orders to judge any, the total of the observed order is assumed.
    """

    order_id: Id = column(_ORDER)
    subtotal_rule: Text = column("The rule of its subtotal: audit.formula_rules; null without one.", nullable=True)
    subtotal_basis: Text = column(_BASIS, nullable=True, isin=BASES)
    line_rule: Text = column(
        "The rule of its lines, those that hold an open part excepted; null without one.", nullable=True
    )
    line_open_parts: Ids = column("part_no of what the order holds and no rule is known for: audit.formula_parts.")
    total_rule: Text = column("The rule of its total: audit.formula_rules; null without one.", nullable=True)
    total_basis: Text = column(_BASIS, nullable=True, isin=BASES)
    current_subtotal_rule: Text = column("The rule that it would have if its day were not closed.", nullable=True)
    current_total_rule: Text = column("The same of its total.", nullable=True)
    subtotal_population_no: Id = column("Its population: audit.formula_populations.")
    subtotal_holds: Text = column(HOLDS + " Null where it cannot be compared.", nullable=True)
    subtotal_fits: Text = column(FITS + " Null where it cannot be compared.", nullable=True)
    total_population_no: Id = column("Its population: audit.formula_populations.")
    total_holds: Text = column(HOLDS + " Null where it cannot be compared.", nullable=True)
    total_fits: Text = column(FITS + " Null where it cannot be compared.", nullable=True)


class MartOrderLines(Contract, table="mart.order_lines", scope="order", key=("order_id", "line_no")):
    """One row per order line: what was sold, how much of it, and its amount where a rule says what that is.

    Source: audit.order_line_sums (every line of core.order_lines), mart.orders and audit.order_rules.
    Caveats: quantities are always safe to add. An amount stands only where a subtotal rule is in force for the order, by
    evidence or by [formula]; it holds the line's modifiers as that rule counts them. Discounts, tips and delivery are
    no line's: what lines and subtotal leave over is unallocated_amount of mart.daily_reconciliations.
    """

    order_id: Id = column(_ORDER)
    line_no: Count = column("The line's place in the order, from 1.", ge=1)
    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    product_id: Id = column("The product; null where the line names none.", nullable=True)
    store_name: Text = column("The store's name; null where no record of the store names it.", nullable=True)
    name: Text = column("The product's name on the line, when it was ordered.", nullable=True)
    quantity: Count = column("Quantity of the product, as sent.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    line_amount: Amount = column(
        "What the line amounts to by the subtotal rule in force, rounded where the rule rounds lines; null where "
        "missing_amount_reason says why.",
        nullable=True,
    )
    missing_amount_reason: Text = column(
        "Why there is no amount. no_rule: every candidate is refuted. missing_input: the line or a modifier lacks a "
        "price or a quantity, or has one beyond a million. undecided: candidates remain that value what the line holds "
        "differently. Null where there is one.",
        nullable=True,
        isin=("no_rule", "missing_input", "undecided"),
    )


class OrderReconciliation(Contract, table="mart.order_reconciliation", scope="order", key=("order_id",)):
    """One row per order: its total beside its parts, its subtotal beside its lines, and what is left over.

    Source: mart.orders, mart.order_lines and audit.order_rules. The interface states no formula: the rules are those
    that the orders bear out or [formula] fixes, and for the total, until then, that of the observed order. A residual
    is a question to the partner, not an error.
    Caveats: a part that is null is not nothing. A verdict is about what can be told: total_break says nothing of the lines
    where reason says that they cannot be told; balanced needs both.
    """

    order_id: Id = column(_ORDER)
    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Money = column("The sum before delivery, tip and discounts, as sent.", nullable=True)
    delivery_price: Money = column("The delivery charge, as sent.", nullable=True)
    tip: Money = column("The tip, as sent.", nullable=True)
    discount: Money = column("The discount, as sent.", nullable=True)
    loyalty_discount: Money = column("The loyalty discount, as sent.", nullable=True)
    total_price: Money = column("The final total, as sent.", nullable=True)
    line_amount: Amount = column("Sum of its lines' amounts; null where no line has one.", nullable=True)
    unallocated_amount: Amount = column(
        "subtotal_price less line_amount, each counted as nothing where it is null: what of the subtotal stands on no "
        "line."
    )
    subtotal_rule: Text = column("The rule of the lines, as in audit.order_rules.", nullable=True)
    formula_subtotal: Amount = column(
        "The subtotal by that rule; null where there is none, or where a line has no amount.", nullable=True
    )
    subtotal_residual: Amount = column("subtotal_price less formula_subtotal, exact.", nullable=True)
    subtotal_likely_cause: Text = column(_CAUSE.format("subtotal_residual"), nullable=True, isin=CAUSES)
    total_rule: Text = column("The rule of the parts, as in audit.order_rules.", nullable=True)
    formula_total: Amount = column("The total by that rule; null where a part that it needs is missing.", nullable=True)
    total_residual: Amount = column(
        "total_price less formula_total, exact: above zero the customer paid more than the parts add up to.",
        nullable=True,
    )
    total_likely_cause: Text = column(_CAUSE.format("total_residual"), nullable=True, isin=CAUSES)
    missing_parts: Texts = column("The price fields that the order does not state; empty where all are there.")
    verdict: Text = column(
        "balanced: both residuals are exactly zero. total_break, subtotal_break, both_break: the one, the other or both are "
        "not. indeterminate: none that is known is off, and one is not known.",
        isin=VERDICTS,
    )
    reason: Text = column("Why a residual is not known; null where both are.", nullable=True)


class DailyReconciliations(
    Contract, table="mart.daily_reconciliations", scope="day", key=("store_id", "business_date", "sale_class")
):
    """One row per store, business day and sale class: price residuals and breaks.

    Source: mart.order_reconciliation, to which it ties exactly, or nothing is published.
    Caveats: residuals of opposite sign cancel: a zero sum proves nothing; break_count 0 and a zero absolute residual do.
    A row has one store's currency: add stores only within a currency.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    order_count: Count = column("Orders.", ge=1)
    balanced_count: Count = column("Orders that are balanced.", ge=0)
    total_break_count: Count = column("Orders with a break in the total only.", ge=0)
    subtotal_break_count: Count = column("Orders with a break in the subtotal only.", ge=0)
    both_break_count: Count = column("Orders with a break in total and subtotal.", ge=0)
    indeterminate_count: Count = column("Orders without a known break that cannot be tested in full.", ge=0)
    break_count: Count = column("Orders with a break: total, subtotal or both.", ge=0)
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Amount = column(_SUM.format("subtotal_price"), nullable=True)
    delivery_price: Amount = column(_SUM.format("delivery_price"), nullable=True)
    tip: Amount = column(_SUM.format("tip"), nullable=True)
    discount: Amount = column(_SUM.format("discount"), nullable=True)
    loyalty_discount: Amount = column(_SUM.format("loyalty_discount"), nullable=True)
    total_price: Amount = column(_SUM.format("total_price"), nullable=True)
    line_amount: Amount = column("Sum of the lines' amounts; null where no line has one.", nullable=True)
    unallocated_amount: Amount = column(
        "Subtotal amount that no line accounts for: line_amount plus this always equals subtotal_price."
    )
    formula_subtotal: Amount = column("Sum of the subtotals by the effective rule, where known.", nullable=True)
    subtotal_residual: Amount = column("Sum of the subtotals' residuals, where known.", nullable=True)
    subtotal_abs_residual: Amount = column("The same, each without its sign.", nullable=True, ge=0)
    formula_total: Amount = column("Sum of the totals by the rule in force, where known.", nullable=True)
    total_residual: Amount = column("Sum of the totals' residuals, where known.", nullable=True)
    total_abs_residual: Amount = column("The same, each without its sign.", nullable=True, ge=0)
