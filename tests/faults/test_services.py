"""Services that fail for a while, or speak another dialect: few requests while they fail, and the same tables after."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.partner.exchange import RunStopped, ServiceDown

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

MOST_REQUESTS = 35


MISHAPS = ("429", "500", "503", "reset", "truncated", "content_type", "slow", "drip")
ALL_OF_THEM = {**{f"rate_{mishap}": 0.125 for mishap in MISHAPS}, "slow_seconds": 60}


@pytest.mark.slow
@pytest.mark.parametrize(
    "rates",
    [
        pytest.param({"rate_503": 1}, marks=pytest.mark.long),
        pytest.param({"rate_429": 1}, marks=pytest.mark.long),
        {"rate_429": 1, "retry_after": 2},
        pytest.param({"rate_reset": 1}, marks=pytest.mark.long),
        pytest.param({"rate_reset": 0.5, "rate_500": 0.5}, marks=pytest.mark.long),
        {"rate_429": 0.5, "rate_truncated": 0.25, "rate_content_type": 0.25},
        ALL_OF_THEM,
    ],
)
def test_outage_of_orders_limits_requests(serve: Callable[..., Place], rates: dict[str, Any]) -> None:
    """While every order fails, ingesting hundreds requests few of them and ends; unanswered ids stay due."""
    place = serve(orders=300, stores=2, days=3, trouble={"only": ["orders"], **rates})
    place.set(outage_timeout_seconds=4, timeout_seconds=2)
    place.ask(place.ids)
    with pytest.raises(ServiceDown):
        place.pull()
    assert sum(place.tries().values()) <= MOST_REQUESTS
    place.sandbox.set_faults()
    assert place.pull().counts["accepted"] == 300


@pytest.mark.slow
@pytest.mark.parametrize("rates", [{"rate_429": 1}, pytest.param(ALL_OF_THEM, marks=pytest.mark.long)])
def test_outage_in_mid_run_limits_requests(serve: Callable[..., Place], rates: dict[str, Any]) -> None:
    """When orders begin to fail with 32 in flight, at most 35 are requested from then on; the rest stays due."""
    place = serve(orders=2_500, stores=2, days=3, trouble={"latency_seconds": 0.4})
    place.set(outage_timeout_seconds=4, timeout_seconds=2, max_concurrency=32)
    place.ask(place.ids)
    with ThreadPoolExecutor(1) as pool:
        pulling = pool.submit(place.pull)
        deadline = time.monotonic() + 30
        while place.sandbox.served()["in_flight"] < 32:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        place.sandbox.set_faults(only=["orders"], **rates)
        place.sandbox.clear_record()
        with pytest.raises(ServiceDown):
            pulling.result()
    assert place.sandbox.served()["requests"] <= MOST_REQUESTS
    landed = len(place.verdicts())
    assert 0 < landed < 2_500
    assert place.dead_letters() == []


@pytest.mark.slow
def test_outage_of_authentication_limits_requests(serve: Callable[..., Place]) -> None:
    """If no token is issued, the run ends after a few attempts."""
    place = serve(orders=300, stores=2, days=3, trouble={"rate_500": 1})
    place.set(outage_timeout_seconds=4)
    with pytest.raises(RunStopped):
        place.pull("stores")
    assert place.sandbox.served()["requests"] <= MOST_REQUESTS


def published(serve: Callable[..., Place]) -> Place:
    """Return a place with a release of fifty orders, and the rest on the work list."""
    place = serve(orders=90, stores=2, days=3)
    place.ask(place.ids[:50])
    code, said = place.command("run")
    assert code == 0, said
    place.ask(place.ids)
    place.sandbox.clear_record()
    return place


def fails(place: Place, **trouble: Any) -> float:
    """Run the job on a service with these faults, check that it fails and keeps the release; return the seconds."""
    before = (place.data / "published" / "current").resolve()
    place.sandbox.set_faults(**trouble)
    began = time.monotonic()
    code, said = place.command("run")
    assert code == 1, said
    assert "the previous release stays current" in said
    assert "Traceback" not in said
    assert (place.data / "published" / "current").resolve() == before
    assert len(place.all("select order_id from core.orders")) == 50
    return time.monotonic() - began


@pytest.mark.long
def test_a_bad_week(serve: Callable[..., Place]) -> None:
    """A run without service ends with 1 and keeps the release; with a poison order it ends with 3."""
    place = published(serve)
    place.set(outage_timeout_seconds=4, timeout_seconds=2, max_attempts=3)
    fails(place, rate_503=1)
    assert place.sandbox.served()["requests"] <= MOST_REQUESTS
    bad = place.ids[70]
    place.sandbox.set_faults(poison=[bad])
    code, said = place.command("run")
    assert code == 3, said
    assert {row[0] for row in place.all("select order_id from core.orders")} == set(place.ids) - {bad}
    assert place.failing() == [bad]
    listed = place.all("select kind, entity_id, reason from audit.quarantine where is_unresolved")
    assert listed == [("orders", bad, "server_error")]


@pytest.mark.long
def test_an_outage_by_the_defaults(serve: Callable[..., Place]) -> None:
    """With the default settings the run ends in under two minutes."""
    place = published(serve)
    assert fails(place, rate_503=1) < 120
    answers = place.sandbox.served()["answers"]
    assert sum(count for end, count in answers.items() if not end.endswith(" 200")) <= MOST_REQUESTS


WORLD = {"orders": 60, "stores": 5, "days": 4, "faults": 0.05, "seed": 3}
OTHER = """
[partner.authenticate]
path = "/v1/oauth/token"
encoding = "form"
body = { grant_type = "client_credentials", user = "{client_id}", password = "{client_secret}" }
token_pointer = "/session/jwt"
expires_in_pointer = ""
scheme = ""

[partner.list_stores]
path = "/v1/locations"
LISTING

[partner.store]
path = "/v1/locations/{store_id}"
id_pointer = "/ref/id"
name_pointer = "/attributes/title"
timezone_pointer = "/attributes/clock/zone"
currency_pointer = "/attributes/money/code"
menu_id_pointers = ["/attributes/menus/*/ref/id"]
"""
LISTINGS = {
    "link": 'items_pointer = "/data"\npagination = "link"',
    "cursor": (
        'items_pointer = "/data/locations"\npagination = "cursor"\n'
        'cursor_pointer = "/data/next"\ncursor_parameter = "after"'
    ),
}
# What stores say besides what settings point to is recorded by its path, and stands elsewhere there.
ABOUT_UNKNOWN_FIELDS = {"audit.field_profile", "workings.daily_field_profile"}
# How the service answers, how often it is asked, and that it sends webhooks at all, are their only differences.
ABOUT_THE_SERVICE = {"audit.service_behaviour", "audit.fetches"}


def counts(place: Place) -> dict[str, int]:
    """Return the rows of every published table."""
    tables = place.all("select table_schema || '.' || table_name from information_schema.tables order by all")
    return {name: place.all(f"select count(*) from {name}")[0][0] for (name,) in tables}


def named_by_webhooks(place: Place) -> None:
    """Let the service send webhooks of all events to a receiver; return when all are on the disk."""
    clock = place.sandbox.clock()
    with place.start("webhooks", "serve", "--port", "0") as receiver:
        assert receiver.stdout is not None
        place.sandbox.set_webhooks(to=receiver.stdout.readline().strip().removeprefix("ready on "))
        place.sandbox.set_clock(clock["start"])
        assert place.sandbox.set_clock(clock["now"]) > len(place.ids)
        deadline = time.monotonic() + 60
        while place.sandbox.sent()["pending"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        receiver.terminate()


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["link", "cursor"])
def test_the_same_world_is_published(serve: Callable[..., Place], dialect: str) -> None:
    """The tables have the same rows, the orders the same money and the stores the same names, from either service.

    The other one names its orders by webhooks alone, under data.object.id; its tokens say their end themselves and live
    for seconds; a tenth of its answers are error pages in HTML.
    """
    places = [serve("standard", **WORLD), serve(dialect, dialect=dialect, **WORLD)]
    settings = places[1].folder / "other.toml"
    settings.write_text(OTHER.replace("LISTING", LISTINGS[dialect]), encoding="utf-8")
    places[1].environ["ORDERMART_CONFIG"] = str(settings)
    named_by_webhooks(places[1])
    places[1].sandbox.clear_record()
    places[1].sandbox.set_faults(rate_500=0.1, token_life_seconds=10, latency_seconds=0.1)
    for place, ids in ((places[0], ("--order-ids", str(places[0].folder / "ids"))), (places[1], ())):
        code, said = place.command("run", *ids)
        assert code == 3, said  # planted faults are refused
        assert "not up to date" not in said
    first, other = (counts(place) for place in places)
    assert first["core.orders"] > 50
    assert first.keys() == other.keys()
    assert {name for name in first if first[name] != other[name]} <= ABOUT_UNKNOWN_FIELDS | ABOUT_THE_SERVICE
    for query in (
        "select store_id, name, timezone, currency from core.stores order by all",
        "select store_id, menu_id from core.store_menus order by all",
        "select store_name, sale_class, count(*), sum(total_price) from mart.orders group by all order by all",
        "select kind, entity_id, reason from audit.quarantine order by all",
    ):
        assert places[0].all(query) == places[1].all(query)
    served = places[1].sandbox.served()
    # Few stores a page: there was more than one.
    assert served["answers"]["store_list 200"] == 2
    assert served["answers"]["authenticate 200"] >= 1
    assert len(served["mishaps"]["500"]) > 3
    # The gate's refusals are all that the webhooks named and that is not up to date.
    covered = places[1].all("select sum(notified_count), sum(stale_count), sum(quarantined_count) from audit.coverage")[
        0
    ]
    assert covered[0] == len(places[1].ids)
    assert covered[1] == covered[2]
