"""The life of breaks: list, accept, assign and comment on them. What people decide is recorded in the ledger.

An accepted break no longer counts until its amounts change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.finance.records import records
from pipelines.finance.released import FinanceError, query, released
from pipelines.ledger.decisions import ACCEPTED, ASSIGNED, COMMENTED, decisions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.finance.released import Released
    from pipelines.finance.selection import Selection
    from pipelines.ledger import Entry
    from pipelines.ledger.decisions import User
    from pipelines.settings import Settings

Record = dict[str, Any]
_SHOWN = 5
_RECORDED = ("order_id", "store_id", "business_date", "currency", "total_residual", "subtotal_residual", "content")


def create_break_views(release: Released) -> None:
    """Create the views breaks, and open_breaks: those that nobody accepted as they are, on a release's connection.

    Decisions are read from the ledger: those since the build count too. Raise FinanceError if the release is older than
    audit.breaks.
    """
    if not release.has("audit.breaks"):
        raise FinanceError(f"release {release.manifest.id} has no table audit.breaks: run `ordermart build` first")
    accepted = [
        (order_id, each.content) for order_id, each in decisions(release.ledger.entries()).items() if each.content
    ]
    rows = pa.table(
        {
            "order_id": pa.array([order_id for order_id, _ in accepted], pa.int64()),
            "content": pa.array([content for _, content in accepted], pa.string()),
        }
    )
    release.con.register("accepted_breaks", rows)
    release.con.execute(f"create or replace temp view breaks as {query('breaks')}")
    release.con.execute(
        "create or replace temp view open_breaks as from breaks anti join accepted_breaks using (order_id, content)"
    )


def list_breaks(settings: Settings, selection: Selection) -> list[Record]:
    """Return the breaks of a selection, by currency and then the largest first, each with what was decided of it.

    `state` is open, accepted, or changed: accepted with other amounts.
    """
    with released(settings) as release:
        found = decisions(release.ledger.entries())
        create_break_views(release)
        breaks = records(
            release.con,
            f"select * from breaks as rows where {selection.where()} "
            "order by currency nulls last, abs_residual desc, order_id",
        )
    for row in breaks:
        decided = found.get(row["order_id"])
        is_accepted = decided is not None and decided.content == row["content"]
        row["decisions"] = decided
        row["state"] = "accepted" if is_accepted else "changed" if decided and decided.content else "open"
    return breaks


def accept(settings: Settings, order_ids: Sequence[int], reason: str, user: User) -> Entry:
    """Record that breaks are accepted as they are; raise FinanceError where an order has none that is open."""
    with released(settings) as release:
        create_break_views(release)
        found = _found(release, "open_breaks", order_ids, "has no break that is open")
        breaks = [{name: _plain(row[name]) for name in _RECORDED} for row in found]
        body = {"breaks": breaks, "reason": reason, "release": release.manifest.id, **user.body}
        return release.ledger.append(ACCEPTED, body)


def assign(settings: Settings, order_ids: Sequence[int], assignee: str, user: User) -> Entry:
    """Record who looks after breaks; raise FinanceError where an order has none."""
    return _record(settings, ASSIGNED, order_ids, {"assignee": assignee}, user)


def comment(settings: Settings, order_ids: Sequence[int], text: str, user: User) -> Entry:
    """Record a comment on breaks; raise FinanceError where an order has none."""
    return _record(settings, COMMENTED, order_ids, {"comment": text}, user)


def _record(settings: Settings, act: str, order_ids: Sequence[int], said: dict[str, str], user: User) -> Entry:
    with released(settings) as release:
        create_break_views(release)
        found = _found(release, "breaks", order_ids, "has no break")
        return release.ledger.append(act, {"order_ids": [row["order_id"] for row in found], **said, **user.body})


def _found(release: Released, view: str, order_ids: Sequence[int], complaint: str) -> list[Record]:
    select = f"from {view} where order_id in (select unnest(?::bigint[])) order by order_id"
    found = records(release.con, select, [order_ids])
    if lacking := sorted({*order_ids} - {row["order_id"] for row in found}):
        shown = ", ".join(map(str, lacking[:_SHOWN])) + (", …" if len(lacking) > _SHOWN else "")
        raise FinanceError(f"order {shown} {complaint}: see `ordermart breaks list`")
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: an amount and a day as text."""
    return value if value is None or isinstance(value, int | str) else str(value)
