"""The client against the stand-in, over real HTTP, by the settings that ship."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.partner.exchange import AuthenticationFailed
from pipelines.settings import Secret
from tests.service.process import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[int]]]:
    """Run a small stand-in whose tokens live three seconds; give its address and its order ids."""
    ids: Path = tmp_path_factory.mktemp("stand-in") / "ids"
    with StandIn(orders=400, stores=6, days=20, faults=0, ids=ids, token_life_seconds=3) as sandbox:
        yield sandbox.base_url, [int(line) for line in ids.read_text().split()]


@pytest.fixture
def settings(stand_in: tuple[str, list[int]], partner: Any) -> Any:
    """Give the settings that ship, with the stand-in's address and credentials."""
    return partner(stand_in[0], client_id=Secret("sandbox"), client_secret=Secret("sandbox"))


def test_every_order_comes(stand_in: tuple[str, list[int]], settings: Any) -> None:
    """All orders come, each the one that was asked for, and an unknown id is missing."""
    ids = stand_in[1]

    async def main() -> list[Any]:
        async with PartnerClient(settings) as client:
            return [answer async for answer in fetch_all(client, "orders", [*ids, 999_999_999])]

    answers = {answer.id: answer for answer in asyncio.run(main())}
    assert {answer.code for answer in answers.values()} == {""}
    assert answers.pop(999_999_999).status == 404
    assert {json.loads(answer.body)["id"] for answer in answers.values()} == set(ids)
    assert all(json.loads(answer.body)["id"] == id_ for id_, answer in answers.items())


@pytest.mark.slow
def test_stores_and_their_menus(settings: Any) -> None:
    """Stores are listed, each can be asked for, and its menus too, while the token is renewed on the way."""

    async def main() -> None:
        async with PartnerClient(settings) as client:
            listed = [json.loads(record) async for page in client.list_stores() for record in page]
            assert len(listed) == 6
            for store in listed:
                assert json.loads((await client.fetch("stores", store["id"])).body)["id"] == store["id"]
                await asyncio.sleep(0.7)
                for menu in store["menu_ids"]:
                    assert json.loads((await client.fetch("menus", menu)).body)["menu"]["id"] == menu

    asyncio.run(main())


def test_wrong_credentials(stand_in: tuple[str, list[int]], partner: Any) -> None:
    """Wrong credentials end the run with a sentence that says what to look at."""

    async def main() -> None:
        async with PartnerClient(partner(stand_in[0], client_secret=Secret("wrong"))) as client:
            await client.fetch("orders", 1)

    with pytest.raises(AuthenticationFailed, match=r"check \[partner\] client_id and client_secret"):
        asyncio.run(main())
