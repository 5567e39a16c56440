"""Contracts of the evidence: loads, quarantine, missing and unknown fields, and the values of coded fields."""

from pipelines.settings.kinds import KINDS
from pipelines.warehouse.contracts.contract import Contract, Count, Day, Flag, Id, Instant, Text, Texts, column

_KIND = "What kind of document: orders, menus or stores."
_PATH = "Where in the document, as a JSON pointer in which * stands for every element or key."
_FIRST = "The earliest time at which such a version was first observed; null where all are of unknown time."
_LAST = "The latest time at which such a version was first observed; null where all are of unknown time."
_EXAMPLE = "The lowest id of such {0}."
_ABSENCES = "Documented fields that the document lacks, such as 'items/*/name=absent' or 'tip=null'."
_UNKNOWN = "Undocumented fields with their JSON type, such as '/items/*/foo:string'; values are encrypted."
_ROUNDED = "How many amounts were rounded to four decimals, by [landing] excess_decimals."
_FETCHED = "When this version was first observed; null for an archive of unknown time."
_LOAD = "The load of that observation."
_BUSINESS_DATE = "The business day of the orders, see mart.orders; null for orders without a time."


class Loads(Contract, table="audit.loads", scope="load", key=("load_id",)):
    """One row per load: its payloads by verdict.

    Source: raw.observations, the verdicts of validation. They add up to payload_count, or nothing is published.
    Caveats: unchanged is not an error: the service returned the document that was already known.
    """

    load_id: Text = column("The load: the time at which it began, and a random part.")
    kind: Text = column(_KIND, isin=KINDS)
    source: Text = column("live: responses of the service. archive: files.", isin=("live", "archive"))
    is_backfill: Flag = column("Whether it is part of a backfill of old documents; alarms ignore those.")
    payload_count: Count = column("Payloads with a verdict, 404s and failed ids included.", ge=1)
    accepted_count: Count = column("New documents, or known ones with new content.", ge=0)
    unchanged_count: Count = column("Documents that were already known.", ge=0)
    quarantined_count: Count = column("Rejected documents: see audit.quarantine.", ge=0)
    not_found_count: Count = column("Requests answered with 404.", ge=0)
    failed_count: Count = column("Ids without a usable response after all attempts: see audit.quarantine.", ge=0)
    no_id_count: Count = column("Payloads without a usable id that were not requested by id.", ge=0)
    received_count: Count = column("Last position in the load, from 1: as many payloads were received.", ge=1)
    validated_count: Count = column("Positions with a verdict; equal to received_count, or nothing is published.", ge=1)
    started_at: Instant = column("When the load began; null if no file says.", nullable=True)
    first_observed_at: Instant = column(
        "When the first was observed; null for an archive of unknown time.", nullable=True
    )
    last_observed_at: Instant = column(
        "When the last was observed; null for an archive of unknown time.", nullable=True
    )


class PersonalDataChanges(Contract, table="audit.personal_data_changes", scope="load", key=("load_id", "seq")):
    """One row per observation of an order in which nothing but personal data changed.

    Source: raw.observations. The values, old and new, are encrypted in the vault; only the fields' names are here.
    Caveats: such an observation is 'unchanged' and makes no new version of the order: a value was replaced by another.
    One that came or went makes a version, and core.order_changes names its field.
    """

    load_id: Text = column(_LOAD)
    seq: Count = column("The body's place in the load, from 0.", ge=0)
    order_id: Id = column("The order, as the service numbers it.", nullable=True)
    changed_fields: Texts = column("The names of the personal fields that changed.")
    observed_at: Instant = column("When it was observed; null for an archive of unknown time.", nullable=True)


class Quarantine(
    Contract,
    table="audit.quarantine",
    scope="all",
    key=("kind", "entity_id", "reason", "pointer", "load_id", "seq"),
):
    """One row per document and reason for its rejection or failed fetch; per payload if it had no id.

    Source: every quarantined payload, and every id whose fetch failed. Neither values nor bytes are here: they are
    encrypted in the vault.
    Caveats: a rejected payload leaves the document as it was; its row remains after a later one was accepted, so filter
    by is_unresolved for current problems.
    """

    kind: Text = column(_KIND, isin=KINDS)
    entity_id: Id = column("The order, menu or store; null if the payload has no usable id.", nullable=True)
    reason: Text = column("Why it was rejected, as a code.", nullable=True)
    pointer: Text = column("Where in the document, as a JSON pointer; null if it concerns the whole.", nullable=True)
    source: Text = column("Source of the last such rejection: live or archive.", isin=("live", "archive"))
    load_id: Text = column("Load of the last such rejection.")
    seq: Count = column("Position of the payload in that load, from 0.", ge=0)
    occurrence_count: Count = column("How often it was rejected for this reason.", ge=1)
    first_seen_at: Instant = column(
        "When it was first rejected so; null for an archive of unknown time.", nullable=True
    )
    last_seen_at: Instant = column("Last such rejection; null for an archive of unknown time.", nullable=True)
    is_unresolved: Flag = column("Whether this is the last verdict on the id; always true for a payload without an id.")


class OrderFieldIssues(Contract, table="audit.order_field_issues", scope="order", key=("order_id",)):
    """One row per order whose document lacks a field, has an unknown one or was rounded.

    Source: validation of the latest version.
    Caveats: most orders have a row, as promised_pick_up_time is null where nothing is picked up. audit.field_profile
    counts them.
    """

    order_id: Id = column("The order, as the service numbers it.")
    missing_fields: Texts = column(_ABSENCES)
    unknown_fields: Texts = column(_UNKNOWN)
    rounded_count: Count = column(_ROUNDED, ge=0)
    fetched_at: Instant = column(_FETCHED, named="_fetched_at", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class MenuFieldIssues(Contract, table="audit.menu_field_issues", scope="menu", key=("menu_id",)):
    """One row per menu whose document lacks a field, has an unknown one or was rounded.

    Source: validation of the latest version. audit.field_profile counts them.
    """

    menu_id: Id = column("The menu, as the service numbers it.")
    missing_fields: Texts = column(_ABSENCES)
    unknown_fields: Texts = column(_UNKNOWN)
    rounded_count: Count = column(_ROUNDED, ge=0)
    fetched_at: Instant = column(_FETCHED, named="_fetched_at", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class StoreFieldIssues(Contract, table="audit.store_field_issues", scope="store", key=("store_id",)):
    """One row per store whose record lacks a field that settings point to, or has one that no setting names.

    Source: validation of the latest version. audit.field_profile counts them.
    """

    store_id: Id = column("The store, as the service numbers it.")
    missing_fields: Texts = column(_ABSENCES)
    unknown_fields: Texts = column(_UNKNOWN)
    rounded_count: Count = column(_ROUNDED, ge=0)
    fetched_at: Instant = column(_FETCHED, named="_fetched_at", nullable=True)
    load_id: Text = column(_LOAD, named="_load_id")


class DailyFieldProfile(Contract, table="audit.daily_field_profile", scope="day", key=("business_date", "note")):
    """One row per business day, field of the order document, and issue.

    Source: audit.order_field_issues by the business day of mart.orders: what audit.field_profile adds up, kept by day.
    """

    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    note: Text = column("The field and the issue, as in audit.order_field_issues.")
    document_count: Count = column("How many orders.", ge=1)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    example_id: Id = column(_EXAMPLE.format("an order"))


class DailyVocabulary(Contract, table="audit.daily_vocabulary", scope="day", key=("business_date", "path", "value")):
    """One row per business day, coded field of the order document, and value that it has.

    Source: orders, their modifiers and deliveries, and every version of them, by the business day of mart.orders: what
    audit.vocabulary adds up.
    """

    business_date: Day = column(_BUSINESS_DATE, nullable=True)
    path: Text = column(_PATH)
    value: Text = column("The value, exactly as sent.")
    document_count: Count = column("How many orders hold it now; 0 where later values took its place.", ge=0)
    occurrence_count: Count = column("How often it occurs in them.", ge=0)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    is_of_unknown_time: Flag = column(
        "Whether an archive of unknown time has it, too: it may be older than first_seen_at."
    )
    example_id: Id = column(_EXAMPLE.format("an order"))


class Vocabulary(Contract, table="audit.vocabulary", scope="all", key=("kind", "path", "value")):
    """One row per kind of document, coded field, and value that it has.

    Source: every version of orders and menus. The interface shows no complete set of values for any of these fields.
    Caveats: null and absent are no values: see audit.field_profile.
    """

    kind: Text = column(_KIND, isin=KINDS)
    path: Text = column(_PATH)
    value: Text = column("The value, exactly as sent.")
    document_count: Count = column("How many documents hold it now; 0 where later values took its place.", ge=0)
    occurrence_count: Count = column("How often it occurs in them.", ge=0)
    first_seen_at: Instant = column(_FIRST, nullable=True)
    last_seen_at: Instant = column(_LAST, nullable=True)
    is_of_unknown_time: Flag = column(
        "Whether an archive of unknown time has it, too: it may be older than first_seen_at."
    )
    example_id: Id = column(_EXAMPLE.format("a document"))
