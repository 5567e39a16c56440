"""Contracts of the steps of the formula evidence: sums of lines, which rules give a price, what they leave over."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Amounts,
    Contract,
    Count,
    Day,
    Flag,
    Id,
    Ids,
    Money,
    Moneys,
    SmallMoney,
    Text,
    column,
)
from pipelines.warehouse.contracts.formula import FIRST, PART, PARTS

_ORDER = "The order, as the service numbers it."
_DAY = "The business day of the orders; null for orders without that time."
_MONTH = "The first day of the month; null for orders without a business day."
_TOLD = "What the orders hold: tells of audit.subtotal_fits or audit.total_fits."
_FITS = (
    "A mask for each rounding_no of audit.formula_rules, in order: bit form_no - 1 stands where that form, so rounded, "
    "gives exactly the price stated. With one element alone, rounding to as many decimals as there are fits like the "
    "first element, and to fewer fits nothing."
)
_OTHER = "Whether the orders hold priced modifiers of another action than add; false for the total."
_ONE_CURRENCY = "What the amounts are in; one of several, null where nothing says."
_CURRENCIES = "Whether the orders are in several currencies, or some of them in none."
_RESIDUALS = (
    "Stated price less the form's, summed; one for each form_no. Without has_other, 20 of 52 for the subtotal: of "
    "every 13 the first five, each of which then stands for all that differ by other actions alone."
)
_LARGEST = "The largest of those differences, without its sign; as many, in the same order."


class OrderLineSums(
    Contract, table="audit.order_line_sums", scope="order", key=("order_id", "line_no"), is_released=False
):
    """One row per order line: its price, its quantity, and what its modifiers could add up to.

    A step: read audit.formula_evidence instead.
    Source: core.order_lines and core.order_line_modifiers. Modifiers of price zero are left out: they add nothing under
    any rule.
    Caveats: none of these sums is an amount paid; which of them counts is what audit.formula_evidence is about.
    Quantities beyond a million count as not stated: their products would leave 38 digits.
    """

    order_id: Id = column(_ORDER)
    line_no: Count = column("The line's place in the order, from 1.", ge=1)
    product_id: Id = column("The product; null where not stated.", nullable=True)
    name: Text = column("Name as sent.", nullable=True)
    quantity: Count = column("Quantity of the product as sent.", nullable=True)
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


class SubtotalFits(Contract, table="audit.subtotal_fits", scope="order", key=("order_id",), is_released=False):
    """One row per order that a subtotal rule can be tested on: its sums, and the rules that give its subtotal.

    A step: read audit.formula_evidence instead.
    Source: audit.order_line_sums and core.orders. Orders without lines, without a subtotal or without a discount (0 is
    one) are not here, nor those with an amount or a sum of ten billion and more or a quantity of ten thousand and more.
    Caveats: masks, one bit a rule. In the sums add and other are modifiers with action add and with any other one;
    per_unit times the line's quantity, own times the modifier's own. None of them alone is what the customer paid.
    """

    order_id: Id = column(_ORDER)
    tells: Count = column(
        "What it holds that rules disagree about, added up: 1 a priced line of quantity other than 1, 2 a priced "
        "modifier, 4 both in one line, 8 a priced modifier of quantity other than 1, 16 one of another action than "
        "add, 32 a discount; 64 for each decimal that its prices and its discount need.",
        ge=0,
    )
    fits: Id = column("A mask: bit form_no - 1 stands where that form, unrounded, gives exactly the subtotal stated.")
    lines: Count = column("How many lines.", ge=1)
    price_once: SmallMoney = column("Sum of the lines' prices.")
    price_by_quantity: SmallMoney = column("Sum of the lines' prices by their quantities.")
    add_once: SmallMoney = column("Sum of the prices of modifiers that are added.")
    add_own: SmallMoney = column("The same by the modifiers' own quantities.")
    add_per_unit: SmallMoney = column("add_once by the lines' quantities.")
    add_own_per_unit: SmallMoney = column("add_own by the lines' quantities.")
    other_once: SmallMoney = column("Sum of the prices of modifiers with another action.")
    other_own: SmallMoney = column("The same by the modifiers' own quantities.")
    other_per_unit: SmallMoney = column("other_once by the lines' quantities.")
    other_own_per_unit: SmallMoney = column("other_own by the lines' quantities.")
    subtotal: SmallMoney = column("The subtotal as sent.")
    discount: SmallMoney = column("The discount as sent.")


class RoundedSubtotalFits(
    Contract, table="audit.rounded_subtotal_fits", scope="order", key=("order_id",), is_released=False
):
    """One row per order whose subtotal is given by a rule that keeps fewer decimals than its prices have.

    A step: read audit.formula_evidence instead.
    Source: audit.subtotal_fits and audit.order_line_sums.
    Caveats: masks, worked out apart from audit.subtotal_fits, since few orders have any.
    """

    order_id: Id = column(_ORDER)
    fits: Ids = column(_FITS)


class TotalFits(Contract, table="audit.total_fits", scope="order", key=("order_id",), is_released=False):
    """One row per order that states all six prices: the total rules that give its total.

    A step: read audit.formula_evidence instead.
    Source: core.orders. Orders with a price of ten billion and more are not here.
    Caveats: masks, one bit a rule.
    """

    order_id: Id = column(_ORDER)
    tells: Count = column(
        "Which parts are not zero, added up: 1 the subtotal, 2 the delivery charge, 4 the tip, 8 the discount, 16 the "
        "loyalty discount; 64 for each decimal that the parts need.",
        ge=0,
    )
    fits: Ids = column(_FITS)


class FormulaPatterns(
    Contract,
    table="audit.formula_patterns",
    scope="day",
    key=("business_date", "store_id", "platform", "dispatch_method", "part", "tells", "fits"),
    is_released=False,
):
    """One row per business day, store, platform, dispatch method, part of the price, what orders tell and what fits.

    A step: read audit.formula_evidence instead.
    Source: audit.subtotal_fits, audit.rounded_subtotal_fits, audit.total_fits and mart.orders. Kept by day: a night
    counts touched days only.
    Caveats: masks; the same orders stand here once for each part of the price.
    """

    business_date: Day = column(_DAY, nullable=True)
    store_id: Id = column("The store of the orders; null where not stated.", nullable=True)
    platform: Text = column("Their platform; null where not stated.", nullable=True)
    dispatch_method: Text = column("Their dispatch method; null where not stated.", nullable=True)
    part: Text = column(PART, isin=PARTS)
    tells: Count = column(_TOLD, ge=0)
    fits: Ids = column(_FITS)
    orders: Count = column("How many orders.", ge=1)
    first_order_ids: Ids = column(FIRST)


class MonthlyFormulaPatterns(
    Contract,
    table="audit.monthly_formula_patterns",
    scope="month",
    key=("business_month", "store_id", "platform", "dispatch_method", "part", "tells", "fits"),
    is_released=False,
):
    """One row per month of business days, store, platform, dispatch method, part, what orders tell and what fits.

    A step: read audit.formula_evidence instead. Kept so that a night adds up the
    days of the months it touched, not all days there are.
    Source: audit.formula_patterns, with its trap.
    """

    business_month: Day = column(_MONTH, nullable=True)
    store_id: Id = column("The store of the orders; null where not stated.", nullable=True)
    platform: Text = column("Their platform; null where not stated.", nullable=True)
    dispatch_method: Text = column("Their dispatch method; null where not stated.", nullable=True)
    part: Text = column(PART, isin=PARTS)
    tells: Count = column(_TOLD, ge=0)
    fits: Ids = column(_FITS)
    orders: Count = column("How many orders.", ge=1)
    first_order_ids: Ids = column(FIRST)


class FormulaResiduals(
    Contract,
    table="audit.formula_residuals",
    scope="day",
    key=("business_date", "store_id", "platform", "dispatch_method", "part", "has_other"),
    is_released=False,
):
    """One row per business day, store, platform, dispatch method, part and kind of modifiers: what forms leave over.

    A step: read audit.formula_evidence instead.
    Source: audit.subtotal_fits and mart.orders.
    Caveats: exact amounts before any rounding. Where has_currencies is true, residuals add nothing that means anything.
    """

    business_date: Day = column(_DAY, nullable=True)
    store_id: Id = column("The store of the orders; null where not stated.", nullable=True)
    platform: Text = column("Their platform; null where not stated.", nullable=True)
    dispatch_method: Text = column("Their dispatch method; null where not stated.", nullable=True)
    part: Text = column(PART, isin=PARTS)
    has_other: Flag = column(_OTHER)
    orders: Count = column("How many orders.", ge=1)
    currency: Text = column(_ONE_CURRENCY, nullable=True)
    has_currencies: Flag = column(_CURRENCIES)
    sums: Amounts = column(
        "What residuals are made of, summed. Of the subtotal: the stated one less price x quantity, less prices alone, "
        "each once more before the discount; then the modifiers as forms 2 to 5 count them, with has_other as forms 2 "
        "to 13 do. Of the total: the stated one less that of form 1; subtotal, delivery charge, tip, both discounts."
    )
    largest: Moneys = column(
        "The largest difference of each form from the stated price, without its sign; one for each form_no, as in "
        "audit.monthly_formula_residuals."
    )


class MonthlyFormulaResiduals(
    Contract,
    table="audit.monthly_formula_residuals",
    scope="month",
    key=("business_month", "store_id", "platform", "dispatch_method", "part", "has_other"),
    is_released=False,
):
    """One row per month of business days, store, platform, dispatch method, part and kind of modifiers: what is left.

    A step: read audit.formula_evidence instead. Kept so that a night adds up the
    days of the months it touched, not all days there are.
    Source: audit.formula_residuals, with its traps.
    """

    business_month: Day = column(_MONTH, nullable=True)
    store_id: Id = column("The store of the orders; null where not stated.", nullable=True)
    platform: Text = column("Their platform; null where not stated.", nullable=True)
    dispatch_method: Text = column("Their dispatch method; null where not stated.", nullable=True)
    part: Text = column(PART, isin=PARTS)
    has_other: Flag = column(_OTHER)
    orders: Count = column("How many orders.", ge=1)
    currency: Text = column(_ONE_CURRENCY, nullable=True)
    has_currencies: Flag = column(_CURRENCIES)
    residuals: Amounts = column(_RESIDUALS)
    largest: Amounts = column(_LARGEST)
