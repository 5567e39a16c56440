"""Contracts of menus: price groups, prices, products, modifiers and how they hang together."""

from pipelines.warehouse.contracts.contract import Contract, Count, Flag, Id, Ids, Instant, Money, Text, column

_MENU = "The menu, as the service numbers it."
_GROUP_NO = "The price group's place in the menu's document, from 1."
_POSITION = "Where the service shows it among its neighbours (observed: from 1); neither unique nor gapless by rule."
_LOAD = "The load of that observation."


class Menus(Contract, table="core.menus", scope="menu", key=("menu_id",)):
    """One row per menu, as last observed.

    Source: get menu details.
    Caveats: the menu as it is now, not as it was when an order was placed. Which stores use it stands in
    core.store_menus.
    """

    menu_id: Id = column(_MENU)
    name: Text = column("The menu's name.", nullable=True)
    is_deleted: Flag = column(
        "Whether the service answered 404 at least three times, an hour apart or more, since it last knew the menu."
    )
    fetched_at: Instant = column(
        "When this version of the menu was first observed; null for an archive of unknown time.",
        named="_fetched_at",
        nullable=True,
    )
    load_id: Text = column(_LOAD, named="_load_id")
    payload_sha256: Text = column("SHA-256 of the document as kept.", named="_payload_sha256")


class PriceGroups(Contract, table="core.price_groups", scope="menu", key=("menu_id", "group_no")):
    """One row per price group of a menu, in the order of the document.

    Source: menu.price_groups of get menu details.
    Caveats: price_group_id is not promised to be unique: join by menu_id and group_no.
    """

    menu_id: Id = column(_MENU)
    group_no: Count = column(_GROUP_NO, ge=1)
    price_group_id: Id = column("The price group, as the service numbers it.", nullable=True)
    name: Text = column("The group's name, such as the heading of a part of the menu.", nullable=True)
    position: Count = column(_POSITION, nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class MenuPrices(Contract, table="core.menu_prices", scope="menu", key=("menu_id", "group_no", "price_no")):
    """One row per price in a price group of a menu, in the order of the document.

    Source: prices of the price groups of get menu details.
    Caveats: a product may have several prices: in several groups, for several channels, under several menus. Joined to
    order lines by product_id alone this table multiplies them. Price and delivery_price are alternatives: never add
    them.
    """

    menu_id: Id = column(_MENU)
    group_no: Count = column(_GROUP_NO, ge=1)
    price_no: Count = column("The price's place in its group, from 1.", ge=1)
    price_id: Id = column("The price, as the service numbers it; not promised to be unique.", nullable=True)
    product_id: Id = column(
        "The product: by rule a key of the same menu's products, listed in audit.findings where it is not. Null only "
        "where the document has a null in place of a price.",
        nullable=True,
    )
    position: Count = column(_POSITION, nullable=True)
    channel: Text = column("Where the price holds, as sent (observed: both).", nullable=True)
    price: Money = column("The price for the channel's base case, in the store's currency.", nullable=True)
    delivery_price: Money = column("The price when delivered, in place of price; may differ from it.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class Products(Contract, table="core.products", scope="menu", key=("menu_id", "product_id")):
    """One row per product in a menu's products dictionary.

    Source: products of get menu details.
    Caveats: the same product_id may stand in several menus, under other names; whether it is the same product is the
    setting [menus] product_id_scope. Join by menu_id and product_id; from an order, which names no menu, use
    mart.store_products.
    """

    menu_id: Id = column(_MENU)
    product_id: Id = column("The product: its key in the dictionary.")
    name: Text = column("The product's name.", nullable=True)
    description: Text = column("The product's description.", nullable=True)
    dispatch_method: Text = column("How the product can be dispatched, as sent (observed: both).", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class Modifiers(Contract, table="core.modifiers", scope="menu", key=("menu_id", "modifier_id")):
    """One row per modifier in a menu's modifiers dictionary.

    Source: modifiers of get menu details.
    Caveats: a group (sizes) and its options (large) are both modifiers; only core.modifier_edges tells them apart. A
    modifier has no price of its own: it has one in each place where it is referred to.
    """

    menu_id: Id = column(_MENU)
    modifier_id: Id = column("The modifier: its key in the dictionary.")
    name: Text = column("The modifier's name.", nullable=True)
    description: Text = column("The modifier's description.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class ModifierEdges(
    Contract, table="core.modifier_edges", scope="menu", key=("menu_id", "parent_type", "parent_id", "edge_no")
):
    """One row per modifier reference in a menu: below a product, or below a modifier as its child.

    Source: modifiers of a product and children of a modifier of get menu details.
    Caveats: a modifier that several products share has one row under each of them, but its children only once. Product
    and modifier ids are separate numbers: a join by parent_id needs parent_type too.
    """

    menu_id: Id = column(_MENU)
    parent_type: Text = column("Whether parent_id is a product or a modifier.", isin=("product", "modifier"))
    parent_id: Id = column("The product or modifier that holds the reference.")
    edge_no: Count = column("The reference's place in its parent, from 1.", ge=1)
    modifier_id: Id = column(
        "The modifier referred to: by rule a key of the same menu's modifiers, listed in audit.findings where it is "
        "not. Null only where the document has a null in place of a reference.",
        nullable=True,
    )
    position: Count = column(_POSITION, nullable=True)
    price: Money = column("The modifier's price in this place; null where the document gives none.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class ModifierPaths(Contract, table="core.modifier_paths", scope="menu", key=("menu_id", "product_id", "path")):
    """One row per path from a product down its modifiers, in one menu: the tree below each product, written out.

    Source: core.modifier_edges, walked level by level.
    Caveats: do not sum price over paths: groups and options stand beside each other, and a shared modifier stands once
    in every place. A modifier may be reached by several paths, so joined to order modifiers by modifier_id rows
    multiply. The walk stops at a repeated modifier, 32 modifiers deep, at 10,000 paths a product and 500,000 a menu;
    what is cut is listed in audit.findings.
    """

    menu_id: Id = column(_MENU)
    product_id: Id = column("The product at the top.")
    path: Ids = column("The way down as edge numbers: [2, 1] is the first child of the product's second modifier.")
    modifier_ids: Ids = column("The modifiers met on the way, the last one included.")
    depth: Count = column("How many modifiers the path holds: 1 is directly below the product.", ge=1, le=32)
    modifier_id: Id = column(
        "The modifier at the end of the path; null where the document has a null in place of a reference.",
        nullable=True,
    )
    is_leaf: Flag = column("Whether that modifier has no children: an option rather than a group.")
    is_cycle: Flag = column("Whether that modifier stands in the path already; the walk stops there.")
    price: Money = column("The modifier's price in this place; null where the document gives none.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")
