"""Before a run: check what needs no service, bring the data folder to its present format, rebuild what can be derived.

Raises nothing for what it cannot rebuild: the run itself says so where it needs it, and goes on with the rest.
Keys, credentials, rules and files that it was given are checked first: a night that ends with such an error after an
hour of requests is a night lost.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pipelines.clock import utc_now
from pipelines.engines import engine_of
from pipelines.finance.periods import fiscal_periods
from pipelines.finance.released import FinanceError
from pipelines.finance.restating import build_and_record
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.plan import ids_of_file, ids_of_range
from pipelines.landing import LandingError
from pipelines.landing.data_folder import migrate
from pipelines.landing.index import clock_set_back
from pipelines.ledger import LedgerError
from pipelines.ledger.signed_head import sign_missing_heads
from pipelines.partner import PartnerMisconfigured
from pipelines.partner.token import authenticate_request
from pipelines.privacy import PrivacyError, finish_erasure, remove_old_releases
from pipelines.record import NIGHT, WEBHOOKS, current_release
from pipelines.report.text import moment
from pipelines.settings import SettingsError
from pipelines.settings.kinds import KINDS
from pipelines.vault import VaultError
from pipelines.vault.keys import read_keys
from pipelines.warehouse import BuildBlocked, publish, warehouse_file
from pipelines.warehouse.building.build import short, unreadable
from pipelines.warehouse.evidence.candidates import unknown_rules
from pipelines.warehouse.inputs.landed import MissingDocumentError
from pipelines.warehouse.release.manifest import damaged_files
from pipelines.warehouse.release.release import DATABASE
from pipelines.warehouse.release.retention import make_room
from pipelines.warehouse.rows.session import attached, fingerprint_of, remembered, session
from pipelines.warehouse.storage import NotOpenedError

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable

    from pipelines.record import RunKind
    from pipelines.settings import Settings


def check_before_run(settings: Settings, id_files: Iterable[str] = (), order_id_range: str = "") -> None:
    """Raise SettingsError for the first thing that is wrong with the settings or the files of ids."""
    for file in id_files:
        for _ in ids_of_file(Path(file)) if file else ():
            pass
    if order_id_range:
        ids_of_range(order_id_range)
    try:
        read_keys(settings)
        authenticate_request(settings.partner)
    except (VaultError, PartnerMisconfigured) as error:
        raise SettingsError(str(error)) from None
    fiscal_periods(settings)
    engine_of(settings)
    for complaint in unknown_rules(settings):
        raise SettingsError(complaint)


_WHY = "work list rebuilt"


def heal(
    settings: Settings,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    kind: RunKind = NIGHT,
    resumes: dt.datetime | None = None,
) -> list[str]:
    """Repair what can be derived, and return a sentence for each thing that was found; one for a clock set back too.

    `resumes` is when the killed run began that this one resumes. The caller holds the lock.
    """
    notes = migrate(settings.data_dir)
    if resumes:
        notes.append(f"The run that began {moment(resumes)} did not end; this one resumes it.")
    if behind := clock_set_back(settings.data_dir):
        notes.append(behind)
    if kind == NIGHT:
        make_room(settings)
    is_lost = _set_work_list_aside(inbox_path(settings.data_dir), notes)
    try:
        sign_missing_heads(settings)
        finish_erasure(settings, progress)
        notes += _derived(settings, progress, kind)
        remove_old_releases(settings)
    except (
        LandingError,
        LedgerError,
        PrivacyError,
        VaultError,
        FinanceError,
        MissingDocumentError,
        BuildBlocked,
    ) as error:
        notes.append(f"What is damaged could not be rebuilt: {error}")
    if is_lost:
        notes.append(_refill(settings))
    return notes


def _derived(settings: Settings, progress: Callable[[str, int, int], None] | None, kind: RunKind) -> list[str]:
    """Rebuild a warehouse that is damaged or of another version, and publish a damaged release again."""
    notes: list[str] = []
    release = current_release(settings.data_dir / "published")
    by_times = kind == WEBHOOKS
    is_release_damaged = bool(release and (damaged_files(release, by_times=by_times) or unreadable(release / DATABASE)))
    if not warehouse_file(settings.data_dir).exists() and not release:
        return notes
    if why := _must_be_rebuilt(settings):
        result = build_and_record(settings, progress=progress)
        notes += result.notes or (f"{why}; all tables were rebuilt from raw.",)
        is_release_damaged = True  # what follows reads the release: it must be of this version
    if is_release_damaged:
        notes += publish(settings).notes
    return notes


def _must_be_rebuilt(settings: Settings) -> str:
    """Return why the warehouse must be rebuilt before anything reads it; "" where it need not."""
    file = warehouse_file(settings.data_dir)
    if not file.exists():
        return "The warehouse file was missing"
    try:
        with duckdb.connect(":memory:") as con, attached(con, file):
            memory = remembered(con)
    except NotOpenedError:
        return ""  # the build says so if it still is
    except duckdb.Error as error:
        return f"The warehouse file was damaged ({short(error)})"
    if memory is None:
        return "The warehouse was built by another version"
    now = fingerprint_of(settings)
    changed = [name for name in now if name != "the settings" and memory.fingerprint.get(name) != now[name]]
    return f"The warehouse was built by another version ({' and '.join(changed)} changed)" if changed else ""


def damage_of(path: Path) -> str:
    """Return why SQLite cannot read a file; "" where it can, or there is none, or it is only locked."""
    if not path.exists():
        return ""
    try:
        with closing(sqlite3.connect(path)) as connection:
            (found,) = connection.execute("pragma quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        return ""  # locked, or the disk is full: not damaged
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else str(found)


def set_aside(path: Path) -> Path:
    """Rename a damaged file or folder, and return its new path."""
    return path.rename(path.with_name(f"{path.name}.damaged-{utc_now():%Y%m%dT%H%M%S}"))


def _set_work_list_aside(path: Path, notes: list[str]) -> bool:
    """Rename a work list that SQLite cannot read, and say what went with it; tell whether it was."""
    if not (found := damage_of(path)):
        return False
    target = set_aside(path)
    for left in (path.with_name(path.name + end) for end in ("-wal", "-shm")):
        left.unlink(missing_ok=True)
    notes.append(
        f"The work list was damaged ({found}) and set aside as {target}. Lost with it: ids that were asked for and not "
        "fetched yet, the log of webhooks and of plans. Give files of order ids again."
    )
    return True


def _refill(settings: Settings) -> str:
    """Put the ids that the warehouse knows to be unfetched, or refused last time, on a new work list."""
    file = warehouse_file(settings.data_dir)
    added = 0
    with WorkList(inbox_path(settings.data_dir)) as work:
        if file.exists():
            with session(settings) as con, attached(con, file):
                rows = con.execute(
                    """
                    select kind, id from warehouse.build.states
                    where id is not null and (sha256 is null or last_verdict in ('failed', 'quarantined'))
                    """
                ).fetchall()
            for kind in KINDS:
                added += work.add(kind, [number for name, number in rows if name == kind], why=_WHY)
    return f"A new work list was made from raw: {added} ids are due that failed or were refused last time."
