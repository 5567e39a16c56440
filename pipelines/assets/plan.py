"""Put known orders that are due again on the work list: the values come from the warehouse, the rules from the inbox.

Knows nothing of Dagster or HTTP.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from pipelines.inbox.deliveries import hinted_ids
from pipelines.inbox.gaps import gap_ids, gap_report
from pipelines.inbox.planner import KnownOrder, add_plan, plan
from pipelines.warehouse.known import known_among, known_orders, never_found

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from pipelines.inbox.worklist import WorkList
    from pipelines.settings import Settings

GAP = "gap probe"


def plan_orders(settings: Settings, work: WorkList, now: datetime | None = None) -> list[str]:
    """Add the known orders that are due again, within [planner] budget; return what was planned, in sentences."""
    now = now or datetime.now(UTC)
    planned = plan(_known(settings), now, settings.planner)
    add_plan(work, planned)
    said = [planned.sentence()]
    if settings.planner.gap_probe:
        ids = gap_ids(
            (known.order_id for known in known_orders(settings.data_dir)),
            never_found(settings.data_dir),
            settings.planner.gap_budget,
        )
        work.add("orders", ids, GAP)
        said.append(f"{len(ids)} ids between known ones are asked for")
    return said


def probed(settings: Settings, asked: set[int]) -> str:
    """Say how many ids of a gap probe exist, and how many of them no webhook had named."""
    found = known_among(settings.data_dir, asked)
    path = settings.data_dir / "inbox" / "worklist.sqlite"
    return gap_report(asked, found, hinted_ids(path, "orders")).sentence()


def _known(settings: Settings) -> Iterator[KnownOrder]:
    for known in known_orders(settings.data_dir):
        yield KnownOrder(
            id=known.order_id,
            created_at=known.created_at,
            last_checked_at=known.last_checked_at,
            status=known.status,
            presence=cast("Literal['present', 'missing', 'gone']", known.presence),
            archive_only=known.is_archive_only,
        )
