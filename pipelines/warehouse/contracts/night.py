"""Contracts of what night operations look at: requests, coverage, control totals, plans."""

from pipelines.warehouse.contracts.contract import Contract, Count, Id, Instant, Text, column

KINDS = ("orders", "menus", "stores")
OUTCOMES = ("accepted", "unchanged", "quarantined", "missing", "failed")


class Fetches(Contract, table="audit.fetches", scope="load", key=("load_id", "seq")):
    """One row per id that the service was asked for in a load, and what came of it.

    Source: raw.observations, live ones alone: what came out of files was not asked for. All tries of an id in a load
    are one row. Traps: the pages of the list of stores are no ids and are not here; nor is what was under way when a
    run was stopped. An id may be in many loads.
    """

    load_id: Text = column("The load in which it was landed.")
    seq: Count = column("Its place in the load, from 0.", ge=0)
    kind: Text = column("What kind of document it is about: orders, menus or stores.", isin=KINDS)
    entity_id: Id = column("The id that was asked for.")
    outcome: Text = column(
        "accepted, unchanged or quarantined: a document came. missing: a 404. failed: nothing came after all tries.",
        isin=OUTCOMES,
    )
    reason: Text = column("Why it was quarantined or failed, a short code; null where it was not.", nullable=True)
    http_status: Count = column("The status of the last answer; null where none came.", nullable=True)
    ms: Count = column("Milliseconds that the last try took.", ge=0)
    bytes: Count = column("Bytes of the last body, as read.", ge=0)
    tries: Count = column("How many requests were sent for it.", ge=1)
    fetched_at: Instant = column("When the last answer, or the end of trying, came.")
