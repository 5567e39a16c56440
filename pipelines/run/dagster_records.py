"""Remove what Dagster keeps of old runs below its home: `delete_run` alone leaves most of it on the disk.

Of a run that ended more than [dagster] keep_days ago: its row, tags and snapshots, its events in the index and in a
database of its own, its check executions and its logs; besides, old ticks. Of a run that another one follows: which
tables it was to make, and checks that passed and were evaluated again, nine tenths of it. Reads and writes the SQLite
files of the pinned version of Dagster directly, because its own interface takes a tenth of a second a run and frees
nothing. Without those files (another storage is configured) nothing is removed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KEPT = 10  # of the newest runs, however old
_ENDED = ("SUCCESS", "FAILURE", "CANCELED")
_FREE = 0.25  # of a file that is unused before it is rewritten
_PAGE = 512  # bytes, of a run's own database once it is rewritten: its tables and indexes are many and nearly empty
_BUSY_SECONDS = 10.0
_SPARE_SECONDS = 3600  # a run that is starting has files before it has a row
_OLD_RUNS = f"""
    select run_id from runs
    where create_timestamp < ? and status in {_ENDED}
        and id not in (select id from runs order by id desc limit {_KEPT})
"""
_UNUSED_SNAPSHOTS = """
    delete from snapshots where not exists (
        select 1 from runs
        where runs.snapshot_id = snapshots.snapshot_id or instr(runs.run_body, snapshots.snapshot_id)
    )
"""
_OLD_TICKS = """
    delete from job_ticks where create_timestamp < ?
        and id not in (select max(id) from job_ticks group by selector_id, job_origin_id)
"""
_PLANNED = "dagster_event_type = 'ASSET_MATERIALIZATION_PLANNED'"
_PASSED = """
    dagster_event_type = 'ASSET_CHECK_EVALUATION' and run_id <> ? and id in (
        select evaluation_event_storage_id from asset_check_executions
        where execution_status = 'SUCCEEDED'
            and id not in (select max(id) from asset_check_executions group by asset_key, check_name)
    )
"""
_PASSED_IN_RUN = """
    dagster_event_type = 'ASSET_CHECK_EVALUATION'
        and json_extract(event, '$.dagster_event.event_specific_data.success')
"""


def trim_records(home: Path, run_id: str) -> None:
    """Remove from the records of all other runs what this run, or the state of the checks, makes superfluous."""
    folder = home / "history" / "runs"
    if not (folder / "index.db").exists():
        return
    with _changing(folder / "index.db") as db:
        planned = f"{_PLANNED} and run_id <> ?"
        others = [row[0] for row in db.execute(f"select distinct run_id from event_logs where {planned}", (run_id,))]
        db.execute(f"delete from event_logs where {planned}", (run_id,))
        db.execute(f"delete from event_logs where {_PASSED}", (run_id,))
        db.execute(
            "delete from asset_check_executions where evaluation_event_storage_id not in (select id from event_logs)"
        )
    for file in (folder / f"{other}.db" for other in others):
        if file.exists():
            with _changing(file, page=_PAGE) as db:
                db.execute(f"delete from event_logs where {_PLANNED} or {_PASSED_IN_RUN}")


def prune_records(home: Path, keep_days: float, now: dt.datetime) -> int:
    """Remove the records of runs and ticks older than so many days; return how many runs were removed."""
    before = now - dt.timedelta(days=keep_days)
    text = f"{before.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"
    runs, folder = home / "history" / "runs.db", home / "history" / "runs"
    if not runs.exists() or not (folder / "index.db").exists():
        return 0
    with _changing(runs) as db:
        old = [row[0] for row in db.execute(_OLD_RUNS, (text,))]
        db.executemany("delete from run_tags where run_id = ?", [(run_id,) for run_id in old])
        db.executemany("delete from runs where run_id = ?", [(run_id,) for run_id in old])
        db.execute(_UNUSED_SNAPSHOTS)
        left = {row[0] for row in db.execute("select run_id from runs")}
    with _changing(folder / "index.db") as db:
        db.execute("create temp table left_runs (run_id text primary key)")
        db.executemany("insert into left_runs values (?)", [(run_id,) for run_id in left])
        gone = "run_id not in (select run_id from left_runs)"
        db.execute(f"delete from event_logs where timestamp < ? and {gone}", (text,))
        db.execute(f"delete from asset_check_executions where create_timestamp < ? and {gone}", (text,))
        db.execute("delete from asset_event_tags where event_id not in (select id from event_logs)")
    schedules = home / "schedules" / "schedules.db"
    if schedules.exists():
        with _changing(schedules) as db:
            db.execute(_OLD_TICKS, (text,))
    oldest = before.timestamp() if old else min(before.timestamp(), now.timestamp() - _SPARE_SECONDS)
    _remove_files(folder, home / "storage", left, set(old), oldest)
    return len(old)


def _remove_files(folder: Path, storage: Path, left: set[str], old: set[str], before: float) -> None:
    """Remove the databases and log folders of runs that are gone."""
    for file in folder.glob("*.db*"):
        run_id = file.name.partition(".db")[0]
        if run_id != "index" and run_id not in left and (run_id in old or file.stat().st_mtime < before):
            file.unlink(missing_ok=True)
    for each in storage.iterdir() if storage.exists() else ():
        is_of_run = len(each.name) == len("00000000-0000-0000-0000-000000000000")
        if is_of_run and each.name not in left and (each.name in old or each.stat().st_mtime < before):
            shutil.rmtree(each, ignore_errors=True)


@contextlib.contextmanager
def _changing(file: Path, page: int = 0) -> Iterator[sqlite3.Connection]:
    """Open a database for one transaction; afterwards, give unused pages back to the disk where they are many.

    With `page` all pages are written again, in that size.
    """
    with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS)) as db:
        with db:
            yield db
        (free,), (pages,) = db.execute("pragma freelist_count").fetchone(), db.execute("pragma page_count").fetchone()
        with contextlib.suppress(sqlite3.OperationalError):  # in use: the next night tries again
            if page or free > pages * _FREE:
                if page:  # it cannot change while there is a write-ahead log
                    db.execute("pragma journal_mode = delete")
                    db.execute(f"pragma page_size = {page}")
                db.execute("vacuum")
            db.execute("pragma wal_checkpoint(truncate)")
