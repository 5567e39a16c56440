"""Decide after a run which alarms there are; texts hold counts, settings and commands, never a text of the partner.

| cause | raised when |
|---|---|
| run_failed | a night failed, was killed or stopped, or could not begin; over after the next night |
| run_failed:webhooks | a run for webhooks did |
| outage | the service gave no usable answer for too long; the text names the kinds that are old for it |
| incomplete:KIND | for another reason, stores, menus or orders could not all be fetched, or what came is doubtful |
| settings | the settings file lost keys, or no order has a status that counts as a sale |
| no_good_night | no night was good for [notify] max_age_hours: a run, the receiver, a sensor or `status` sees it |
| new_failures | releases had quarantined or failed ids that the ones before had not, and some still are |
| disk | less than [notify] min_free_gb is free below [data] dir |
| silence | no document was observed for [notify] silence_hours |
| damaged | a file that cannot be rebuilt is missing, damaged or older than the inventory has it |
| verification | the last night could not verify a sample, or one differs from the warehouse or the release |
| models | tables of [models] could not be made, and have their last rows |
| rule_changed | orders show another formula than in the release before |

The ids that each release newly had as quarantined or failed are kept in `data/notify/new_failures.json` until all of
them are resolved; not those without an id, and none for longer than the bytes of a quarantined body.
"""

import datetime as dt
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pipelines import notify
from pipelines.clock import utc_now
from pipelines.ingest.lock import RunLockedError, run_lock
from pipelines.record import COPYING, NIGHT, VERIFYING, Run, current_release, release_before, runs, save
from pipelines.report.text import counted
from pipelines.settings import Settings
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.inputs.sources import verifications
from pipelines.warehouse.release.manifest import deferred_until

Rows = set[tuple[Any, ...]]

_NEW = "new_failures"
_ALWAYS = ("disk", notify.NO_GOOD_NIGHT)
_AFTER_ANSWERS = ("run_failed:webhooks", "outage:webhooks")
_AFTER_NIGHT = ("run_failed", "outage", "incomplete", "damaged", "settings")
_AFTER_SUCCESS = (_NEW, "silence", "verification", "rule_changed", "models", "copies")
_GB = 10**9
_REFUSED = "select kind, entity_id, reason from audit.quarantine where is_unresolved"
_RECEIVED = "select max(last_observed_at) from audit.loads where not is_backfill"
_MODELS = "select model_name from meta.models where problem is not null"
_MODELS_SEE = "See meta.models, `ordermart models check`."
_RULES = "select rule_target, scope, rule from audit.formula_populations where rule is not null"


def after_run(
    settings: Settings, run: Run, now: dt.datetime | None = None, write_page: Callable[[], str] = lambda: ""
) -> list[str]:
    """Record the sentence about a run, send what changed about alarms, write the page, call the heartbeat.

    A night without a page, of which `write_page` says why, is not good, and has no heartbeat. Return what failed. A run
    for webhooks does not request everything: it ends no alarm about a night.
    """
    now = now or utc_now()
    alarms = [*_of_run(settings.data_dir, run), *notify.no_good_night(settings, now, run), *_alarms(settings, run, now)]
    run.sentence = " ".join([_did(settings, run), *_said(settings.data_dir, run, alarms)])
    failures = []
    try:
        save(settings.data_dir, run)
    except OSError as error:  # the disk is full: alarms are sent all the same
        failures.append(f"The record of the run could not be written: {error.strerror}.")
    is_night = run.kind == NIGHT
    evaluated_causes = {
        *_ALWAYS,
        *(_AFTER_ANSWERS if run.did_all_steps and any(map(sum, map(dict.values, run.landed.values()))) else ()),
        *(_AFTER_SUCCESS if run.did_all_steps else ()),
        *(_AFTER_NIGHT if run.did_all_steps and is_night else ()),
    }
    failures += notify.update_alarms(
        settings.data_dir, alarms, notify.channels_of(settings), evaluated_causes=evaluated_causes, now=now
    )
    run.unwritten = write_page()
    if run.run_state == "good" and is_night:
        try:
            notify.beat(settings)
        except notify.NotifyError as error:
            failures.append(f"The heartbeat could not be sent: {error}.")
    return failures


def _of_run(data_dir: Path, run: Run) -> Iterator[notify.Alarm]:
    """Yield the alarms that follow from the record of a run alone: one for each cause, not for each of its effects."""
    stands = {alarm.cause for alarm in notify.active_alarms(data_dir)}
    suffix = "" if run.kind == NIGHT else f":{run.kind}"
    if run.is_outage or not run.did_all_steps:
        if suffix and stands & {"outage", "run_failed"}:
            return  # the night's alarm stands
        kinds = " and ".join(step.name for step in run.steps if step.is_outage)
        text = f"The partner service gave no usable answer for too long: {kinds} are not up to date"
        outage = notify.Alarm(f"outage{suffix}", f"{text}; `ordermart run` resumes the run.")
        yield outage if run.is_outage else _failure(run)
    if run.doubts:
        yield notify.Alarm("settings", f"Settings look wrong: {'; '.join(run.doubts)}.")
    if not run.did_all_steps:
        return
    of_outage = {step.name for step in run.steps if step.is_outage}
    for kind, sentences in run.incomplete.items():
        if kind not in of_outage:
            why = "; ".join(sentence.rstrip(".") for sentence in sentences)
            yield notify.Alarm(f"incomplete:{kind}", f"The {kind} are not up to date: {why}.")
    if run.damaged:
        files = counted(len(run.damaged), "file is", "files are")
        yield notify.Alarm("damaged", f"{files} damaged, such as {run.damaged[0]} See `ordermart inventory`.")


def _did(settings: Settings, run: Run) -> str:
    if run.is_new:
        return "It published a release."
    if not run.did_all_steps:
        return "It published nothing."
    if deferred_until(settings.data_dir / "published"):
        return "Its changes wait for the next release."
    return "There was nothing to publish."


def _said(data_dir: Path, run: Run, alarms: Sequence[notify.Alarm]) -> list[str]:
    """Return a run's sentences about its alarms; ids that failed only in earlier runs have an active one already."""
    is_earlier = not run.newly_refused and any(alarm.cause == _NEW for alarm in notify.active_alarms(data_dir))
    said = [alarm.text for alarm in alarms if alarm.cause != _NEW or not is_earlier]
    return said or ["No new alarms." if alarms else "No alarms."]


def _failure(run: Run) -> notify.Alarm:
    what, cause = ("night", "run_failed") if run.kind == NIGHT else ("run for webhooks", "run_failed:webhooks")
    if run.stopped_by:
        return notify.Alarm(cause, f"The last {what} {run.how}; what had landed is kept, and the next run resumes it.")
    errors = run.errors
    more = f" (and {counted(len(errors) - 1, 'error', 'errors')} more)" if len(errors) > 1 else ""
    why = f"{errors[0].rstrip('.')}{more}"
    return notify.Alarm(cause, f"The last {what} failed, and the previous release stays current: {why}.")


def _alarms(settings: Settings, run: Run, now: dt.datetime) -> Iterator[notify.Alarm]:
    is_new = run.is_new
    if (free := shutil.disk_usage(settings.data_dir).free / _GB) < settings.notify.min_free_gb:
        said = f"{free:.1f} GB are free below [data] dir"
        yield notify.Alarm("disk", f"{said}; [notify] min_free_gb is {settings.notify.min_free_gb}.")
    current = current_release(settings.data_dir / "published")
    before = release_before(current) if current else None
    if current is None or not run.did_all_steps:
        return
    refused, rules, received, wrong = _rows(current / "ordermart.duckdb", _REFUSED, _RULES, _RECEIVED, _MODELS)
    refused_before, rules_before = (
        _rows(before / "ordermart.duckdb", _REFUSED, _RULES) if before and is_new else (set(), set())
    )
    new = refused - refused_before if is_new else set()
    if found := unresolved(settings, current.name, new, refused, now):
        ids = counted(sum(each.count for each in found), "id was", "ids were")
        where = " to ".join(sorted({found[0].release, found[-1].release}))
        yield notify.Alarm(
            _NEW, f"{ids} newly quarantined or failed in release{'s' * (len(found) > 1)} {where}: see audit.quarantine."
        )
    hours = settings.notify.silence_hours
    since = now - dt.timedelta(hours=hours)
    if hours and not _any_after(since, received) and _is_silent(settings.data_dir, since):
        why = "is the service reachable, the schedule on?"
        yield notify.Alarm("silence", f"No document was received for {hours:g} hours: {why}")
    night = next((e for e in (run, *reversed(runs(settings.data_dir))) if e.kind == NIGHT), run)
    yield from _of_verification(settings.data_dir, night)
    if failed := [each.partition(": ")[2] for each in night.undone if each.startswith(COPYING)]:
        yield notify.Alarm("copies", f"The release was not copied everywhere: {failed[0].removeprefix('CopyError: ')}")
    if wrong:
        names = ", ".join(sorted(str(row[0]) for row in wrong)[:5])
        what = counted(len(wrong), "own table or check is", "own tables or checks are")
        yield notify.Alarm("models", f"{what} not made: {names}. {_MODELS_SEE}")
    if is_new and before and (changed := rules ^ rules_before):
        said = f"Orders show other formula rules than before ({len(changed):,} changes): see audit.formula_populations."
        yield notify.Alarm("rule_changed", said)


def _of_verification(data_dir: Path, night: Run) -> Iterator[notify.Alarm]:
    """Yield the alarm of parts that differ; else of the last night's verification, if it failed, whatever the error."""
    latest = {(v.part, v.first_order_id, v.business_date): v for v in verifications(data_dir)}
    wrong = [each for each in latest.values() if not each.is_proven]
    failed = [each for each in night.undone if each.startswith(VERIFYING)]
    if wrong:
        text = f"{len(wrong):,} verified parts differ from a rebuild, or were unreadable: see audit.verifications, "
        yield notify.Alarm("verification", f"{text}`ordermart build --full`.")
    elif failed:
        yield notify.Alarm("verification", f"The nightly verification failed: {failed[0]}. See `ordermart verify`.")


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


def _rows(file: Path, *queries: str) -> list[set[tuple[object, ...]]]:
    """Return the rows of each query; none of a file that another process is writing, or of an older version."""
    found: list[set[tuple[object, ...]]] = [set() for _ in queries]
    with suppress(duckdb.CatalogException, duckdb.IOException), duckdb.connect(str(file), read_only=True) as db:
        db.execute("set timezone = 'UTC'")
        for rows, query in zip(found, queries, strict=True):
            with suppress(duckdb.CatalogException):
                rows.update(db.execute(query).fetchall())
    return found


@dataclass(frozen=True)
class Unresolved:
    """What a release newly had as quarantined or failed: when that was, how much, and the ids that still are."""

    release: str
    since: dt.datetime
    count: int
    ids: list[tuple[str, int]]


def unresolved(settings: Settings, release: str, new: Rows, refused: Rows, now: dt.datetime) -> list[Unresolved]:
    """Add the release's `new` rows to those remembered, and return what of these is in `refused`, all that are now."""
    file = settings.data_dir / "notify" / "new_failures.json"
    kept = before = notify.read_json(file, list[Unresolved]) or []
    if new:
        kept = [*(each for each in kept if each.release != release), Unresolved(release, now, len(new), _ids(new))]
    oldest = now - dt.timedelta(days=settings.vault.quarantine_retention_days)
    still = set(_ids(refused))
    found = [
        Unresolved(each.release, each.since, each.count, [id_ for id_ in each.ids if id_ in still])
        for each in kept
        if each.since > oldest
    ]
    if (left := [each for each in found if each.ids]) != before:
        with suppress(OSError):  # the disk is full: the alarm is sent all the same
            notify.write_json(file, left)
    return [each for each in found if each.ids or (new and each.release == release)]


def _ids(rows: Rows) -> list[tuple[str, int]]:
    return sorted({(row[0], row[1]) for row in rows if row[1] is not None})
