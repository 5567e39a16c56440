"""Contracts of how often modifiers are chosen with a product."""

from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Share, Text, column
from pipelines.warehouse.contracts.marts import SALE_CLASSES

_DAY = "The business day, as in mart.orders; null for orders without that time."
_SALE_CLASS = "counted, excluded, unmapped or deleted, as in mart.orders: always filter by it."
_CURRENCY = "The currency, as in mart.orders; null if not stated. Do not add across currencies."
_ACTION = "The action, as sent (observed: add); null if not stated."
_OF_THEM = "Of them, lines whose modifier {0}: menu_entry_count of mart.price_variances."
_UNIQUE = "is one entry of the store's menus at the time, or as first seen later"
_AMBIGUOUS = "is several entries of them"
_UNMATCHED = "is on none of them, or whose menus were not known"
_RATE = "{0} by line_count."


class DailyModifierSales(
    Contract,
    table="audit.daily_modifier_sales",
    scope="day",
    key=(
        "business_date",
        "sale_class",
        "currency",
        "product_id",
        "unnamed_product",
        "is_modifier",
        "modifier_id",
        "unnamed_modifier",
        "action",
    ),
    is_released=False,
):
    """One row per business day, sale class, currency, product, modifier and action; the product's lines are one, too.

    A step: read mart.modifier_attach_rates instead.
    Source: mart.order_lines and mart.order_line_modifiers.
    """

    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    product_id: Id = column("The product; null for lines that name none.", nullable=True)
    unnamed_product: Text = column("The line's name in place of an id; null with one.", nullable=True)
    is_modifier: Flag = column("Whether it counts modifiers; if not, lines of the product.")
    modifier_id: Id = column("The modifier; null for lines, and if it has no id.", nullable=True)
    unnamed_modifier: Text = column("The modifier's name in place of an id; null with one.", nullable=True)
    action: Text = column(_ACTION, nullable=True)
    product_name: Text = column("The alphabetically last name of the product's lines.", nullable=True)
    modifier_name: Text = column("The alphabetically last name of the modifier.", nullable=True)
    item_count: Count = column("Number of lines, or of modifiers.", ge=1)
    line_count: Count = column("Number of lines, or of lines with the modifier.", ge=0)
    unique_line_count: Count = column(_OF_THEM.format(_UNIQUE), ge=0)
    ambiguous_line_count: Count = column(_OF_THEM.format(_AMBIGUOUS), ge=0)
    modifier_amount: Amount = column("Sum of the modifier amounts; null if none has one.", nullable=True)
    unvalued_count: Count = column("Number of lines, or of modifiers without an amount.", ge=0)


class ModifierAttachRates(
    Contract,
    table="mart.modifier_attach_rates",
    scope="all",
    key=("sale_class", "currency", "product_id", "product_name", "modifier_id", "modifier_name", "action"),
):
    """One row per sale class, currency, product or line name, modifier and action: on which share of lines it is.

    Source: mart.order_lines, mart.order_line_modifiers and mart.price_variances, over all business days.
    Caveats: a line counts once however often it has the modifier. Those without an id are distinguished by name.
    attach_rate is the sum of the other three: unmatched ones are modifiers that no menu observed explains, so
    a rate of unique ones alone is the least that can be said. Rates do not add up over modifiers: a line has several.
    """

    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    currency: Text = column(_CURRENCY, nullable=True)
    product_id: Id = column("The product; null for lines that name none.", nullable=True)
    product_name: Text = column(
        "The product's latest name on order lines; without an id the line's name.", nullable=True
    )
    modifier_id: Id = column("The modifier; null if it has no id.", nullable=True)
    modifier_name: Text = column("The modifier's latest name on orders; without an id its name.", nullable=True)
    action: Text = column(_ACTION, nullable=True)
    line_count: Count = column("Number of lines of the product, with the modifier or without.", ge=1)
    attached_line_count: Count = column("Number of those lines with the modifier.", ge=0)
    unique_line_count: Count = column(_OF_THEM.format(_UNIQUE), ge=0)
    ambiguous_line_count: Count = column(_OF_THEM.format(_AMBIGUOUS), ge=0)
    unmatched_line_count: Count = column(_OF_THEM.format(_UNMATCHED), ge=0)
    attach_rate: Share = column(_RATE.format("attached_line_count"), ge=0, le=1)
    unique_attach_rate: Share = column(_RATE.format("unique_line_count"), ge=0, le=1)
    ambiguous_attach_rate: Share = column(_RATE.format("ambiguous_line_count"), ge=0, le=1)
    unmatched_attach_rate: Share = column(_RATE.format("unmatched_line_count"), ge=0, le=1)
    modifier_count: Count = column("Number of modifiers, repeated ones too.", ge=1)
    modifier_amount: Amount = column("Sum of their amounts by the rule in force; null if none has one.", nullable=True)
    unvalued_count: Count = column(
        "Number of modifiers without an amount; above 0, modifier_amount is incomplete.", ge=0
    )
