"""Contracts of what the fields of documents hold: how often they are there, how long, how much, and when."""

from pipelines.settings.kinds import KINDS
from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Instant, Text, Texts, column

TYPES = ("integer", "number", "string")

_KIND = "What kind of document: orders, menus or stores."
_PATH = (
    "Where in the document, as a JSON pointer in which * stands for every element or key. For stores: the name of what "
    "a setting points to."
)
_TYPE = "The documented JSON type: integer, number or string."
_PLACES = "How many objects could have it: the elements of its array, or the documents."
_PRESENT = "How many of them have it, neither null nor absent."
_EMPTY = 'In how many of those it is an empty text; null for other types. "" counts as present.'
_DECIMALS = "The most decimals that an amount needs; zeros at the end do not count. Null for other types."
_SHORTEST = "The fewest characters of a text; null for other types and for encrypted fields."
_LONGEST = "The most characters of a text; null for other types and for encrypted fields."
_LEAST = "The lowest number; null for other types and for encrypted fields."
_GREATEST = "The highest number; null for other types and for encrypted fields."
_EARLIEST = "The earliest time that it holds; null for other types."
_LATEST = "The latest time that it holds; null for other types."
_FIRST = "The earliest time at which a version that has it was first observed; null where no such time is known."
_LAST = "The latest time at which a version that has it was first observed; null where no such time is known."
_EXAMPLE = "The lowest id of a document that has it; null where none has."


class DailyFieldValues(Contract, table="audit.daily_field_values", scope="day", key=("business_date", "path")):
    """One row per business day and field of the order document: how often it is present, and its range.

    Source: orders as last observed, their lines, modifiers and deliveries, by the business day of mart.orders: what
    audit.field_profile adds up, kept by day.
    Caveats: encrypted fields have counts only; their values are in the vault alone.
    """

    business_date: Day = column(
        "The business day of the orders, see mart.orders; null for orders without a time.", nullable=True
    )
    path: Text = column(_PATH)
    type: Text = column(_TYPE, isin=TYPES)
    parent_count: Count = column(_PLACES, ge=0)
    present_count: Count = column(_PRESENT, ge=0)
    empty_count: Count = column(_EMPTY, ge=0, nullable=True)
    max_decimals: Count = column(_DECIMALS, ge=0, le=4, nullable=True)
    min_length: Count = column(_SHORTEST, ge=0, nullable=True)
    max_length: Count = column(_LONGEST, ge=0, nullable=True)
    min_value: Amount = column(_LEAST, nullable=True)
    max_value: Amount = column(_GREATEST, nullable=True)
    min_timestamp: Instant = column(_EARLIEST, nullable=True)
    max_timestamp: Instant = column(_LATEST, nullable=True)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    example_id: Id = column(_EXAMPLE, nullable=True)


class FieldValues(Contract, table="audit.field_values", scope="all", key=("kind", "path"), is_released=False):
    """One row per kind of document other than orders, and field: how often it is present, and its range.

    A step: read audit.field_profile instead.
    Source: stores and menus as last observed, with their groups, prices, products, modifiers and references.
    """

    kind: Text = column(_KIND, isin=KINDS)
    path: Text = column(_PATH)
    type: Text = column(_TYPE, isin=TYPES)
    parent_count: Count = column(_PLACES, ge=0)
    present_count: Count = column(_PRESENT, ge=0)
    empty_count: Count = column(_EMPTY, ge=0, nullable=True)
    max_decimals: Count = column(_DECIMALS, ge=0, le=4, nullable=True)
    min_length: Count = column(_SHORTEST, ge=0, nullable=True)
    max_length: Count = column(_LONGEST, ge=0, nullable=True)
    min_value: Amount = column(_LEAST, nullable=True)
    max_value: Amount = column(_GREATEST, nullable=True)
    min_timestamp: Instant = column(_EARLIEST, nullable=True)
    max_timestamp: Instant = column(_LATEST, nullable=True)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    example_id: Id = column(_EXAMPLE, nullable=True)


class FieldProfile(Contract, table="audit.field_profile", scope="all", key=("kind", "path")):
    """One row per kind of document and field, documented or not: how often it is present, and what it holds.

    Source: documents as last observed, and what validation recorded about them.
    Caveats: null and absent are counted by document: null_document_count counts an order once, however many of its
    lines have a null. Nothing personal is here: of an encrypted field only its presence, of an unknown one its name and
    types. An array has a row only where some document lacks it.
    """

    kind: Text = column(_KIND, isin=KINDS)
    path: Text = column(_PATH)
    is_documented: Flag = column("Whether the interface shows this field; of stores: whether a setting points to it.")
    document_count: Count = column("How many documents of this kind there are, with or without it.", ge=1)
    parent_count: Count = column(
        _PLACES + " Null for arrays and for fields that are not documented.", ge=0, nullable=True
    )
    present_count: Count = column(
        _PRESENT + " Of a field that is not documented: in how many documents. Null for arrays.", ge=0, nullable=True
    )
    empty_count: Count = column(_EMPTY, ge=0, nullable=True)
    null_document_count: Count = column("In how many documents it is null, in one place or more.", ge=0)
    absent_document_count: Count = column("In how many documents it is absent, from one place or more.", ge=0)
    types: Texts = column(
        "The JSON types met, sorted; a documented field of another type is quarantined, not listed here."
    )
    max_decimals: Count = column(_DECIMALS, ge=0, le=4, nullable=True)
    min_length: Count = column(_SHORTEST, ge=0, nullable=True)
    max_length: Count = column(_LONGEST, ge=0, nullable=True)
    min_value: Amount = column(_LEAST, nullable=True)
    max_value: Amount = column(_GREATEST, nullable=True)
    min_timestamp: Instant = column(_EARLIEST, nullable=True)
    max_timestamp: Instant = column(_LATEST, nullable=True)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    null_first_seen_at: Instant = column(
        "The same for a version in which it is null; null where there is none.", nullable=True
    )
    absent_first_seen_at: Instant = column(
        "The same for a version that lacks it; null where there is none.", nullable=True
    )
    example_id: Id = column(_EXAMPLE, nullable=True)
    null_example_id: Id = column(
        "The lowest id of a document in which it is null; null where there is none.", nullable=True
    )
    absent_example_id: Id = column(
        "The lowest id of a document that lacks it; null where there is none.", nullable=True
    )
