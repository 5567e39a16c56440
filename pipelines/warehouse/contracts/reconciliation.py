"""Contracts of the reconciliation: rules in force, line amounts and residuals."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Contract,
    Count,
    Day,
    Id,
    Ids,
    Instant,
    Money,
    Text,
    Texts,
    column,
)
from pipelines.warehouse.contracts.finance import (
    CAUSES,
    FORMULA_SUBTOTAL,
    FORMULA_TOTAL,
    SUBTOTAL_RESIDUAL,
    TOTAL_RESIDUAL,
)
from pipelines.warehouse.contracts.formula import FITS, HOLDS, RULE_TARGET, RULE_TARGETS
from pipelines.warehouse.contracts.marts import SALE_CLASSES

VERDICTS = ("balanced", "total_break", "subtotal_break", "both_break", "indeterminate")
BASES = ("configured", "supported", "agreed", "assumed", "closed")
_BASIS = (
    "configured: settings name the rule. supported: the orders support it. agreed: all candidates that remain give the "
    "same amount. assumed: too few orders to judge. closed: an order that came after its day was closed has the day's. "
    "Null without a rule."
)
_ORDER = "The order's id."
_STORE = "The store's id; null for orders that name none."
_DAY = "The business day, as in mart.orders; null for orders without that time."
_SALE_CLASS = "counted, excluded, unmapped or deleted, as in mart.orders: always filter by it."
_CURRENCY = "The currency, as in mart.orders; null if not stated. Do not add across currencies."
_SUM = "Sum of {0} over the orders that state it; null if none does."
_CAUSE = (
    "A heuristic, not proof: the only candidate that explains {0} to the cent, in either direction. Candidates: the "
    "amount of one field (tip, delivery, discount, loyalty_discount), of all modifiers or of one line; rounding "
    "(stated in whole units of 1, 0.1, 0.01 or 0.001 and less than a unit apart, or one cent); factor_of_100; the "
    "sign of the whole or of one field. Null if there is no candidate, or more than one."
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


class Breaks(Contract, table="audit.breaks", scope="order", key=("order_id", "rule_target")):
    """One row per break, a residual of an order that is not zero, with what was decided of it.

    Source: mart.order_reconciliation, and what `ordermart breaks` recorded in the ledger until the build.
    Caveats: an order is accepted as a whole, with both of its residuals. What is decided after the build counts at once
    for `ordermart reconcile` and `close`, and is here after the next.
    """

    order_id: Id = column(_ORDER)
    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    currency_digits: Count = column("The decimals of its smallest unit by ISO 4217.", nullable=True, ge=0, le=4)
    residual: Amount = column("Stated less computed, as in mart.order_reconciliation.")
    likely_cause: Text = column("A heuristic, as in mart.order_reconciliation.", nullable=True, isin=CAUSES)
    state: Text = column(
        "open; accepted with these amounts; changed: accepted with other amounts, and open again.",
        isin=("open", "accepted", "changed"),
    )
    reason: Text = column("Why it was accepted; null if it never was.", nullable=True)
    accepted_by: Text = column("The system's user who accepted it.", nullable=True)
    accepted_as: Text = column("The name that this user gave, which proves nothing.", nullable=True)
    accepted_at: Instant = column("When it was accepted.", nullable=True)
    assignee: Text = column("Who looks after it, if it was assigned.", nullable=True)
    comment_count: Count = column("How often it was commented on: `ordermart breaks list` shows the comments.", ge=0)
    content: Text = column("A hash of the order's amounts: it is accepted while they are the same.")


class MartOrderLines(Contract, table="mart.order_lines", scope="order", key=("order_id", "line_no")):
    """One row per order line: product, quantity, and its amount if a subtotal rule is in force.

    Source: audit.order_line_sums (every line of core.order_lines), mart.orders and audit.order_rules.
    Caveats: quantities are always safe to add. Amounts need a subtotal rule in force for the order, by evidence or
    [formula], and include modifiers as that rule counts them. Tips and delivery belong to no line; the difference to
    the subtotal is unallocated_amount of mart.daily_reconciliations.
    """

    order_id: Id = column(_ORDER)
    line_no: Count = column("The line's position in the order, from 1.", ge=1)
    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    product_id: Id = column("The product's id; null if the line names none.", nullable=True)
    store_name: Text = column("The store's name; null if no store record has one.", nullable=True)
    name: Text = column("The product's name when ordered.", nullable=True)
    quantity: Count = column("Quantity of the product, as sent.", nullable=True)
    modifier_count: Count = column("Number of modifiers of the line, of whatever price.", ge=0)
    currency: Text = column(_CURRENCY, nullable=True)
    price: Money = column(
        "The price of the line's product, as sent: per unit or per line, as the rule says.", nullable=True
    )
    unit_price: Amount = column(
        "The price of one unit without modifiers: price, or where the rule has it per line, price by quantity to four "
        "decimals. Null if that is open and quantity is not 1.",
        nullable=True,
        adds_up=False,
    )
    modifiers_amount: Amount = column(
        "The part of line_amount that modifiers make, before rounding; see mart.order_line_modifiers. Null without an "
        "amount.",
        nullable=True,
    )
    line_amount: Amount = column(
        "The line's amount under the subtotal rule in force, rounded if the rule rounds lines; null for "
        "missing_amount_reason.",
        nullable=True,
    )
    discount_share: Amount = column(
        "The line's share of the order's discount, in proportion to line_amount, in units of the currency: the shares "
        "of an order add up to it. 0 if the discount is 0; else null if a line has no amount or one below zero, or all "
        "are zero. An apportionment: the source states no discount by line.",
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
    """One row per order: its total against its price fields, its subtotal against its lines, and the residuals.

    Source: mart.orders, audit.order_formula_amounts and audit.order_residual_causes. The interface states no formula:
    rules are supported by orders or set by [formula]; until then the total has that of the observed order. A residual
    is a question to the partner, not an error.
    Caveats: null means unknown, not zero. total_break and subtotal_break are about one identity; the other one may be
    indeterminate (see reason). balanced needs both.
    """

    order_id: Id = column(_ORDER)
    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Money = column("The amount before delivery, tip and discounts, as sent.", nullable=True)
    delivery_price: Money = column("The delivery charge, as sent.", nullable=True)
    tip: Money = column("The tip, as sent.", nullable=True)
    discount: Money = column("The discount, as sent.", nullable=True)
    loyalty_discount: Money = column("The loyalty discount, as sent.", nullable=True)
    total_price: Money = column("The final total, as sent.", nullable=True)
    line_amount: Amount = column("Sum of the line amounts; null if no line has one.", nullable=True)
    unallocated_amount: Amount = column(
        "subtotal_price less line_amount, null counted as zero: the part of the subtotal on no line."
    )
    subtotal_rule: Text = column("The subtotal rule, as in audit.order_rules.", nullable=True)
    formula_subtotal: Amount = column(FORMULA_SUBTOTAL, nullable=True)
    subtotal_residual: Amount = column(SUBTOTAL_RESIDUAL, nullable=True)
    subtotal_likely_cause: Text = column(_CAUSE.format("subtotal_residual"), nullable=True, isin=CAUSES)
    total_rule: Text = column("The total rule, as in audit.order_rules.", nullable=True)
    formula_total: Amount = column(FORMULA_TOTAL, nullable=True)
    total_residual: Amount = column(TOTAL_RESIDUAL, nullable=True)
    total_likely_cause: Text = column(_CAUSE.format("total_residual"), nullable=True, isin=CAUSES)
    missing_parts: Texts = column("The price fields that the order does not state; empty if none is missing.")
    verdict: Text = column(
        "balanced: both residuals are zero. total_break, subtotal_break, both_break: the total residual, the subtotal "
        "residual or both are not zero. indeterminate: no known break, and at least one residual is unknown.",
        isin=VERDICTS,
    )
    reason: Text = column("Why a residual is unknown; null if both are known.", nullable=True)


class DailyReconciliations(
    Contract, table="mart.daily_reconciliations", scope="day", key=("store_id", "business_date", "sale_class")
):
    """One row per store, business day and sale class: orders by verdict, amounts and residuals.

    Source: mart.order_reconciliation; a blocking check ties to it exactly.
    Caveats: residuals of opposite sign cancel: check break counts and absolute residuals, not the sums. A row has one
    store, hence one currency: add stores only within a currency.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    order_count: Count = column("Number of orders.", ge=1)
    balanced_count: Count = column("Number of balanced orders.", ge=0)
    total_break_count: Count = column(
        "Number of orders with a total break and a balanced or indeterminate subtotal.", ge=0
    )
    subtotal_break_count: Count = column(
        "Number of orders with a subtotal break and a balanced or indeterminate total.", ge=0
    )
    both_break_count: Count = column("Number of orders with both breaks.", ge=0)
    indeterminate_count: Count = column("Number of indeterminate orders.", ge=0)
    break_count: Count = column("Number of orders with any break.", ge=0)
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Amount = column(_SUM.format("subtotal_price"), nullable=True)
    delivery_price: Amount = column(_SUM.format("delivery_price"), nullable=True)
    tip: Amount = column(_SUM.format("tip"), nullable=True)
    discount: Amount = column(_SUM.format("discount"), nullable=True)
    loyalty_discount: Amount = column(_SUM.format("loyalty_discount"), nullable=True)
    total_price: Amount = column(_SUM.format("total_price"), nullable=True)
    line_amount: Amount = column("Sum of the line amounts; null if no line has one.", nullable=True)
    unallocated_amount: Amount = column(
        "The part of the subtotals on no line: line_amount plus this is always subtotal_price."
    )
    formula_subtotal: Amount = column("Sum of the known subtotals under the rule in force.", nullable=True)
    subtotal_residual: Amount = column("Sum of the known subtotal residuals.", nullable=True)
    subtotal_abs_residual: Amount = column("Sum of their absolute values.", nullable=True, ge=0)
    formula_total: Amount = column("Sum of the known totals under the rule in force.", nullable=True)
    total_residual: Amount = column("Sum of the known total residuals.", nullable=True)
    total_abs_residual: Amount = column("Sum of their absolute values.", nullable=True, ge=0)
