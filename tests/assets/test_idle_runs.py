"""A run that brings nothing new is good, publishes nothing, and leaves little behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.record import runs

ENVIRON = {"ORDERMART_VERIFY__SECONDS": "0", "ORDERMART_NOTIFY__MIN_FREE_GB": "0"}
MOST_BYTES = 10_000  # of a record


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_without_news_is_good_and_publishes_nothing(place: Any) -> None:
    """With nothing due, and with orders that did not change: no release, a reason, a record, nothing in Dagster."""
    first = place.command("run", "--order-ids", str(place.ids), **ENVIRON)
    assert first.returncode == 3, first.stdout + first.stderr  # planted faults
    release = (place.data / "published" / "current").resolve().name
    ids = place.folder / "some.txt"
    good = [row[0] for row in place.all("select order_id from core.orders order by all limit 20")]
    ids.write_text("\n".join(map(str, good)), encoding="utf-8")
    for arguments, why in (((), "nothing changed"), (("--order-ids", str(ids)), "no row of core or mart")):
        done = place.command("run", "--due", "--json", *arguments, **ENVIRON)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(line["at"] and line["event"] for line in lines)
        ended = lines[-1]
        assert (ended["event"], ended["is_good"], ended["is_new_release"]) == ("ended", True, False)
        assert ended["release"] == release == (place.data / "published" / "current").resolve().name
        assert any(line["event"] == "note" and why in line["text"] for line in lines), lines
    state = json.loads(place.command("status", "--json", **ENVIRON).stdout)
    assert (state["is_stale"], state["last_run"]["is_good"]) == (False, True)
    assert "nothing to publish" in state["last_run"]["sentence"]
    assert [run.run_state for run in runs(place.data)] == ["good"] * 3
    assert max(file.stat().st_size for file in (place.data / "runs").iterdir()) < MOST_BYTES
    assert not (place.data / "dagster").exists()
