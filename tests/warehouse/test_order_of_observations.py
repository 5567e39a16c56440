"""Versions follow when they were observed; at an equal time an archive comes before what a live run saw."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from pipelines.warehouse.catalogue import filled

OBSERVATIONS = (
    "kind varchar, id bigint, observed_at timestamptz, source varchar, load_id varchar, seq bigint, verdict varchar, "
    "sha256 varchar, changed_personal varchar[], customer_key varchar"
)

STATE = (
    "kind varchar, id bigint, versions bigint, sha256 varchar, fetched_at timestamptz, fetch_load_id varchar, "
    "customer_key varchar, last_good_at timestamptz, misses bigint, missed_at timestamptz, "
    "last_observed_at timestamptz, last_checked_at timestamptz"
)
Observed = tuple[str | None, str, str, str]


def found(query: str, *observed: Observed, known: str = "") -> list[tuple[Any, ...]]:
    """Return rows given time, source, load and hash of observations of order 7, of which a version may be known."""
    with duckdb.connect() as con:
        con.execute("set timezone = 'UTC'; create schema touched")
        con.execute(f"create table touched.observations ({OBSERVATIONS})")
        con.execute(f"create table touched.before ({STATE})")
        if known:
            con.execute("insert into touched.before (kind, id, versions, sha256) values ('orders', 7, 1, ?)", [known])
        for name in ("wanted", "repeated"):
            con.execute(f"create table touched.{name} as select 'orders' as kind, 7 as id")
        for at, source, load_id, sha256 in observed:
            row = ["orders", 7, at, source, load_id, 0, "accepted", sha256, []]
            con.execute("insert into touched.observations values (?, ?, ?, ?, ?, ?, ?, ?, ?, null)", row)
        return con.execute(query).fetchall()


def versions(*observed: Observed, known: str = "") -> list[tuple[Any, ...]]:
    """Return number, hash and hour last seen of each version."""
    query = f"select version_no, sha256, hour(last_seen_at)::varchar from ({filled('runs')}) order by version_no"
    return found(query, *observed, known=known)


@pytest.mark.parametrize("turned", [1, -1])
def test_an_archive_comes_before_a_live_observation_of_the_same_time(turned: int) -> None:
    """Whichever landed first, and whatever their loads are called."""
    at = "2026-10-01 10:00:00+00"
    seen = [(at, "live", "load-1", "new"), (at, "archive", "load-2", "old")]
    assert versions(*seen[::turned]) == [(1, "old", "10"), (2, "new", "10")]
    state = f"select versions, sha256, last_source from ({filled('states')})"
    assert found(state, *seen[::turned]) == [(2, "new", "live")], "the state that the next increment goes on from"


def test_a_document_seen_again_is_of_its_version_and_later() -> None:
    """An unchanged one moves when its version was last seen; one without a time comes first."""
    seen = [(f"2026-10-01 {hour}:00:00+00", "live", f"load-{hour}", "a") for hour in (10, 12, 11)]
    assert versions((None, "archive", "load", "b"), *seen) == [(1, "b", None), (2, "a", "12")]


def test_a_known_version_seen_again_in_an_increment_is_seen_later() -> None:
    """It stays the version that the tables have, with a later time; another document is the next one."""
    again = ("2026-10-02 13:00:00+00", "live", "load-2", "a")
    assert versions(again, known="a") == [(1, "a", "13")]
    assert versions(again, ("2026-10-02 14:00:00+00", "live", "load-3", "b"), known="a") == [
        (1, "a", "13"),
        (2, "b", "14"),
    ]
