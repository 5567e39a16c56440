"""A run under way: it holds the run lock and writes its record; when it ends, whatever the outcome, it is reported."""

import sqlite3
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb

from pipelines import record
from pipelines.clock import utc_now
from pipelines.durable import naming_a_full_disk
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.ingest_session import PartnerSession, current_stop
from pipelines.ingest.lock import A_MOMENT, RunLockedError, run_lock
from pipelines.ingest.loop import add_requested
from pipelines.landing.data_folder import guard_source
from pipelines.report.status import lost_keys, refused, unused_statuses
from pipelines.report.text import sentence_of
from pipelines.run.reporting import RunReport, report_dead_runs, report_run
from pipelines.run.steps import STEPS, check_before_run, steps_of
from pipelines.settings import Settings, given_keys
from pipelines.warehouse.rows.fresh_rows import BuildResult, CheckResult

Progress = Callable[[str, int, int], None]

COMMAND = "ordermart run"
_A_NIGHT_WAITS = timedelta(minutes=30)


@dataclass(frozen=True)
class RunRequest:
    """Requests of a run besides due ids: files of ids, and a range."""

    order_ids: str = ""
    order_id_range: str = ""
    menu_ids: str = ""


NOTHING = RunRequest()


def note_requested(data_dir: Path, asked: RunRequest) -> bool:
    """Put the requested ids on the work list, before anything can fail; tell whether it could be written."""
    with suppress(sqlite3.Error):
        if asked != NOTHING:
            with WorkList(inbox_path(data_dir)) as work:
                add_requested(
                    work,
                    order_ids_file=asked.order_ids,
                    order_id_range=asked.order_id_range,
                    menu_ids_file=asked.menu_ids,
                )
        return True
    return False  # damaged: the run sets it aside first


class NotBegunError(Exception):
    """A run could not begin; it is told, and the cause says why."""

    def __init__(self, run: record.Run, told: RunReport) -> None:
        self.run, self.told = run, told
        super().__init__(run.error)


class UnderWay:
    """A run whose steps are done one by one. `result` and `checks` are of its build; `told` is set at its end."""

    def __init__(
        self,
        settings: Settings,
        run: record.Run,
        partner: PartnerSession,
        asked: RunRequest,
        progress: Progress,
        *,
        keeps: bool,
    ) -> None:
        self.settings, self.run, self.partner, self.asked, self.progress = settings, run, partner, asked, progress
        self.result: BuildResult | None = None
        self.checks: list[CheckResult] = []
        self.told = RunReport()
        self._keeps = keeps
        self._refused: set[tuple[Any, ...]] | None = None
        with suppress(duckdb.Error):  # a damaged release: known once it was published again
            self._refused = refused(settings)
        run.release_before = _release_name(settings)
        self._save()

    def do(self, name: str) -> record.Step:
        """Do a step, and return its record; raise what it raises, KeyboardInterrupt after a signal."""
        step = record.Step(name, utc_now())
        self.run.steps.append(step)
        self._save()
        try:
            with naming_a_full_disk(self.settings.data_dir):
                STEPS[name](self, step)
        except Exception as error:
            if current_stop().signal:
                self._stopped()
                raise KeyboardInterrupt from error
            step.error = sentence_of(error) or "failed, see the log"
            raise
        except BaseException:
            self._stopped()
            raise
        finally:
            if not self.run.stopped_by:
                step.ended_at = utc_now()
            self._save()
        if name == "heal" and self._refused is None:
            self._refused = refused(self.settings)
        return step

    def end(self) -> None:
        """Write how the run ended, and tell of it; of one that was stopped the next one tells."""
        run = self.run
        if not run.errors and [step.name for step in run.steps if step.ended_at] != steps_of(run.kind):
            self._stopped()
        run.release = _release_name(self.settings)
        run.ended_at = utc_now()
        if run.did_all_steps:
            run.doubts += unused_statuses(self.settings)
            try:
                now = refused(self.settings)
                run.refused, run.newly_refused = len(now), len(now - (self._refused or set()))
            except duckdb.Error:
                run.steps[-1].error = "the current release cannot be read; the next run publishes it again"
        self._save()
        if self._keeps and not run.stopped_by:
            self.told = report_run(self.settings, run)

    def _stopped(self) -> None:
        signal = current_stop().signal
        self.run.stopped_by = self.run.stopped_by or (signal.name if signal else "an interruption")

    def _save(self) -> None:
        if self._keeps:
            with suppress(OSError):  # the disk is full: telling says so
                record.save(self.settings.data_dir, self.run)


@contextmanager
def begun(
    settings: Settings,
    kind: record.RunKind,
    asked: RunRequest = NOTHING,
    progress: Progress = lambda _what, _done, _total: None,
    *,
    say: Callable[[str], None] = lambda _: None,
    holder: str = COMMAND,
    dagster_run_id: str = "",
    keeps: bool = True,
) -> Iterator[UnderWay]:
    """Begin a run, give it, and end it: what follows the steps of a run is the same for all who do them.

    A night waits half an hour for the lock; `say` gets the sentence on that. Raise NotBegunError where the run cannot
    begin. `keeps` is false for steps that somebody runs singly: they have no record and are not told.
    """
    with ExitStack() as stack:
        run = record.new_run(kind, dagster_run_id=dagster_run_id)
        try:
            check_before_run(settings, (asked.order_ids, asked.menu_ids), asked.order_id_range)
            wait = _A_NIGHT_WAITS if kind == record.NIGHT else A_MOMENT
            with naming_a_full_disk(settings.data_dir):
                try:
                    stack.enter_context(run_lock(settings.data_dir, holder, wait=wait, say=say))
                except RunLockedError:
                    note_requested(settings.data_dir, asked)  # for the next run
                    raise
                guard_source(settings)
                known = report_dead_runs(settings)
            run = record.new_run(kind, dagster_run_id=dagster_run_id)
            run.resumes = record.resumable_since(known, utc_now())
            is_noted = run.resumes is None and note_requested(settings.data_dir, asked)
            run.keys, run.doubts = sorted(given_keys(settings.file, {})), list(lost_keys(settings, known))
            record.forget_old(settings.data_dir)
            partner = stack.enter_context(PartnerSession(settings))
            way = UnderWay(settings, run, partner, NOTHING if is_noted else asked, progress, keeps=keeps)
        except Exception as error:
            raise _not_begun(settings, run, error) from error
        try:
            yield way
        finally:
            way.end()


def perform(
    settings: Settings,
    kind: record.RunKind,
    asked: RunRequest = NOTHING,
    progress: Progress = lambda _what, _done, _total: None,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[record.Run, RunReport]:
    """Do all steps of a run in this process; return its record, and what could not be told.

    A step that fails ends the run and raises nothing; an error that is not of this project is shown with its stack.
    Raise NotBegunError where it cannot begin, and KeyboardInterrupt if a signal stopped it.
    """
    with begun(settings, kind, asked, progress, say=say) as way:
        try:
            for name in steps_of(kind):
                way.do(name)
        except Exception as error:  # noqa: BLE001 -- the record has it
            if sentence_of(error) is None:
                traceback.print_exc()
    return way.run, way.told


def _not_begun(settings: Settings, run: record.Run, error: Exception) -> NotBegunError:
    """Tell of a run that could not begin; for a run for webhooks, another one under way is no failure."""
    run.error = sentence_of(error) or f"{type(error).__name__}, see the log"
    run.error_code = record.code_of_error(error)
    run.release = run.release_before = _release_name(settings)
    run.ended_at = utc_now()
    is_missed = settings.data_dir.exists() and not (run.kind == record.WEBHOOKS and isinstance(error, RunLockedError))
    return NotBegunError(run, report_run(settings, run) if is_missed else RunReport())


def _release_name(settings: Settings) -> str:
    release = record.current_release(settings.data_dir / "published")
    return release.name if release else ""
