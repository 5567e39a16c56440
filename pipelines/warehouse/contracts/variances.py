"""Contracts of the comparison of order prices with menu prices, as observed when the order was created."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Amounts,
    Contract,
    Count,
    Day,
    Flag,
    Id,
    Instant,
    Money,
    Text,
    column,
)
from pipelines.warehouse.contracts.marts import SALE_CLASSES

MENU_MATCHES = ("unique", "ambiguous", "first_seen_later", "none", "menu_unknown")
PRICE_MATCHES = ("price", "delivery_price", "both", "neither", "indeterminate")

_CURRENCY = "The currency, as in mart.orders; null if not stated. Do not add across currencies."
_DAY = "The business day of the order; see mart.orders."
_SALE_CLASS = "The order's sale class; see mart.orders."
_DISPATCH = "How the order is dispatched, as sent (observed: store_delivery)."
_MENU_MATCH = (
    "unique, ambiguous, none: one, several or no entries of the store's menus offered it. first_seen_later: no menu of "
    "the store had been observed by then, and it is compared with each as first observed later. menu_unknown: it is on "
    "none of those, no menu has been observed at all, or others of the store were not observed yet."
)
_PRICE_MATCH = (
    "The menu price that it equals: price, delivery_price, both (they are equal, or of several entries) or neither; "
    "indeterminate if there is nothing to compare."
)


class StoresWithMenus(
    Contract,
    table="audit.stores_with_menus",
    scope="all",
    key=("store_id", "known_from"),
    span=("known_from", "known_until"),
    is_released=False,
):
    """One row per store and interval in which menus of it were known: first none, then some of them, then all.

    A step: read mart.price_variances instead.
    Source: core.store_menus and core.menu_price_versions.
    Caveats: menus are those that the store's record names now. One without a price counts as never observed.
    """

    store_id: Id = column("The store, as the service numbers it.")
    known_from: Instant = column(
        "When the first of its menus was first observed, or the last of them; null before the first, and for an "
        "archive of unknown time.",
        nullable=True,
    )
    known_until: Instant = column("When the next of them was first observed; null in the last row.", nullable=True)
    are_first_seen_later: Flag = column("Whether none had been observed yet, so that each is taken as first observed.")
    are_all_known: Flag = column("Whether every menu that its record names had been observed by then.")
    are_several: Flag = column("Whether its record names several menus.")
    menu_scope_id: Id = column("Where its offers are: the menu, the set in audit.menu_set_offers, or the store itself.")


class MenuOffers(
    Contract,
    table="audit.menu_offers",
    scope="all",
    key=("menu_id", "product_id", "modifier_id", "offered_from"),
    span=("offered_from", "offered_until"),
    is_released=False,
):
    """One row per menu, product, modifier below it and interval: which prices the menu was seen to ask.

    A step: read mart.price_variances instead.
    Source: core.menu_price_versions, core.modifier_price_versions and core.modifier_paths. Rows without a modifier are
    of the product itself; only those have delivery prices.
    Caveats: intervals of observation: what a menu asked while nobody looked is what was last observed. Which modifiers
    lie below a product is taken from the menu as it is now.
    """

    menu_id: Id = column("The menu, as the service numbers it.")
    product_id: Id = column("The product.")
    modifier_id: Id = column("The modifier, anywhere below the product; null for the product itself.", nullable=True)
    offered_from: Instant = column("When it was first observed so; null for an archive of unknown time.", nullable=True)
    offered_until: Instant = column("When something else was first observed; null while it is current.", nullable=True)
    seen_at: Instant = column(
        "When the last of the prices in force was first observed; null for an archive of unknown time.", nullable=True
    )
    menu_entry_count: Count = column("How many entries of the menu offer it.", ge=1)
    prices: Amounts = column("The different prices in those places; those not stated are left out.")
    delivery_prices: Amounts = column("The different delivery prices in those places.")


class MenuSetOffers(
    Contract,
    table="audit.menu_set_offers",
    scope="all",
    key=("menu_set_no", "product_id", "modifier_id", "offered_from"),
    span=("offered_from", "offered_until"),
    is_released=False,
):
    """One row per set of menus, product, modifier below it and interval: which prices they were seen to ask together.

    A step: read mart.price_variances instead.
    Source: audit.menu_offers, audit.stores_with_menus and core.store_menus. Of sets of several menus.
    """

    menu_set_no: Id = column("The set: the least store_id of the stores whose records name these menus.")
    product_id: Id = column("The product.")
    modifier_id: Id = column("The modifier, anywhere below the product; null for the product itself.", nullable=True)
    offered_from: Instant = column("When it was first observed so; null for an archive of unknown time.", nullable=True)
    offered_until: Instant = column("When something else was first observed; null while it is current.", nullable=True)
    menu_id: Id = column("The menu that offered it; null if several did.", nullable=True)
    seen_at: Instant = column("As in audit.menu_offers; null if several menus offered it.", nullable=True)
    menu_entry_count: Count = column("How many entries of these menus offer it.", ge=1)
    prices: Amounts = column("The different prices in those places; those not stated are left out.")
    delivery_prices: Amounts = column("The different delivery prices in those places.")


class FirstMenuOffers(
    Contract,
    table="audit.first_menu_offers",
    scope="all",
    key=("store_id", "offered_product_id", "offered_modifier_id", "offered_from"),
    span=("offered_from", "offered_until"),
    is_released=False,
):
    """One row per store, product and modifier below it: which prices its menus asked when each was first observed.

    A step: read mart.price_variances instead.
    Source: audit.menu_offers, audit.stores_with_menus, core.store_menus and core.menu_price_versions.
    """

    store_id: Id = column("The store.")
    offered_product_id: Id = column("The product.")
    offered_modifier_id: Id = column("The modifier, anywhere below the product; null for the product.", nullable=True)
    offered_from: Instant = column("Null: from ever.", nullable=True)
    offered_until: Instant = column("When the first of the store's menus was first observed.")
    menu_id: Id = column("The menu that offered it; null if several did.", nullable=True)
    seen_at: Instant = column("As in audit.menu_offers; null if several menus offered it.", nullable=True)
    menu_entry_count: Count = column("How many entries of these menus offer it.", ge=1)
    prices: Amounts = column("The different prices in those places; those not stated are left out.")
    delivery_prices: Amounts = column("The different delivery prices in those places.")


class PriceVariances(Contract, table="mart.price_variances", scope="order", key=("order_id", "line_no", "modifier_no")):
    """One row per order line and per modifier of a line: its price against the menus as observed when ordered.

    Source: core.order_lines, core.order_line_modifiers, mart.orders, audit.stores_with_menus, audit.menu_offers,
    audit.menu_set_offers and audit.first_menu_offers.
    Caveats: the menus are those that the store record names now. Menu prices are by observation time, so an order
    shortly after a price change may be compared with the old price, and one from before any menu of the store was
    observed is compared with each of them as first observed (menu_match is first_seen_later): it may have asked another
    price then. The interface does not say which dispatch methods use delivery_price: see which one matches. Variances
    are null unless all matching entries agree.
    """

    order_id: Id = column("The order's id.")
    line_no: Count = column("The line's position in the order, from 1.", ge=1)
    modifier_no: Count = column("The modifier's position in the line, from 1; null for the line itself.", nullable=True)
    store_id: Id = column("The store of the order.", nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    product_id: Id = column("The product of the line; null if it names none.", nullable=True)
    modifier_id: Id = column("The modifier; null for the line itself, and if it names none.", nullable=True)
    dispatch_method: Text = column(_DISPATCH, nullable=True)
    menu_entry_count: Count = column("How many entries of the store's menus offered it then.", ge=0)
    menu_match: Text = column(_MENU_MATCH, isin=MENU_MATCHES)
    menu_id: Id = column("The menu it is compared with; null for none, or if several menus offered it.", nullable=True)
    menu_seen_at: Instant = column(
        "When that menu was first seen to ask that, later than the order where menu_match is first_seen_later; null "
        "for an archive of unknown time, and without a menu.",
        nullable=True,
    )
    currency: Text = column(_CURRENCY, nullable=True)
    price: Money = column("The price on the order, as sent.", nullable=True)
    menu_price: Amount = column("The menu price; null if entries disagree or state none.", nullable=True)
    menu_delivery_price: Amount = column(
        "The menu delivery price; null if entries disagree or state none (modifiers have none).",
        nullable=True,
    )
    price_match: Text = column(_PRICE_MATCH, isin=PRICE_MATCHES)
    price_variance: Amount = column("price less menu_price.", nullable=True)
    delivery_price_variance: Amount = column("price less menu_delivery_price.", nullable=True)


class DailyPriceMatches(
    Contract,
    table="mart.daily_price_matches",
    scope="day",
    key=("store_id", "business_date", "sale_class", "dispatch_method", "item_type", "menu_match", "price_match"),
):
    """One row per store, business day, sale class, dispatch method, item type, menu match and price match.

    Source: mart.price_variances.
    Caveats: sums of unit or line prices, each counted once whatever the quantity: not sales.
    """

    store_id: Id = column("The store of the orders.", nullable=True)
    business_date: Day = column(_DAY, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    dispatch_method: Text = column(_DISPATCH, nullable=True)
    item_type: Text = column("Whether the row counts lines or modifiers.", isin=("line", "modifier"))
    menu_match: Text = column(_MENU_MATCH, isin=MENU_MATCHES)
    price_match: Text = column(_PRICE_MATCH, isin=PRICE_MATCHES)
    item_count: Count = column("Number of lines or modifiers.", ge=1)
    currency: Text = column(_CURRENCY, nullable=True)
    price: Amount = column("Sum of their prices, each counted once whatever the quantity.", nullable=True)
    price_variance: Amount = column("Sum of their known price variances.", nullable=True)
    delivery_price_variance: Amount = column("Sum of their known delivery price variances.", nullable=True)
