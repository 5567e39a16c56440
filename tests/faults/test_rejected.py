"""Responses that are no documents: of one id they wait on the work list, of many they are an outage."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.partner.exchange import ServiceDown
from pipelines.report.outcomes import waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

    from pipelines.inbox.store import WorkListEntry

MOST_REQUESTS = 35


def entries(place: Place, ids: list[int]) -> list[WorkListEntry]:
    """Return the work list's entries of these orders."""
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        return [entry for id_ in ids if (entry := work.entry("orders", id_))]


def make_due(place: Place) -> None:
    """Let the wait of every entry be over."""
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        work._write("update entries set due_at = 1 where due_at is not null", {})  # days pass


@pytest.mark.slow
@pytest.mark.parametrize("mishap", ["error", "unreadable", "no_id", "same"])
def test_a_rejected_id_waits_and_lands_once_it_is_healed(serve: Callable[..., Place], mishap: str) -> None:
    """Three ids whose bodies are no documents are quarantined and due again in an hour; healed, they land."""
    place = serve(orders=150, stores=4, days=5)
    bad = place.ids[60:63]
    place.sandbox.set_faults(poison=bad, poison_with=mishap)
    place.ask(place.ids)
    pulled = place.pull()
    # The first of the ids with the same document has the right one.
    rejected = bad if mishap != "same" else [refusal.id for refusal in pulled.refused]
    assert len(rejected) >= 2
    assert pulled.counts["quarantined"] == len(rejected)
    assert pulled.counts["accepted"] == 150 - len(rejected)
    tries = place.tries()
    assert max(tries[id_] for id_ in rejected if id_) <= 4
    # after each refusal the id that was answered last may be asked for, too
    assert sum(tries.values()) <= len(place.ids) + 2 * 4 * len(bad)
    assert place.dead_letters() == []
    found = entries(place, [id_ for id_ in rejected if id_])
    assert {(entry.state, entry.rejections) for entry in found} == {("waiting", 1)}
    for entry in found:
        assert entry.due_at is not None
        assert entry.finished_at is not None
        assert entry.due_at - entry.finished_at == dt.timedelta(hours=1)
    place.sandbox.set_faults()
    assert place.pull().requested == 0
    (line,) = waiting(place.data)
    assert line.startswith(f"  waiting after a rejection or failure: orders {len(rejected)};")
    make_due(place)
    assert place.pull().counts["accepted"] == len(rejected)
    assert list(waiting(place.data)) == []
    assert {entry.state for entry in entries(place, place.ids)} == {"done"}


@pytest.mark.slow
def test_an_id_that_stays_rejected_is_a_dead_letter_that_retry_takes_up(serve: Callable[..., Place]) -> None:
    """After [planner] max_rejected_attempts an id is in the dead-letter queue; `retry` makes it due, and it lands."""
    place = serve(orders=20, stores=2, days=3)
    bad = place.ids[7]
    place.environ["ORDERMART_PLANNER__MAX_REJECTED_ATTEMPTS"] = "3"
    place.sandbox.set_faults(poison=[bad], poison_with="error")
    place.ask(place.ids)
    for _ in range(3):
        assert place.dead_letters() == []
        assert place.pull().counts["quarantined"] == 1
        said = list(waiting(place.data))
        make_due(place)
    assert said == ["  in the dead-letter queue: orders 1; `ordermart retry` requests them again"]
    assert [(letter.id, letter.reason) for letter in place.dead_letters()] == [(bad, "no_id")]
    assert place.pull().requested == 0
    place.sandbox.set_faults()
    code, said = place.command("retry")
    assert (code, "orders: 1" in said) == (0, True)
    assert place.pull().counts["accepted"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("mishap", ["error", "unreadable", "same"])
def test_the_same_for_all_ids_is_an_outage(serve: Callable[..., Place], mishap: str) -> None:
    """Error JSON, a page or one document for every id is a fault of the service: few requests, and all stay due."""
    place = serve(orders=300, stores=2, days=3, trouble={"only": ["orders"], f"rate_{mishap}": 1})
    place.set(outage_timeout_seconds=4)
    place.ask(place.ids)
    with pytest.raises(ServiceDown):
        place.pull()
    assert sum(place.tries().values()) <= MOST_REQUESTS
    assert {entry.state for entry in entries(place, place.ids)} <= {"started", "waiting", "done"}
    # the first, and one that was under way with it
    assert len(place.verdicts()) <= 2 or mishap == "same"
    place.sandbox.set_faults()
    make_due(place)  # the first id may have been rejected before a second one showed that the service is at fault
    place.pull()
    assert {verdicts[-1] for verdicts in place.verdicts().values()} == {"accepted"}
    assert place.verdicts().keys() == set(place.ids)


@pytest.mark.slow
def test_an_outage_in_error_json_begins_in_mid_run(serve: Callable[..., Place]) -> None:
    """When a service begins to answer every order with error JSON few requests follow, and nothing is rejected."""
    place = serve(orders=300, stores=2, days=3)
    place.set(outage_timeout_seconds=4)
    place.ask(place.ids[:100])
    place.pull()
    place.sandbox.set_faults(only=["orders"], rate_error=1)
    place.sandbox.clear_record()
    place.ask(place.ids)
    with pytest.raises(ServiceDown):
        place.pull()
    assert sum(place.tries().values()) <= MOST_REQUESTS
    assert len(place.verdicts()) == 100


def test_a_kill_between_landing_and_the_work_list_forgets_no_rejection(
    serve: Callable[..., Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run killed after its load was committed, before the work list was: the next one finds what was rejected."""
    from pipelines.ingest import loop  # noqa: PLC0415

    place = serve(orders=10, stores=1, days=3)
    bad = place.ids[3]
    place.sandbox.set_faults(poison=[bad], poison_with="no_id")
    place.ask(place.ids)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(loop._Ingestion, "_report", killed)  # where it is killed
        with pytest.raises(KeyboardInterrupt):
            place.pull()
    place.sandbox.clear_record()
    place.pull()
    assert place.tries().total() == 0
    assert [(entry.id, entry.reason) for entry in entries(place, place.ids) if entry.rejections] == [(bad, "no_id")]
