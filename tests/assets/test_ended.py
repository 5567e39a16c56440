"""A run that ends outside Dagster's job: it is recorded, told and on the page like any other."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from pipelines.assets.healing import heal
from pipelines.ingest.lock import run_lock
from pipelines.notify import last_run, standing
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from conftest import Place


def test_a_night_that_cannot_begin_is_told(place: Place) -> None:
    """A data folder of a newer version: alarm, record, page and the last line of JSON say that the night failed."""
    place.data.mkdir()
    (place.data / "format.json").write_text(json.dumps({"raw": 99}))
    done = place.command("run", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[-1])["event"] == "ended"
    assert json.loads(done.stdout.splitlines()[-1])["exit_code"] == 2
    assert "raw has format 99" in done.stderr
    last = last_run(place.data)
    assert last is not None
    assert (last.is_good, last.has_failed) == (False, True)
    (alarm,) = (each for each in standing(place.data) if each.cause == "run_failed")
    assert "raw has format 99" in alarm.text
    page = (place.data / "published" / "morning.html").read_text(encoding="utf-8")
    assert re.search('<p class="bad">[^<]*raw has format 99', page)


def test_a_run_for_webhooks_during_another_run_is_no_failure(place: Place) -> None:
    """It ends with 4, which nobody needs to hear of: the other run is under way."""
    with run_lock(place.data, "ordermart run"):
        done = place.command("run", "--due", "--json")
    assert done.returncode == 4, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["exit_code"] == 4
    assert last_run(place.data) is None
    assert standing(place.data) == []


def test_a_run_says_which_killed_one_it_resumes(place: Place) -> None:
    """A killed run leaves no trace but its note in the lock: the next run says when it began."""
    since = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    note = {"holder": "ordermart run", "since": since.isoformat(), "resumed_since": None}
    place.data.mkdir()
    (place.data / "run.lock").write_text(json.dumps(note))
    settings = load_settings(environ=place.environ)
    with run_lock(place.data, "ordermart run"):
        said = heal(settings)
    assert [f"The run that began {since:%Y-%m-%d %H:%M:%S}Z did not end; this one resumes it."] == [
        sentence for sentence in said if "resumes" in sentence
    ]


@pytest.mark.slow
def test_damaged_records_of_dagster_cost_the_history_alone(place: Place) -> None:
    """A garbled file of Dagster's is set aside, with a sentence, and the night goes on."""
    command = ("run", "--order-id-range", "100-105")
    assert place.command(*command).returncode in (0, 3)
    records = place.data / "dagster" / "history" / "runs.db"
    records.write_bytes(os.urandom(records.stat().st_size))
    done = place.command(*command)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert "Dagster's history was damaged (file is not a database) and set aside as" in done.stdout
    assert "Dagster's history" not in place.command(*command).stdout
