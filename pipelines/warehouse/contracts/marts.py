"""Contracts of the marts: what people ask of orders, day by day and store by store."""

from pipelines.warehouse.contracts.contract import (
    Amount,
    Contract,
    Count,
    Day,
    Flag,
    Id,
    Instant,
    LocalTime,
    Money,
    Text,
    Units,
    column,
)

SALE_CLASSES = ("counted", "excluded", "unmapped", "deleted")

_ORDER = "The order, as the service numbers it."
_STORE = "The store, as the service numbers it; null for orders that name none."
_BUSINESS_DATE = (
    "The business day by the store's clock: [business_day] time_field, in the store's timezone, less [business_day] "
    "day_start. Null for orders without that time: they are counted under no day, not dropped."
)
_SALE_CLASS = (
    "counted or excluded by [sales], unmapped where the status is in neither list or null, deleted where the service no "
    "longer knows the order, whatever its status. The four add up to everything placed: filter by it, never ignore it."
)
_CURRENCY = (
    "What the amounts are in: from the store's record, else [finance] currency; null where neither says. Do not add "
    "across currencies."
)
_LOCAL = " by the store's clock, a wall time without zone; in the hour that autumn repeats two instants read alike."
_SUM = "Sum of {0} of the orders that state one; null where none does."


class MartOrders(Contract, table="mart.orders", scope="order", key=("order_id",)):
    """One row per order that was ever observed, as last observed: the table to start from.

    Source: core.orders, core.order_lines, core.stores and the settings [business_day] and [sales].
    Caveats: sales are the rows with sale_class 'counted', and with no list in [sales] there are none yet. Joined to
    lines or deliveries an order's money multiplies. total_price is what the service stated: see
    mart.order_reconciliation.
    """

    order_id: Id = column(_ORDER)
    store_id: Id = column("The store it belongs to.", nullable=True)
    customer_key: Text = column(
        "A random key of the customer, the same for the same phone or e-mail; no personal data.", nullable=True
    )
    store_name: Text = column("The store's name; null where no record of the store names it.", nullable=True)
    timezone: Text = column("The timezone that the local times and the business day are in.")
    timezone_source: Text = column(
        "store: from its record. setting: [business_day] timezone, as the record has none, or none that exists.",
        isin=("store", "setting"),
    )
    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    status: Text = column("The order's status, as sent; the set of values is not stated.", nullable=True)
    platform: Text = column("Where it was placed, as sent (observed: web).", nullable=True)
    dispatch_method: Text = column("How it is dispatched, as sent (observed: store_delivery).", nullable=True)
    is_deleted: Flag = column(
        "Whether the service answered 404 at least three times, an hour apart or more, since it last knew the order."
    )
    created_at: Instant = column("When it was created.", nullable=True)
    created_at_local: LocalTime = column("When it was created," + _LOCAL, nullable=True)
    requested_time_local: LocalTime = column("The time the customer asked for," + _LOCAL, nullable=True)
    promised_delivery_time_local: LocalTime = column("The promised delivery time," + _LOCAL, nullable=True)
    promised_pick_up_time_local: LocalTime = column(
        "The promised pick-up time," + _LOCAL + " Null when not for pick-up.", nullable=True
    )
    line_count: Count = column("How many lines it has.", ge=0)
    unit_count: Units = column(
        "Sum of its lines' quantities; 0 without lines, null where there are lines and none states a quantity.",
        nullable=True,
    )
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Money = column("The sum before delivery, tip and discounts, as sent.", nullable=True)
    delivery_price: Money = column("The delivery charge, as sent.", nullable=True)
    tip: Money = column("The tip, as sent.", nullable=True)
    discount: Money = column("The discount, as sent; subtracted in the observed total.", nullable=True)
    loyalty_discount: Money = column("The loyalty discount, as sent; subtracted in the observed total.", nullable=True)
    total_price: Money = column("The final total, as sent; nothing recomputed.", nullable=True)
    last_checked_at: Instant = column(
        "When the service was last asked for the order, whatever it answered; null for an archive of unknown time.",
        nullable=True,
    )
    fetched_at: Instant = column(
        "When this version of the order was first observed; null for an archive of unknown time.",
        named="_fetched_at",
        nullable=True,
    )
    load_id: Text = column("The load of that observation.", named="_load_id")


class DailyStoreSales(
    Contract, table="mart.daily_store_sales", scope="day", key=("store_id", "business_date", "sale_class")
):
    """One row per store, business day and sale class.

    Source: mart.orders; ties to it in counts and money, or nothing is published.
    Caveats: sales are the rows with sale_class 'counted'; all four classes together are everything placed. Rows are one
    store's, so one currency's: add stores only within a currency. An order without a part adds nothing to that part.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    store_name: Text = column("The store's name; null where no record of the store names it.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    order_count: Count = column("How many orders.", ge=1)
    incomplete_order_count: Count = column("How many of them do not state all six price fields.", ge=0)
    line_count: Count = column("How many order lines.", ge=0)
    unit_count: Units = column("Sum of the quantities that are stated; null where none is.", nullable=True)
    subtotal_price: Amount = column(_SUM.format("subtotal_price"), nullable=True)
    delivery_price: Amount = column(_SUM.format("delivery_price"), nullable=True)
    tip: Amount = column(_SUM.format("tip"), nullable=True)
    discount: Amount = column(_SUM.format("discount"), nullable=True)
    loyalty_discount: Amount = column(_SUM.format("loyalty_discount"), nullable=True)
    total_price: Amount = column(_SUM.format("total_price"), nullable=True)


class ProductMix(
    Contract, table="mart.product_mix", scope="day", key=("store_id", "business_date", "sale_class", "product_id")
):
    """One row per store, business day, sale class and product sold.

    Source: mart.order_lines; lines, units and amounts tie to it and to mart.orders, or nothing is published.
    Caveats: amounts by the rule in force, before what an order takes off as a whole: see mart.order_lines. An order
    with the product in two lines counts once in orders, so orders do not add up over products. Join names from menus
    through mart.store_products, never core.products, which may hold the product once per menu.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    product_id: Id = column("The product; null for lines that name none.", nullable=True)
    ordered_name: Text = column(
        "The product's name on the order lines of that day; where they differ, the last by alphabet.", nullable=True
    )
    has_multiple_names: Flag = column(
        "Whether those lines give it different names: it was renamed, or the id means several products."
    )
    order_count: Count = column("How many orders hold the product; do not add over products.", ge=1)
    line_count: Count = column("How many order lines.", ge=1)
    unit_count: Units = column("Sum of the quantities that are stated; null where none is.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    line_amount: Amount = column("Sum of the lines' amounts; null where no line has one.", nullable=True)
    unvalued_line_count: Count = column("How many of the lines have none: above 0 the sum is not whole.", ge=0)


class StoreProducts(Contract, table="mart.store_products", scope="all", key=("store_id", "product_id")):
    """One row per store and product that the store sold or that its menus hold, with its name on the menus.

    Source: core.store_menus, core.products and mart.product_mix; whose menus may name a product is [menus]
    product_id_scope: global, every menu's; per_menu, only those of the store.
    Caveats: the name as it is now; mart.product_mix has the name when ordered. Where menus disagree, names says so and
    the menu with the lowest menu_id is taken, the store's own before others.
    """

    store_id: Id = column("The store, as the service numbers it.")
    product_id: Id = column("The product: a key of the products of some menu, or of an order line.")
    product_name: Text = column("The product's name; null where no menu that may name it does.", nullable=True)
    is_on_menu: Flag = column("Whether a menu of this store holds the product now.")
    menu_count: Count = column("How many menus that may name it hold it.", ge=0)
    name_count: Count = column("How many different names they give it; above 1 the name was chosen.", ge=0)
