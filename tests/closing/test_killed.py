"""Kills during a close or recording: the ledger has the entry or not, and nothing counts twice."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance import closing
from pipelines.ledger import verify
from pipelines.warehouse.building.build import build

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow
OCTOBER = "2026-10-31T10:00:00Z"
# Runs `what` in a process that ends, as if killed, when `module.name` is called for the `n`th time.
SCRIPT = """
import os, sys
from pathlib import Path
from pipelines.finance import closing
from pipelines.finance.released import one_day
from pipelines.ledger import chain
from pipelines.settings import load_settings
from pipelines.warehouse.release.release import publish

file, what, place = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
settings = load_settings(file, {"ORDERMART_WAREHOUSE__THREADS": "1"})
modules = {"restating": closing, "chain": chain, "os": os}
module, name = place.split(".")
def die(*arguments, **named): os._exit(9)
setattr(modules[module], name, die)
if what == "close":
    closing.close(settings, one_day("2026-10-31"), exceptions="a test")
else:
    closing.build_and_record(settings)
    publish(settings)
"""


def killed(books: Any, what: str, place: str) -> None:
    """Run what in a process of its own that dies at a place."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(books.settings.file), what, place],
        cwd=Path(__file__).parents[2],
        env={**os.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 9, done.stderr


@pytest.fixture(scope="module")
def template(books_of: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Publish a day with two orders."""
    books = books_of(tmp_path_factory.mktemp("killed") / "books")
    for order_id in (1, 2):
        books.land(order_id, created_at=OCTOBER, store_id=1, total_price="10.00")
    books.publish()
    return books


@pytest.fixture
def published(template: Any, tmp_path: Path) -> Any:
    """Give a copy of those books."""
    return template.copied(tmp_path / "books")


@pytest.mark.parametrize(
    "place",
    [
        "chain.put_in_place",
        *(pytest.param(p, marks=pytest.mark.long) for p in ("os.fsync", "chain._hash")),
        "chain._canonical",
    ],
)
def test_a_killed_close_can_be_repeated(published: Any, place: str) -> None:
    """Killed before its line is written, a close has not happened and can be repeated."""
    killed(published, "close", place)
    assert verify(published.ledger).entries == 0
    assert published.close("2026-10-31").order_count == 2
    assert verify(published.ledger).entries == 1


@pytest.mark.parametrize(
    ("place", "recorded"),
    [
        ("restating.record_restatements", 0),
        pytest.param("restating.circumstances", 0, marks=pytest.mark.long),
        pytest.param("chain.put_in_place", 0, marks=pytest.mark.long),
        pytest.param("chain._canonical", 0, marks=pytest.mark.long),
    ],
)
def test_a_killed_recording_is_repeated(published: Any, hours: tuple[int, int], place: str, recorded: int) -> None:
    """Killed between the build's commit and the entry, the next build records each restatement once."""
    published.close("2026-10-31")
    published.publish()
    published.land(1, hours[1], created_at=OCTOBER, store_id=1, total_price="12.00")
    killed(published, "build", place)
    assert published.all("select count(*) from mart.restatements") == [(0,)], "the previous release stays current"
    assert len(list(published.ledger.entries("restated"))) == recorded
    published.publish()
    assert published.restated("restatement_no", "restatement_amount", "cause") == [(1, Decimal(2), "source_changed")]
    assert published.off() == []
    assert len(list(published.ledger.entries("restated"))) == 1


def test_a_recorded_restatement_is_built_by_the_next_run(published: Any, hours: tuple[int, int]) -> None:
    """A recorded restatement that is not built is built by the next run and not recorded again."""
    published.close("2026-10-31")
    published.publish()
    published.land(1, hours[1], created_at=OCTOBER, store_id=1, total_price="12.00")
    build(published.settings)
    assert closing.record_restatements(published.settings) > 0
    published.publish()
    assert published.restated("restatement_no", "restatement_amount") == [(1, Decimal(2))]
    assert len(list(published.ledger.entries("restated"))) == 1
