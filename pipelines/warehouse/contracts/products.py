"""Contracts of products and modifiers as they were sold."""

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
    Text,
    Texts,
    Units,
    column,
)
from pipelines.warehouse.contracts.marts import SALE_CLASSES
from pipelines.warehouse.contracts.variances import MENU_MATCHES

_PER_DAY = "Units by those days, to four decimals; null without days."


class MartOrderLineModifiers(
    Contract,
    table="mart.order_line_modifiers",
    scope="order",
    key=("order_id", "line_no", "modifier_no"),
):
    """One row per modifier of an order line, with its amount by the rule in force.

    Source: core.order_line_modifiers, mart.order_lines, mart.price_variances and the rule of the order's lines; a
    blocking check adds a line's price and modifiers up to its line_amount.
    Caveats: price times quantity is not the amount: the rule says whether a modifier counts once, per unit of its own
    or per unit of the line. Amounts are part of line_amount: do not add the two. Where the rule rounds lines, they are
    not rounded. Where it counts no modifiers, they are 0.
    """

    order_id: Id = column("The order's id.")
    line_no: Count = column("The line's position in the order, from 1.", ge=1)
    modifier_no: Count = column("The modifier's position in the line, from 1.", ge=1)
    store_id: Id = column("The store's id; null for orders that name none.", nullable=True)
    business_date: Day = column(
        "The business day, as in mart.orders; null for orders without that time.", nullable=True
    )
    sale_class: Text = column(
        "counted, excluded, unmapped or deleted, as in mart.orders: always filter by it.", isin=SALE_CLASSES
    )
    product_id: Id = column("The product of the line.", nullable=True)
    modifier_id: Id = column("The modifier's id, a key of a menu's modifiers.", nullable=True)
    store_name: Text = column("The store's name; null if no store record has one.", nullable=True)
    product_name: Text = column("The product's name when ordered.", nullable=True)
    name: Text = column("The modifier's name when ordered.", nullable=True)
    action: Text = column("The action, as sent (observed: add).", nullable=True)
    is_repeated: Flag = column(
        "Whether the line has the same modifier and action before it; without repeated ones, rows count lines."
    )
    menu_match: Text = column("Whether the store's menus had it then, as in mart.price_variances.", isin=MENU_MATCHES)
    menu_entry_count: Count = column("How many entries of those menus offered it, as in mart.price_variances.", ge=0)
    quantity: Count = column("Quantity of the modifier.", nullable=True)
    line_quantity: Count = column("Quantity of the line's product.", nullable=True)
    currency: Text = column(
        "The currency, as in mart.orders; null if not stated. Do not add across currencies.", nullable=True
    )
    price: Money = column("The modifier's price, as sent.", nullable=True)
    modifier_amount: Amount = column("What it adds to the line's amount by the rule in force; may be 0.", nullable=True)
    missing_amount_reason: Text = column(
        "Why there is no amount; null if there is one. no_rule: no rule holds. missing_input: price or a quantity is "
        "missing. undecided: rules that remain give other amounts.",
        nullable=True,
        isin=("no_rule", "missing_input", "undecided"),
    )


class MartProducts(Contract, table="mart.products", scope="all", key=("product_id",)):
    """One row per product that is on a menu, was on one, or was sold.

    Source: core.products, core.menu_product_versions, mart.product_mix and [reference] products.
    Caveats: if ids differ from menu to menu ([menus] product_id_scope = "per_menu"), a row may be several products:
    names lists them, and mart.store_products has one row per store. Sales are of every sale class: mart.product_mix
    has them by class.
    """

    product_id: Id = column("The product's id.")
    product_name: Text = column(
        "Its name on a menu now, of the lowest menu_id; else its latest name on an order; null without a name.",
        nullable=True,
    )
    names: Texts = column("All names seen on menus and orders, sorted.")
    category: Text = column("Its category by the file of [reference] products; null if not listed.", nullable=True)
    is_on_menu: Flag = column("Whether a menu has it now.")
    menu_ids: Ids = column("The menus that have it now, sorted.")
    first_sold_date: Day = column("The first business day on which it was ordered; null if never.", nullable=True)
    last_sold_date: Day = column("The last business day on which it was ordered; null if never.", nullable=True)
    store_count: Count = column("Number of stores that sold it.", ge=0)
    line_count: Count = column("Number of order lines.", ge=0)
    unit_count: Units = column("Sum of the stated quantities; 0 if never sold, null if none is stated.", nullable=True)


class MenuPriceChanges(
    Contract,
    table="mart.menu_price_changes",
    scope="all",
    key=("menu_id", "product_id", "channel", "changed_at"),
):
    """One row per menu, product, channel and time at which another price was observed.

    Source: core.menu_price_versions, and mart.product_mix for counted units of the stores that have the menu now.
    Caveats: the time is that of observation, not of when the price took effect, and the day of the change is that of
    UTC. A product that a channel has at several prices at once has no row, nor has one that was removed and is back at
    another price. Units are of every channel, and of stores: do not add menus that share a store. The last day of sales
    may be going on. Other things than the price may have changed as well.
    """

    menu_id: Id = column("The menu's id.")
    product_id: Id = column("The product's id.")
    channel: Text = column("Where the price holds, as sent (observed: both).", nullable=True)
    changed_at: Instant = column("When the menu with the new price was first observed.")
    previous_price: Money = column("The price before.", nullable=True)
    price: Money = column("The price from then on.", nullable=True)
    previous_delivery_price: Money = column("The price when delivered, before.", nullable=True)
    delivery_price: Money = column("The price when delivered, from then on.", nullable=True)
    day_count_before: Count = column(
        "Days of sales before the day of the change, after the change before; at most 28.", ge=0, le=28
    )
    unit_count_before: Units = column("Counted units in those days; an unstated quantity adds none.")
    units_per_day_before: Amount = column(_PER_DAY, nullable=True, adds_up=False)
    day_count_after: Count = column(
        "Days of sales after the day of the change, before the next one; at most 28.", ge=0, le=28
    )
    unit_count_after: Units = column("Counted units in those days; an unstated quantity adds none.")
    units_per_day_after: Amount = column(_PER_DAY, nullable=True, adds_up=False)
