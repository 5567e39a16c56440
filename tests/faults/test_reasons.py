"""Each reason for which a request can fail, in some nights and at some rate: when it is asked for again."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.ingest.outcome import SuspectBaseUrlError
from pipelines.partner.exchange import RunStopped
from tests.nights import OF_ALL, REASONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

pytestmark = pytest.mark.slow
FAILS = ["500", "503", "429", "reset", "truncated", "drip", "content_type", "401", "403"]
REFUSED = ["error", "unreadable", "no_id"]
OTHERS = 3  # that came well, and are asked for beside ids that failed alone
DAY = 86_400 * 1_000_000


def a_day_passes(place: Place) -> None:
    """Make every time of the work list a day older."""
    times = ("due_at", "failing_since", "finished_at", "last_attempt_at", "notified_at")
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        work._write(f"update entries set {', '.join(f'{at} = {at} - {DAY}' for at in times)}", {})


def night(place: Place) -> tuple[bool, set[int]]:
    """Ask for the due ids; return whether orders are up to date then, and which ids were asked for. A day passes."""
    place.sandbox.clear_record()
    good = place.pull().assess().is_good or not place.tries()
    asked = set(place.tries())
    a_day_passes(place)
    return good, asked


def start(serve: Callable[..., Place], bad: int, mishap: str, orders: int = 100) -> tuple[Place, set[int]]:
    """Start a service that fails for so many ids, and put all on the work list."""
    place = serve(orders=orders, stores=2, days=3)
    place.set(max_attempts=2, timeout_seconds=1, outage_timeout_seconds=4 if bad == orders else 60)
    failing = set(place.ids[:: orders // bad])
    place.sandbox.set_faults(poison=sorted(failing), poison_with=mishap)
    place.ask(place.ids)
    return place, failing


def has_all(place: Place) -> bool:
    """Whether each order of the service was accepted at last."""
    found = place.verdicts()
    return {id_ for id_, verdicts in found.items() if verdicts[-1] in {"accepted", "unchanged"}} == set(place.ids)


@pytest.mark.parametrize("mishap", [*FAILS, *REFUSED])
def test_one_bad_night_at_two_percent_is_over_in_the_next(serve: Callable[..., Place], mishap: str) -> None:
    """Two of a hundred ids are bad in one night, which is good; the next one asks for them again and has them."""
    place, failing = start(serve, 2, mishap)
    assert night(place)[0]
    assert not has_all(place)
    place.sandbox.set_faults()
    good, asked = night(place)
    assert (good, asked >= failing, len(asked - failing) <= OTHERS) == (True, True, True)
    assert has_all(place)


@pytest.mark.parametrize(("mishap", "is_told"), [("500", True), ("no_id", False)])
def test_ids_that_stay_bad(serve: Callable[..., Place], mishap: str, *, is_told: bool) -> None:
    """What has no usable response is not fetched: from the third night on no night is good until it is there.

    A document that is itself wrong was fetched, and is quarantined: those nights are good. Either is asked for at least
    every second night.
    """
    place, failing = start(serve, 2, mishap)
    nights = [night(place) for _ in range(5)]
    assert [good for good, _ in nights[:3]] == [True, True, not is_told]
    assert all(asked >= failing for _, asked in nights[1:4])
    place.sandbox.set_faults()
    if not night(place)[1] >= failing:
        night(place)
    assert has_all(place)
    assert place.pull().assess().against == []


@pytest.mark.parametrize("mishap", ["500", "no_id", "404"])
def test_a_fifth_of_all_ids(serve: Callable[..., Place], mishap: str) -> None:
    """Twenty of a hundred are bad in three nights: none is good, and the first night after them has everything."""
    place, failing = start(serve, 20, mishap)
    for no in range(3):
        good, asked = night(place)
        assert not good
        assert asked >= failing if no else True
    place.sandbox.set_faults()
    assert night(place)[0]
    assert has_all(place)


@pytest.mark.parametrize("mishap", ["503", "403"])
def test_all_ids(serve: Callable[..., Place], mishap: str) -> None:
    """A service that gives nothing stops the run after few requests; every id stays due, and the next night has all."""
    place, _ = start(serve, 40, mishap, orders=40)
    for _ in range(3):
        try:
            assert not night(place)[0]
        except (RunStopped, SuspectBaseUrlError):
            a_day_passes(place)
    place.sandbox.set_faults()
    assert night(place)[0]
    assert has_all(place)


def test_the_table_of_architecture_follows_from_the_code() -> None:
    """Every reason of the code is in it, with the times and rates of the code."""
    docs = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("reasons", docs / "reasons.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (docs / "ARCHITECTURE.md").read_text("utf-8")
    assert text == module.written(text), "run `python docs/reasons.py`"
    packages = docs.parent / "pipelines"
    named = module.reasons(packages / "partner", "RequestError", "BodyError", "unusable")
    named += module.reasons(packages / "landing", "InvalidDocumentError")
    assert REASONS.keys() | OF_ALL == {*named, "404", "status_NNN"}  # the nights that `python -m tests.nights` plays
    assert all(f"`{code}`" in module.table() for code in named)
