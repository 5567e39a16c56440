"""Remember which ids each release newly had as quarantined or failed, until all of them are resolved.

Kept in `data/notify/new_failures.json`, beside the alarms about them. What has no id is never resolved, so nothing is
remembered of it; nothing is remembered for longer than the bytes of a quarantined body are kept.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.notify.files import read_json, write_json

if TYPE_CHECKING:
    from pipelines.settings import Settings

    Rows = set[tuple[Any, ...]]


@dataclass(frozen=True)
class Unresolved:
    """What a release newly had as quarantined or failed: when that was, how much, and the ids that still are."""

    release: str
    since: dt.datetime
    count: int
    ids: list[tuple[str, int]]


def unresolved(settings: Settings, release: str, new: Rows, refused: Rows, now: dt.datetime) -> list[Unresolved]:
    """Add the `new` ids of the current release to those remembered, and return the unresolved ones.

    Rows begin with a kind and an id; `refused` are all that are quarantined or failed now.
    """
    file = settings.data_dir / "notify" / "new_failures.json"
    kept = before = read_json(file, list[Unresolved]) or []
    if new:
        kept = [*(each for each in kept if each.release != release), Unresolved(release, now, len(new), _ids(new))]
    oldest = now - dt.timedelta(days=settings.vault.quarantine_retention_days)
    still = set(_ids(refused))
    found = [
        Unresolved(each.release, each.since, each.count, [id_ for id_ in each.ids if id_ in still])
        for each in kept
        if each.since > oldest
    ]
    left = [each for each in found if each.ids]
    if left != before:
        with contextlib.suppress(OSError):  # the disk is full: the alarm is sent all the same
            write_json(file, left)
    return [each for each in found if each.ids or (new and each.release == release)]


def _ids(rows: Rows) -> list[tuple[str, int]]:
    return sorted({(row[0], row[1]) for row in rows if row[1] is not None})
