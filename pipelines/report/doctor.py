"""Examine an installation and say for each part whether it works, and what to do where it does not.

This machine: secrets, disk, lock, daemon, last run, receiver. The service is examined as `init` does.
Changes nothing, and shows neither secrets nor values of documents.
"""

import asyncio
import datetime as dt
import http.client
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from pipelines.backup.comparing import compare
from pipelines.clock import utc_now
from pipelines.examining.first import Finding
from pipelines.examining.first import examine as examine_service
from pipelines.ingest.lock import lock_holder
from pipelines.notify import active_alarms, channels_of, last_backup, next_command
from pipelines.partner.token import missing_credentials
from pipelines.privacy import PrivacyError, erasure_log, read_log
from pipelines.record import Verdict, runs
from pipelines.report.status import last_runs, lost_keys, unused_statuses
from pipelines.settings import Settings, SettingsError
from pipelines.vault import VaultError
from pipelines.vault.bodies import read_keys
from pipelines.warehouse.building.build import SPACE_OF_FULL, warehouse_file
from pipelines.warehouse.storage import bytes_in_spill

_ALIVE = dt.timedelta(minutes=2)  # a daemon that works says so every 30 seconds
_SECONDS = 3.0
_GIB = 1 << 30
_SELF = "ordermart doctor"


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
        ("alarm", lambda: (Finding("alarm", "warning", a.text, _fix(a.cause)) for a in active_alarms(data_dir))),
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


def _fix(cause: str) -> str:
    command = next_command(cause)
    return "see the other parts, and docs/OPERATIONS.md, Alarms" if command == _SELF else f"`{command}`"


def _secrets(settings: Settings) -> Iterator[Finding]:
    if missing := missing_credentials(settings.partner):
        names = ", ".join(f"ORDERMART_PARTNER__{name.upper()}" for name in missing)
        said = f"{names} missing or not valid text."
        yield Finding("credentials", "failure", said, "set them, or the same with _FILE")
    else:
        yield Finding("credentials", "ok", "the request for a token has all that it needs.")
    try:
        read_keys(settings)
        yield Finding("vault keys", "ok", "both are set and well formed.")
    except VaultError as error:
        advice = "`ordermart vault generate-keys` for a new vault, else restore"
        yield Finding("vault keys", "failure", f"{error}.", advice)
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
    said = f"ended at {last.run.ended_at:%Y-%m-%d %H:%M:%S}Z, {last.run_state}."
    if last.run_state != "good":
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
