"""Show in one look how things stand: the last run, the release, what waits, alarms, lock and disk.

Reads small files, the work list and the current release; requests nothing from the service or Dagster, so that it
answers at once, whatever else is broken.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import lock_holder
from pipelines.notify import last_run, standing
from pipelines.report.summary import current_release
from pipelines.report.text import moment
from pipelines.warehouse.release.manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pipelines.settings import Settings

_GB = 10**9
_WAITING = ("waiting", "started", "dead")
_QUARANTINE = "select kind, reason, count(*) from audit.quarantine where is_unresolved group by all order by all"
_VERIFIED = "select max(verified_at), bool_and(is_proven) from audit.verifications where is_latest"


def status(settings: Settings, now: dt.datetime | None = None) -> dict[str, Any]:
    """Return the state of the data folder as plain values; times are ISO 8601 in UTC, null if unknown."""
    now = now or dt.datetime.now(dt.UTC)
    data_dir, hours = settings.data_dir, settings.notify.max_age_hours
    last = last_run(data_dir)
    return {
        "is_stale": last is None or last.is_stale(now, hours),
        "max_age_hours": hours,
        "last_run": None
        if last is None
        else {"ended_at": _text(last.ended_at), "is_good": last.is_good, "sentence": last.sentence},
        "last_good_at": _text(last.good_at) if last else None,
        "lock_holder": lock_holder(data_dir),
        "schedule": {"cron": settings.schedule.cron, "timezone": settings.schedule.timezone},
        "release": _release(current_release(settings)),
        "work_list": _work_list(data_dir),
        "alarms": [{"cause": a.cause, "since": _text(a.since), "text": a.text} for a in standing(data_dir)],
        "free_bytes": shutil.disk_usage(data_dir).free if data_dir.exists() else None,
    }


def status_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the state for a terminal, what needs somebody first."""
    for alarm in state["alarms"]:
        yield f"ALARM since {alarm['since']}: {alarm['text']}"
    last, good = state["last_run"], state["last_good_at"]
    if last is None:
        yield "Last run: none yet; start one with `ordermart run`."
    else:
        yield f"Last run: {'good' if last['is_good'] else 'failed'}, ended {last['ended_at']}. {last['sentence']}"
        late = f", older than [notify] max_age_hours = {state['max_age_hours']:g}" if state["is_stale"] else ""
        yield f"Last good run: {good or 'none'}{late}"
    yield f"Running now: {state['lock_holder'] or 'nothing'}"
    yield f"Schedule: {state['schedule']['cron']} ({state['schedule']['timezone']})"
    yield from _release_lines(state["release"])
    for kind, counts in state["work_list"].items():
        yield f"Work list, {kind}: " + ", ".join(f"{number:,} {name}" for name, number in counts.items())
    if state["free_bytes"] is not None:
        yield f"Free on the disk: {state['free_bytes'] / _GB:.1f} GB"


def _release_lines(release: Mapping[str, Any] | None) -> Iterator[str]:
    if release is None:
        yield "Release: none yet"
        return
    yield f"Release: {release['id']}, published {release['published_at']}, {release['path']}"
    if release["error"]:
        yield f"  it cannot be read ({release['error']}); the next run publishes it again"
        return
    quarantine = release["quarantine"]
    total = sum(row["count"] for row in quarantine)
    yield f"Quarantined or failed: {total:,}" + "".join(
        f"; {row['kind']} {row['reason']} {row['count']:,}" for row in quarantine
    )
    verified = release["verified_at"]
    proof = f"{verified}, {'every row the same' if release['is_proven'] else 'ROWS DIFFER: see audit.verifications'}"
    yield f"Last verification: {proof if verified else 'none yet'}"


def _release(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    manifest = read_manifest(path)
    found: dict[str, Any] = {
        "id": path.name,
        "path": str(path),
        "published_at": manifest.published_at if manifest else None,
        "error": None,
        "quarantine": [],
        "verified_at": None,
        "is_proven": None,
    }
    try:
        with duckdb.connect(str(path / "ordermart.duckdb"), read_only=True) as db:
            db.execute("set timezone = 'UTC'")
            rows = db.execute(_QUARANTINE).fetchall()
            verified = db.execute(_VERIFIED).fetchone()
    except duckdb.Error as error:
        return found | {"error": type(error).__name__}
    found["quarantine"] = [{"kind": kind, "reason": reason, "count": count} for kind, reason, count in rows]
    if verified and verified[0]:
        found |= {"verified_at": _text(verified[0]), "is_proven": verified[1]}
    return found


def _work_list(data_dir: Path) -> dict[str, dict[str, int]]:
    """Return by kind how many ids are due, waiting, started or in the dead-letter queue."""
    path = inbox_path(data_dir)
    if not path.exists():
        return {}
    try:
        with WorkList(path) as work:
            due, counts = work.due_counts(), work.counts()
    except sqlite3.DatabaseError:
        return {}
    return {
        kind: {"due": due.get(kind, 0), **{state: number for state, number in of.items() if state in _WAITING}}
        for kind, of in counts.items()
    }


def _text(at: dt.datetime | None) -> str | None:
    return moment(at).replace(" ", "T") if at else None
