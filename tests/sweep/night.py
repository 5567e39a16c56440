"""One unattended night, every stage by the code that `ordermart run` uses, and what must be the same after it.

Stages: webhooks, healing, ingestion, build, restatements, release, maintenance with merging and verifying, control
totals, a backup. The next run repeats it after a kill.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import threading
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.backup import back_up
from pipelines.finance import closing
from pipelines.finance.closing import build_and_record
from pipelines.finance.released import one_day
from pipelines.inbox.store import Committer, Notification, WebhookDelivery, inbox_path, micros
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import run_lock
from pipelines.landing.raw_folder import raw_files
from pipelines.ledger import HEADER, effective_totals, import_totals, ledger_of, verify
from pipelines.record import NIGHT, current_release
from pipelines.run.steps import run_maintenance
from pipelines.run.under_way import COMMAND, RunRequest, begun
from pipelines.settings import load_settings
from pipelines.settings.kinds import KINDS
from pipelines.vault import open_vault
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.release.manifest import damaged_files
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pipelines.run.under_way import UnderWay
    from pipelines.settings import Settings

WEBHOOKS = 3
# Logs of requests, loads and runs: a night that was killed made more of them than one that was not.
LOGS = {
    "audit.coverage",
    "workings.daily_fetch_outcomes",
    "audit.fetches",
    "workings.load_notes",
    "audit.loads",
    "audit.quarantine",
    "workings.question_figures",  # counts requests
    "audit.questions",  # counts requests and loads
    "audit.service_behaviour",
    "audit.verifications",
}

# Hours between creation and the night: the same in two nights at once, another in a later one.
AGES = {"audit.status_evidence.median_age_hours"}


def settings_of(place: Path, base_url: str) -> Settings:
    """Return the settings of the world in a folder."""
    return load_settings(
        place / "ordermart.toml",
        {
            "ORDERMART_PARTNER__BASE_URL": base_url,
            "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
            "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
            "ORDERMART_VAULT__KEY_FILE": str(place / "keys.json"),
            "ORDERMART_WAREHOUSE__THREADS": "1",
            "ORDERMART_VERIFY__SECONDS": "1",
        },
    )


def first_night(place: Path, settings: Settings, ids: Path) -> None:
    """Fill an empty data folder, and close the day of its first order: what changes later is a restatement."""
    _heal_and_ingest(place, settings, ids)
    build_and_record(settings)
    publish(settings)
    with duckdb.connect(str(warehouse_file(settings.data_dir)), read_only=True) as con:
        (day,) = con.execute("select min(business_date) from mart.orders").fetchone() or (None,)
    closing.close(settings, one_day(str(day)), exceptions="a sweep")
    build_and_record(settings)
    publish(settings)
    back_up(settings, place / "backups")


def run_stage(name: str, place: Path, settings: Settings, ids: Path) -> None:
    """Run one stage of a night, which holds the run lock as all of it does."""
    with run_lock(settings.data_dir, COMMAND):
        STAGES[name](place, settings, ids)


def next_night(place: Path, settings: Settings, ids: Path | None) -> None:
    """Run what an unattended run does after a fault: `ids` are given if they had not all been fetched."""
    with _run(settings, ids) as way:
        way.do("heal")
        if ids is not None:
            deliver(place, settings, ids)
        _fetch(way)
        _import_totals(place, settings, ids)
        build_and_record(settings)
        publish(settings)


def deliver(_place: Path, settings: Settings, ids: Path) -> None:
    """Commit webhooks as the receiver does; wait until they are acknowledged, as a sender would."""
    settled = threading.Event()
    answers: list[bool] = []

    def settle(group: Any) -> None:
        answers.extend(committed for _, committed in group)
        if len(answers) == WEBHOOKS:
            settled.set()

    committer = Committer(inbox_path(settings.data_dir))
    committer.start(settle)
    try:
        for number, line in enumerate(ids.read_text(encoding="utf-8").split()[:WEBHOOKS]):
            named = Notification("order/updated", "orders", int(line), f"delivery {number}", None)
            committer.put(WebhookDelivery(number, micros(dt.datetime.now(dt.UTC)), named, 10, None))
        settled.wait(60)
    finally:
        committer.stop()
    if not all(answers):
        raise OSError("webhooks were not acknowledged: the sender tries again")


def _heal_and_ingest(_place: Path, settings: Settings, ids: Path) -> None:
    with _run(settings, ids) as way:
        way.do("heal")
        _fetch(way)


def _run(settings: Settings, ids: Path | None) -> AbstractContextManager[UnderWay]:
    return begun(settings, NIGHT, RunRequest(order_ids=str(ids) if ids else ""))


def _fetch(way: UnderWay) -> None:
    """Fetch all kinds; raise what stopped one."""
    for kind in KINDS:
        way.do(kind)
        if (stopped := way.partner.ingested[-1].stopped) is not None:
            raise stopped


def _import_totals(place: Path, settings: Settings, _ids: Path | None) -> None:
    """Import control totals, unless they were imported by a night that was killed after it."""
    ledger = ledger_of(settings.data_dir)
    if effective_totals(ledger):
        return
    file = place / "totals.csv"
    file.write_text(f"{','.join(HEADER)}\n2026-10-02,1,1,13.50,total_price,counted\n", encoding="utf-8")
    import_totals(ledger, file)


def _build(_place: Path, settings: Settings, _ids: Path) -> None:
    build_and_record(settings)


def _release(_place: Path, settings: Settings, _ids: Path) -> None:
    publish(settings)


def _maintain(_place: Path, settings: Settings, _ids: Path) -> None:
    """Merge, prune and verify as of tomorrow, when the loads of today are of a past day."""
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    if failed := [f"{each.task}: {each.error}" for each in run_maintenance(settings, tomorrow) if each.error]:
        raise RuntimeError("; ".join(failed))


def _back_up(place: Path, settings: Settings, _ids: Path) -> None:
    back_up(settings, place / "backups", keep=2)


STAGES = {
    "webhooks": deliver,
    "ingest": _heal_and_ingest,
    "totals": _import_totals,
    "build": _build,
    "release": _release,
    "maintenance": _maintain,
    "backup": _back_up,
}


def outcome(settings: Settings) -> dict[str, Any]:
    """Return all that must be the same however often a night was killed: tables, personal data, ledger, work list."""
    found: dict[str, Any] = {}
    file = settings.data_dir / "published" / "current" / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True) as con:
        con.execute("set timezone = 'UTC'")
        for table in catalogue.release_tables():
            if table.name in LOGS:
                continue
            key = ", ".join(f'"{each}"' for each in table.key) or "all"
            rows = con.execute(f"from {table.name} order by {key}").fetchall()
            found[table.name] = len(rows)
            for number, column in enumerate(table.columns):
                if f"{table.name}.{column.name}" in AGES:
                    continue
                found[f"{table.name}.{column.name}"] = _hash([row[number] for row in rows])
        ids = [row[0] for row in con.execute("select order_id from core.orders order by all").fetchall()]
    with open_vault(settings) as vault:
        found["personal data"] = _hash([vault.decrypt("orders", each) for each in ids])
        # one that was committed is only noted as finished when the next load of its kind begins
        found["open loads"] = [
            sorted(set(vault.open_loads(kind)) - set(raw_files(settings.data_dir, kind).load_ids)) for kind in KINDS
        ]
    ledger = ledger_of(settings.data_dir)
    found["ledger"] = [(entry.act, ledger.rows(entry).num_rows if entry.file else 0) for entry in ledger.entries()]
    with WorkList(inbox_path(settings.data_dir)) as work:
        found["due"] = [work.due(kind) for kind in KINDS]
    # other drafts have one name each, under which the next one is written
    unfinished = [*settings.data_dir.glob("raw/*/*/*.tmp"), *settings.data_dir.glob("published/releases/.*")]
    found["left over"] = sorted(path.name for path in unfinished)
    return found


def current_is_whole(settings: Settings) -> None:
    """Raise AssertionError unless the current release is readable and what its manifest says."""
    release = current_release(settings.data_dir / "published")
    assert release is not None
    assert damaged_files(release) == []
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as con:
        con.execute("select count(*) from core.orders").fetchone()
    verify(ledger_of(settings.data_dir))


def _hash(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
