"""Contracts of the marts: orders, daily sales, product mix and product names."""

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
    Share,
    Text,
    Units,
    column,
)
from pipelines.warehouse.contracts.orders import CUSTOMER_KEY

SALE_CLASSES = ("counted", "excluded", "unmapped", "deleted")

_ORDER = "The order's id."
_STORE = "The store's id; null for orders that name none."
_BUSINESS_DATE = (
    "The business day in the store's time zone: the date of [business_day] time_field, less [business_day] day_start. "
    "Null for orders without that time: they are counted under no day, not dropped."
)
_SALE_CLASS = (
    "counted or excluded by [sales]; unmapped if the status is null or in neither list; deleted if deleted at source, "
    "whatever the status. The four add up to everything placed: always filter by it."
)
_CURRENCY = (
    "The currency of the amounts: from the store record, else [finance] currency; null if neither states it. Do not "
    "add across currencies."
)
_LOCAL = " in the store's time zone, without offset: in the repeated hour of autumn two instants look the same."
_SUM = "Sum of {0} over the orders that state it; null if none does."
AVERAGE_ORDER_VALUE = (
    "AOV: total_price by the number of orders that state it, to four decimals; null if none does. Not to be averaged "
    "again: divide the sums."
)


class MartOrders(Contract, table="mart.orders", scope="order", key=("order_id",)):
    """One row per order ever observed, as last observed: the table to start from.

    Source: core.orders, core.order_lines, core.order_deliveries, core.stores, [business_day] and [sales].
    Caveats: sales are the rows with sale_class 'counted'; without lists in [sales] there are none. A join to lines or
    deliveries multiplies an order's money. total_price is as sent: see mart.order_reconciliation. A late-arriving older
    order renumbers its customer's later orders.
    """

    order_id: Id = column(_ORDER)
    store_id: Id = column("The store of the order.", nullable=True)
    customer_key: Text = column(CUSTOMER_KEY, nullable=True)
    customer_order_no: Count = column(
        "Which order of its customer it is, from 1, by created_at, then order_id: of every store and sale class, among "
        "orders observed. Null without customer_key or created_at.",
        nullable=True,
        ge=1,
    )
    is_first_order: Flag = column(
        "Whether it is its customer's first order (customer_order_no 1); null without one.", nullable=True
    )
    store_name: Text = column("The store's name; null if no store record has one.", nullable=True)
    timezone: Text = column("The time zone of local times and business day.")
    timezone_source: Text = column(
        "store: from the store record. setting: [business_day] timezone, if the record has none or an invalid one.",
        isin=("store", "setting"),
    )
    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    status: Text = column("The order's status, as sent; the interface does not list its values.", nullable=True)
    platform: Text = column("Where it was placed, as sent (observed: web).", nullable=True)
    dispatch_method: Text = column("How it is dispatched, as sent (observed: store_delivery).", nullable=True)
    is_deleted: Flag = column(
        "Whether the order is deleted at source: at least three 404s, an hour or more apart, since the last answer."
    )
    delivery_count: Count = column("Number of delivery records.", ge=0)
    delivery_type: Text = column("Who delivers, as the last record that says so does; null if none.", nullable=True)
    last_delivery_status: Text = column("The status of the last record that has one; null if none.", nullable=True)
    created_at: Instant = column("When it was created.", nullable=True)
    requested_time: Instant = column("The time that the customer requested.", nullable=True)
    promised_delivery_time: Instant = column("The promised delivery time.", nullable=True)
    promised_pick_up_time: Instant = column("The promised pick-up time; null if not for pick-up.", nullable=True)
    created_at_local: LocalTime = column("When it was created," + _LOCAL, nullable=True)
    requested_time_local: LocalTime = column("The time that the customer requested," + _LOCAL, nullable=True)
    promised_delivery_time_local: LocalTime = column("The promised delivery time," + _LOCAL, nullable=True)
    promised_pick_up_time_local: LocalTime = column(
        "The promised pick-up time," + _LOCAL + " Null if not for pick-up.", nullable=True
    )
    hour: Count = column("The hour of created_at_local, 0 to 23; null without created_at.", nullable=True, ge=0, le=23)
    daypart: Text = column(
        "The daypart of that hour, by [business_day] dayparts; null without created_at, and without dayparts.",
        nullable=True,
    )
    weekday: Count = column("Of the business day: 1 for Monday to 7 for Sunday.", nullable=True, ge=1, le=7)
    minutes_promised: Count = column(
        "Whole minutes from created_at to the promised delivery, else pick-up; negative if that is before.",
        nullable=True,
    )
    line_count: Count = column("Number of lines.", ge=0)
    unit_count: Units = column(
        "Sum of the lines' quantities; 0 without lines, null if there are lines but no quantities.",
        nullable=True,
    )
    currency: Text = column(_CURRENCY, nullable=True)
    subtotal_price: Money = column("The amount before delivery, tip and discounts, as sent.", nullable=True)
    delivery_price: Money = column("The delivery charge, as sent.", nullable=True)
    tip: Money = column("The tip, as sent.", nullable=True)
    discount: Money = column("The discount, as sent; subtracted in the observed total.", nullable=True)
    loyalty_discount: Money = column("The loyalty discount, as sent; subtracted in the observed total.", nullable=True)
    total_price: Money = column("The final total, as sent; never recomputed.", nullable=True)
    last_checked_at: Instant = column(
        "Freshness: when the order was last requested, whatever the answer; null if an archive has no time.",
        nullable=True,
    )
    fetched_at: Instant = column(
        "When this version of the order was first observed; null if an archive has no time.",
        named="_fetched_at",
        nullable=True,
    )
    load_id: Text = column("The load that brought this version.", named="_load_id")


class DailyStoreSales(
    Contract, table="mart.daily_store_sales", scope="day", key=("store_id", "business_date", "sale_class")
):
    """One row per store, business day and sale class.

    Source: mart.orders; a blocking check ties counts and amounts to it.
    Caveats: sales are the rows with sale_class 'counted'; all four classes are everything placed. A row has one store,
    hence one currency: add stores only within a currency. A field that an order does not state adds nothing.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    store_name: Text = column("The store's name; null if no store record has one.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    order_count: Count = column("Number of orders.", ge=1)
    incomplete_order_count: Count = column("Number of orders that do not state all six price fields.", ge=0)
    line_count: Count = column("Number of order lines.", ge=0)
    unit_count: Units = column("Sum of the stated quantities; null if none is.", nullable=True)
    subtotal_price: Amount = column(_SUM.format("subtotal_price"), nullable=True)
    delivery_price: Amount = column(_SUM.format("delivery_price"), nullable=True)
    tip: Amount = column(_SUM.format("tip"), nullable=True)
    discount: Amount = column(_SUM.format("discount"), nullable=True)
    loyalty_discount: Amount = column(_SUM.format("loyalty_discount"), nullable=True)
    total_price: Amount = column(_SUM.format("total_price"), nullable=True)
    average_order_value: Amount = column(AVERAGE_ORDER_VALUE, nullable=True, adds_up=False)


class ProductMix(
    Contract, table="mart.product_mix", scope="day", key=("store_id", "business_date", "sale_class", "product_id")
):
    """One row per store, business day, sale class and product sold.

    Source: mart.order_lines; blocking checks tie lines, units and amounts to it and to mart.orders.
    Caveats: amounts follow the rule in force, before order-level discounts: see mart.order_lines. order_count counts an
    order once per product, so it does not add up over products; nor do shares and ranks over days. Join menu names
    through mart.store_products, never core.products, which has a row per menu.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    sale_class: Text = column(_SALE_CLASS, isin=SALE_CLASSES)
    product_id: Id = column("The product's id; null for lines that name none.", nullable=True)
    store_name: Text = column("The store's name; null if no store record has one.", nullable=True)
    ordered_name: Text = column(
        "The product's name on the order lines of that day; if they differ, the alphabetically last.", nullable=True
    )
    has_multiple_names: Flag = column(
        "Whether those lines have different names: a rename, or an id shared by several products."
    )
    order_count: Count = column("Number of orders with the product; do not add over products.", ge=1)
    line_count: Count = column("Number of order lines.", ge=1)
    unit_count: Units = column("Sum of the stated quantities; null if none is.", nullable=True)
    currency: Text = column(_CURRENCY, nullable=True)
    line_amount: Amount = column("Sum of the line amounts; null if no line has one.", nullable=True)
    unvalued_line_count: Count = column(
        "Number of lines without an amount; if above 0, line_amount is incomplete.", ge=0
    )
    unit_share: Share = column(
        "Its unit_count by that of the store's day and sale class, 0 to 1 unless quantities are negative; null if they "
        "come to nothing.",
        nullable=True,
    )
    unit_rank: Count = column(
        "Its rank there by unit_count, 1 for most; equal ones share a rank. Null without units.", nullable=True, ge=1
    )
    sales_share: Share = column(
        "Its line_amount by that of the store's day and sale class, of lines with an amount, 0 to 1 unless amounts are "
        "negative; null if they come to nothing.",
        nullable=True,
    )
    sales_rank: Count = column(
        "Its rank there by line_amount, 1 for most; equal ones share a rank. Null without an amount.",
        nullable=True,
        ge=1,
    )


class StoreProducts(Contract, table="mart.store_products", scope="all", key=("store_id", "product_id")):
    """One row per store and product that the store sold or has on a menu, with its menu name.

    Source: core.store_menus, core.products and mart.product_mix. By [menus] product_id_scope, names come from every
    menu (global) or only from the store's own (per_menu).
    Caveats: the current name; mart.product_mix has the name when ordered. If menus disagree (name_count above 1), the
    store's own menus take precedence, then the lowest menu_id.
    """

    store_id: Id = column("The store's id.")
    product_id: Id = column("The product's id, from a menu or an order line.")
    product_name: Text = column("The product's name; null if no menu in scope has one.", nullable=True)
    is_on_menu: Flag = column("Whether a menu of this store has the product now.")
    menu_count: Count = column("Number of menus in scope that have it.", ge=0)
    name_count: Count = column("Number of different names on those menus; above 1 one was chosen.", ge=0)
