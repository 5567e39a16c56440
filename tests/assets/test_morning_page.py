"""The morning page of real runs: written by the command and by Dagster's sensors, also when a run failed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import dagster as dg

from pipelines.assets.night import own_errors
from pipelines.settings import SettingsError


def test_a_run_writes_the_page_and_dagster_links_to_it(published: Any) -> None:
    """The page says what came in; the release has a copy; the step's metadata names the file."""
    file = published.data / "published" / "morning.html"
    text = file.read_text(encoding="utf-8")
    assert "This night, ended" in text
    assert "<td>orders</td>" in text
    assert "svg" in text
    assert (published.data / "published" / "current" / "morning.html").read_text(encoding="utf-8") == text
    logged = ""
    for database in (published.data / "dagster" / "history" / "runs").glob("*-*.db"):
        with closing(sqlite3.connect(database)) as db:
            query = "select event from event_logs where dagster_event_type = 'ASSET_MATERIALIZATION'"
            logged += "".join(row[0] for row in db.execute(query))
    assert str(file) in logged


@dg.op
def quoting() -> None:
    """Fail as a library does that quotes a document."""
    raise ValueError("cannot convert 'Jane Canary'")


@dg.op
def careful() -> None:
    """Fail as this project does."""
    raise SettingsError("[partner] base_url is not a URL")


@dg.job(executor_def=dg.in_process_executor)
def failing() -> None:
    """Fail twice."""
    quoting()
    careful()


def test_errors_of_libraries_are_not_on_the_page() -> None:
    """A sentence of this project is shown; of another error only the step is."""
    done = failing.execute_in_process(raise_on_error=False)
    assert sorted(own_errors(done.all_events)) == [
        "careful: [partner] base_url is not a URL",
        "quoting: failed, see the log",
    ]
