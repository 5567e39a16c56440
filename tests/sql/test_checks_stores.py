"""The checks of stores: each with a clean case and a planted fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Given, Run


def test_stores_match_validation(run_check: Run) -> None:
    """An accepted store without a row, or with fewer menus than validation counted, is found."""
    latest = [{"store_id": 1, "validated_menu_ids": 3}, {"store_id": 2, "validated_menu_ids": 0}]
    menus = [{"store_id": 1, "menu_id": 10, "mention_count": 2}, {"store_id": 1, "menu_id": 11, "mention_count": 1}]
    claim = "core.store_menus__match_validation"
    assert run_check(claim, {"raw.latest_stores": latest, "core.store_menus": menus}) == []
    found = run_check(claim, {"raw.latest_stores": latest, "core.store_menus": menus[:1]})
    assert found == [{"entity_id": 1, "location": "menu_ids", "detail": "-1 off"}]
    claim = "core.stores__include_every_accepted_record"
    assert run_check(claim, {"raw.latest_stores": latest, "core.stores": [{"store_id": 1}, {"store_id": 2}]}) == []
    assert run_check(claim, {"raw.latest_stores": latest, "core.stores": [{"store_id": 1}]}) == [{"entity_id": 2}]


def test_stores_and_their_menus(run_check: Run) -> None:
    """A store without an observed menu is found, and each unobserved menu that a store names."""
    given: Given = {
        "core.menus": [{"menu_id": 10}],
        "core.store_menus": [{"store_id": 1, "menu_id": 10}],
    }
    claim, named = "core.stores__have_a_known_menu", "core.store_menus__reference_a_known_menu"
    assert run_check(claim, given | {"core.stores": [{"store_id": 1}]}) == []
    assert run_check(named, given) == []
    given["core.store_menus"].append({"store_id": 2, "menu_id": 11})
    stores = [{"store_id": 1}, {"store_id": 2}, {"store_id": 3}]
    assert [row["entity_id"] for row in run_check(claim, given | {"core.stores": stores})] == [2, 3]
    assert run_check(named, given) == [{"entity_id": 2, "location": "menu 11"}]


def test_store_with_another_currency(run_check: Run) -> None:
    """A store whose record stated two currencies is found; one that stated none before is not."""
    claim = "core.store_versions__keep_their_currency"
    stated = [(1, "EUR"), (1, None), (1, "EUR"), (2, "JPY")]
    clean = [{"store_id": store, "version_no": no, "currency": currency} for no, (store, currency) in enumerate(stated)]
    assert run_check(claim, {"core.store_versions": clean}) == []
    planted = [*clean, {"store_id": 2, "version_no": 9, "currency": "EUR"}]
    assert run_check(claim, {"core.store_versions": planted}) == [
        {"entity_id": 2, "location": "currency", "detail": "stated so far: EUR, JPY"}
    ]


def test_timezones_that_do_not_exist(run_check: Run) -> None:
    """A timezone that the database lacks is found; none at all is not."""
    claim = "core.stores__have_a_valid_timezone"
    clean = [{"store_id": 1, "timezone": "Europe/Berlin"}, {"store_id": 2, "timezone": None}]
    assert run_check(claim, {"core.stores": clean}) == []
    planted = [*clean, {"store_id": 3, "timezone": "europe/berlin"}, {"store_id": 4, "timezone": ""}]
    assert [row["entity_id"] for row in run_check(claim, {"core.stores": planted})] == [3, 4]


@pytest.mark.parametrize(
    ("zones", "is_found"),
    [
        (("America/New_York", "Europe/Berlin"), True),
        (("America/New_York", "US/Eastern"), False),
        (("Asia/Calcutta", "Asia/Kolkata"), False),
        (("UTC", "Etc/UTC"), False),
        (("Europe/Berlin", None), False),
        (("Nowhere", "Europe/Berlin"), False),
        (("Pacific/Auckland", "Pacific/Honolulu", "Pacific/Auckland"), True),
        (("America/Phoenix", "America/Denver"), True),
        (("Asia/Kathmandu", "Asia/Katmandu"), False),
        (("Australia/Lord_Howe", "Australia/Sydney"), True),
    ],
)
def test_store_with_another_timezone(run_check: Run, zones: tuple[str | None, ...], is_found: bool) -> None:
    """A store whose record stated zones of different clocks is found; another name of the same clocks is no change."""
    versions = [{"store_id": 1, "version_no": no, "timezone": zone} for no, zone in enumerate(zones, 1)]
    found = run_check("core.store_versions__keep_their_timezone", {"core.store_versions": versions})
    assert [row["entity_id"] for row in found] == [1] * is_found
    assert all(str(zone) in row["detail"] for row in found for zone in zones)


def test_store_with_an_unknown_currency(run_check: Run) -> None:
    """Signs, names and codes that ISO 4217 lacks are found; codes and none at all are not."""
    stated = ["EUR", None, "US$", "€", "RMB", "Euro", "USDT", "XBT"]
    stores = [{"store_id": no, "currency": currency} for no, currency in enumerate(stated)]
    found = run_check("core.stores__have_a_known_currency", {"core.stores": stores})
    assert [(row["entity_id"], row["detail"]) for row in found] == [
        (no, f"stated: {currency}") for no, currency in enumerate(stated) if no > 1
    ]
