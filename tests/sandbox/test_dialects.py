"""The dialects that services of other habits speak: the client reads the same world from each, by settings alone."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from pipelines.partner.client import PartnerClient
from pipelines.partner.pointer import get_all
from pipelines.sandbox.app import Service, make_app
from pipelines.sandbox.world import Config, World
from pipelines.settings import load_settings
from tests.service.dialects import DIALECTS, Speaker

WORLD = World(Config(stores=7, orders=3, days=1))
ENVIRON = {
    "ORDERMART_PARTNER__BASE_URL": "http://127.0.0.1",
    "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
    "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
}
HOW = {
    "standard": {},
    "offset": {
        "AUTHENTICATE__ENCODING": "headers",
        "AUTHENTICATE__BODY": '{"X-Client-Id" = "{client_id}", "X-Client-Secret" = "{client_secret}"}',
        "LIST_STORES__ITEMS_POINTER": "/elements",
        "LIST_STORES__PAGINATION": "offset",
        "LIST_STORES__CURSOR_PARAMETER": "offset",
        "LIST_STORES__QUERY": '{limit = "2"}',
    },
    "keyed": {
        "AUTHENTICATE__ENCODING": "none",
        "AUTHENTICATE__SCHEME": "",
        "LIST_STORES__ITEMS_POINTER": "/stores",
        "LIST_STORES__PAGINATION": "next_url",
        "LIST_STORES__CURSOR_POINTER": "/links/next",
        "LIST_STORES__CURSOR_IS_OPTIONAL": "true",
        "STORE__RECORD_POINTER": "/data",
        "STORE__MENU_ID_POINTERS": '["/menus/{key}"]',
    },
    "last_id": {
        "LIST_STORES__ITEMS_POINTER": "/data",
        "LIST_STORES__PAGINATION": "last_id",
        "LIST_STORES__CURSOR_POINTER": "/has_more",
        "LIST_STORES__CURSOR_PARAMETER": "starting_after",
    },
}


@pytest.mark.parametrize("dialect", HOW)
def test_dialect_shows_the_same_world(dialect: str) -> None:
    """All stores are listed once, each with its menus, and menus and orders come."""
    settings = load_settings(
        environ=ENVIRON | {f"ORDERMART_PARTNER__{key}": value for key, value in HOW[dialect].items()}
    )
    service = Speaker(DIALECTS[dialect](), make_app(Service(WORLD)))

    async def main() -> tuple[list[int], dict[int, list[Any]], bytes]:
        network = httpx.ASGITransport(service)
        async with PartnerClient(settings.partner, transport=network) as client:
            listed = [json.loads(record)["id"] async for page in client.list_stores() for record in page]
            records = [json.loads((await client.fetch("stores", store)).body) for store in listed]
            menus = {record["id"]: get_all(record, settings.partner.store.menu_id_pointers[0]) for record in records}
            return listed, menus, (await client.fetch("orders", WORLD.order_ids[0])).body

    listed, menus, order = asyncio.run(main())
    assert sorted(listed) == sorted(WORLD.store_ids)
    assert menus == {store.store_id: [menu.menu_id for menu in store.menus] for store in WORLD.stores}
    assert order == WORLD.order(WORLD.order_ids[0])
