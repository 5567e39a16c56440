"""Contracts of what was observed of menus and stores over time: intervals of observation, never of validity."""

from pipelines.warehouse.contracts.contract import Contract, Count, Flag, Id, Instant, Money, Text, column

_MENU = "The menu, as the service numbers it."
_VERSION_NO = (
    "The menu's version, from 1, with which it was first observed so: it distinguishes the intervals of one entry."
)
_FROM = (
    "When it was first observed so, not when it took effect: it may have been so before. Null for an archive of "
    "unknown time."
)
_TO = (
    "When it was last observed so, not when it ended: it may have been so longer. Null while it is current, which "
    "unchanged observations leave as it is; null too for an archive of unknown time."
)
_CHANGED = (
    "When the menu was first observed with something else in this place, or with nothing: the change lies between "
    "observed_to and this. Null while it is current, and for an archive of unknown time."
)
_CURRENT = "Whether the latest version of the menu still has it so."
_LOAD = "The load of the observation with which the interval starts."


class MenuPriceVersions(
    Contract, table="core.menu_price_versions", scope="menu", key=("menu_id", "group_no", "price_no", "version_no")
):
    """One row per place of a price in a menu, and run of versions in which it is the same: an interval of observation.

    Source: prices of every version of the menu.
    Caveats: the times are those of observation, not of when it took effect. A place is where the document has it: a
    price put in before others moves them all. A row is written only on change.
    """

    menu_id: Id = column(_MENU)
    group_no: Count = column("The price group's place in the menu's document, from 1.", ge=1)
    price_no: Count = column("The price's place in its group, from 1.", ge=1)
    version_no: Count = column(_VERSION_NO, ge=1)
    price_id: Id = column("The price, as the service numbers it; not promised to be unique.", nullable=True)
    product_id: Id = column("The product: by rule a key of the same menu's products.", nullable=True)
    channel: Text = column("Where the price holds, as sent (observed: both).", nullable=True)
    price: Money = column("The price for the channel's base case, in the store's currency.", nullable=True)
    delivery_price: Money = column("The price when delivered, in place of price; may differ from it.", nullable=True)
    observed_from: Instant = column(_FROM, nullable=True)
    observed_to: Instant = column(_TO, nullable=True)
    change_seen_at: Instant = column(_CHANGED, nullable=True)
    is_current: Flag = column(_CURRENT)
    load_id: Text = column(_LOAD, named="_load_id")


class MenuProductVersions(
    Contract, table="core.menu_product_versions", scope="menu", key=("menu_id", "product_id", "version_no")
):
    """One row per product of a menu, and run of versions in which it is the same: an interval of observation.

    Source: products of every version of the menu.
    Caveats: the times are those of observation, not of when it took effect. A row is written only on change.
    """

    menu_id: Id = column(_MENU)
    product_id: Id = column("The product: its key in the dictionary.")
    version_no: Count = column(_VERSION_NO, ge=1)
    name: Text = column("The product's name.", nullable=True)
    description: Text = column("The product's description.", nullable=True)
    dispatch_method: Text = column("How the product can be dispatched, as sent (observed: both).", nullable=True)
    observed_from: Instant = column(_FROM, nullable=True)
    observed_to: Instant = column(_TO, nullable=True)
    change_seen_at: Instant = column(_CHANGED, nullable=True)
    is_current: Flag = column(_CURRENT)
    load_id: Text = column(_LOAD, named="_load_id")


class ModifierPriceVersions(
    Contract,
    table="core.modifier_price_versions",
    scope="menu",
    key=("menu_id", "parent_type", "parent_id", "edge_no", "version_no"),
):
    """One row per place of a modifier in a menu, and run of versions in which it is the same.

    Source: modifiers of products and children of modifiers of every version of the menu.
    Caveats: the times are those of observation, not of when it took effect. A modifier has a price in each place, not
    one of its own. A row is written only on change.
    """

    menu_id: Id = column(_MENU)
    parent_type: Text = column("Whether parent_id is a product or a modifier.", isin=("product", "modifier"))
    parent_id: Id = column("The product or modifier that holds the reference.")
    edge_no: Count = column("The reference's place in its parent, from 1.", ge=1)
    version_no: Count = column(_VERSION_NO, ge=1)
    modifier_id: Id = column("The modifier referred to: by rule a key of the same menu's modifiers.", nullable=True)
    price: Money = column("The modifier's price in this place; null where the document gives none.", nullable=True)
    observed_from: Instant = column(_FROM, nullable=True)
    observed_to: Instant = column(_TO, nullable=True)
    change_seen_at: Instant = column(_CHANGED, nullable=True)
    is_current: Flag = column(_CURRENT)
    load_id: Text = column(_LOAD, named="_load_id")


class StoreVersions(Contract, table="core.store_versions", scope="store", key=("store_id", "version_no")):
    """One row per store, and run of records with the same name, timezone and currency: a rename is a new row.

    Source: every version of the store's record. Each run asks for every store that the service lists, so a store that
    is no longer listed is no longer observed: its last_listed_at stays behind that of the others.
    Caveats: the times are those of observation, not of the change. A record that was asked for otherwise, by a
    webhook, counts as listed.
    """

    store_id: Id = column("The store, as the service numbers it.")
    version_no: Count = column("The record's version, from 1, with which it was first observed so.", ge=1)
    name: Text = column("The store's name.", nullable=True)
    timezone: Text = column("The store's timezone as sent, unjudged.", nullable=True)
    currency: Text = column("What its amounts are in, as sent.", nullable=True)
    first_listed_at: Instant = column(_FROM, nullable=True)
    last_listed_at: Instant = column(
        "When it was last observed so: for the current row, when the store was last listed. Null for an archive of "
        "unknown time.",
        nullable=True,
    )
    is_current: Flag = column("Whether the latest record still says so.")
    load_id: Text = column(_LOAD, named="_load_id")
