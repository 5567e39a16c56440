"""Versions follow when they were observed; at an equal time an archive comes before what a live run saw."""

from __future__ import annotations

import duckdb
import pytest

from pipelines.warehouse.catalogue.generated_selects import filled

OBSERVATIONS = (
    "kind varchar, id bigint, observed_at timestamptz, source varchar, load_id varchar, seq bigint, verdict varchar, "
    "sha256 varchar, changed_personal varchar[]"
)


def versions(*observed: tuple[str | None, str, str, str]) -> list[tuple[int, str, str]]:
    """Return number, hash and hour last seen of each version, given time, source, load and hash of observations."""
    with duckdb.connect() as con:
        con.execute("set timezone = 'UTC'; create schema touched")
        con.execute(f"create table touched.observations ({OBSERVATIONS})")
        con.execute("create table touched.before (kind varchar, id bigint, versions bigint, sha256 varchar)")
        con.execute("create table touched.wanted as select 'orders' as kind, 7 as id")
        for at, source, load_id, sha256 in observed:
            row = ["orders", 7, at, source, load_id, 0, "accepted", sha256, []]
            con.execute("insert into touched.observations values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        found = con.execute(
            f"select version_no, sha256, hour(last_seen_at)::varchar from ({filled('runs')}) order by version_no"
        )
        return found.fetchall()


@pytest.mark.parametrize("turned", [1, -1])
def test_an_archive_comes_before_a_live_observation_of_the_same_time(turned: int) -> None:
    """Whichever landed first, and whatever their loads are called."""
    at = "2026-10-01 10:00:00+00"
    seen = [(at, "live", "load-1", "new"), (at, "archive", "load-2", "old")]
    assert versions(*seen[::turned]) == [(1, "old", "10"), (2, "new", "10")]


def test_a_document_seen_again_is_of_its_version_and_later() -> None:
    """An unchanged one moves when its version was last seen; one without a time comes first."""
    seen = [(f"2026-10-01 {hour}:00:00+00", "live", f"load-{hour}", "a") for hour in (10, 12, 11)]
    assert versions((None, "archive", "load", "b"), *seen) == [(1, "b", None), (2, "a", "12")]
