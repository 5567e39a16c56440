"""A run that ends outside Dagster's job: it is recorded, told and on the page like any other."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from pipelines.assets.dev import set_records_aside
from pipelines.ingest.lock import run_lock
from pipelines.inventory import write_noted
from pipelines.notify import active_alarms
from pipelines.record import KILLED, WEBHOOKS, runs, save
from pipelines.run.under_way import begun
from pipelines.settings import load_settings
from tests.recorded import recorded

if TYPE_CHECKING:
    from conftest import Place


def test_a_night_that_cannot_begin_is_told(place: Place) -> None:
    """A data folder of a newer version: alarm, record, page and the last line of JSON say that the night failed."""
    place.data.mkdir()
    write_noted(place.data, place.data / "format.json", json.dumps({"raw": 99}).encode())
    done = place.command("run", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[-1])["event"] == "ended"
    assert json.loads(done.stdout.splitlines()[-1])["exit_code"] == 2
    assert "raw has format 99" in done.stderr
    (run,) = runs(place.data)
    assert (run.run_state, run.steps) == ("failed", [])
    (alarm,) = (each for each in active_alarms(place.data) if each.cause == "run_failed")
    assert "raw has format 99" in alarm.text
    page = (place.data / "published" / "morning.html").read_text(encoding="utf-8")
    assert re.search('<p class="bad">[^<]*raw has format 99', page)


@pytest.mark.slow
def test_a_run_for_webhooks_during_another_run_is_no_failure(place: Place) -> None:
    """It ends with 4, which nobody needs to hear of: the other run is under way."""
    with run_lock(place.data, "ordermart run"):
        done = place.command("run", "--due", "--json")
    assert done.returncode == 4, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["exit_code"] == 4
    assert runs(place.data) == []
    assert active_alarms(place.data) == []


def test_a_run_says_which_killed_one_it_resumes(place: Place) -> None:
    """A killed run leaves no trace but its record: the next run says when it began."""
    killed = recorded(dt.datetime.now(dt.UTC) - dt.timedelta(hours=1), stopped_by=KILLED)
    save(place.data, killed)
    settings = load_settings(environ=place.environ)
    with begun(settings, WEBHOOKS) as way:
        step = way.do("heal")
    began = f"{killed.started_at:%Y-%m-%d %H:%M:%S}Z"
    assert step.said == [f"The run that began {began} did not end; this one resumes it."]


def test_damaged_records_of_dagster_cost_the_history_alone(place: Place) -> None:
    """A garbled file of Dagster's is set aside, with a sentence, and all others stay."""
    history = place.data / "dagster" / "history"
    history.mkdir(parents=True)
    (history / "runs.db").write_bytes(os.urandom(9000))
    (said,) = set_records_aside(place.data)
    assert "Dagster's history was damaged (file is not a database) and set aside as" in said
    assert not history.exists()
    assert set_records_aside(place.data) == []
