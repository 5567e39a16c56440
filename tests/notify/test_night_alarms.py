"""Which alarms a run raises and ends, on small releases that hold only the tables that alarms read."""

from __future__ import annotations

import datetime as dt
import fcntl
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from msgspec.structs import replace

from pipelines.notify import active_alarms, notice_missing_nights
from pipelines.record import NIGHT, VERIFYING, WEBHOOKS, Step, runs
from pipelines.report.night_alarms import after_run
from pipelines.report.status import last_runs
from pipelines.run.reporting import report_run
from pipelines.settings import Secret, load_settings
from pipelines.warehouse.inputs.sources import ComparedPart, append_verification
from pipelines.warehouse.release.manifest import defer
from tests.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

NOW = dt.datetime(2026, 11, 20, 4, tzinfo=dt.UTC)
_TABLES = """
create schema audit;
create table audit.quarantine (kind varchar, entity_id bigint, reason varchar, is_unresolved boolean);
create table audit.formula_populations (rule_target varchar, scope varchar, rule varchar);
create table audit.loads (last_observed_at timestamptz, is_backfill boolean);
"""
_OLD_AND_FINE = """
insert into audit.loads values ('2026-11-20T03:00:00Z', false);
insert into audit.formula_populations values ('total', 'all', 'observed/unrounded');
"""
CAUSES = {
    "new_failures": "insert into audit.quarantine values ('orders', 7, 'no_id', true)",
    "silence": "delete from audit.loads",
    "rule_changed": "update audit.formula_populations set rule = 'without_tip/unrounded'",
}


def verify(settings: Settings, differences: int) -> None:
    """Log that a part of the orders was verified."""
    part = ComparedPart(1, NOW, "orders", 5, 3, differences, 1, first_order_id=1, last_order_id=5)
    append_verification(settings.data_dir, part)


def release(settings: Settings, name: str, *changes: str) -> None:
    """Publish a release of these changes."""
    folder = settings.data_dir / "published" / "releases" / name
    folder.mkdir(parents=True)
    with duckdb.connect(str(folder / "ordermart.duckdb")) as db:
        for script in (_TABLES, _OLD_AND_FINE, *changes):
            db.execute(script)
    link = settings.data_dir / "published" / "current"
    link.unlink(missing_ok=True)
    link.symlink_to(f"releases/{name}")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give settings of a new folder, with an alarm after a day of silence."""
    environ = {"DATA__DIR": str(tmp_path), "NOTIFY__SILENCE_HOURS": "24", "NOTIFY__MIN_FREE_GB": "0"}
    return load_settings(environ={f"ORDERMART_{name}": value for name, value in environ.items()})


def ended(settings: Settings, at: dt.datetime, **facts: Any) -> list[str]:
    """Tell of a run that ended then; return what could not be sent."""
    return after_run(settings, recorded(at, **facts), at)


def causes(settings: Settings) -> list[str]:
    """Return the causes of the alarms that stand."""
    return [alarm.cause for alarm in active_alarms(settings.data_dir)]


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_of_a_release_is_raised_and_ends(settings: Settings, cause: str) -> None:
    """New failures, silence and another rule are one alarm each, until a release is fine."""
    release(settings, "1")
    ended(settings, NOW, is_new=True)
    assert causes(settings) == []
    release(settings, "2", CAUSES[cause])
    ended(settings, NOW, is_new=True)
    assert causes(settings) == [cause]
    ended(settings, NOW, errors=["no"])  # a failed run says nothing about the release
    assert set(causes(settings)) == {cause, "run_failed"}
    release(settings, "3", CAUSES[cause] if cause == "rule_changed" else "select 1")
    ended(settings, NOW, is_new=True)
    assert causes(settings) == []


def test_new_failures_stand_while_any_of_their_ids_still_fail(settings: Settings) -> None:
    """Neither a quiet run nor the next release ends the alarm; it is one for all releases, and counts all of them."""
    seven, eight = (f"insert into audit.quarantine values ('orders', {id_}, 'no_id', true)" for id_ in (7, 8))
    told: list[list[str]] = []
    said: list[str] = []
    for name, changes, is_new, newly_refused in (
        ("1", [], True, 0),
        ("3", [seven], True, 1),
        ("3", [], False, 0),
        ("4", [seven], True, 0),
        ("5", [seven, eight], True, 1),
        ("6", [eight], True, 0),
        ("7", [], True, 0),
    ):
        if is_new:
            release(settings, name, *changes)
        ended(settings, NOW, is_new=is_new, newly_refused=newly_refused)
        told.append(causes(settings))
        run = last_runs(settings.data_dir, is_any_alive=False)
        said.append(run.sentence.partition(". ")[2])
    assert told == [[], *[["new_failures"]] * 5, []]
    new = "{} newly quarantined or failed in {}: see audit.quarantine.".format
    none, no_new = "No alarms.", "No new alarms."  # a run reports new alarms: others are listed beside it
    three, five = new("1 id was", "release 3"), new("2 ids were", "releases 3 to 5")
    assert said == [none, three, no_new, no_new, five, no_new, none]


def test_new_failures_end_with_what_is_kept_of_them(settings: Settings) -> None:
    """An id that nobody heals raises no alarm once its bytes are gone; what has no id none after its own run."""
    release(settings, "1")
    ended(settings, NOW, is_new=True)
    release(settings, "2", "insert into audit.quarantine values ('orders', null, 'no_id', true)")
    ended(settings, NOW, is_new=True)
    assert causes(settings) == ["new_failures"]
    ended(settings, NOW)
    assert causes(settings) == []
    release(settings, "3", CAUSES["new_failures"])
    for days, expected in ((0, ["new_failures"]), (29, ["new_failures"]), (30, [])):
        now = NOW + dt.timedelta(days=days)
        ended(settings, now, is_new=days == 0)
        assert [cause for cause in causes(settings) if cause.startswith("new")] == expected


def test_a_failed_verification_is_raised_and_ends(settings: Settings) -> None:
    """A part that differs from a rebuild is an alarm, without another release, until the same part is proven again."""
    release(settings, "1")
    for differences, expected in ((2, ["verification"]), (0, [])):
        verify(settings, differences)
        ended(settings, NOW)
        assert causes(settings) == expected


def test_a_verification_that_failed_is_an_alarm_until_one_does_not(settings: Settings) -> None:
    """Whatever error stopped it: the night's alarm stands after runs for webhooks, until a night verified something."""
    release(settings, "1")
    undone = f"{VERIFYING}: OverflowError"
    for at, kind, sentences, expected in (
        (0, NIGHT, [undone], ["verification"]),
        (1, WEBHOOKS, [], ["verification"]),
        (2, NIGHT, ["old deliveries pruned: OSError"], []),
    ):
        run = recorded(NOW + dt.timedelta(hours=at), kind=kind)
        run.steps.append(Step("maintenance", NOW, NOW, shortfalls=sentences))
        after_run(settings, run, NOW + dt.timedelta(hours=at))
        assert causes(settings) == expected


@pytest.mark.slow
def test_silence_is_looked_for_in_the_warehouse_under_the_lock(settings: Settings) -> None:
    """A load that no release shows yet ends a silence; while another run has the lock, its file is not opened."""
    release(settings, "1", CAUSES["silence"])
    file = settings.data_dir / "warehouse" / "warehouse.duckdb"
    file.parent.mkdir()
    with duckdb.connect(str(file)) as db:
        db.execute(_TABLES)
    for change, is_locked, expected in (
        ("select 1", False, ["silence"]),
        ("select 1", True, []),
        (_OLD_AND_FINE, False, []),
    ):
        with duckdb.connect(str(file)) as db:
            db.execute(change)
        with (settings.data_dir / "run.lock").open("ab") as lock:
            if is_locked:
                fcntl.flock(lock, fcntl.LOCK_EX)
            ended(settings, NOW)
        assert causes(settings) == expected


def test_an_incomplete_kind_stands_until_a_nightly_run_was_complete(settings: Settings) -> None:
    """A night without stores is no good run; a small run after it ends no such alarm, the next complete night does."""
    why = {"stores": ("the list names no store",)}
    ended(settings, NOW, incomplete=why)
    assert causes(settings) == ["incomplete:stores"]
    (alarm,) = active_alarms(settings.data_dir)
    assert alarm.text == "The stores are not up to date: the list names no store."
    last = last_runs(settings.data_dir, is_any_alive=False)
    assert (last.run_state, last.good_at) == ("incomplete", None)
    ended(settings, NOW, kind=WEBHOOKS)
    last = last_runs(settings.data_dir, is_any_alive=False)
    assert (causes(settings), last.run_state) == (["incomplete:stores"], "incomplete")
    ended(settings, NOW, incomplete={"orders": ("no token",)})
    assert causes(settings) == ["incomplete:orders"]
    ended(settings, NOW)
    assert causes(settings) == []


def test_only_a_night_is_a_good_night(settings: Settings) -> None:
    """A good run for webhooks calls no heartbeat and leaves the time of the last good night, as a failed night does."""
    settings = replace(settings, notify=replace(settings.notify, heartbeat_url=Secret("http://127.0.0.1:1/")))
    release(settings, "1")
    called = ended(settings, NOW, is_new=True)
    assert called == ["The heartbeat could not be sent: heartbeat: ConnectError."]
    later = NOW + dt.timedelta(hours=1)
    assert ended(settings, later, errors=["no"]) == []
    assert ended(settings, later, kind=WEBHOOKS) == []
    last = last_runs(settings.data_dir, is_any_alive=False)
    assert (last.run and last.run.ended_at, last.run_state, last.good_at) == (later, "good", NOW)


def test_a_failed_night_is_named_until_a_night_succeeds(settings: Settings) -> None:
    """The alarm says why, once for the same cause; a good run for webhooks does not end that of the night."""
    release(settings, "1")
    why = ("blocked by a check.", "no")
    ended(settings, NOW, errors=why)
    (alarm,) = active_alarms(settings.data_dir)
    failed = "The last night failed, and the previous release stays current: build: blocked by a check"
    assert alarm.text == f"{failed} (and 1 error more)."
    last = last_runs(settings.data_dir, is_any_alive=False)
    assert last.sentence == f"It published nothing. {alarm.text}"
    ended(settings, NOW, kind=WEBHOOKS, errors=["no"])
    assert causes(settings) == ["run_failed"]
    ended(settings, NOW)
    assert causes(settings) == []
    ended(settings, NOW, kind=WEBHOOKS, errors=["no"])
    ended(settings, NOW, kind=WEBHOOKS)  # nothing was due: whether the service answers is not known
    assert causes(settings) == ["run_failed:webhooks"]
    ended(settings, NOW, kind=WEBHOOKS, landed={"orders": {"accepted": 1}})
    assert causes(settings) == []


def test_an_outage_is_one_alarm_that_names_its_kinds(settings: Settings) -> None:
    """Kinds that are old for an outage are in its text; it is over after a night, not after one that asked nothing."""
    release(settings, "1")
    run = recorded(NOW, incomplete={"menus": ["no answer"], "orders": ["no answer"], "stores": ["cut"]})
    for step in run.steps:
        step.is_outage = step.name != "stores"
    after_run(settings, run, NOW)
    assert {alarm.cause: alarm.text for alarm in active_alarms(settings.data_dir)} == {
        "incomplete:stores": "The stores are not up to date: cut.",
        "outage": "The partner service gave no usable answer for too long: menus and orders are not up to date; "
        "`ordermart run` resumes the run.",
    }
    for _ in range(2):
        ended(settings, NOW, kind=WEBHOOKS, is_outage=True)
        ended(settings, NOW, kind=WEBHOOKS)
    assert set(causes(settings)) == {"incomplete:stores", "outage"}
    ended(settings, NOW)
    assert causes(settings) == []


def test_nights_that_are_not_good_for_too_long_are_noticed_by_whatever_runs(settings: Settings) -> None:
    """A dead schedule and nights that fail are an alarm after [notify] max_age_hours, until a night is good."""
    release(settings, "1")
    hours = dt.timedelta(hours=settings.notify.max_age_hours)
    assert notice_missing_nights(settings, NOW + 9 * hours) == []  # no night was begun: nothing is scheduled yet
    ended(settings, NOW)
    for now, expected in ((NOW + hours, []), (NOW + 1.1 * hours, ["no_good_night"])):
        notice_missing_nights(settings, now)
        assert causes(settings) == expected
    ended(settings, NOW + 1.2 * hours, kind=WEBHOOKS)
    ended(settings, NOW + 1.2 * hours, errors=["no"])
    assert set(causes(settings)) >= {"no_good_night", "run_failed"}
    (alarm,) = (alarm for alarm in active_alarms(settings.data_dir) if alarm.cause == "no_good_night")
    assert f"No night was good since {NOW:%Y-%m-%d %H:%M} UTC" in alarm.text
    ended(settings, NOW + 1.3 * hours)
    assert "no_good_night" not in causes(settings)


def test_an_alarm_is_sent_though_nothing_can_be_recorded(settings: Settings) -> None:
    """Where the state cannot be written, as on a full disk, channels are called, and the missing parts are named."""
    for name in ("notify", "runs"):
        (settings.data_dir / name).write_text("no folder")
    settings = replace(settings, notify=replace(settings.notify, webhook_url=Secret("http://127.0.0.1:1/")))
    unrecorded, sent, kept = ended(settings, NOW, errors=["no"])
    assert unrecorded.startswith("The record of the run could not be written: ")
    assert sent == "An alarm could not be sent: webhook: webhook: ConnectError."
    assert kept.startswith("Which alarms were sent could not be recorded")


def test_changes_that_wait_are_not_nothing(settings: Settings) -> None:
    """A run for webhooks whose changes wait for the next release does not say that there was nothing to publish."""
    release(settings, "1")
    ended(settings, NOW, kind=WEBHOOKS)
    before = last_runs(settings.data_dir, is_any_alive=False)
    defer(settings.data_dir / "published", NOW)
    ended(settings, NOW, kind=WEBHOOKS)
    last = last_runs(settings.data_dir, is_any_alive=False)
    assert (before.sentence, last.sentence) == (
        "There was nothing to publish. No alarms.",
        "Its changes wait for the next release. No alarms.",
    )


def test_a_night_without_a_page_is_not_good(settings: Settings, tmp_path: Path) -> None:
    """Its state is incomplete, it has no heartbeat, and its record says why."""
    (tmp_path / "published" / "morning.html").mkdir(parents=True)
    run = recorded(NOW)
    assert run.run_state == "good"
    report_run(settings, run)
    assert run.run_state == "incomplete"
    (kept,) = runs(settings.data_dir)
    assert kept.run_state == "incomplete"
    assert kept.assess().wrong == ["The morning page could not be written: IsADirectoryError"]
    assert kept.exit_code() == 3
