"""Contracts of the steps of finance that are kept by order: what it holds, its candidate rules, its amounts."""

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
    Product,
    Text,
    column,
)
from pipelines.warehouse.contracts.formula import FITS, HOLDS, RULE_TARGET, RULE_TARGETS, SETTING

CAUSES = (
    "zero_stated",
    "constant_amount",
    "share_of_a_base",
    "rounding_step",
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

_ORDER = "The order, as the service numbers it."
FORMULA_SUBTOTAL = "The subtotal under that rule; null without a rule, or if a line has no amount."
SUBTOTAL_RESIDUAL = "subtotal_price less formula_subtotal, exact."
FORMULA_TOTAL = "The total under that rule; null if a field that it needs is missing."
TOTAL_RESIDUAL = "total_price less formula_total, exact; above zero the stated total is higher than the computed one."


class OrderLineSums(
    Contract, table="audit.order_line_sums", scope="order", key=("order_id", "line_no"), is_released=False
):
    """One row per order line: its price, its quantity, and what its modifiers could add up to.

    A step: read audit.formula_evidence instead.
    Source: core.order_lines and core.order_line_modifiers. Modifiers of price zero are counted and else left out: they
    add nothing under any rule.
    Caveats: none of these sums is an amount paid; which of them counts is what audit.formula_evidence is about.
    Quantities beyond a million count as not stated: their products would leave 38 digits.
    """

    order_id: Id = column(_ORDER)
    line_no: Count = column("The line's place in the order, from 1.", ge=1)
    product_id: Id = column("The product; null where not stated.", nullable=True)
    name: Text = column("Name as sent.", nullable=True)
    quantity: Count = column("Quantity of the product as sent.", nullable=True)
    price: Money = column("Price as sent.", nullable=True)
    modifier_count: Count = column("Number of its modifiers, of whatever price.", ge=0)
    add_once: Amount = column("Sum of the prices of modifiers with action add.", nullable=True)
    add_own: Amount = column("The same, each by its own quantity.", nullable=True)
    other_once: Amount = column("Sum of the prices of modifiers with any other action, or none.", nullable=True)
    other_own: Amount = column("The same, each by its own quantity.", nullable=True)
    has_modifiers: Flag = column("Whether a modifier has a price other than zero, or one that is not stated.")
    has_own: Flag = column("Whether one of those modifiers has a quantity other than 1.")
    has_other: Flag = column("Whether one of those modifiers has another action than add, or none.")
    is_whole: Flag = column("Whether price, quantity and those of its modifiers are all stated and within bounds.")
    decimals: Count = column("The most decimals that any of its prices needs, 0 to 4.", nullable=True, ge=0, le=4)


class OrderComponents(Contract, table="audit.order_components", scope="order", key=("order_id", "component_no")):
    """One row per order and component of the settings that is in its total.

    Source: mart.orders and [[formula.component]].
    Caveats: null where the base is not stated; the order's total is then indeterminate. Not rounded: the total is.
    """

    order_id: Id = column(_ORDER)
    component_no: Count = column("The component's place in the settings, from 1.", ge=1)
    name: Text = column("The component's name in the settings.")
    amount: Product = column("What it adds to the total.", nullable=True)


class OrderRuleSettings(
    Contract, table="audit.order_rule_settings", scope="order", key=("order_id",), is_released=False
):
    """One row per order: the rules that settings name for it, if any.

    A step: read audit.order_rules instead.
    Source: mart.orders, [[formula.rule]], [formula] total_rule and subtotal_rule. Of several the one with most
    conditions holds, of equals the last.
    """

    order_id: Id = column(_ORDER)
    subtotal_setting_no: Id = column(SETTING, nullable=True)
    total_setting_no: Id = column(SETTING, nullable=True)


class SubtotalPatterns(Contract, table="audit.subtotal_patterns", scope="order", key=("order_id",), is_released=False):
    """One row per order whose lines and subtotal can be compared: what it holds, and which forms fit it.

    A step: read audit.order_rules instead.
    Source: audit.order_line_sums and mart.orders. Orders without lines, without a subtotal or a discount, with a price
    or quantity not stated, an amount of ten billion and more or ten thousand of one product are left out.
    """

    order_id: Id = column(_ORDER)
    holds: Text = column(HOLDS)
    fits: Text = column(FITS)
    is_rounded: Flag = column("Whether its prices have more decimals than its subtotal can have.")


class TotalPatterns(Contract, table="audit.total_patterns", scope="order", key=("order_id",), is_released=False):
    """One row per order that states all six prices: what it holds, and which total forms fit it.

    A step: read audit.order_rules instead.
    Source: mart.orders and audit.order_components. Orders with an amount of ten billion and more are left out.
    """

    order_id: Id = column(_ORDER)
    holds: Text = column(HOLDS)
    fits: Text = column(FITS)
    is_rounded: Flag = column("Whether its parts have more decimals than its total can have.")


class OrderCloses(Contract, table="audit.order_closes", scope="order", key=("order_id",), is_released=False):
    """One row per order: the active close of its store's day, if that is closed.

    A step: read mart.closed_days instead.
    Source: mart.orders and the ledger's closes.
    Caveats: null also where the day is closed for every store but this one, which was reopened.
    """

    order_id: Id = column(_ORDER)
    store_id: Id = column("The store, as the service numbers it; null for orders that name none.", nullable=True)
    business_date: Day = column("Business day of the order.", nullable=True)
    platform: Text = column("Platform as sent.", nullable=True)
    dispatch_method: Text = column("Dispatch method as sent.", nullable=True)
    close_entry_no: Count = column("Number of the ledger entry that closed the day; null if it is open.", nullable=True)
    closed_at: Instant = column("When that entry was written.", nullable=True)


class ClosedPopulationRules(
    Contract,
    table="audit.closed_population_rules",
    scope="order",
    key=("order_id", "rule_target"),
    is_released=False,
):
    """One row per order that is new to a closed day, and rule target: the rule that its population was closed with.

    A step: read audit.order_rules instead.
    Source: audit.order_closes, and the rules and populations that the close recorded.
    Caveats: no row if the close recorded no such population.
    """

    order_id: Id = column(_ORDER)
    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    rule: Text = column("The rule; null where none held.", nullable=True)
    open_parts: Ids = column("part_no of what the order holds that was undecided then.")
    basis: Text = column("On what the rule was based; null where it does not hold for the order.", nullable=True)


class ClosedOrderRules(Contract, table="audit.closed_order_rules", scope="order", key=("order_id",), is_released=False):
    """One row per order of a closed day: the rules that it keeps while that is closed.

    A step: read audit.order_rules instead.
    Source: audit.order_closes and the ledger's closes. An order that came after the close has the rule that its
    population was closed with (audit.closed_population_rules), else the one rule of its store's day, else of the whole
    day, else none.
    """

    order_id: Id = column(_ORDER)
    line_rule: Text = column("The rule of its lines.", nullable=True)
    line_open_parts: Ids = column("part_no of what it held that was undecided then.", nullable=True)
    subtotal_basis: Text = column(
        "On what that rule was based; null where it did not hold for the subtotal.", nullable=True
    )
    total_rule: Text = column("The rule of its total.", nullable=True)
    total_basis: Text = column("On what that rule was based.", nullable=True)


class OrderFormulaAmounts(
    Contract, table="audit.order_formula_amounts", scope="order", key=("order_id",), is_released=False
):
    """One row per order: what its subtotal and its total come to by the rules in force for it.

    A step: read mart.order_reconciliation instead.
    Source: mart.orders, mart.order_lines, audit.order_components and audit.order_rules.
    """

    order_id: Id = column(_ORDER)
    subtotal_rule: Text = column("The subtotal rule, as in audit.order_rules.", nullable=True)
    subtotal_population_no: Id = column("Its population: audit.formula_populations.")
    total_rule: Text = column("The total rule, as in audit.order_rules.", nullable=True)
    total_population_no: Id = column("Its population: audit.formula_populations.")
    has_lines: Flag = column("Whether it has a line.")
    has_line_sum: Flag = column("Whether it has lines, all of them with an amount.")
    line_amount: Amount = column("Sum of the line amounts; null if no line has one.", nullable=True)
    formula_subtotal: Amount = column(FORMULA_SUBTOTAL, nullable=True)
    subtotal_residual: Amount = column(SUBTOTAL_RESIDUAL, nullable=True)
    formula_total: Amount = column(FORMULA_TOTAL, nullable=True)
    total_residual: Amount = column(TOTAL_RESIDUAL, nullable=True)


class OrderResiduals(
    Contract, table="audit.order_residuals", scope="order", key=("order_id", "rule_target"), is_released=False
):
    """One row per residual of an order that is not zero, with what may explain it.

    A step: read audit.breaks instead.
    Source: audit.order_formula_amounts and mart.orders.
    """

    order_id: Id = column(_ORDER)
    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    rule: Text = column("Its rule, as in audit.order_rules.")
    population_no: Id = column("Its population: audit.formula_populations.")
    currency: Text = column("The currency, as in mart.orders; null if not stated.", nullable=True)
    residual: Amount = column("stated less expected.")
    expected: Amount = column("What it comes to by the rule.")
    stated: Amount = column("The subtotal or total, as sent.")
    subtotal_price: Money = column("The amount before delivery, tip and discounts, as sent.", nullable=True)
    delivery_price: Money = column("The delivery charge, as sent.", nullable=True)
    tip: Money = column("The tip, as sent.", nullable=True)
    discount: Money = column("The discount, as sent.", nullable=True)
    loyalty_discount: Money = column("The loyalty discount, as sent.", nullable=True)


class OrderResidualCauses(
    Contract, table="audit.order_residual_causes", scope="order", key=("order_id", "rule_target"), is_released=False
):
    """One row per residual of an order for which there is a likely cause.

    A step: read mart.order_reconciliation instead.
    Source: audit.order_residuals, audit.formula_populations, mart.order_lines and audit.order_line_sums.
    """

    order_id: Id = column(_ORDER)
    rule_target: Text = column(RULE_TARGET, isin=RULE_TARGETS)
    likely_cause: Text = column("A heuristic, not proof: see mart.order_reconciliation.", isin=CAUSES)
