"""Contracts of menus: price groups, prices, products, modifiers and their references."""

from pipelines.warehouse.contracts.contract import Contract, Count, Flag, Id, Ids, Instant, Money, Text, column

_MENU = "The menu's id."
_GROUP_NO = "The price group's position in the document, from 1."
_POSITION = "The display position among its siblings (observed: from 1); may repeat or have gaps."
_LOAD = "The load that brought this version."


class Menus(Contract, table="core.menus", scope="menu", key=("menu_id",)):
    """One row per menu, as last observed.

    Source: get menu details.
    Caveats: the menu as it is now, not as it was when an order was placed. core.store_menus has the stores that use it.
    """

    menu_id: Id = column(_MENU)
    name: Text = column("The menu's name.", nullable=True)
    is_deleted: Flag = column(
        "Whether the menu is deleted at source: at least three 404s, an hour or more apart, since the last answer."
    )
    fetched_at: Instant = column(
        "When this version of the menu was first observed; null if an archive has no time.",
        named="_fetched_at",
        nullable=True,
    )
    load_id: Text = column(_LOAD, named="_load_id")
    payload_sha256: Text = column("SHA-256 of the document as stored.", named="_payload_sha256")


class PriceGroups(Contract, table="core.price_groups", scope="menu", key=("menu_id", "group_no")):
    """One row per price group of a menu, in the order of the document.

    Source: menu.price_groups of get menu details.
    Caveats: price_group_id may not be unique: join by menu_id and group_no.
    """

    menu_id: Id = column(_MENU)
    group_no: Count = column(_GROUP_NO, ge=1)
    price_group_id: Id = column("The price group's id.", nullable=True)
    name: Text = column("The group's name, such as a section heading of the menu.", nullable=True)
    position: Count = column(_POSITION, nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class MenuPrices(Contract, table="core.menu_prices", scope="menu", key=("menu_id", "group_no", "price_no")):
    """One row per price in a price group of a menu, in the order of the document.

    Source: prices of the price groups of get menu details.
    Caveats: a product may have several prices: by group, channel and menu. A join to order lines by product_id alone
    multiplies them. price and delivery_price are alternatives: never add them.
    """

    menu_id: Id = column(_MENU)
    group_no: Count = column(_GROUP_NO, ge=1)
    price_no: Count = column("The price's position in its group, from 1.", ge=1)
    price_id: Id = column("The price's id; may not be unique.", nullable=True)
    product_id: Id = column(
        "The product's id: a key of the same menu's products, else listed in audit.findings. Null only if the document "
        "has a null instead of a price.",
        nullable=True,
    )
    position: Count = column(_POSITION, nullable=True)
    channel: Text = column("The channel of the price, as sent (observed: both).", nullable=True)
    price: Money = column("The base price of the channel, in the store's currency.", nullable=True)
    delivery_price: Money = column("The price for delivery, instead of price.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class Products(Contract, table="core.products", scope="menu", key=("menu_id", "product_id")):
    """One row per product in a menu's products dictionary.

    Source: products of get menu details.
    Caveats: several menus may have the same product_id under different names; [menus] product_id_scope says whether it
    is the same product. Join by menu_id and product_id; orders name no menu, so use mart.store_products for them.
    """

    menu_id: Id = column(_MENU)
    product_id: Id = column("The product's id: its key in the dictionary.")
    name: Text = column("The product's name.", nullable=True)
    description: Text = column("The product's description.", nullable=True)
    dispatch_method: Text = column("How the product can be dispatched, as sent (observed: both).", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class Modifiers(Contract, table="core.modifiers", scope="menu", key=("menu_id", "modifier_id")):
    """One row per modifier in a menu's modifiers dictionary.

    Source: modifiers of get menu details.
    Caveats: a group (sizes) and its options (large) are both modifiers; only core.modifier_edges distinguishes them. A
    modifier has no price of its own: each reference to it has one.
    """

    menu_id: Id = column(_MENU)
    modifier_id: Id = column("The modifier's id: its key in the dictionary.")
    name: Text = column("The modifier's name.", nullable=True)
    description: Text = column("The modifier's description.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class ModifierEdges(
    Contract, table="core.modifier_edges", scope="menu", key=("menu_id", "parent_type", "parent_id", "edge_no")
):
    """One row per modifier reference in a menu: of a product, or of a modifier to its child.

    Source: modifiers of a product and children of a modifier of get menu details.
    Caveats: a modifier shared by several products has a row for each of them, but its children only once. Product and
    modifier ids overlap: a join by parent_id needs parent_type too.
    """

    menu_id: Id = column(_MENU)
    parent_type: Text = column("Whether parent_id is a product or a modifier.", isin=("product", "modifier"))
    parent_id: Id = column("The id of the product or modifier with the reference.")
    edge_no: Count = column("The reference's position in its parent, from 1.", ge=1)
    modifier_id: Id = column(
        "The id of the referenced modifier: a key of the same menu's modifiers, else listed in audit.findings. Null "
        "only if the document has a null instead of a reference.",
        nullable=True,
    )
    position: Count = column(_POSITION, nullable=True)
    price: Money = column("The modifier's price for this reference; null if the document has none.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class ModifierPaths(Contract, table="core.modifier_paths", scope="menu", key=("menu_id", "product_id", "path")):
    """One row per path from a product to a modifier below it: the expanded tree of each product in a menu.

    Source: core.modifier_edges, traversed level by level.
    Caveats: do not sum price over paths: groups and options are both rows, and a shared modifier has a row per path. A
    join to order modifiers by modifier_id multiplies rows. Traversal stops at a repeated modifier, at a depth of 32, at
    10,000 paths per product and at 500,000 per menu; products cut short are listed in audit.findings.
    """

    menu_id: Id = column(_MENU)
    product_id: Id = column("The id of the product at the root.")
    path: Ids = column("Edge numbers from the product: [2, 1] is the first child of its second modifier.")
    modifier_ids: Ids = column("The ids of the modifiers on the path, including the last.")
    depth: Count = column("Number of modifiers on the path: 1 is directly below the product.", ge=1, le=32)
    modifier_id: Id = column(
        "The id of the last modifier; null if the document has a null instead of a reference.",
        nullable=True,
    )
    is_leaf: Flag = column("Whether it has no children: an option rather than a group.")
    is_cycle: Flag = column("Whether it is on the path already; traversal stops there.")
    price: Money = column("The modifier's price for this reference; null if the document has none.", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")
