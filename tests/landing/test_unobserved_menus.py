"""Orders of a time at which no menu of their store had been observed."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.archives import ObservedMenus
from pipelines.landing.load import Load

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings
    from pipelines.vault import Vault


def at(day: int) -> dt.datetime:
    """Return noon of a day in October."""
    return dt.datetime(2026, 10, day, 12, tzinfo=dt.UTC)


@pytest.fixture
def land_at(settings: Settings, vault: Vault) -> Callable[..., None]:
    """Give `land_at(day, kind, document, …)`: a load of that day; an id alone is a 404."""

    def run(day: int, kind: Any, *documents: Any) -> None:
        with Load(settings, vault, kind, "live", now=lambda: at(day)) as load:
            for document in documents:
                if isinstance(document, int):
                    load.no_document(document)
                else:
                    load.validate(json.dumps(document).encode())
            load.commit()

    return run


def order(day: int, store_id: int | None = 1) -> bytes:
    """Return an order of a store, made at noon of a day, in another zone."""
    return json.dumps({"store_id": store_id, "created_at": f"2026-10-{day:02d}T14:00:00+02:00"}).encode()


def test_a_store_had_a_menu_from_the_first_that_it_ever_named(
    settings: Settings, land_at: Callable[..., None], menu: dict[str, Any]
) -> None:
    """Whichever of its menus was observed first, by whichever of its records; a 404 is no menu."""
    for day, number in ((5, 40), (7, 41), (9, 42)):
        land_at(day, "menus", menu | {"menu": menu["menu"] | {"id": number}}, 40 if day > 5 else 43)
    land_at(5, "stores", {"id": 1, "menu_ids": [41, 40]}, {"id": 2, "menu_ids": [42]}, {"id": 3, "menu_ids": [43]})
    land_at(9, "stores", {"id": 1, "menu_ids": [42]}, {"id": 2, "menu_ids": [41]})
    menus = ObservedMenus(settings.data_dir)
    assert [menus.had(order(day)) for day in (4, 5, 6)] == [False, True, True]
    assert [menus.had(order(day, 2)) for day in (6, 7, 9)] == [False, True, True]
    assert not menus.had(order(30, 3))
    assert not menus.had(order(30, None))


def test_what_is_no_order_with_a_time_had_none(
    settings: Settings, land_at: Callable[..., None], menu: dict[str, Any]
) -> None:
    """A time without a zone is one in UTC."""
    land_at(5, "menus", menu)
    land_at(5, "stores", {"id": 1, "menu_ids": [40]})
    menus = ObservedMenus(settings.data_dir)
    assert menus.had(b'{"store_id": 1, "created_at": "2026-10-05T12:00:00"}')
    assert not menus.had(b'{"store_id": 1, "created_at": "2026-10-05T11:59:59"}')
    for body in (b"[", b"{}", b'{"store_id": 1}', b'{"store_id": 1, "created_at": "noon"}', b"[" * 100_000):
        assert not menus.had(body)
