"""Stores, menus and orders of one run: each goes on without the others, on one token and one outage budget."""

from __future__ import annotations

import dataclasses
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.ingest.ingest_session import PartnerSession
from pipelines.ingest.loop import ingest
from pipelines.ingest.outcome import Ingested, SuspectBaseUrlError
from pipelines.notify import active_alarms
from pipelines.partner.exchange import AuthenticationFailed, RunTooLong, ServiceDown
from pipelines.report.status import last_runs
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.building.build import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from conftest import Place

    from pipelines.settings.kinds import Kind

ABSENT = range(10**15, 10**15 + 60)


def night(place: Place) -> dict[str, Ingested]:
    """Fetch what `ordermart run` fetches, without the build; return what became of each kind."""
    settings = place.settings()
    with PartnerSession(settings) as session:
        return {kind: ingest(settings, kind, session=session) for kind in ("stores", "menus", "orders")}


@pytest.fixture(scope="module")
def built(
    running_service: Callable[..., AbstractContextManager[Place]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """Give a place whose warehouse holds all stores and menus, and the first thirty orders."""
    with running_service(tmp_path_factory.mktemp("kinds") / "built", orders=60, stores=8, days=3) as place:
        place.ask(place.ids[:30])
        assert all(done.shortfalls == [] for done in night(place).values())
        build(place.settings())
        place.ask(place.ids)
        yield place


@pytest.fixture
def known(built: Place, tmp_path: Path) -> Iterator[Place]:
    """Give a copy of that place, on the same service."""
    folder = tmp_path / "known"
    shutil.copytree(built.folder, folder, symlinks=True)
    built.sandbox.clear_record()
    yield dataclasses.replace(
        built, folder=folder, environ={**built.environ, "ORDERMART_DATA__DIR": str(folder / "data")}
    )
    built.sandbox.set_faults()


def answers(place: Place, start: str) -> int:
    """Return how many responses of an operation the service sent."""
    return sum(count for end, count in place.sandbox.served()["answers"].items() if end.startswith(start))


@pytest.mark.slow
@pytest.mark.parametrize("mishap", ["error", "500", "404", "empty"])
def test_a_bad_store_list_costs_neither_stores_nor_menus_nor_orders(known: Place, mishap: str) -> None:
    """Without a usable list the known stores are requested one by one, which is said; one token serves all kinds."""
    place = known
    place.set(outage_timeout_seconds=4, max_attempts=2)
    place.sandbox.set_faults(only=["store_list"], **{f"rate_{mishap}": 1})
    kinds = night(place)
    assert {kind: done.counts["accepted"] + done.counts["unchanged"] for kind, done in kinds.items()} == {
        "stores": 8,
        "menus": len(place.tries("menus")),
        "orders": 60,
    }
    assert place.tries("menus")
    (sentence,) = kinds["stores"].shortfalls
    assert "[partner.list_stores]" in sentence
    assert "8 known stores are requested one by one" in sentence
    assert not kinds["menus"].shortfalls
    assert not kinds["orders"].shortfalls
    assert answers(place, "authenticate") == 1


@pytest.mark.slow
def test_an_outage_after_the_stores_is_paid_for_once(known: Place) -> None:
    """When menus and orders fail, the outage timeout passes once: the orders cost next to no request and time."""
    place = known
    place.set(outage_timeout_seconds=4, timeout_seconds=2)
    place.sandbox.set_faults(only=["menus", "orders"], rate_503=1)
    kinds = night(place)
    assert sum(place.tries().values()) <= 1
    assert kinds["stores"].counts["unchanged"] == 8
    assert isinstance(kinds["menus"].stopped, ServiceDown)
    assert isinstance(kinds["orders"].stopped, ServiceDown)
    assert place.tries("menus").total() + place.tries().total() <= 35
    assert answers(place, "authenticate") == 1
    place.sandbox.set_faults()
    assert night(place)["orders"].counts["missing"] == 0
    assert len(place.verdicts()) == 60


@pytest.mark.slow
def test_rejected_credentials_are_sent_once(known: Place) -> None:
    """A rejected credential stops all kinds after one request, and says which setting to check."""
    place = known
    place.set(client_secret="wrong")
    kinds = night(place)
    assert all(isinstance(done.stopped, AuthenticationFailed) for done in kinds.values())
    assert all("client_secret" in sentence for done in kinds.values() for sentence in done.shortfalls)
    assert place.sandbox.served()["requests"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [{}, {"only": ["orders"], "rate_404": 1}])
def test_many_ids_that_were_never_held_and_are_not_found(serve: Callable[..., Place], trouble: dict[str, Any]) -> None:
    """Nearly all requested orders missing, or all of a first night, is said with figures; the others land."""
    place = serve(orders=10, stores=1, days=3)
    place.ask([*place.ids, *ABSENT])
    place.sandbox.set_faults(**trouble)
    orders = night(place)["orders"]
    missing = 70 if trouble else 60
    assert (orders.counts["missing"], orders.counts["accepted"]) == (missing, 70 - missing)
    (sentence,) = orders.shortfalls
    assert sentence.startswith(
        f"{missing} of 70 requested orders that were never held are not found (404), more than 5%"
    )


@pytest.mark.slow
def test_ids_that_are_guessed_raise_no_doubt_and_those_given_do_each_time(serve: Callable[..., Place]) -> None:
    """404s of the gap probe and of a range are expected; those of ids that somebody gave are said while they wait."""
    place = serve(orders=10, stores=1, days=3)
    for why in ("gap probe", "order-id range"):
        with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
            work.add("orders", ABSENT, why=why)
        assert night(place)["orders"].shortfalls == []
    place.ask(list(ABSENT))
    assert night(place)["orders"].shortfalls != []
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        work._write("update entries set due_at = 1 where due_at is not null", {})  # a minute passes
    again = night(place)["orders"]
    assert again.counts["missing"] == 60
    assert again.shortfalls[0].startswith("60 of 60 requested orders that were never held are not found")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_path_of_one_kind_stops_that_kind_alone(known: Place, kind: Kind) -> None:
    """When known documents of a kind are not found, none of these 404s is landed, and the other kinds go on."""
    place = known
    place.ask(place.ids)
    place.sandbox.set_faults(only=[kind], rate_404=1)
    kinds = night(place)
    assert isinstance(kinds[kind].stopped, SuspectBaseUrlError)
    assert kinds[kind].requested == 0
    others = {name: done for name, done in kinds.items() if name != kind}
    assert all(done.stopped is None and done.requested for done in others.values())
    assert all(done.counts["missing"] == 0 for done in others.values())


@pytest.mark.slow
def test_a_service_that_refuses_every_order_is_said_until_it_does_not(known: Place) -> None:
    """Nothing of it is landed: some twenty ids are requested each time, and the orders are not up to date."""
    place = known
    place.ask(place.ids)
    place.sandbox.set_faults(only=["orders"], rate_403=1)
    for _ in range(2):
        orders = night(place)["orders"]
        (sentence,) = orders.shortfalls
        assert sentence.startswith("all of 20 requested orders are refused, because the service answers 403")
        assert (orders.requested, place.dead_letters()) == (0, [])
    place.sandbox.set_faults()
    orders = night(place)["orders"]
    assert (orders.requested, orders.shortfalls) == (60, [])


@pytest.mark.slow
def test_orders_most_of_which_fail_are_said_until_they_do_not(known: Place) -> None:
    """Ids that fail together stay out of the dead-letter queue: they are requested again, and wait meanwhile."""
    place = known
    place.ask(place.ids)
    poison = [id_ for position, id_ in enumerate(place.ids) if position % 6]  # some answers of each burst are good
    place.sandbox.set_faults(poison=poison, poison_with="403")
    (sentence,) = night(place)["orders"].shortfalls
    assert sentence == (
        "50 of 60 requested orders failed, 50 of them because the service answers 403; "
        "more than [planner] max_failed_rate"
    )
    assert place.dead_letters() == []
    soon = night(place)["orders"]
    assert soon.requested == 0
    assert soon.shortfalls[0].startswith("50 orders failed, were rejected or not found before and wait")
    place.sandbox.set_faults()
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        assert len(work.retry()) == 50
    orders = night(place)["orders"]
    assert (orders.counts["failed"], orders.shortfalls) == (0, [])


@pytest.mark.slow
def test_a_run_without_time_left_says_so_and_the_next_one_fetches_the_rest(known: Place) -> None:
    """Nothing is requested after [partner] max_run_seconds; no kind is called an outage, and all ids stay due."""
    place = known
    place.ask(place.ids)
    place.set(max_run_seconds=1e-9)
    kinds = night(place)
    for done in kinds.values():
        assert isinstance(done.stopped, RunTooLong)
        assert done.shortfalls == ["[partner] max_run_seconds = 1e-09 are over; the next run fetches the rest"]
    assert place.sandbox.served()["requests"] == 0
    place.set(max_run_seconds=0)
    kinds = night(place)
    assert all(done.shortfalls == [] for done in kinds.values())
    assert kinds["orders"].requested == 60


@pytest.mark.slow
def test_few_failed_ids_leave_a_kind_up_to_date(known: Place) -> None:
    """Four of sixty fail, as an id alone does, and are asked for again; they say nothing of the service."""
    place = known
    place.ask(place.ids)
    place.sandbox.set_faults(poison=place.ids[:4], poison_with="403")
    assert night(place)["orders"].shortfalls == []
    assert place.failing() == place.ids[:4]


@pytest.mark.slow
def test_known_menus_are_requested_where_store_records_fail(known: Place) -> None:
    """Menus that no store names in this run are up to date all the same; the stores are not."""
    place = known
    place.sandbox.set_faults(only=["stores"], rate_403=1)
    kinds = night(place)
    assert kinds["stores"].shortfalls[0].startswith("all of 8 requested stores are refused")
    assert kinds["menus"].counts["unchanged"] == len(place.verdicts("menus"))


def alarms(place: Place) -> set[str]:
    """Return the causes of alarms that stand."""
    return {alarm.cause for alarm in active_alarms(place.data)}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_publishes_the_others_and_says_which_kind_is_old(serve: Callable[..., Place]) -> None:
    """An empty store list: orders are published, the run ends with 3, a sentence and an alarm, until a good night."""
    place = serve(orders=30, stores=2, days=3)
    place.ask(place.ids)
    place.sandbox.set_faults(only=["store_list"], rate_empty=1)
    code, said = place.command("run")
    assert code == 3, said
    assert "stores are not up to date: [partner.list_stores]" in said
    assert "the list names no store" in said
    assert len(place.all("select order_id from core.orders")) == 30
    assert alarms(place) == {"incomplete:stores"}
    last = last_runs(place.data, is_any_alive=False)
    assert (last.run_state, last.good_at) == ("incomplete", None)
    text = (place.data / "published" / "morning.html").read_text(encoding="utf-8")
    assert ">Act:</span> The stores are not up to date: " in text
    assert '<tr><td>orders</td><td class="n">30</td>' in text
    place.sandbox.set_faults()
    code, said = place.command("run")
    assert (code, alarms(place)) == (0, set()), said
    assert len(place.all("select store_id from core.stores")) == 2


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nights_at_a_service_that_refuses_every_order_are_not_good(serve: Callable[..., Place]) -> None:
    """The first one and the next end with 3 after some twenty requests each, and the alarm stands."""
    place = serve(orders=60, stores=2, days=3)
    place.ask(place.ids)
    place.sandbox.set_faults(only=["orders"], rate_403=1)
    for _ in range(2):
        code, said = place.command("run")
        assert code == 3, said
        assert "the service answers 403" in said
        last = last_runs(place.data, is_any_alive=False)
        assert (last.run_state, last.good_at) == ("incomplete", None)
        assert alarms(place) == {"incomplete:orders"}
    assert len(place.tries()) <= 20 + place.settings().partner.max_concurrency  # of which some were on their way


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rejected_credentials_publish_what_had_landed(known: Place) -> None:
    """What landed before a credential was rejected is published, with 3; with nothing new the run fails, with 1."""
    place = known
    place.pull()
    place.set(client_secret="wrong")
    code, said = place.command("run")
    assert code == 3, said
    assert said.count("client_secret") == 2  # of stores and menus: no order is due
    assert len(place.all("select order_id from core.orders")) == 60
    assert alarms(place) == {"incomplete:stores", "incomplete:menus"}
    before = (place.data / "published" / "current").resolve()
    code, said = place.command("run")
    assert code == 1, said
    assert "stores, menus: " in said
    assert (place.data / "published" / "current").resolve() == before
    assert "run_failed" in alarms(place)


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "vault key missing": ({"ORDERMART_VAULT__KEY_FILE": ""}, "[vault] master_key is missing"),
    "credential missing": ({"ORDERMART_PARTNER__CLIENT_ID": ""}, "[partner] client_id is missing"),
    "unknown rule": ({"ORDERMART_FORMULA__TOTAL_RULE": "observed/rounded_up"}, "[formula] total_rule: "),
    "no periods file": ({"ORDERMART_CLOSING__PERIODS_FILE": "/nowhere.csv"}, "[closing] periods_file: "),
    "bad id": ({}, "wrong, line 3: not a valid id"),
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_without_the_service_ends_with_2_at_once(known: Place, tmp_path: Path, wrong: str) -> None:
    """Wrong settings and files of ids are one sentence and exit code 2, before anything is requested or written."""
    place = known
    environ, sentence = WRONG[wrong]
    place.environ.update(environ, ORDERMART_DATA__DIR=str(tmp_path / "new"))
    file = tmp_path / "wrong"
    file.write_text("# ids\n7\nseven\n" if wrong == "bad id" else "7\n")
    code, said = place.command("run", "--order-ids", str(file))
    assert (code, said.count("\n")) == (2, 1), said
    assert sentence in said
    assert place.sandbox.served()["requests"] == 0
    assert not (tmp_path / "new").exists()
