"""Contracts of what somebody should look at: schema drift, and stores that stopped ordering."""

from pipelines.settings.kinds import KINDS
from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Ids, Instant, Text, column

CHANGE_TYPES = ("value", "null", "absent", "field", "type")

_KIND = "What kind of document: orders, menus or stores."
_PATH = "Where in the document, as a JSON pointer in which * stands for every element or key."
_NOTE = "The field and what is odd about it, as in audit.order_field_issues."


class InactivePeriods(Contract, table="audit.inactive_periods", scope="all", key=("store_id", "inactive_from_date")):
    """One row per run of days without an order in a store that usually has some on those weekdays.

    Source: mart.daily_store_sales, all sale classes. A day's usual number is the mean of the same weekday in the
    eight weeks before, once four of them are known; a run is listed when the usual numbers of its days add up to ten.
    Watched are the days after the first live load, up to the one before the last; archives train and raise nothing.
    Caveats: we know of orders that we fetched: a silence may be the store's or ours. A holiday is a silence, too.
    """

    store_id: Id = column("The store.")
    inactive_from_date: Day = column("The first day without an order.")
    inactive_to_date: Day = column("The last day without an order, as far as is known.")
    day_count: Count = column("How many days.", ge=1)
    is_ongoing: Flag = column("Whether no order has been seen since.")
    last_order_date: Day = column("The last business day with an order before.")
    expected_order_count: Amount = column("How many orders those days usually have, added up.", ge=10)


class LoadNotes(Contract, table="audit.load_notes", scope="load", key=("load_id", "note"), is_released=False):
    """One row per load and issue of its new documents.

    A step: read audit.schema_drift instead.
    Source: validation of every document of the load, whether or not later ones replaced it.
    """

    load_id: Text = column("The load.")
    note: Text = column(_NOTE)
    kind: Text = column(_KIND, isin=KINDS)
    document_count: Count = column("New documents with this note.", ge=1)
    example_ids: Ids = column("The three lowest ids of such documents.")


class SchemaDrift(Contract, table="audit.schema_drift", scope="all", key=("kind", "path", "change_type", "value")):
    """One row per value, field, type or null that first occurred after the first loads of its kind.

    Source: every version of orders and menus, audit.load_notes, audit.quarantine. What occurs until the
    first pause of ten seconds between loads of a kind is what later ones are compared with. A first sight by an
    archive, or at an unknown time, is no drift.
    Caveats: it warns and blocks nothing. The run's summary lists those first seen since the previous release.
    """

    kind: Text = column(_KIND, isin=KINDS)
    path: Text = column(_PATH)
    change_type: Text = column(
        "value: of a coded field. null, absent: a documented field is so. field: one that is not documented. type: a "
        "documented field of another type; such a document is quarantined.",
        isin=CHANGE_TYPES,
    )
    value: Text = column("The value as sent, or the types of a new field; null for others.", nullable=True)
    first_seen_at: Instant = column("When it first occurred, or its load began.")
    load_id: Text = column("The load in which it first occurred.")
    example_ids: Ids = column("Up to three ids of documents of that time, the lowest.")
