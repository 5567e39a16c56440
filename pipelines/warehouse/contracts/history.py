"""Contracts of the history of orders: the content of each version, and when it was observed."""

from pipelines.warehouse.contracts.contract import (
    Contract,
    Count,
    Flag,
    Id,
    Ids,
    Instant,
    Money,
    Text,
    Texts,
    column,
)

_ORDER = "The order, as the service numbers it."
_VERSION_NO = "The order's version, from 1, in the order of observation."
_LINES_VERSION_NO = "The version of the order's lines, from 1: one more with every version whose items differ."
_FIRST = "When it was first observed so; null for an archive of unknown time. It may have been so before."
_LAST = "When it was last observed so; null for an archive of unknown time. It may have been so longer."
_BEFORE_SEEN = (
    "When what was before was last observed: the change lies between this and first_seen_at, nobody saw when. Null "
    "where nothing was before, or at an unknown time."
)


class OrderVersions(Contract, table="core.order_versions", scope="order", key=("order_id", "version_no")):
    """One row per version of an order: a run of observations of the same content, A, B, A being three.

    Source: every document of the order that was ever accepted, and all observations of it.
    Caveats: a version that came and went between two observations was never seen. The times are those of observation,
    not of the change. A personal value replaced by another makes no version: see audit.personal_data_changes.
    """

    order_id: Id = column(_ORDER)
    version_no: Count = column(_VERSION_NO, ge=1)
    lines_version_no: Count = column(_LINES_VERSION_NO, ge=1)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    changed_fields: Texts = column(
        "The fields that differ from the version before, by name, personal ones too; none for the first version, and "
        "where only the writing of a number or an undocumented field differs. Values: core.order_changes.",
        nullable=True,
    )
    status: Text = column("The order's status, as sent; the set of values is not stated.", nullable=True)
    delivery_ids: Ids = column("The ids of its delivery records, in the order of the document.", nullable=True)
    delivery_statuses: Texts = column(
        "The statuses of its delivery records, in the order of the document.", nullable=True
    )
    delivery_types: Texts = column("The types of its delivery records, in the order of the document.", nullable=True)
    subtotal_price: Money = column("The sum before delivery, tip and discounts, as sent.", nullable=True)
    delivery_price: Money = column("The delivery charge, as sent.", nullable=True)
    tip: Money = column("The tip, as sent.", nullable=True)
    discount: Money = column("The discount, as sent; subtracted in the observed total.", nullable=True)
    loyalty_discount: Money = column("The loyalty discount, as sent; subtracted in the observed total.", nullable=True)
    total_price: Money = column("The final total, as sent; nothing recomputed.", nullable=True)
    load_id: Text = column("The load of its first observation.", named="_load_id")
    payload_sha256: Text = column("SHA-256 of the document without personal data.", named="_payload_sha256")


class OrderChanges(Contract, table="core.order_changes", scope="order", key=("order_id", "version_no", "field")):
    """One row per later version of an order, and field in which it differs from the version before.

    Source: the documents of the two versions.
    Caveats: personal and encrypted fields are listed by name only, and so are items and deliveries: their rows are in
    core.order_line_versions and core.delivery_status_observations. An absent array is an empty one, and two ways to
    write one number or instant are no change.
    """

    order_id: Id = column(_ORDER)
    version_no: Count = column("The later of the two versions.", ge=2)
    field: Text = column("The field's name in the interface; for encrypted ones with * for array positions.")
    old_value: Text = column(
        "The value before, as text; null if there was none, and if only the name is listed.", nullable=True
    )
    new_value: Text = column(
        "The value since, as text; null if there is none, and if only the name is listed.", nullable=True
    )


class OrderLineVersions(
    Contract, table="core.order_line_versions", scope="order", key=("order_id", "lines_version_no", "line_no")
):
    """One row per line of each lines' version of an order whose items ever changed, the present ones included.

    Source: items of every version of the order.
    Caveats: an order whose items never changed has no rows here: its lines are core.order_lines. Versions in which
    other things changed share a lines' version. Macro order_lines_as_of(ts) knows both.
    """

    order_id: Id = column(_ORDER)
    lines_version_no: Count = column(_LINES_VERSION_NO, ge=1)
    line_no: Count = column("The line's place in the order, from 1.", ge=1)
    line_id: Id = column("The line, as the service numbers it.", nullable=True)
    product_id: Id = column("The product sold: a key of the menu's products.", nullable=True)
    quantity: Count = column("How many of the product.", nullable=True)
    name: Text = column("The product's name when ordered.", nullable=True)
    price: Money = column("The price of the line's product, as sent.", nullable=True)
    has_instructions: Flag = column(
        "Whether the customer gave instructions; false for an empty text, null where the source gave null or nothing.",
        nullable=True,
    )


class OrderLineModifierVersions(
    Contract,
    table="core.order_line_modifier_versions",
    scope="order",
    key=("order_id", "lines_version_no", "line_no", "modifier_no"),
):
    """One row per modifier of a line in each lines' version of an order whose items ever changed.

    Source: modifiers of the items of every version of the order.
    Caveats: as with core.order_line_versions, orders whose items never changed are not here.
    """

    order_id: Id = column(_ORDER)
    lines_version_no: Count = column(_LINES_VERSION_NO, ge=1)
    line_no: Count = column("The line's place in the order, from 1.", ge=1)
    modifier_no: Count = column("The modifier's place in the line, from 1.", ge=1)
    modifier_id: Id = column("The modifier: a key of the menu's modifiers.", nullable=True)
    name: Text = column("The modifier's name when ordered.", nullable=True)
    action: Text = column("What is done with it, as sent (observed: add).", nullable=True)
    quantity: Count = column("How many of the modifier.", nullable=True)
    price: Money = column("The modifier's price, as sent.", nullable=True)


class OrderStatusObservations(
    Contract, table="core.order_status_observations", scope="order", key=("order_id", "observation_no")
):
    """One row per run of versions of an order with the same status.

    Source: core.order_versions.
    Caveats: a status that came and went between two observations is not here, and the time of a change is known only to
    lie between previous_last_seen_at and first_seen_at. Nothing is inferred beyond that.
    """

    order_id: Id = column(_ORDER)
    observation_no: Count = column("The run's place among those of the order, from 1.", ge=1)
    status: Text = column("The order's status, as sent; the set of values is not stated.", nullable=True)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    previous_status: Text = column(
        "The status of the run before; null in the first run, and where it was null.", nullable=True
    )
    previous_last_seen_at: Instant = column(_BEFORE_SEEN, nullable=True)
    is_change: Flag = column("Whether another status was seen before: all runs but the first.")


class DeliveryStatusObservations(
    Contract,
    table="core.delivery_status_observations",
    scope="order",
    key=("order_id", "delivery_no", "observation_no"),
):
    """One row per position of a delivery record in an order, and run of versions with the same id and status.

    Source: core.order_versions.
    Caveats: records are identified by position, since their ids are not promised to be unique: when a position has
    another id, a new record begins. Times are as in core.order_status_observations.
    """

    order_id: Id = column(_ORDER)
    delivery_no: Count = column("The record's place in the order, from 1.", ge=1)
    observation_no: Count = column("The run's place among those of the same place, from 1.", ge=1)
    delivery_id: Id = column("The delivery, as the service numbers it.", nullable=True)
    status: Text = column("The delivery's status, as sent (observed: confirmed).", nullable=True)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    previous_status: Text = column(
        "The status of the same record in the run before; null where there is none, and where it was null.",
        nullable=True,
    )
    previous_last_seen_at: Instant = column(_BEFORE_SEEN, nullable=True)
    is_change: Flag = column("Whether the same record was seen with another status in the run before.")
