"""Contracts of orders, their lines, modifiers and deliveries, as sent."""

from pipelines.warehouse.contracts.contract import Contract, Count, Flag, Id, Instant, Money, Text, column

CUSTOMER_KEY = (
    "Pseudonymous key of the customer: that of the phone number if it is known, else of the e-mail address, else a new "
    "one. Keys that later prove to be one person's are not merged. No personal data."
)
_HAS = "Whether there is {0}; false for an empty text, null if the source gave null or nothing."
_PLAINTEXT = "The text, if [privacy] plaintext_fields names it; else null here and encrypted in the vault."


class Orders(Contract, table="core.orders", scope="order", key=("order_id",)):
    """One row per order, in its latest version.

    Source: get order details, every field of the interface that is not personal; raw.latest_orders.
    Caveats: the interface does not say which statuses are sales: see mart.orders. An order deleted at source stays,
    with is_deleted. Prices are never filled in: null means that the source gave none.
    """

    order_id: Id = column("The order's id.")
    store_id: Id = column("The store of the order.", nullable=True)
    customer_key: Text = column(CUSTOMER_KEY, nullable=True)
    status: Text = column("The order's status, as sent; the interface does not list its values.", nullable=True)
    platform: Text = column("Where it was placed, as sent (observed: web).", nullable=True)
    dispatch_method: Text = column("How it is dispatched, as sent (observed: store_delivery).", nullable=True)
    created_at: Instant = column("When it was created.", nullable=True)
    requested_time: Instant = column("The time that the customer requested.", nullable=True)
    promised_delivery_time: Instant = column("The promised delivery time.", nullable=True)
    promised_pick_up_time: Instant = column("The promised pick-up time; null if not for pick-up.", nullable=True)
    subtotal_price: Money = column("The amount before delivery, tip and discounts, as sent.", nullable=True)
    delivery_price: Money = column("The delivery charge, as sent.", nullable=True)
    tip: Money = column("The tip, as sent.", nullable=True)
    discount: Money = column("The discount, as sent; subtracted in the observed total.", nullable=True)
    loyalty_discount: Money = column("The loyalty discount, as sent; subtracted in the observed total.", nullable=True)
    total_price: Money = column("The final total, as sent; never recomputed.", nullable=True)
    has_user_phone: Flag = column(_HAS.format("a phone number"), nullable=True)
    has_user_email: Flag = column(_HAS.format("an e-mail address"), nullable=True)
    has_user_address: Flag = column(_HAS.format("an address"), nullable=True)
    has_user_name: Flag = column(_HAS.format("a name"), nullable=True)
    has_apartment_details: Flag = column(_HAS.format("an address complement"), nullable=True)
    has_user_latitude: Flag = column(_HAS.format("a latitude"), nullable=True)
    has_user_longitude: Flag = column(_HAS.format("a longitude"), nullable=True)
    has_dispatch_note: Flag = column(_HAS.format("a note for dispatch"), nullable=True)
    dispatch_note: Text = column(_PLAINTEXT, nullable=True)
    is_deleted: Flag = column(
        "Whether the order is deleted at source: at least three 404s, an hour or more apart, since the last answer."
    )
    fetched_at: Instant = column(
        "When this version of the order was first observed; null if an archive has no time.",
        named="_fetched_at",
        nullable=True,
    )
    load_id: Text = column("The load that brought this version.", named="_load_id")
    payload_sha256: Text = column("SHA-256 of the document without personal data.", named="_payload_sha256")


class OrderLines(Contract, table="core.order_lines", scope="order", key=("order_id", "line_no")):
    """One row per order line, in the order of the document.

    Source: items of get order details.
    Caveats: the interface does not say whether price is per unit or per line: do not sum price times quantity from
    here. line_id may not be unique. A join to order_line_modifiers multiplies lines.
    """

    order_id: Id = column("The order's id.")
    line_no: Count = column("The line's position in the order, from 1.", ge=1)
    line_id: Id = column("The line's id.", nullable=True)
    product_id: Id = column("The product's id, a key of a menu's products.", nullable=True)
    quantity: Count = column("Quantity of the product.", nullable=True)
    name: Text = column("The product's name when ordered.", nullable=True)
    price: Money = column("The price of the line's product, as sent.", nullable=True)
    has_instructions: Flag = column(
        _HAS.format("an instruction text"),
        nullable=True,
    )
    instructions: Text = column(_PLAINTEXT, nullable=True)
    load_id: Text = column("The load that brought this version.", named="_load_id")


class OrderLineModifiers(
    Contract, table="core.order_line_modifiers", scope="order", key=("order_id", "line_no", "modifier_no")
):
    """One row per modifier of an order line, in the order of the document.

    Source: modifiers of the items of get order details.
    Caveats: the interface does not say whether price counts once, per unit of the modifier or per unit of the line. A
    line may have the same modifier several times.
    """

    order_id: Id = column("The order's id.")
    line_no: Count = column("The line's position in the order, from 1.", ge=1)
    modifier_no: Count = column("The modifier's position in the line, from 1.", ge=1)
    product_id: Id = column("The product of the line.", nullable=True)
    modifier_id: Id = column("The modifier's id, a key of a menu's modifiers.", nullable=True)
    name: Text = column("The modifier's name when ordered.", nullable=True)
    action: Text = column("The action, as sent (observed: add).", nullable=True)
    quantity: Count = column("Quantity of the modifier.", nullable=True)
    price: Money = column("The modifier's price, as sent.", nullable=True)
    load_id: Text = column("The load that brought this version.", named="_load_id")


class OrderDeliveries(Contract, table="core.order_deliveries", scope="order", key=("order_id", "delivery_no")):
    """One row per delivery record of an order, in the order of the document.

    Source: deliveries of get order details.
    Caveats: an order may have none or several; delivery_id may not be unique.
    """

    order_id: Id = column("The order's id.")
    delivery_no: Count = column("The record's position in the order, from 1.", ge=1)
    delivery_id: Id = column("The delivery's id.", nullable=True)
    type: Text = column("Who delivers, as sent (observed: own_delivery).", nullable=True)
    status: Text = column("The delivery's status, as sent (observed: confirmed).", nullable=True)
    has_confirmation_code: Flag = column(
        _HAS.format("a confirmation code"),
        nullable=True,
    )
    confirmation_code: Text = column(_PLAINTEXT, nullable=True)
    has_tracking_url: Flag = column(
        _HAS.format("a tracking URL"),
        nullable=True,
    )
    tracking_url: Text = column(_PLAINTEXT, nullable=True)
    load_id: Text = column("The load that brought this version.", named="_load_id")
