"""Contracts of nightly operations: requests, coverage, control totals, plans."""

from pipelines.settings.kinds import KINDS
from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Instant, Share, Text, column

FETCH_OUTCOMES = ("accepted", "unchanged", "quarantined", "not_found", "failed", "retried")

_STORE = "The store, as the service numbers it; null if no document states it."
_KNOWN = "Known orders, whatever their state."
_FETCHED = "Known orders whose last request returned a document."
_UNCHANGED = "Fetched orders whose document had not changed."
_ARCHIVE = "Known orders last observed in a file and not requested since."
_NOT_FOUND = "Ids whose last request returned 404."
_FAILED = "Ids whose last request got no usable response."
_QUARANTINED = "Ids whose last document was quarantined."


class Fetches(Contract, table="audit.fetches", scope="load", key=("load_id", "seq", "attempt_no")):
    """One row per request sent for an id in a load, with its outcome.

    Source: raw.observations of source live. The last attempt for an id has its outcome; earlier ones are retried. Loads
    from before each attempt was recorded have only the last one.
    Caveats: count ids by is_final_attempt. Requests that are not for an id (pages of the list of stores, tokens, probes
    of the circuit breaker) are not here: audit.service_behaviour counts them. Requests in flight when a run was stopped
    are missing. An id can be in many loads.
    """

    load_id: Text = column("The load that the response was landed in.")
    seq: Count = column("Position of the id in the load, from 0.", ge=0)
    attempt_no: Count = column("Number of the request for this id in this load, from 1.", ge=1)
    kind: Text = column("Kind of document: orders, menus or stores.", isin=KINDS)
    entity_id: Id = column("The requested id.")
    outcome: Text = column(
        "accepted, unchanged or quarantined: a document was returned. not_found: 404. failed: no usable response after "
        "all attempts. retried: no usable response, and another request followed.",
        isin=FETCH_OUTCOMES,
    )
    reason: Text = column("Why it was quarantined, failed or retried, as a code; null otherwise.", nullable=True)
    http_status: Count = column("HTTP status of the response; null if there was none.", nullable=True)
    duration_ms: Count = column("Duration of the request in milliseconds.", ge=0)
    response_bytes: Count = column("Size of the response body in bytes, as read.", ge=0)
    attempt_count: Count = column("Requests sent for the id in this load.", ge=1)
    is_final_attempt: Flag = column("Whether it was the last of them: true once per id and load.")
    fetched_at: Instant = column("When the last response for the id was received, or its last attempt failed.")


class ControlTotals(
    Contract,
    table="audit.control_totals",
    scope="all",
    key=("business_date", "store_id", "amount_field", "sale_classes"),
):
    """One row per effective control total: the stated and actual totals of a store-day.

    Source: the ledger (`ordermart totals import`) and mart.orders. The latest import wins for each day, store, amount
    field and set of sale classes. Variances are actual less control.
    Caveats: several rows may cover the same orders, by field or by sale class: never add them. Variances are shown even
    if tie_out_status is unknown, but prove nothing then. A day without orders is compared as zero.
    """

    business_date: Day = column("The business day of the total.")
    store_id: Id = column("The store, as the service numbers it.")
    amount_field: Text = column("The price field that the amount sums, such as total_price.")
    sale_classes: Text = column("The sale classes that it covers, joined by +.")
    tie_out_status: Text = column(
        "tied: the stated order count and amount equal the actual ones. variance: at least one differs. unknown: see "
        "unknown_reason.",
        isin=("tied", "variance", "unknown"),
    )
    unknown_reason: Text = column(
        "Why the totals cannot be compared; null if they were. store_unknown: the store has no record and no orders. "
        "unmapped_orders: the day has orders whose status [sales] does not map and which the total does not cover. "
        "missing_amount: covered orders lack the field.",
        nullable=True,
        isin=("store_unknown", "unmapped_orders", "missing_amount"),
    )
    control_order_count: Count = column("The stated order count; null if not stated.", nullable=True)
    actual_order_count: Count = column("Orders of these sale classes in mart.orders.", ge=0)
    order_count_variance: Count = column("actual_order_count less control_order_count.", nullable=True)
    missing_amount_order_count: Count = column("How many of those do not state the field.", ge=0)
    unmapped_order_count: Count = column("Unmapped orders of that day that the total does not cover.", ge=0)
    control_amount: Amount = column("The stated amount; null if not stated.", nullable=True)
    actual_amount: Amount = column(
        "Sum of the field over those orders; 0 without orders, null if no order states it.", nullable=True
    )
    amount_variance: Amount = column("actual_amount less control_amount.", nullable=True)
    entry_no: Count = column("The ledger entry that imported the total.", ge=1)
    imported_at: Instant = column("When it was imported.")


class DailyFetchOutcomes(
    Contract, table="audit.daily_fetch_outcomes", scope="day", key=("store_id", "business_date"), is_released=False
):
    """One row per store and business day: orders by the outcome of their last fetch.

    A step: read audit.coverage instead.
    Source: raw.order_checks, and mart.orders for store and day. Kept by day: a run counts affected days only.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column("The business day of the orders; null for orders without that time.", nullable=True)
    known_count: Count = column(_KNOWN, ge=1)
    fetched_count: Count = column(_FETCHED, ge=0)
    unchanged_count: Count = column(_UNCHANGED, ge=0)
    archive_count: Count = column(_ARCHIVE, ge=0)
    not_found_count: Count = column(_NOT_FOUND, ge=0)
    failed_count: Count = column(_FAILED, ge=0)
    quarantined_count: Count = column(_QUARANTINED, ge=0)


class Coverage(Contract, table="audit.coverage", scope="all", key=("store_id", "business_date")):
    """One row per store and business day: order ids by notification and by the outcome of their last fetch.

    Source: audit.daily_fetch_outcomes, raw.states for ids without an order, webhook notifications as long as they are
    retained ([webhooks] retention_days), and audit.control_totals. id_count = fetched_count + archive_count +
    not_found_count + failed_count + quarantined_count + unrequested_count.
    Caveats: an id without an accepted document has neither store nor day; it counts in the row where both are null,
    together with known orders that state neither. The interface cannot list orders, so their true number is unknown:
    completeness is known only for days with an imported control total.
    """

    store_id: Id = column(_STORE, nullable=True)
    business_date: Day = column("The business day of the orders; null if no document states it.", nullable=True)
    id_count: Count = column("Order ids that were notified, requested or landed.", ge=0)
    notified_count: Count = column("Those named by a webhook notification.", ge=0)
    known_count: Count = column(_KNOWN, ge=0)
    fetched_count: Count = column(_FETCHED, ge=0)
    unchanged_count: Count = column(_UNCHANGED, ge=0)
    archive_count: Count = column(_ARCHIVE, ge=0)
    not_found_count: Count = column(_NOT_FOUND, ge=0)
    failed_count: Count = column(_FAILED, ge=0)
    quarantined_count: Count = column(_QUARANTINED, ge=0)
    unrequested_count: Count = column("Notified ids that have not been requested yet.", ge=0)
    stale_count: Count = column(
        "Notified ids without an accepted document or a 404 since the notification: not up to date.", ge=0
    )
    completeness_basis: Text = column(
        "What completeness is measured against: control_total, or unknown without a denominator.",
        isin=("control_total", "unknown"),
    )
    control_order_count: Count = column(
        "Order count of the control total that covers most sale classes; null without one.", nullable=True
    )
    actual_order_count: Count = column("Known orders of those classes; null without a control total.", nullable=True)
    completeness: Share = column(
        "actual_order_count / control_order_count, above 1 if more orders are known; null if unknown.", nullable=True
    )


class Plans(Contract, table="audit.plans", scope="all", key=("plan_no",)):
    """One row per nightly plan: what it requested again, and what its random sample and its gap probe found.

    Source: the inbox, which keeps each plan with its results. It is a log: a rebuild cannot recompute it. A plan that
    requested nothing has no row.
    Caveats: the rate is of old orders that nothing else requested, and counts only changes without a webhook
    notification; its bounds are the exact ones of Clopper and Pearson (Biometrika 26, 1934). Result columns are null if
    the run was stopped before they were known.
    """

    plan_no: Count = column("Number of the plan, from 1.", ge=1)
    planned_at: Instant = column("When it was made.")
    due_count: Count = column("Known orders that were due by their age and requested again.", ge=0)
    over_budget_count: Count = column("Due orders left out by [planner] request_budget.", ge=0)
    population_count: Count = column("Old orders that nothing else requested; the sample is drawn from them.", ge=0)
    sampled_count: Count = column("Orders drawn at random from the population.", ge=0)
    checked_count: Count = column("Sampled orders for which the service returned a document.", nullable=True, ge=0)
    changed_count: Count = column("Checked orders that had changed without a notification.", nullable=True, ge=0)
    not_found_count: Count = column("Sampled orders that the service no longer has (404).", nullable=True, ge=0)
    changed_rate: Share = column("changed_count / checked_count; null if none was checked.", nullable=True)
    changed_rate_low: Share = column("Lower confidence bound of that rate in the population.", nullable=True)
    changed_rate_high: Share = column("Upper confidence bound of that rate in the population.", nullable=True)
    confidence_level: Share = column("Confidence level of the bounds, such as 0.95.", nullable=True)
    gap_requested_count: Count = column("Ids between known ones that were requested.", ge=0)
    gap_found_count: Count = column("Requested gap ids that exist.", nullable=True, ge=0)
    gap_unnotified_count: Count = column("Found gap ids that no webhook had named.", nullable=True, ge=0)
