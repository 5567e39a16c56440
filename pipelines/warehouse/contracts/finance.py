"""Contracts of what prices are made of: exact sums of lines, and which candidate rules give an order's prices."""

from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Flag, Id, Ids, Money, column

_ORDER = "The order, as the service numbers it."
_SUM = "{0}; null where a line does not state all that is needed."
_ROUNDED = "A mask: bit form_no - 1 stands where that form gives the subtotal by rounding_no {0}; null where none does."
_FITS = (
    "A mask for each rounding_no of audit.formula_rules, in order: bit form_no - 1 stands where that form, so rounded, "
    "gives exactly the price stated. With one element alone, rounding to as many decimals as there are fits like the "
    "first element, and to fewer fits nothing."
)


class OrderLineSums(Contract, table="audit.order_line_sums", scope="order", key=("order_id", "line_no")):
    """One row per order line: its price, its quantity, and what its modifiers could add up to.

    For machines: a step on the way to audit.formula_evidence, which is what to read.
    Source: core.order_lines and core.order_line_modifiers. Modifiers of price zero are left out: they add nothing under
    any rule.
    Traps: none of these sums is an amount paid; which of them counts is what audit.formula_evidence is about.
    Quantities beyond a million are taken for not stated: their products would leave 38 digits.
    """

    order_id: Id = column(_ORDER)
    line_no: Count = column("The line's place in the order, from 1.", ge=1)
    quantity: Count = column("Quantity of the product; null where not stated or beyond a million.", nullable=True)
    price: Money = column("Price as sent.", nullable=True)
    add_once: Amount = column("Sum of the prices of modifiers with action add.", nullable=True)
    add_own: Amount = column("The same, each by its own quantity.", nullable=True)
    other_once: Amount = column("Sum of the prices of modifiers with any other action, or none.", nullable=True)
    other_own: Amount = column("The same, each by its own quantity.", nullable=True)
    has_modifiers: Flag = column("Whether a modifier has a price other than zero, or one that is not stated.")
    has_own: Flag = column("Whether one of those modifiers has a quantity other than 1.")
    has_other: Flag = column("Whether one of those modifiers has another action than add, or none.")
    is_whole: Flag = column("Whether price, quantity and those of its modifiers are all stated and within bounds.")
    decimals: Count = column("The most decimals that any of its prices needs, 0 to 4.", nullable=True, ge=0, le=4)


class OrderSums(Contract, table="audit.order_sums", scope="order", key=("order_id",)):
    """One row per order with lines: every sum of its lines that a subtotal rule may ask for.

    For machines: a step on the way to audit.formula_evidence, which is what to read.
    Source: audit.order_line_sums.
    Trap: add and other are modifiers with action add and with any other one; per_unit times the line's quantity, own
    times the modifier's own. None of them alone is what the customer paid.
    """

    order_id: Id = column(_ORDER)
    price_once: Amount = column(_SUM.format("Sum of the lines' prices"), nullable=True)
    price_by_quantity: Amount = column(_SUM.format("Sum of the lines' prices by their quantities"), nullable=True)
    add_once: Amount = column(_SUM.format("Sum of the prices of modifiers that are added"), nullable=True)
    add_own: Amount = column(_SUM.format("The same by the modifiers' own quantities"), nullable=True)
    add_per_unit: Amount = column(_SUM.format("add_once by the lines' quantities"), nullable=True)
    add_own_per_unit: Amount = column(_SUM.format("add_own by the lines' quantities"), nullable=True)
    other_once: Amount = column(_SUM.format("Sum of the prices of modifiers with another action"), nullable=True)
    other_own: Amount = column(_SUM.format("The same by the modifiers' own quantities"), nullable=True)
    other_per_unit: Amount = column(_SUM.format("other_once by the lines' quantities"), nullable=True)
    other_own_per_unit: Amount = column(_SUM.format("other_own by the lines' quantities"), nullable=True)
    has_quantity: Flag = column("Whether a line with a price has a quantity other than 1.")
    has_modifiers: Flag = column("Whether a line has a modifier with a price.")
    has_unit: Flag = column("Whether a line of quantity other than 1 has a modifier with a price.")
    has_own: Flag = column("Whether a modifier with a price has a quantity other than 1.")
    has_other: Flag = column("Whether a modifier with a price has another action than add.")
    is_whole: Flag = column("Whether every line states all that is needed.")
    lines: Count = column("How many lines.", ge=1)
    decimals: Count = column("The most decimals that any of their prices needs, 0 to 4.", nullable=True, ge=0, le=4)


class RoundedSubtotalFits(Contract, table="audit.rounded_subtotal_fits", scope="order", key=("order_id",)):
    """One row per order whose subtotal is given by a rule that keeps fewer decimals than its prices have.

    For machines: a step on the way to audit.formula_evidence, which is what to read.
    Source: audit.order_sums, audit.order_line_sums and core.orders.
    Trap: masks, a half of audit.subtotal_fits: worked out apart, since few orders have any.
    """

    order_id: Id = column(_ORDER)
    fits_2: Id = column(_ROUNDED.format(2), nullable=True)
    fits_3: Id = column(_ROUNDED.format(3), nullable=True)
    fits_4: Id = column(_ROUNDED.format(4), nullable=True)
    fits_5: Id = column(_ROUNDED.format(5), nullable=True)
    fits_6: Id = column(_ROUNDED.format(6), nullable=True)
    fits_7: Id = column(_ROUNDED.format(7), nullable=True)
    fits_8: Id = column(_ROUNDED.format(8), nullable=True)
    fits_9: Id = column(_ROUNDED.format(9), nullable=True)
    fits_10: Id = column(_ROUNDED.format(10), nullable=True)
    fits_11: Id = column(_ROUNDED.format(11), nullable=True)
    fits_12: Id = column(_ROUNDED.format(12), nullable=True)
    fits_13: Id = column(_ROUNDED.format(13), nullable=True)
    fits_14: Id = column(_ROUNDED.format(14), nullable=True)
    fits_15: Id = column(_ROUNDED.format(15), nullable=True)
    fits_16: Id = column(_ROUNDED.format(16), nullable=True)
    fits_17: Id = column(_ROUNDED.format(17), nullable=True)


class SubtotalFits(Contract, table="audit.subtotal_fits", scope="order", key=("order_id",)):
    """One row per order whose lines state all they need: the subtotal rules that give its subtotal.

    For machines: a step on the way to audit.formula_evidence, which is what to read.
    Source: audit.order_sums, audit.order_line_sums and core.orders. Orders without lines, without a subtotal or without
    a discount (0 is one) are not here: no rule can be tested on them.
    Trap: masks, one bit a rule.
    """

    order_id: Id = column(_ORDER)
    tells: Count = column(
        "What it holds that rules disagree about, added up: 1 a priced line of quantity other than 1, 2 a priced "
        "modifier, 4 both in one line, 8 a priced modifier of quantity other than 1, 16 one of another action than "
        "add, 32 a discount; 64 for each decimal that its prices and its discount need.",
        ge=0,
    )
    fits: Ids = column(_FITS)


class TotalFits(Contract, table="audit.total_fits", scope="order", key=("order_id",)):
    """One row per order that states all six prices: the total rules that give its total.

    For machines: a step on the way to audit.formula_evidence, which is what to read.
    Source: core.orders.
    Trap: masks, one bit a rule.
    """

    order_id: Id = column(_ORDER)
    tells: Count = column(
        "Which parts are not zero, added up: 1 the subtotal, 2 the delivery charge, 4 the tip, 8 the discount, 16 the "
        "loyalty discount; 64 for each decimal that the parts need.",
        ge=0,
    )
    fits: Ids = column(_FITS)
