"""The operations of the interface, over HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest

from pipelines.sandbox.app import IssuedTokens, Service, make_app
from pipelines.sandbox.process import Sandbox
from pipelines.sandbox.world import Config, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOT = "/v1/partner_developers"


def paths(client: httpx.Client, files: Path) -> list[str]:
    """Return one path of each reading operation that is answered with 200."""
    store = client.get(f"{ROOT}/stores").json()[0]
    order_id = (files / "ids").read_text().split()[0]
    names = (f"stores/{store['id']}", f"menus/{store['menu_ids'][0]}", f"orders/{order_id}")
    return [f"{ROOT}/stores", *(f"{ROOT}/{name}" for name in names)]


def test_every_operation_answers_with_json(client: httpx.Client, files: Path) -> None:
    """Stores, a store, a menu and an order are there for who has a token."""
    for path in paths(client, files):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.content.startswith((b"{", b"["))


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer a.b.c", "Bearer é", "Basic c2FuZGJveDpzYW5kYm94"])
def test_nothing_without_a_valid_token(
    client: httpx.Client, stranger: httpx.Client, files: Path, header: str | None
) -> None:
    """Every operation refuses a missing or invented token with 401, known id or not."""
    for path in [*paths(client, files), f"{ROOT}/orders/1"]:
        answer = stranger.get(path, headers=[] if header is None else [(b"Authorization", header.encode())])
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("kind", ["stores", "menus", "orders"])
@pytest.mark.parametrize("wrong", ["1", "0", "-1", "x", "9" * 30, "12.0", "%C2%B2"])
def test_unknown_ids_are_not_found(client: httpx.Client, kind: str, wrong: str) -> None:
    """An id that does not exist, or cannot, is answered with 404."""
    assert client.get(f"{ROOT}/{kind}/{wrong}").status_code == 404


def test_credentials_are_checked(stranger: httpx.Client) -> None:
    """Wrong credentials get 401, a body without them 400."""
    for body in ({"client_id": "sandbox", "client_secret": "no"}, {"client_id": "", "client_secret": ""}):
        assert stranger.post(f"{ROOT}/authenticate", json=body).status_code == 401
    for text in (b"", b"[]", b'{"client_id":"sandbox"}', b"\xff"):
        assert stranger.post(f"{ROOT}/authenticate", content=text).status_code == 400


def test_the_answer_says_how_long_a_token_is_good(stranger: httpx.Client) -> None:
    """An hour, of a token that is good at once."""
    credentials = {"client_id": "sandbox", "client_secret": "sandbox"}
    answer = stranger.post(f"{ROOT}/authenticate", json=credentials).json()
    headers = {"Authorization": f"Bearer {answer['access_token']}"}
    assert (answer["expires_in"], stranger.get(f"{ROOT}/stores", headers=headers).status_code) == (3600, 200)


def test_a_token_expires() -> None:
    """A token is good until it expires, and not at that moment."""
    now = [1000.0]
    tokens = IssuedTokens(60, lambda: now[0])
    token = tokens.issue()
    now[0] = 1059.9
    assert tokens.valid(token)
    now[0] = 1060.0
    assert not tokens.valid(token)


def test_a_changed_or_foreign_token_is_refused() -> None:
    """Neither a part of a token nor another service's is one; no two are equal."""
    tokens = IssuedTokens()
    token, other = tokens.issue(), tokens.issue()
    assert token != other
    assert tokens.valid(token)
    assert not tokens.valid(token[:-1])
    assert not tokens.valid(IssuedTokens().issue())


def test_every_id_of_the_file_is_served(client: httpx.Client, files: Path) -> None:
    """The ids file holds every order once, growing."""
    ids = [int(line) for line in (files / "ids").read_text().splitlines()]
    assert len(ids) == 300
    assert ids == sorted(set(ids))
    assert all(client.get(f"{ROOT}/orders/{order_id}").status_code == 200 for order_id in ids)


def test_the_listing_holds_the_store_records(client: httpx.Client) -> None:
    """The list of stores is made of the same records as the details, and their menus exist."""
    listed = client.get(f"{ROOT}/stores").json()
    assert len(listed) == 6
    for record in listed:
        assert client.get(f"{ROOT}/stores/{record['id']}").json() == record
        assert all(client.get(f"{ROOT}/menus/{menu_id}").status_code == 200 for menu_id in record["menu_ids"])


def test_it_counts_what_it_served(client: httpx.Client) -> None:
    """The control API reports how often each operation was answered, and how."""
    before = client.get("/_sandbox/served").json()
    client.get(f"{ROOT}/orders/1")
    after = client.get("/_sandbox/served").json()
    assert after["requests"] == before["requests"] + 1
    assert after["tries"]["orders"]["1"] == before["tries"].get("orders", {}).get("1", 0) + 1
    assert after["answers"]["orders 404"] == before["answers"].get("orders 404", 0) + 1
    assert after["answers"]["authenticate 200"] == before["answers"]["authenticate 200"]


@pytest.mark.slow
def test_client_is_a_flag(enter: Callable[[str], httpx.Client]) -> None:
    """Other credentials than those of the flags are refused."""
    with Sandbox(orders=1, stores=1, client_id="a", client_secret="b") as running, pytest.raises(KeyError):
        enter(running.base_url)


def test_webhooks_go_to_loopback_only() -> None:
    """Another address is refused, and so is an unknown field; nothing is sent then."""
    app = make_app(Service(World(Config(orders=1, stores=1))))

    async def ask() -> list[tuple[int, str]]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
            bodies = ({"to": "http://192.0.2.1/"}, {"to": "https://localhost/"}, {"doubled": 1}, {"to": ""})
            answers = [await client.post("/_sandbox/webhooks", json=body) for body in bodies]
            return [(answer.status_code, answer.text) for answer in answers]

    codes, texts = zip(*asyncio.run(ask()), strict=True)
    assert codes == (400, 400, 400, 200)
    assert all("on loopback" in text for text in texts[:2])
