"""A run publishes only what readers need, hints not too often, and nightly releases are kept apart."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.record import NIGHT, WEBHOOKS
from pipelines.report.outcomes import built
from pipelines.warehouse.release.manifest import DATABASE, MANIFEST, damaged_files, deferred_until, superfluous
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def world(world_of: Any, makers: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give a world of three orders with a release of a night; its tests follow each other."""
    make_order, make_menu, make_store = makers
    made = world_of(tmp_path_factory.mktemp("publication"))
    made.land("stores", [{"id": 1, "document": make_store(1)}])
    made.land("menus", [{"id": 1, "document": make_menu(1)}])
    made.land("orders", [{"id": i, "document": make_order(i)} for i in (1, 2, 3)])
    made.build()
    made.first = publish(made.settings, run=NIGHT)
    return made


def released(world: Any) -> str:
    """Return the id of the release that readers see."""
    return str((world.data / "published" / "current").resolve().name)


@pytest.mark.slow
def test_an_unchanged_order_changes_no_release(world: Any, makers: Any) -> None:
    """Seeing the same document again changes evidence, not what readers need: the release stays, and it is said why."""
    world.land("orders", [{"id": 1, "document": makers[0](1), "verdict": "unchanged", "at": 5}])
    result = world.build()
    assert result.changed
    assert {"audit.loads", "core.order_versions"} <= result.changed_tables
    assert not {"core.orders", "core.order_lines", "mart.daily_store_sales"} & result.changed_tables
    kept = publish(world.settings, run=NIGHT)
    assert kept.id == world.first.id == released(world)
    assert "no row of core or mart and no open decision changed" in kept.why_kept


@pytest.mark.slow
def test_a_hint_reads_what_was_written_since_and_a_night_everything(world: Any, tmp_path: Path) -> None:
    """A changed byte is found by either; one that a failing disk changed, with no time of writing, by the night."""
    release = shutil.copytree((world.data / "published" / "current").resolve(), tmp_path / "release")
    assert damaged_files(release) == damaged_files(release, by_times=True) == []
    file = release / DATABASE
    file.chmod(0o600)
    written = file.stat()
    content = bytearray(file.read_bytes())
    content[5_000] ^= 1
    file.write_bytes(content)
    assert damaged_files(release) == damaged_files(release, by_times=True) == [DATABASE]
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert damaged_files(release, by_times=True) == []
    other = shutil.copytree(release, tmp_path / "other")  # this process knows that the first was right
    assert damaged_files(other) == [DATABASE]
    file.write_bytes(content[:-1])
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert damaged_files(release, by_times=True) == [DATABASE]


@pytest.mark.slow
def test_a_second_build_says_why_it_publishes_nothing(world: Any) -> None:
    """Its summary ends with the reason and the release that stays current."""
    result = world.build()
    first = publish(world.settings, result)
    kept = publish(world.settings, world.build())
    assert kept.id == first.id
    still = f"Published nothing: nothing changed; the current release is still {first.path}"
    assert list(built(result, kept))[-1] == still
    assert list(built(result, replace(kept, why_kept="")))[-1] == f"Release: {first.path}"


@pytest.mark.slow
def test_an_open_decision_is_published(world: Any) -> None:
    """A newly quarantined id is a reason for a release; the same one again is none."""
    world.land("orders", [{"id": 9, "verdict": "quarantined", "reason": "not_json", "at": 6}])
    world.build()
    published = publish(world.settings, run=NIGHT)
    assert not published.why_kept
    world.land("orders", [{"id": 9, "verdict": "quarantined", "reason": "not_json", "at": 7}])
    assert "audit.quarantine" in world.build().changed_tables
    assert publish(world.settings, run=NIGHT).id == published.id


@pytest.mark.slow
def test_a_hint_waits_for_its_turn(world: Any, makers: Any) -> None:
    """A hint's change waits while the last release is young; a later run publishes it though nothing came besides."""
    before = released(world)
    world.land("orders", [{"id": 2, "document": makers[0](2, tip="1.00"), "at": 8}])
    world.build()
    kept = publish(world.settings, run=WEBHOOKS)
    assert kept.id == before
    assert "publish_every_minutes" in kept.why_kept
    due = deferred_until(world.data / "published")
    assert due is not None
    assert due > dt.datetime.now(dt.UTC)
    world.build()
    published = publish(world.settings, run=NIGHT)
    assert published.id != before
    assert deferred_until(world.data / "published") is None


@pytest.mark.slow
def test_a_hint_does_not_wait_for_a_clock_that_was_ahead(world: Any, makers: Any) -> None:
    """After a release that is dated tomorrow a hint's change is published, and does not wait until then."""
    before = (world.data / "published" / "current").resolve()
    file = before / MANIFEST
    ahead = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    file.chmod(0o644)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"as_of": ahead.isoformat()}))
    world.land("orders", [{"id": 3, "document": makers[0](3, tip="1.00"), "at": 9}])
    world.build()
    assert publish(world.settings, run=WEBHOOKS).id != before.name


@pytest.mark.slow
def test_nightly_releases_outlive_those_of_hints(tmp_path: Path, world: Any) -> None:
    """Releases of hints push out older ones of hints; the last nights stay besides the newest releases."""
    for number in range(40):
        folder = tmp_path / f"{number:02}"
        folder.mkdir()
        night = NIGHT if number % 4 == 0 else WEBHOOKS
        manifest = {"id": folder.name, "published_at": "", "commit": "", "code": {}, "settings": "", "run": night}
        (folder / "manifest.json").write_text(json.dumps({**manifest, "rows": {}, "checks": {}, "files": []}))
    gone = {each.name for each in superfluous(tmp_path, world.settings)}
    kept = {each.name for each in tmp_path.iterdir()} - gone
    assert kept == {*(f"{n:02}" for n in range(33, 40)), *(f"{n:02}" for n in range(12, 33, 4)), "36"}
