"""raw.zone_offsets: the local time in every time zone."""

from __future__ import annotations

import bisect
import datetime as dt
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.warehouse.inputs import zones

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND = 1_000_000  # microseconds
NAMES = sorted(set(zones.zone_offsets()["timezone"].to_pylist()))


def changes(name: str) -> tuple[list[int], list[int]]:
    """Return the beginnings and the offsets of a zone's spans, in microseconds."""
    rows = zones.zone_offsets().filter(pc.field("timezone") == name)
    return rows["from_us"].to_pylist(), rows["offset_us"].to_pylist()


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.sampled_from(NAMES),
    st.lists(st.datetimes(dt.datetime(1850, 1, 1), dt.datetime(2069, 12, 31)), max_size=20),  # noqa: DTZ001 - UTC below
)
def test_same_as_the_zone_database(name: str, times: list[dt.datetime]) -> None:
    """In every zone, at any instant and one second around each change, the offset is the zone database's."""
    starts, offsets = changes(name)
    with (resources.files("tzdata") / "zoneinfo").joinpath(*name.split("/")).open("rb") as file:
        clock = ZoneInfo.from_file(file)
    edges = [start // SECOND + step for start in starts[1:] for step in (-1, 0, 1)]
    seconds = [int((time.replace(tzinfo=dt.UTC) - EPOCH).total_seconds()) for time in times] + edges
    for second in seconds:
        offset = (EPOCH + dt.timedelta(seconds=second)).astimezone(clock).utcoffset()
        ours = offsets[bisect.bisect_right(starts, second * SECOND) - 1]
        assert dt.timedelta(microseconds=ours) == offset


def test_every_instant_is_in_one_span() -> None:
    """A zone's spans begin before any instant and follow each other without two of one offset side by side."""
    for name in ("UTC", "Europe/Berlin", "America/New_York", "Africa/Casablanca"):
        starts, offsets = changes(name)
        assert starts[0] == zones.EVER
        assert starts == sorted(set(starts))
        assert all(a != b for a, b in pairwise(offsets))


def test_rules_without_an_end_go_on() -> None:
    """Berlin changes its clocks twice a year up to 2069, though its file lists no change of these years."""
    starts, _ = changes("Europe/Berlin")
    year = 365.2425 * 86_400 * SECOND
    assert len([start for start in starts if (2069 - 1970) * year < start < (2070 - 1970) * year]) == 2
