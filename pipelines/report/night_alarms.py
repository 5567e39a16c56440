"""Decide after a run which alarms there are; texts hold counts, settings and commands, never a text of the partner.

| cause | raised when |
|---|---|
| run_failed | a night failed or could not begin; over after the next night |
| run_failed:due | a run for webhooks failed |
| outage | the service gave no usable answer for too long |
| incomplete:KIND | stores, menus or orders could not all be fetched, or what came is doubtful |
| new_failures:RELEASE | a release had quarantined or failed ids that the one before had not, and some still are |
| disk | less than [notify] min_free_gb is free below [data] dir |
| silence | no document was observed for [notify] silence_hours |
| verification | a sample that was rebuilt from raw differs from the warehouse or the release |
| rule_changed | orders show another formula than in the release before |

Knows nothing of channels or of Dagster.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
from typing import TYPE_CHECKING

import duckdb

from pipelines.clock import utc_now
from pipelines.ingest.lock import RunLockedError, run_lock
from pipelines.notify import Alarm, NotifyError, beat, channels_of, record_run, standing, update_alarms
from pipelines.report.text import counted
from pipelines.report.unresolved import unresolved
from pipelines.warehouse import warehouse_file
from pipelines.warehouse.inputs.verifications import verifications
from pipelines.warehouse.release.need import deferred_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.settings import Settings

_ALWAYS = ("run_failed:due", "outage", "disk")
_AFTER_NIGHT = ("run_failed", "incomplete")
_AFTER_SUCCESS = ("new_failures", "silence", "verification", "rule_changed")
_GB = 10**9
_REFUSED = "select kind, entity_id, reason from audit.quarantine where is_unresolved"
_RECEIVED = "select max(last_observed_at) from audit.loads where not is_backfill"
_RULES = "select rule_target, scope, rule from audit.formula_populations where rule is not null"


def after_run(
    settings: Settings,
    *,
    succeeded: bool,
    is_new: bool,
    is_outage: bool = False,
    incomplete: Mapping[str, Sequence[str]] | None = None,
    errors: Sequence[str] = (),
    is_nightly: bool = True,
    now: dt.datetime | None = None,
) -> list[str]:
    """Record a run, send what changed about alarms, call the heartbeat after a good night; return what failed of it.

    `is_new` says that the run published another release, `incomplete` why a kind is not up to date, `errors` why the
    run failed, without texts of libraries. A run that is not nightly does not request everything: it ends no alarm
    about a night, and is not good while one about an incomplete kind stands.
    """
    now = now or utc_now()
    alarms = list(_alarms(settings, succeeded=succeeded, is_new=is_new, now=now))
    if is_outage:
        text = "The partner service gave no usable answer for too long; `ordermart run` resumes the run."
        alarms.insert(0, Alarm("outage", text))
    elif not succeeded:
        alarms.insert(0, _failure(errors, is_nightly=is_nightly))
    for kind, sentences in (incomplete or {}).items():
        why = "; ".join(sentence.rstrip(".") for sentence in sentences)
        alarms.append(Alarm(f"incomplete:{kind}", f"The {kind} are not up to date: {why}."))
    did = (
        "It published a release."
        if is_new
        else "It published nothing."
        if not succeeded
        else "Its changes wait for the next release."
        if deferred_until(settings.data_dir / "published")
        else "There was nothing to publish."
    )
    sentence = " ".join([did, *_said(settings.data_dir, alarms)])
    is_good = succeeded and not incomplete and (is_nightly or not _is_incomplete(settings.data_dir))
    looked_at = {*_ALWAYS, *(_AFTER_SUCCESS if succeeded else ()), *(_AFTER_NIGHT if succeeded and is_nightly else ())}
    failures = []
    try:
        record_run(
            settings.data_dir, sentence, is_good=is_good, has_failed=not succeeded, is_nightly=is_nightly, now=now
        )
    except OSError as error:  # the disk is full: alarms are sent all the same
        failures.append(f"the run could not be recorded: {error.strerror}")
    failures += update_alarms(settings.data_dir, alarms, channels_of(settings), looked_at=looked_at, now=now)
    if is_good and is_nightly:
        try:
            beat(settings)
        except NotifyError as error:
            failures.append(str(error))
    return failures


def _said(data_dir: Path, alarms: Sequence[Alarm]) -> list[str]:
    """Return what a run says of its alarms: ids that failed in earlier runs have an alarm that stands, and no word."""
    earlier = {alarm.cause for alarm in standing(data_dir) if alarm.cause.startswith("new_failures:")}
    said = [alarm.text for alarm in alarms if alarm.cause not in earlier]
    return said or ["No new alarms." if alarms else "No alarms."]


def _failure(errors: Sequence[str], *, is_nightly: bool) -> Alarm:
    what, cause = ("night", "run_failed") if is_nightly else ("run for webhooks", "run_failed:due")
    why = f": {errors[0].rstrip('.')}" if errors else ""
    more = f" (and {counted(len(errors) - 1, 'error', 'errors')} more)" if len(errors) > 1 else ""
    return Alarm(cause, f"The last {what} failed, and the previous release stays current{why}{more}.")


def _alarms(settings: Settings, *, succeeded: bool, is_new: bool, now: dt.datetime) -> Iterator[Alarm]:
    free = shutil.disk_usage(settings.data_dir).free / _GB
    if free < settings.notify.min_free_gb:
        yield Alarm(
            "disk", f"{free:.1f} GB are free below [data] dir; [notify] min_free_gb is {settings.notify.min_free_gb}."
        )
    current, before = _releases(settings)
    if current is None or not succeeded:
        return
    refused, rules, received = _rows(_file(current), _REFUSED, _RULES, _RECEIVED)
    refused_before, rules_before = _rows(_file(before), _REFUSED, _RULES) if before and is_new else (set(), set())
    new = refused - refused_before if is_new else set()
    for each in unresolved(settings, current.name, new, refused, now):
        ids = counted(each.count, "id was", "ids were")
        yield Alarm(
            f"new_failures:{each.release}",
            f"{ids} newly quarantined or failed in release {each.release}: see audit.quarantine.",
        )
    yield from _of_release(settings, received, now)
    if is_new and before and (changed := rules ^ rules_before):
        yield Alarm(
            "rule_changed",
            f"Orders show other formula rules than before ({len(changed):,} changes): see audit.formula_populations.",
        )


def _is_incomplete(data_dir: Path) -> bool:
    return any(alarm.cause.startswith("incomplete:") for alarm in standing(data_dir))


def _of_release(settings: Settings, received: set[tuple[object, ...]], now: dt.datetime) -> Iterator[Alarm]:
    hours = settings.notify.silence_hours
    since = now - dt.timedelta(hours=hours)
    if hours and not _any_after(since, received) and _is_silent(settings.data_dir, since):
        yield Alarm(
            "silence", f"No document was received for {hours:g} hours: is the service reachable, the schedule on?"
        )
    latest = {(v.part, v.first_order_id, v.business_date): v for v in verifications(settings.data_dir)}
    wrong = [each for each in latest.values() if not each.is_proven]
    if wrong:
        yield Alarm(
            "verification",
            f"{len(wrong):,} verified parts differ from a rebuild: see audit.verifications, `ordermart build --full`.",
        )


def _any_after(since: dt.datetime, times: set[tuple[object, ...]]) -> bool:
    return any(isinstance(at, dt.datetime) and at >= since for (at,) in times)


def _is_silent(data_dir: Path, since: dt.datetime) -> bool:
    """Tell whether the warehouse has no document since then: loads that changed nothing are not in a release yet.

    Under the lock, because a run could not write to the file meanwhile; false while one holds it, which will tell.
    """
    try:
        with run_lock(data_dir, "a look for the last document"):
            return not _any_after(since, *_rows(warehouse_file(data_dir), _RECEIVED))
    except RunLockedError:
        return False


def _releases(settings: Settings) -> tuple[Path | None, Path | None]:
    """Return the current release and the one before it, as far as there are any."""
    link = settings.data_dir / "published" / "current"
    if not link.exists():
        return None, None
    current = link.resolve()
    older = [folder for folder in sorted(current.parent.iterdir()) if folder.name < current.name]
    return current, older[-1] if older and (older[-1] / "ordermart.duckdb").exists() else None


def _file(release: Path) -> Path:
    return release / "ordermart.duckdb"


def _rows(file: Path, *queries: str) -> list[set[tuple[object, ...]]]:
    """Return the rows of each query; none of a file that another process is writing, or of an older version."""
    found: list[set[tuple[object, ...]]] = [set() for _ in queries]
    with (
        contextlib.suppress(duckdb.CatalogException, duckdb.IOException),
        duckdb.connect(str(file), read_only=True) as db,
    ):
        db.execute("set timezone = 'UTC'")
        for rows, query in zip(found, queries, strict=True):
            with contextlib.suppress(duckdb.CatalogException):
                rows.update(db.execute(query).fetchall())
    return found
