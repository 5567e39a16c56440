"""Show in one look how things stand: the last run, the release, what waits, alarms, the lock, the disk.

Settings that look wrong are named, too: a file that lost keys, and statuses of sales that no order has.

Reads small files, the work list and the current release; requests nothing from the service or Dagster, so that it
answers at once, whatever else is broken. It imports neither Dagster nor the warehouse, which take seconds.

Examine an installation and say for each part whether it works, and what to do where it does not.

This machine: secrets, disk, lock, daemon, last run, receiver. The service is examined as `init` does.
Changes nothing, and shows neither secrets nor values of documents.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import http.client
import json
import os
import shutil
import sqlite3
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from pipelines.backup.comparing import compare
from pipelines.clock import utc_now
from pipelines.examining.first import Finding
from pipelines.examining.first import examine as examine_service
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList, due_by_reason
from pipelines.ingest.ingest_session import lock_holder
from pipelines.literals import one_line as plain
from pipelines.notify import channels_of, last_backup, standing
from pipelines.partner.token import missing_credentials
from pipelines.privacy import PrivacyError, erasure_log, read_log
from pipelines.record import NIGHT, WEBHOOKS, Run, Verdict, current_release, ended_runs, is_ahead, runs
from pipelines.report.text import counted, moment
from pipelines.settings import Settings, SettingsError, given_keys
from pipelines.vault import VaultError
from pipelines.vault.bodies import read_keys
from pipelines.warehouse.building.build import SPACE_OF_FULL, warehouse_file
from pipelines.warehouse.storage import bytes_in_spill

_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
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
    return {
        "is_stale": last.is_stale(now, hours),
        "max_age_hours": hours,
        "last_run": None
        if last.run is None
        else {
            "kind": last.run.kind,
            "ended_at": _text(last.run.ended_at),
            "is_good": last.verdict == "good",
            "outcome": last.verdict,
            "exit_code": last.run.exit_code(),
            "sentence": last.sentence,
        },
        "last_good_at": _text(last.good_at),
        "runs_ahead": [_text(run.started_at) for run in runs(data_dir) if is_ahead(run, now)],
        "lock_holder": holder,
        "schedule": {
            "cron": schedule.cron,
            "timezone": schedule.timezone,
            "is_on": schedule.is_on,
            "next_tick": _text(next_tick(schedule.cron, schedule.timezone, now)) if schedule.is_on else None,
        },
        "release": _release(current_release(settings.data_dir / "published"), now),
        "publication_due": _deferred(data_dir),
        "verification": _verification(data_dir),
        "last_backup": {"taken_at": _text(backup.taken_at), "path": backup.path} if backup else None,
        "work_list": work_list or {},
        "work_list_error": None if work_list is not None else "missing, or it cannot be read: `ordermart inventory`",
        "alarms": [{"cause": a.cause, "since": _text(a.since), "text": a.text} for a in standing(data_dir)],
        "free_bytes": shutil.disk_usage(data_dir).free if data_dir.exists() else None,
        "spilled_bytes": bytes_in_spill(data_dir),
    }


class LastRuns(NamedTuple):
    """The last run that ended, with its verdict, and when the last good night ended."""

    run: Run | None = None
    verdict: str = ""
    sentence: str = ""
    good_at: dt.datetime | None = None

    def is_stale(self, now: dt.datetime, max_age_hours: float) -> bool:
        """Return whether the last good night ended longer ago than that, or there was none."""
        return self.good_at is None or now - self.good_at > dt.timedelta(hours=max_age_hours)


def last_runs(data_dir: Path, *, is_any_alive: bool, now: dt.datetime | None = None) -> LastRuns:
    """Return how the last run ended; one for webhooks is incomplete while a kind of document is, since a night.

    No run of a clock that was ahead of `now` is the last good night.
    """
    now = now or utc_now()
    ended = ended_runs(data_dir, is_any_alive=is_any_alive)
    if not ended:
        return LastRuns()
    run = ended[-1]
    stands = run.kind == WEBHOOKS and any(alarm.cause.startswith("incomplete:") for alarm in standing(data_dir))
    good = [each for each in ended if each.kind == NIGHT and each.verdict == "good" and not is_ahead(each, now)]
    return LastRuns(
        run,
        "incomplete" if run.verdict == "good" and stands else run.verdict,
        run.sentence or (f"It {run.how}." if run.stopped_by else " ".join(run.errors)),
        good[-1].ended_at if good else None,
    )


def next_tick(cron: str, timezone: str, now: dt.datetime) -> dt.datetime | None:
    """Return the first time after `now` at which a cron expression is due, in UTC; None if it cannot be read.

    As with Dagster, whose import takes longer than all else of a status, a local time that clocks skip is due when they
    have skipped it, and one that comes twice the second time.
    """
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- only a schedule that is on needs it

    try:
        zone = zoneinfo.ZoneInfo(timezone)
        times = CronSim(
            _NICKNAMES.get(cron.strip().lower(), cron),
            now.astimezone(zone).replace(tzinfo=None) - dt.timedelta(days=1),
        )
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
    found: dict[str, Any] = {
        "id": path.name,
        "path": str(path),
        "published_at": _text(published),
        "age_hours": round((now - published).total_seconds() / 3600, 2) if published else None,
        "error": None,
        "quarantine": [],
    }
    try:
        rows = _rows(path, _QUARANTINE)
    except duckdb.Error as error:
        return found | {"error": type(error).__name__}
    found["quarantine"] = [{"kind": kind, "reason": reason, "count": count} for kind, reason, count in rows]
    return found


def refused(settings: Settings) -> set[tuple[Any, ...]]:
    """Return the unresolved rows of audit.quarantine: kind and id, or load and sequence number."""
    release = current_release(settings.data_dir / "published")
    if release is None:
        return set()
    return set(_rows(release, _REFUSED))


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
        return {
            "verified_at": _text(dt.datetime.fromisoformat(last["verified_at"])),
            "orders": last["order_count"],
            "tables": last["table_count"],
            "differing": sum(part["difference_count"] > 0 for part in latest.values()),
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return {"verified_at": None, "orders": 0, "tables": 0, "differing": 0}


def _work_list(data_dir: Path) -> dict[str, dict[str, int]] | None:
    """Return by kind how many ids are due, also by reason, and how many are waiting, started or given up.

    None if the work list cannot be read, or is gone after a run.
    """
    path = inbox_path(data_dir)
    if not path.exists():
        return None if runs(data_dir) else {}
    try:
        with WorkList(path) as work:
            due, counts = work.due_counts(), work.counts()
        reasons = due_by_reason(path)
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
        yield f"ALARM since {alarm['since']}: {alarm['text']}"
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
    verified = state["verification"]
    if verified is None:
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
        yield f"Work list, {kind}: " + ", ".join(
            f"{number:,} {_STATES.get(name, name)}" for name, number in counts.items()
        )
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
    good = [run.keys for run in earlier if run.verdict == "good"]
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


_ALIVE = dt.timedelta(minutes=2)  # a daemon that works says so every 30 seconds
_SECONDS = 3.0
_GIB = 1 << 30
_OF_ALARM = "see docs/OPERATIONS.md, Alarms"


def examine(settings: Settings, now: dt.datetime | None = None) -> Iterator[Finding]:
    """Yield a finding for each part, the service last."""
    now, data_dir = now or utc_now(), settings.data_dir
    parts: tuple[tuple[str, Callable[[], Iterable[Finding]]], ...] = (
        ("settings", lambda: [_settings(settings)]),
        ("secrets", lambda: _secrets(settings)),
        ("disk", lambda: [_disk(settings)]),
        ("access", lambda: _access(data_dir)),
        ("erasure log", lambda: [_erasure_log(settings)]),
        ("lock", lambda: [Finding("lock", "ok", f"{lock_holder(data_dir) or 'free: no run is under way'}.")]),
        ("daemon", lambda: [_daemon(settings, now)]),
        ("last run", lambda: [_last_run(settings, now)]),
        ("data", lambda: _data(settings)),
        ("alarm", lambda: (Finding("alarm", "warning", alarm.text, _OF_ALARM) for alarm in standing(data_dir))),
        ("alarms", lambda: [_channels(settings)]),
        ("receiver", lambda: [_receiver(settings)]),
    )
    for part, look in parts:
        try:
            yield from look()
        except PermissionError as error:
            text = f"cannot be looked at by this user: {error.filename or data_dir}."
            yield Finding(part, "failure", text, "see access")
    yield from asyncio.run(examine_service(settings)).findings


def judge(findings: Iterable[Finding]) -> Verdict:
    """Whether every part is ok, each failure, and each part that may fail or could not be looked at."""
    lines: dict[str, list[str]] = {"ok": [], "failure": [], "warning": []}
    for finding in findings:
        lines[finding.level].append(finding.line())
    return Verdict({"parts": sum(map(len, lines.values()))}, lines["failure"], lines["warning"])


def _settings(settings: Settings) -> Finding:
    if doubts := [*lost_keys(settings, runs(settings.data_dir)), *unused_statuses(settings)]:
        return Finding("settings", "warning", f"{'; '.join(doubts)}.", f"correct {settings.file}")
    return Finding("settings", "ok", f"{settings.file} is valid.")


def _secrets(settings: Settings) -> Iterator[Finding]:
    if missing := missing_credentials(settings.partner):
        names = ", ".join(f"ORDERMART_PARTNER__{name.upper()}" for name in missing)
        yield Finding(
            "credentials", "failure", f"{names} missing or not valid text.", "set them, or the same with _FILE"
        )
    else:
        yield Finding("credentials", "ok", "the request for a token has all that it needs.")
    try:
        read_keys(settings)
        yield Finding("vault keys", "ok", "both are set and well formed.")
    except VaultError as error:
        yield Finding(
            "vault keys", "failure", f"{error}.", "`ordermart vault generate-keys` for a new vault, else restore"
        )
    signature = settings.webhooks.signature
    if signature != "none" and not settings.webhooks.secret:
        yield Finding("webhook secret", "failure", "not set.", "set ORDERMART_WEBHOOKS__SECRET")
    elif signature == "none":
        yield Finding("webhook secret", "ok", "not needed: webhooks are not signed ([webhooks] signature).")
    elif signature == "hmac_sha256" and "{timestamp}" not in settings.webhooks.signing_template:
        yield Finding(
            "webhook secret", "warning", "signatures have no time: whoever sees a delivery can repeat it for ever.",
            "set [webhooks] timestamp_header and {timestamp} in signing_template, if the partner signs one",
        )  # fmt: skip
    else:
        yield Finding("webhook secret", "ok", f"set, for {signature}.")


def _disk(settings: Settings) -> Finding:
    folder = settings.data_dir
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    file = warehouse_file(settings.data_dir)
    needed = SPACE_OF_FULL * file.stat().st_size if file.exists() else 0
    shown = f"{free / _GIB:.1f} GiB are free, a full rebuild with its release needs {needed / _GIB:.1f} GiB"
    if left := bytes_in_spill(settings.data_dir):
        shown += f"; {left / _GIB:.1f} GiB in warehouse/spill were left by a kill, until the next build"
    fix = "free some, or lower [warehouse] keep_releases and [release] keep_nights"
    if free < needed:
        return Finding("disk", "failure", f"{shown}.", fix)
    if free < settings.notify.min_free_gb * 10**9:
        return Finding("disk", "warning", f"{shown}; [notify] min_free_gb is {settings.notify.min_free_gb}.", fix)
    return Finding("disk", "ok", f"{shown}.")


def _access(data_dir: Path) -> Iterator[Finding]:
    """Look for files and folders that this user cannot change; files of releases never are."""
    denied: list[str] = []

    def unlisted(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            denied.append(str(error.filename))

    for folder, _, names in os.walk(data_dir, onerror=unlisted):
        paths = [folder] if "/releases" in folder else [folder, *(f"{folder}/{name}" for name in names)]
        denied += [path for path in paths if not os.access(path, os.R_OK | os.W_OK)]
    if denied:
        text = f"this user cannot change {len(denied):,} files or folders, such as {denied[0]}."
        yield Finding("access", "failure", text, f"run as the user of {data_dir}, or `chown -R` it; is it mounted ro?")


def _erasure_log(settings: Settings) -> Finding:
    """Look whether a restore would know of erasures if the data folder's disk were lost."""
    try:
        log, last = erasure_log(settings), last_backup(settings.data_dir)
        if last is None and (log is None or not log.exists()):
            return Finding("erasure log", "ok", "the first backup will create it.")
        if log is None:
            return Finding("erasure log", "failure", "none, though there are backups.", "take another backup")
        names = read_log(log).backups
    except (PrivacyError, SettingsError) as error:
        return Finding("erasure log", "failure", f"{error}.", "mount its disk, or take a backup, which writes it again")
    if last and Path(last.path).name not in names:
        return Finding("erasure log", "failure", f"{log} does not name the last backup.", "take another backup")
    if log.stat().st_dev == settings.data_dir.stat().st_dev:
        fix = "name a file on another disk in [privacy] erasure_log, copy the log there"
        return Finding("erasure log", "warning", f"{log} is on the same disk as the data folder.", fix)
    return Finding("erasure log", "ok", f"{log} names every erasure and the last backup.")


def _data(settings: Settings) -> Iterator[Finding]:
    """Compare the data folder with its inventory; say what was not read."""
    found = compare(settings, seconds=settings.verify.read_seconds)
    for damage in found.damages:
        yield Finding("data", "failure", f"{damage.path}: {damage.what}.", damage.fix)
    if found.overdue:
        yield Finding("data", "warning", f"{found.overdue}.", "see [verify]")
    if not found.compared and (settings.data_dir / "raw").exists():
        yield Finding("data", "warning", "no inventory says what must be there.", "`ordermart run` writes one")
    elif not found.damages:
        yield Finding("data", "ok", f"{found.sentence()}.")


def _daemon(settings: Settings, now: dt.datetime) -> Finding:
    """Look when Dagster's scheduler last said that it is alive."""
    if not settings.schedule.is_on:
        return Finding("daemon", "ok", "not needed: [schedule] is_on is false.")
    file = settings.data_dir / "dagster" / "history" / "runs.db"
    fix = "start `ordermart dev`; with cron or a systemd timer instead, set [schedule] is_on = false"
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=_SECONDS)) as db:
            query = "select max(timestamp) from daemon_heartbeats where daemon_type = 'SCHEDULER'"
            (beat,) = db.execute(query).fetchone()
    except sqlite3.Error:
        beat = None
    if beat is None:
        return Finding("daemon", "warning", "Dagster's scheduler has never run on this folder.", fix)
    at = dt.datetime.fromisoformat(beat).replace(tzinfo=dt.UTC)
    if now - at > _ALIVE:
        return Finding("daemon", "warning", f"Dagster's scheduler was last alive at {at:%Y-%m-%d %H:%M:%S}Z.", fix)
    return Finding("daemon", "ok", "Dagster's scheduler is alive.")


def _last_run(settings: Settings, now: dt.datetime) -> Finding:
    is_any_alive = lock_holder(settings.data_dir) is not None
    last, hours = last_runs(settings.data_dir, is_any_alive=is_any_alive, now=now), settings.notify.max_age_hours
    if last.run is None:
        return Finding("last run", "warning", "there was none.", "`ordermart run`")
    said = f"ended at {last.run.ended_at:%Y-%m-%d %H:%M:%S}Z, {last.verdict}."
    if last.verdict != "good":
        return Finding("last run", "failure", said, "`ordermart status`, which says why")
    if last.is_stale(now, hours):
        return Finding(
            "last run", "failure", f"{said} No night was good for [notify] max_age_hours = {hours:g}.", "see daemon"
        )
    return Finding("last run", "ok", said)


def _channels(settings: Settings) -> Finding:
    if names := sorted(channels_of(settings)):
        return Finding("alarms", "ok", f"go to {' and '.join(names)}; nothing was sent to try it.")
    fix = "set ORDERMART_NOTIFY__WEBHOOK_URL or [notify] smtp_host"
    return Finding("alarms", "warning", "reach nobody: no channel is set.", fix)


def _receiver(settings: Settings) -> Finding:
    host, port = settings.webhooks.host, settings.webhooks.port
    connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        with closing(connection):
            connection.request("GET", "/health")
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        fix = "start `ordermart webhooks serve`, if the partner sends webhooks"
        return Finding("receiver", "warning", f"nothing answers on {host}:{port} ({type(error).__name__}).", fix)
    if status != http.client.OK:
        return Finding("receiver", "failure", f"answers {status} on {host}:{port}.", "see its log; restart it")
    return Finding("receiver", "ok", f"answers on {host}:{port}.")
