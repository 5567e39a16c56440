"""The clock is the machine's, unless the demo shifts it; commands with a demo's settings go on from there."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import pytest

from pipelines import clock
from pipelines.cli.options import load_settings

if TYPE_CHECKING:
    from pathlib import Path

MINUTE = dt.timedelta(minutes=1)
THEN = dt.datetime(2020, 2, 29, 3, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the clock as it was."""
    monkeypatch.setattr(clock, "_shift", dt.timedelta(0))


def test_the_clock_is_the_machines_until_it_is_shifted() -> None:
    """A shifted clock goes on from the moment that it was given, and says how far it is from the machine's."""
    assert abs(clock.utc_now() - dt.datetime.now(dt.UTC)) < MINUTE
    ahead = clock.shift_clock(THEN)
    assert dt.timedelta(0) <= clock.utc_now() - THEN < MINUTE
    assert abs(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=ahead) - THEN) < MINUTE


@pytest.mark.parametrize(("name", "days"), [("demo.toml", 400), ("ordermart.toml", 0)])
def test_only_settings_of_a_demo_shift_the_clock(tmp_path: Path, name: str, days: int) -> None:
    """A command with a demo's settings is as far ahead as its last night; other settings leave it alone."""
    (tmp_path / name).write_text('[data]\ndir = "."\n')
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / "world.json").write_text(json.dumps({"ahead_seconds": 400 * 86_400.0}))
    load_settings(tmp_path / name)
    assert abs(clock.utc_now() - dt.datetime.now(dt.UTC) - dt.timedelta(days=days)) < MINUTE


def test_a_demo_that_played_no_night_leaves_the_clock(tmp_path: Path) -> None:
    """Without a state there is nothing to follow."""
    clock.follow(tmp_path / "world.json")
    assert abs(clock.utc_now() - dt.datetime.now(dt.UTC)) < MINUTE
