"""Show in one look how things stand: the last run, the release, what waits, alarms, the lock, the disk.

Settings that look wrong are named, too: a file that lost keys, and statuses of sales that no order has.

Reads small files, the work list and the current release; requests nothing from the service or Dagster, so that it
answers at once, whatever else is broken. It imports neither Dagster nor the warehouse, which take seconds.
"""

import contextlib
import datetime as dt
import json
import shutil
import sqlite3
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from pipelines.clock import utc_now
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList, due_by_request_reason
from pipelines.ingest.lock import lock_holder
from pipelines.literals import one_line as plain
from pipelines.notify import active_alarms, last_backup, next_command
from pipelines.record import NIGHT, WEBHOOKS, Run, current_release, ended_runs, is_ahead, runs
from pipelines.report.text import counted, moment
from pipelines.settings import Settings, given_keys
from pipelines.warehouse.storage import bytes_in_spill

_NICKNAMES = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0"}
_NICKNAMES |= {"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *"}
_WAITING = ("waiting", "started", "dead")
_QUARANTINE = "select kind, reason, count(*) from audit.quarantine where is_unresolved group by all order by all"
_REFUSED = """
    select kind, entity_id, if(entity_id is null, load_id || ' ' || seq, null)
    from audit.quarantine where is_unresolved
"""
_GB = 10**9
_STATES = {"dead": "in the dead-letter queue (`ordermart retry` requests them again)"}


def status(settings: Settings, now: dt.datetime | None = None) -> dict[str, Any]:
    """Return the state of the data folder as plain values; times are ISO 8601 in UTC, null if unknown."""
    now = now or utc_now()
    data_dir, hours, schedule = settings.data_dir, settings.notify.max_age_hours, settings.schedule
    holder = lock_holder(data_dir)
    last = last_runs(data_dir, is_any_alive=holder is not None, now=now)
    work_list, backup = _work_list(data_dir), last_backup(data_dir)
    run, last_run, state = last.run, None, last.run_state
    if run is not None:
        how = {"is_good": state == "good", "outcome": state, "exit_code": run.exit_code(), "sentence": last.sentence}
        last_run = {"kind": run.kind, "ended_at": _text(run.ended_at), **how}
    tick = _text(next_tick(schedule.cron, schedule.timezone, now)) if schedule.is_on else None
    return {
        "is_stale": last.is_stale(now, hours),
        "max_age_hours": hours,
        "last_run": last_run,
        "last_good_at": _text(last.good_at),
        "runs_ahead": [_text(run.started_at) for run in runs(data_dir) if is_ahead(run, now)],
        "lock_holder": holder,
        "schedule": {"cron": schedule.cron, "timezone": schedule.timezone, "is_on": schedule.is_on, "next_tick": tick},
        "release": _release(current_release(settings.data_dir / "published"), now),
        "publication_due": _deferred(data_dir),
        "verification": _verification(data_dir),
        "last_backup": {"taken_at": _text(backup.taken_at), "path": backup.path} if backup else None,
        "work_list": work_list or {},
        "work_list_error": None if work_list is not None else "missing, or it cannot be read: `ordermart inventory`",
        "alarms": [
            {"cause": a.cause, "since": _text(a.since), "text": a.text, "command": next_command(a.cause)}
            for a in active_alarms(data_dir)
        ],
        "free_bytes": shutil.disk_usage(data_dir).free if data_dir.exists() else None,
        "spilled_bytes": bytes_in_spill(data_dir),
    }


class LastRuns(NamedTuple):
    """The last run that ended, with its state, and when the last good night ended."""

    run: Run | None = None
    run_state: str = ""
    sentence: str = ""
    good_at: dt.datetime | None = None

    def is_stale(self, now: dt.datetime, max_age_hours: float) -> bool:
        """Return whether the last good night ended longer ago than that, or there was none."""
        return self.good_at is None or now - self.good_at > dt.timedelta(hours=max_age_hours)


def last_runs(data_dir: Path, *, is_any_alive: bool, now: dt.datetime | None = None) -> LastRuns:
    """Return how the last run ended; one for webhooks is incomplete while a kind is. None ahead of `now` is good."""
    now = now or utc_now()
    if not (ended := ended_runs(data_dir, is_any_alive=is_any_alive)):
        return LastRuns()
    run = ended[-1]
    stands = run.kind == WEBHOOKS and any(alarm.cause.startswith("incomplete:") for alarm in active_alarms(data_dir))
    good = [each for each in ended if each.kind == NIGHT and each.run_state == "good" and not is_ahead(each, now)]
    state = "incomplete" if run.run_state == "good" and stands else run.run_state
    said = run.sentence or (f"It {run.how}." if run.stopped_by else " ".join(run.errors))
    return LastRuns(run, state, said, good[-1].ended_at if good else None)


def next_tick(cron: str, timezone: str, now: dt.datetime) -> dt.datetime | None:
    """Return the first time after `now` at which a cron expression is due, in UTC; None if it cannot be read.

    As with Dagster, whose import takes longer than all else of a status, a local time that clocks skip is due when they
    have skipped it, and one that comes twice the second time.
    """
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- only a schedule that is on needs it

    try:
        zone = zoneinfo.ZoneInfo(timezone)
        yesterday = now.astimezone(zone).replace(tzinfo=None) - dt.timedelta(days=1)
        times = CronSim(_NICKNAMES.get(cron.strip().lower(), cron), yesterday)
    except (ValueError, OSError, CronSimError):
        return None
    return next((due for local in times if (due := _instant(local.replace(tzinfo=zone))) > now), None)


def _instant(local: dt.datetime) -> dt.datetime:
    """Return when a local time is, in UTC."""
    second = local.replace(fold=1).astimezone(dt.UTC)
    if second.astimezone(local.tzinfo).replace(tzinfo=None) == local.replace(tzinfo=None):
        return second
    return local.astimezone(dt.UTC).astimezone(local.tzinfo).replace(minute=0).astimezone(dt.UTC)


def _release(path: Path | None, now: dt.datetime) -> dict[str, Any] | None:
    if path is None:
        return None
    published = None
    with contextlib.suppress(ValueError):  # its id begins with it
        published = dt.datetime.strptime(path.name.partition("-")[0], "%Y%m%dT%H%M%S%f").replace(tzinfo=dt.UTC)
    age = round((now - published).total_seconds() / 3600, 2) if published else None
    found: dict[str, Any] = {"id": path.name, "path": str(path), "published_at": _text(published), "age_hours": age}
    found |= {"error": None, "quarantine": []}
    try:
        rows = _rows(path, _QUARANTINE)
    except duckdb.Error as error:
        return found | {"error": type(error).__name__}
    found["quarantine"] = [{"kind": kind, "reason": reason, "count": count} for kind, reason, count in rows]
    return found


def refused(settings: Settings) -> set[tuple[Any, ...]]:
    """Return the unresolved rows of audit.quarantine: kind and id, or load and sequence number."""
    release = current_release(settings.data_dir / "published")
    return set() if release is None else set(_rows(release, _REFUSED))


def _rows(release: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
        return db.execute(query).fetchall()


def _deferred(data_dir: Path) -> str | None:
    """Return when changes of a run for webhooks are due for publication, None if there are none."""
    try:
        return _text(dt.datetime.fromisoformat((data_dir / "published" / "publication_due").read_text("utf-8")))
    except (OSError, ValueError):
        return None


def _verification(data_dir: Path) -> dict[str, Any] | None:
    """Return when a part of the warehouse was last verified, and how many parts differed when they last were."""
    latest: dict[Any, Any] = {}
    try:
        for line in (data_dir / "warehouse" / "verifications.jsonl").read_bytes().splitlines():
            part = json.loads(line)
            latest[part["part"], part.get("first_order_id"), part.get("business_date")] = part
        last = max(latest.values(), key=lambda part: dt.datetime.fromisoformat(part["verified_at"]))
        at, orders, tables = last["verified_at"], last["order_count"], last["table_count"]
        differing = sum(part["difference_count"] > 0 for part in latest.values())
        said = {"verified_at": _text(dt.datetime.fromisoformat(at)), "orders": orders, "tables": tables}
        return said | {"differing": differing}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return {"verified_at": None, "orders": 0, "tables": 0, "differing": 0}


def _work_list(data_dir: Path) -> dict[str, dict[str, int]] | None:
    """Return by kind how many ids are due (by reason), waiting, started, given up; None if lost or unreadable."""
    path = inbox_path(data_dir)
    if not path.exists():
        return None if runs(data_dir) else {}
    try:
        with WorkList(path) as work:
            due, counts = work.due_counts(), work.counts()
        reasons = due_by_request_reason(path)
    except sqlite3.DatabaseError:
        return None
    return {
        kind: {
            "due": due.get(kind, 0),
            **{state: number for state, number in of.items() if state in _WAITING},
            **{f"due: {reason}": number for reason, number in reasons.get(kind, {}).items()},
        }
        for kind, of in counts.items()
    }


def _text(at: dt.datetime | None) -> str | None:
    return moment(at).replace(" ", "T") if at else None


def status_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a state."""
    for alarm in state["alarms"]:
        command = alarm["command"]
        is_said = command == "ordermart status" or f"`{command}`" in alarm["text"]
        yield f"ALARM since {alarm['since']}: {alarm['text']}" + ("" if is_said else f" Next: `{command}`")
    last, good = state["last_run"], state["last_good_at"]
    if last is None:
        yield "Last run: none yet; start one with `ordermart run`."
    else:
        is_open = last["is_good"] and last["exit_code"]
        outcome = "complete, with newly rejected or failed documents (exit code 3)" if is_open else last["outcome"]
        yield f"Last run: {outcome}, ended {last['ended_at']}. {last['sentence']}"
        late = f", older than [notify] max_age_hours = {state['max_age_hours']:g}" if state["is_stale"] else ""
        yield f"Last good night: {good or 'none'}{late}"
    if ahead := state["runs_ahead"]:
        yield f"Of a clock that was ahead, and counting for nothing: {', '.join(map(str, ahead))}"
    yield f"Running now: {state['lock_holder'] or 'nothing'}"
    schedule = state["schedule"]
    due = f"next {schedule['next_tick'] or 'unknown'}, if Dagster's daemon is up" if schedule["is_on"] else "off"
    yield f"Schedule: {schedule['cron']} ({schedule['timezone']}), {due}"
    yield from _release_lines(state["release"])
    if state["publication_due"]:
        yield f"Changes wait for the next release, due {state['publication_due']}"
    if (verified := state["verification"]) is None:
        yield "Last verification: none yet"
    else:
        wrong, orders = verified["differing"], f"{verified['orders']:,} orders" if verified["orders"] else "no order"
        looked = f"{orders}, in {verified['tables']:,} tables"
        proof = f"{wrong:,} PARTS DIFFER: see audit.verifications" if wrong else f"every row the same: {looked}"
        at = verified["verified_at"]
        yield f"Last verification: {at}, {proof}" if at else "Last verification: unknown, its log cannot be read"
    backup = state["last_backup"]
    yield f"Last backup: {backup['taken_at']}, {backup['path']}" if backup else "Last backup: none known"
    if state["work_list_error"]:
        yield f"Work list: {state['work_list_error']}"
    for kind, counts in state["work_list"].items():
        yield f"Work list, {kind}: " + ", ".join(f"{n:,} {_STATES.get(name, name)}" for name, n in counts.items())
    if state["spilled_bytes"]:
        yield f"Left in warehouse/spill by processes that were killed: {state['spilled_bytes'] / _GB:.1f} GB"
    if state["free_bytes"] is not None:
        yield f"Free on the disk: {state['free_bytes'] / _GB:.1f} GB"


def _release_lines(release: Mapping[str, Any] | None) -> Iterator[str]:
    if release is None:
        yield "Release: none yet"
        return
    hours = release["age_hours"]
    age = "" if hours is None else f" ({hours:,.1f} hours ago)" if hours >= 0 else f" ({-hours:,.1f} hours ahead)"
    yield f"Release: {release['id']}, published {release['published_at']}{age}, {release['path']}"
    if release["error"]:
        yield f"  it cannot be read ({release['error']}); the next run publishes it again"
        return
    quarantine = release["quarantine"]
    total = sum(row["count"] for row in quarantine)
    yield f"Quarantined or failed: {total:,}" + "".join(
        f"; {row['kind']} {row['reason']} {row['count']:,}" for row in quarantine
    )


STATUSES = "select status, count(*) as n from mart.orders group by 1 order by n desc, 1"
_FEWEST_ORDERS = 20  # that show which statuses there are
_MOST_KEYS = 8


def lost_keys(settings: Settings, earlier: Iterable[Run]) -> Iterator[str]:
    """Yield a sentence if the settings file lost keys since the last good run that is remembered."""
    good = [run.keys for run in earlier if run.run_state == "good"]
    lost = sorted(set(good[-1]) - given_keys(settings.file)) if good else []
    if lost := [_shown(key) for key in lost if _is_known(settings, key)]:
        keys = ", ".join(lost[:_MOST_KEYS]) + (", …" if len(lost) > _MOST_KEYS else "")
        yield (
            f"{settings.file.name} lacks {counted(len(lost), 'key', 'keys')} of the last good run: {keys}. Was it cut "
            "off? Write them again, with their defaults of ordermart.toml if they are meant to go"
        )


def _is_known(settings: Settings, key: str) -> bool:
    """Tell whether there is such a setting: a release may have given it up."""
    found: Any = settings
    for part in key.split("."):
        found = getattr(found, part, None)
    return found is not None


def _shown(key: str) -> str:
    *tables, name = key.split(".")
    return f"[{'.'.join(tables)}] {name}"


def unused_statuses(settings: Settings) -> Iterator[str]:
    """Yield a sentence if no order of the release has a status that counts as a sale, though some are named."""
    release = current_release(settings.data_dir / "published")
    if release is None or not settings.sales.counted_statuses:
        return
    try:
        seen = _rows(release, STATUSES)
    except duckdb.Error:
        return  # its reader names the fault
    is_enough = sum(number for _, number in seen) >= _FEWEST_ORDERS
    if is_enough and {status for status, _ in seen}.isdisjoint(settings.sales.counted_statuses):
        yield f"no order has a status of [sales] counted_statuses; orders have {named(seen)}"


def named(seen: Sequence[tuple[Any, ...]]) -> str:
    """Return the first statuses with their numbers of orders, for a sentence."""
    return ", ".join(f"{plain(status or 'none')} {number:,}" for status, number in seen[:_MOST_KEYS])
