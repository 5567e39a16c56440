"""Fetch the stores that orders name and the list of stores lacks, and say when that makes the list doubtful."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.loop import RECENT, Ingested, ingest
from pipelines.warehouse.building.order_lookup import known_ids, stores_of_orders

if TYPE_CHECKING:
    from pipelines.ingest.loop import Progress
    from pipelines.ingest.session import PartnerSession
    from pipelines.settings import Settings

_FEWEST, _MAX_RATE = 2, 0.1  # of the stores: more that the list lacks make it doubtful
_CHECK = "check [partner.list_stores] and what the credentials may read"


def ingest_unlisted_stores(
    settings: Settings, session: PartnerSession, progress: Progress | None = None
) -> Ingested | None:
    """Fetch by their ids the stores that recent orders name and the list lacks, after a run has fetched both.

    The result says that the list of stores is doubtful: if a store is unknown, or if two and more than a tenth of the
    stores with orders come by their ids only, or of the stores that were fetched lately are not listed and have no
    orders. None without a whole list, or if it has every store.
    """
    since = utc_now() - RECENT
    listed = next((each.listed for each in session.ingested if each.listed is not None), None)
    if listed is None:
        return None
    named = Counter(stores_of_orders(settings.data_dir, since))
    for each in session.ingested:
        named.update(each.named_stores)
    with WorkList(inbox_path(settings.data_dir)) as work:
        lately = set(work.ids_in("stores", "done", since))
    unlisted, lost = named.keys() - listed, lately - listed - named.keys()
    if not unlisted and not lost:
        return None
    held = set(known_ids(settings.data_dir, "stores"))

    def request(work: WorkList) -> None:
        work.add("stores", sorted(unlisted), why="order")

    fetched = ingest(settings, "stores", progress, request, lists=False, session=session)
    came = fetched.accepted & unlisted
    unknown = unlisted - came - held
    if unknown or _are_many(came, len(named)):
        orders = sum(named[store] for store in unlisted)
        also = f"; {len(unknown):,} of these are unknown to the service" if unknown else ""
        fetched.shortfalls.append(
            f"{orders:,} orders name {len(unlisted):,} stores that the list does not have{also}: {_CHECK}"
        )
    if _are_many(lost, len(lately)):
        had = f"{len(lost):,} of {len(lately):,} stores that it had in the last {RECENT.days} days"
        fetched.shortfalls.append(f"the list lacks {had}: {_CHECK}")
    return fetched


def _are_many(stores: set[int], of: int) -> bool:
    return len(stores) >= _FEWEST and len(stores) > _MAX_RATE * of
