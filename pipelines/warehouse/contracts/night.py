"""Contracts of what night operations look at: requests, coverage, control totals, plans."""

from pipelines.landing.shape import KINDS
from pipelines.warehouse.contracts.contract import Amount, Contract, Count, Day, Flag, Id, Instant, Share, Text, column

OUTCOMES = ("accepted", "unchanged", "quarantined", "missing", "failed")
FETCH_OUTCOMES = (*OUTCOMES, "retried")


class Fetches(Contract, table="audit.fetches", scope="load", key=("load_id", "seq", "attempt_no")):
    """One row per request that was sent for an id in a load, and what came of it.

    Source: raw.observations, live ones alone: what came out of files was not asked for. The last try of an id has its
    outcome; those before it are retried. Of loads from before each try was kept, only the last one is here.
    Caveats: count ids by is_final_attempt. The pages of the list of stores, requests for a token, and those sent to see
    whether the service is back are for no id and are not here: audit.service_behaviour counts them. Nor is what was
    under way when a run was stopped. An id may be in many loads.
    """

    load_id: Text = column("The load in which it was landed.")
    seq: Count = column("Its place in the load, from 0.", ge=0)
    attempt_no: Count = column("Which request for the id in this load it was, from 1.", ge=1)
    kind: Text = column("What kind of document it is about: orders, menus or stores.", isin=KINDS)
    entity_id: Id = column("The id that was asked for.")
    outcome: Text = column(
        "accepted, unchanged or quarantined: a document came. missing: a 404. failed: nothing came after all tries. "
        "retried: nothing that could be judged came, and another request followed.",
        isin=FETCH_OUTCOMES,
    )
    reason: Text = column(
        "Why it was quarantined, failed or tried again, a short code; null where it was not.", nullable=True
    )
    http_status: Count = column("The status of the answer; null where none came.", nullable=True)
    ms: Count = column("Milliseconds that it took.", ge=0)
    bytes: Count = column("Bytes of its body, as read.", ge=0)
    tries: Count = column("How many requests were sent for the id in this load.", ge=1)
    is_final_attempt: Flag = column("Whether it was the last of them: one row per id and load.")
    fetched_at: Instant = column("When the last answer for the id, or the end of trying, came.")


class ControlTotals(
    Contract,
    table="audit.control_totals",
    scope="all",
    key=("business_date", "store_id", "amount_field", "sale_classes"),
):
    """One row per control total that stands: what was stated of a store's day, and what our orders come to.

    Source: the ledger (`ordermart totals import`) and mart.orders. Of totals of the same day, store, part and classes
    the one imported last stands. Differences are ours less theirs.
    Caveats: several rows may be about the same orders, by part or by classes: never add them. Where comparison is
    unknown the differences are shown all the same, and mean nothing by themselves. A day without any order of ours is
    compared as zero.
    """

    business_date: Day = column("The business day that the total is of.")
    store_id: Id = column("The store, as the service numbers it.")
    amount_field: Text = column("Which price field of the orders the amount adds up, such as total_price.")
    sale_classes: Text = column("Which sale classes it counts, joined by +.")
    comparison: Text = column(
        "equal: orders and amount, as far as stated, are ours. different: they are not. unknown: see unknown_reason.",
        isin=("equal", "different", "unknown"),
    )
    unknown_reason: Text = column(
        "Why nothing can be said. store_unknown: neither a record nor an order of the store. unmapped_order_count: orders "
        "of that day whose status [sales] does not map, and which the total does not count. part_not_stated: orders "
        "that count lack the field. Null where it was compared.",
        nullable=True,
        isin=("store_unknown", "unmapped_order_count", "part_not_stated"),
    )
    control_order_count: Count = column("How many orders the total states; null where it does not.", nullable=True)
    actual_order_count: Count = column("How many orders of these classes we hold.", ge=0)
    order_count_variance: Count = column("actual_order_count less control_order_count.", nullable=True)
    missing_amount_order_count: Count = column("How many of those held do not state the field.", ge=0)
    unmapped_order_count: Count = column("How many unmapped orders of that day the total does not count.", ge=0)
    control_amount: Amount = column("The amount that the total states; null where it does not.", nullable=True)
    actual_amount: Amount = column(
        "Sum of the field over the orders held; 0 where none is held, null where none states it.", nullable=True
    )
    amount_variance: Amount = column("actual_amount less control_amount.", nullable=True)
    entry_no: Count = column("The act of the ledger that brought the total.", ge=1)
    imported_at: Instant = column("When it was imported.")


class DailyFetchOutcomes(
    Contract, table="audit.daily_fetch_outcomes", scope="day", key=("store_id", "business_date"), is_released=False
):
    """One row per store and business day: how the last asking for each of its orders ended.

    A step: read audit.coverage instead.
    Source: raw.order_checks, and mart.orders for store and day. Kept by day: a night counts touched days only.
    """

    store_id: Id = column("The store, as the service numbers it; null where the order does not say it.", nullable=True)
    business_date: Day = column("The business day of the orders; null for orders without that time.", nullable=True)
    known: Count = column("How many orders we hold, in whatever state.", ge=1)
    fetched: Count = column("How many the service answered with a document when last asked.", ge=0)
    unchanged: Count = column("How many of those fetched were as they had been.", ge=0)
    archive_count: Count = column("How many were last seen in a file, not asked for since.", ge=0)
    missing: Count = column("How many were not found (404) when last asked for.", ge=0)
    failed: Count = column("How many gave no answer when last asked for.", ge=0)
    quarantined: Count = column("How many were refused by the gate when last seen.", ge=0)


class Coverage(Contract, table="audit.coverage", scope="all", key=("store_id", "business_date")):
    """One row per store and business day: what was announced, what is held, and how the last asking for each id ended.

    Source: audit.daily_fetch_outcomes, raw.states for ids without an order, what webhooks named as far as it is
    remembered ([webhooks] retention_days), and audit.control_totals. ids = fetched + archive_count + missing + failed +
    quarantined + unrequested_count.
    Caveats: an id of which no document was ever accepted has no store and no day: it stands in the row where both are
    null, beside known orders that state neither. The interface cannot list orders, so nothing here says how many there
    are: completeness is known only where a control total was imported.
    """

    store_id: Id = column("The store, as the service numbers it; null where no document says it.", nullable=True)
    business_date: Day = column("The business day of the orders; null where no document says it.", nullable=True)
    ids: Count = column("How many order ids were named by a webhook, asked for or landed.", ge=0)
    hinted: Count = column("How many of them a webhook named.", ge=0)
    known: Count = column("How many are orders that we hold, in whatever state.", ge=0)
    fetched: Count = column("How many the service answered with a document when last asked.", ge=0)
    unchanged: Count = column("How many of those fetched were as they had been.", ge=0)
    archive_count: Count = column("How many were last seen in a file, not asked for since.", ge=0)
    missing: Count = column("How many were not found (404) when last asked for.", ge=0)
    failed: Count = column("How many gave no answer when last asked for.", ge=0)
    quarantined: Count = column("How many were refused by the gate when last seen.", ge=0)
    unrequested_count: Count = column("How many a webhook named and nobody has asked for yet.", ge=0)
    stale: Count = column(
        "How many a webhook named, and since then neither a document was taken nor a 404 came: not up to date.", ge=0
    )
    completeness_basis: Text = column(
        "What completeness is measured against: control_total, or unknown where nothing gives a denominator.",
        isin=("control_total", "unknown"),
    )
    control_order_count: Count = column(
        "How many orders the control total states that counts most sale classes; null without one.", nullable=True
    )
    actual_order_count: Count = column("How many orders of those classes we hold; null without a total.", nullable=True)
    completeness: Share = column(
        "actual_order_count / control_order_count, above 1 where we hold more; null where it is unknown.", nullable=True
    )


class Plans(Contract, table="audit.plans", scope="all", key=("plan_no",)):
    """One row per night's plan: what was asked for again, and what its random sample and its gap probe showed.

    Source: the inbox, where a plan is kept with what came of it: a log that a rebuild cannot make anew. A plan that
    asked for nothing has no row.
    Caveats: the share is of old orders that nothing else asks for, and counts only changes that no webhook named; its
    bounds are the exact ones of Clopper and Pearson (Biometrika 26, 1934). Figures of the answers are null for a run
    that was stopped before them.
    """

    plan_no: Count = column("The number of the plan, from 1.", ge=1)
    planned_at: Instant = column("When it was made.")
    due: Count = column("How many known orders were due by their age and asked for again.", ge=0)
    left_out: Count = column("How many were due and found no place in [planner] request_budget.", ge=0)
    population: Count = column("How many old orders nothing else asked for: the sample was drawn from them.", ge=0)
    sampled: Count = column("How many of them were drawn at random.", ge=0)
    checked: Count = column("How many of those drawn the service answered with a document.", nullable=True, ge=0)
    changed: Count = column("How many of those checked had changed without anybody telling.", nullable=True, ge=0)
    missing: Count = column("How many of those drawn the service no longer has (404).", nullable=True, ge=0)
    changed_share: Share = column("changed / checked; null where none was checked.", nullable=True)
    changed_share_low: Share = column("Lower bound of that share in the population.", nullable=True)
    changed_share_high: Share = column("Upper bound of that share in the population.", nullable=True)
    confidence: Share = column("With which confidence the bounds hold the share, such as 0.95.", nullable=True)
    gap_requested_count: Count = column("How many ids between known ones were asked for.", ge=0)
    gap_found_count: Count = column("How many of these exist.", nullable=True, ge=0)
    gap_unnotified_count: Count = column("How many of those found no webhook had named.", nullable=True, ge=0)
