"""Contracts of observed changes: amendments of orders' prices, and status transitions."""

from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Instant, Money, Text, column

_CHANGE = "{0} of this version less the previous one's; null if either is null."
_OBSERVED = "When such a transition was first seen; null if only archives of unknown time show it."


class OrderAmendments(Contract, table="mart.order_amendments", scope="order", key=("order_id", "version_no")):
    """One row per order version in which a price differs from the previous version.

    Source: core.order_versions, core.order_changes, the lines' versions, and the ledger's day closes.
    Caveats: total_lowered means that the total fell, not that money was refunded: the source does not say. The change
    happened between previous_last_seen_at and first_seen_at. An order's amendments add up to its last total less its
    first. Do not add across currencies.
    """

    order_id: Id = column("The order, as the service numbers it.")
    version_no: Count = column("The later of the two versions: core.order_versions has it.", ge=2)
    store_id: Id = column("The store, as the service numbers it; null for orders that name none.", nullable=True)
    business_date: Day = column("The business day of the order, not of the change; see mart.orders.", nullable=True)
    previous_last_seen_at: Instant = column(
        "When the previous version was last observed; null for an archive of unknown time.", nullable=True
    )
    first_seen_at: Instant = column(
        "When this version was first observed; null for an archive of unknown time.", nullable=True
    )
    was_closed: Flag = column(
        "Whether the order's business day was closed, by the active close, when this version was first seen; null if "
        "it is closed and the version comes from an archive of unknown time.",
        nullable=True,
    )
    hours_after_creation: Count = column(
        "Whole hours from the order's creation to first_seen_at: an upper bound for the change. Null if either time is "
        "unknown.",
        nullable=True,
    )
    currency: Text = column(
        "Currency of the amounts, from the store's record; null where it names none. Do not add across currencies.",
        nullable=True,
    )
    subtotal_change: Amount = column(_CHANGE.format("subtotal_price"), nullable=True)
    delivery_change: Amount = column(_CHANGE.format("delivery_price"), nullable=True)
    tip_change: Amount = column(_CHANGE.format("tip"), nullable=True)
    discount_change: Amount = column(_CHANGE.format("discount") + " A larger discount lowers the total.", nullable=True)
    loyalty_discount_change: Amount = column(
        _CHANGE.format("loyalty_discount") + " A larger discount lowers the total.", nullable=True
    )
    total_change: Amount = column(_CHANGE.format("total_price"), nullable=True)
    previous_total_price: Money = column("Total of the previous version.", nullable=True)
    total_price: Money = column("Total of this version.", nullable=True)
    added_line_count: Count = column("Lines that the previous version does not have, by line_id.", ge=0)
    removed_line_count: Count = column("Lines of the previous version that this one does not have, by line_id.", ge=0)
    changed_line_count: Count = column(
        "Lines of both versions whose product, quantity, name, price or modifiers differ.", ge=0
    )
    verdict: Text = column(
        "How the total changed: total_lowered, total_raised, total_unchanged, or indeterminate if either is null.",
        isin=("total_lowered", "total_raised", "total_unchanged", "indeterminate"),
    )


class DailyStatusTransitions(
    Contract,
    table="audit.daily_status_transitions",
    scope="day",
    key=("business_date", "entity_type", "previous_status", "status"),
):
    """One row per business day of the orders, kind of status, and change of it that was observed.

    Source: core.order_status_observations and core.delivery_status_observations.
    Caveats: two statuses seen one after the other need not follow each other in the service: what lay between was not
    seen. audit.status_transitions adds the days up.
    """

    business_date: Day = column("The business day of the orders; see mart.orders.", nullable=True)
    entity_type: Text = column("Whose status it is.", isin=("order", "delivery"))
    previous_status: Text = column("The status seen before; null where the service gave none.", nullable=True)
    status: Text = column("The status seen after; null where the service gave none.", nullable=True)
    occurrence_count: Count = column("How often it was observed.", ge=1)
    first_seen_at: Instant = column(_OBSERVED, nullable=True)
    last_seen_at: Instant = column("When such a change was last seen; null likewise.", nullable=True)
    example_id: Id = column("An order in which it was seen.")


class StatusTransitions(
    Contract, table="audit.status_transitions", scope="all", key=("entity_type", "previous_status", "status")
):
    """One row per kind of status, and change of it that was observed.

    Source: audit.daily_status_transitions.
    Caveats: it is what was seen, not what the service allows: transitions that no row shows may exist, and two statuses
    seen one after the other need not follow each other.
    """

    entity_type: Text = column("Whose status it is.", isin=("order", "delivery"))
    previous_status: Text = column("The status seen before; null where the service gave none.", nullable=True)
    status: Text = column("The status seen after; null where the service gave none.", nullable=True)
    occurrence_count: Count = column("How often it was observed.", ge=1)
    first_seen_at: Instant = column(_OBSERVED, nullable=True)
    last_seen_at: Instant = column("When such a change was last seen; null likewise.", nullable=True)
    example_id: Id = column("An order in which it was seen.")
