"""Another service that differs wherever the interface is silent: settings alone make the job run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

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
ABOUT_UNKNOWN_FIELDS = {"audit.store_field_issues", "audit.field_profile", "audit.daily_field_profile"}
# How the service answers, how often it is asked, and that it sends webhooks at all, is what the two differ in.
ABOUT_THE_SERVICE = {"audit.service_behaviour", "audit.fetches", "audit.daily_webhooks"}


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
        while place.sandbox.served()["webhooks"]["pending"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        receiver.terminate()


@pytest.mark.slow
@pytest.mark.sample
@pytest.mark.parametrize(
    "dialect", [pytest.param("link", marks=pytest.mark.long), pytest.param("cursor", marks=pytest.mark.slow)]
)
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
    # What the gate refused is all that the webhooks named and that is not up to date.
    covered = places[1].all("select sum(notified_count), sum(stale_count), sum(quarantined_count) from audit.coverage")[
        0
    ]
    assert covered[0] == len(places[1].ids)
    assert covered[1] == covered[2]
