"""The receiver, over real HTTP: what it stores, and what it does not."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pipelines.clock import utc_now
from pipelines.inbox.receiver import serve_webhooks
from pipelines.inbox.store import deserialized, reprocess_deliveries, undecodable
from pipelines.inbox.worklist import WorkList
from pipelines.listening import ListenError
from pipelines.settings import SettingsError, load_settings
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CANARIES = ("Canary Maria", "+55 11 98888-7777", "canary@example.test", "Canary Street 7", "-23.56")
PERSONAL = {
    "user_name": CANARIES[0],
    "user_phone": CANARIES[1],
    "user_email": CANARIES[2],
    "user_address": CANARIES[3],
    "user_latitude": -23.56,
}


def keys() -> dict[str, str]:
    """Return variables with fresh keys of the vault."""
    return {
        "ORDERMART_VAULT__MASTER_KEY": base64.b64encode(os.urandom(32)).decode(),
        "ORDERMART_VAULT__LOOKUP_SECRET": base64.b64encode(os.urandom(32)).decode(),
    }


def test_a_delivery_is_on_the_work_list_before_the_answer(start: Callable[..., Any]) -> None:
    """After 202 the delivery and its entry are there for any other process, with the reason."""
    running = start()
    assert running.post({"topic": "orders.update", "delivery_id": "d-1", "data": {"id": 5}}).status_code == 202
    with WorkList(running.inbox) as work:
        entry = work.entry("orders", 5)
        assert entry is not None
        assert (entry.state, entry.why) == ("waiting", {"webhook"})
    assert running.deliveries() == [("orders.update", "orders", 5, "d-1", None)]


def test_each_topic_adds_its_kind(start: Callable[..., Any]) -> None:
    """The four topics of the interface name stores, orders and menus."""
    running = start()
    for id_, topic in enumerate(("stores.update", "orders.create", "orders.update", "menus.update"), 1):
        assert running.post({"id": id_}, {"X-Webhook-Topic": topic}).status_code == 202
    with WorkList(running.inbox) as work:
        assert (work.due("stores"), work.due("orders"), work.due("menus")) == ([1], [2, 3], [4])


def test_equal_bodies_both_count(start: Callable[..., Any]) -> None:
    """Two identical notifications are two deliveries and one fetch; one during a fetch leads to another."""
    running = start()
    body = {"topic": "orders.update", "data": {"id": 5}}
    running.post(body)
    running.post(body)
    assert len(running.deliveries()) == 2
    with WorkList(running.inbox) as work:
        assert work.due("orders") == [5]
        work.started("orders", [5])
        running.post(body)
        work.done("orders", [5])
        assert work.due("orders") == []  # not within a minute of its last request
        assert work.due("orders", utc_now() + dt.timedelta(minutes=2)) == [5]
        work.started("orders", [5])
        work.done("orders", [5])
        assert work.due("orders") == []


UNREADABLE: list[tuple[Any, str]] = [
    ({"topic": "orders.delete", "data": {"id": 5}}, "unknown topic"),
    ({"data": {"id": 5}}, "no topic found"),
    ({"topic": "orders.update", "data": {"number": 5}}, "no id found"),
    ({"topic": "orders.update", "data": {"id": "five"}}, "no id found"),
    (b"", "no topic found: the body is not JSON"),
    (b"\xff\xfe{", "no topic found: the body is not JSON"),
    (b"[" * 100_000, "no topic found"),  # too deep to tell whether it is JSON
]


def test_receiver_stores_undecodable_deliveries(start: Callable[..., Any]) -> None:
    """An undecodable delivery is acknowledged, listed and encrypted, byte for byte."""
    variables = keys()
    running = start(**variables)
    assert [running.post(body).status_code for body, _ in UNREADABLE] == [202] * len(UNREADABLE)
    listed = undecodable(running.inbox)
    assert [(delivery.id, delivery.undecodable) for delivery in listed] == [(None, why) for _, why in UNREADABLE]
    with WorkList(running.inbox) as work:
        assert work.counts() == {}
    with open_vault(load_settings(running.folder / "ordermart.toml", variables)) as vault:
        encrypted = [vault.refused.open(delivery.vault_ref or "") for delivery in listed]
    sent = [body if isinstance(body, bytes) else json.dumps(body).encode() for body, _ in UNREADABLE]
    assert [deserialized(refused.body)[1] for refused in encrypted if refused] == sent


def test_reprocess_deliveries_decodes_with_corrected_settings(start: Callable[..., Any]) -> None:
    """With corrected settings, encrypted deliveries are decoded, wherever topic and id are."""
    variables = keys()
    running = start(**variables)
    assert running.post({"orderNumber": 5}, {"X-What": "orders.update"}).status_code == 202
    assert running.post({"orderNumber": 6}).status_code == 202
    assert running.end() == 0
    file = running.folder / "ordermart.toml"
    file.write_text('[webhooks]\ntopic_locations = ["header:X-What"]\nid_locations = ["/{kind}Number"]')
    settings = load_settings(file, variables)
    with open_vault(settings) as vault:

        def opened(ref: str) -> bytes | None:
            refused = vault.refused.open(ref)
            return refused.body if refused else None

        assert reprocess_deliveries(settings.webhooks, running.inbox, opened) == (1, 1)
        assert reprocess_deliveries(settings.webhooks, running.inbox, opened) == (0, 1)
    with WorkList(running.inbox) as work:
        assert work.due("orders") == [5]
    assert [row[4] for row in running.deliveries()] == [None, "no topic found"]


@pytest.mark.slow
def test_no_personal_data_in_the_inbox(start: Callable[..., Any]) -> None:
    """Personal data in a body, a topic or a delivery id are in no byte of any file, read or not."""
    running = start(**keys())
    order = {"id": 5, **PERSONAL}
    for body in (
        {"topic": "orders.update", "data": order},
        {"topic": "orders.delete", "data": order},
        {"topic": CANARIES[2], "data": order},
        {"topic": "orders.update", "data": {"order": PERSONAL}, "delivery_id": CANARIES[1]},
    ):
        assert running.post(body).status_code == 202
    assert running.post(b'{"topic": "orders.update", ' + repr(PERSONAL).encode()).status_code == 202
    assert len(running.deliveries()) == 5
    everything = b"".join(file.read_bytes() for file in running.folder.rglob("*") if file.is_file())
    assert b"orders.update" in everything
    assert [canary for canary in CANARIES if canary.encode() in everything] == []


def test_without_keys_bodies_are_dropped(start: Callable[..., Any]) -> None:
    """Without a vault there is no place for a body; the delivery is still stored."""
    running = start()
    assert running.post({"topic": "orders.delete"}).status_code == 202
    (delivery,) = undecodable(running.inbox)
    assert delivery.vault_ref is None
    assert not (running.folder / "data" / "vault").exists()


def test_other_methods_and_paths(start: Callable[..., Any]) -> None:
    """Only POST to the one path is a delivery; /health says that the receiver lives."""
    running = start('path = "/hooks/orders"')
    assert running.url.endswith("/hooks/orders")
    assert httpx.get(running.url).status_code == 405
    assert httpx.post(running.url + "/x").status_code == 404
    assert httpx.get(f"http://127.0.0.1:{running.port}/health").text == "ok"
    assert running.deliveries() == []


def test_a_taken_port_is_said(start: Callable[..., Any], tmp_path: Path) -> None:
    """A second receiver on the same port ends with one sentence instead of sharing it."""
    running = start()
    settings = load_settings(running.folder / "ordermart.toml", {})
    with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{running.port}"):
        serve_webhooks(settings, port=running.port)


def test_a_signature_needs_a_secret(tmp_path: Path) -> None:
    """A receiver that is to judge signatures does not start without the secret."""
    file = tmp_path / "ordermart.toml"
    file.write_text('[webhooks]\nport = 0\nsignature = "hmac_sha256"')
    with pytest.raises(SettingsError, match="ORDERMART_WEBHOOKS__SECRET"):
        serve_webhooks(load_settings(file, {}))


@pytest.mark.slow
def test_a_stop_acknowledges_only_what_is_committed(start: Callable[..., Any]) -> None:
    """SIGTERM under load ends the receiver soon, with exit code 0, and every acknowledged delivery is there."""
    running = start()
    acknowledged: list[int] = []

    def send(first: int) -> None:
        with httpx.Client() as client:
            for id_ in range(first, first + 100_000):
                try:
                    answer = client.post(running.url, json={"topic": "orders.create", "data": {"id": id_}})
                except httpx.TransportError:
                    return
                if answer.status_code == 202:
                    acknowledged.append(id_)

    threads = [threading.Thread(target=send, args=(1 + n * 100_000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    while len(acknowledged) <= 50 and any(thread.is_alive() for thread in threads):
        threading.Event().wait(0.01)
    assert running.end(signal.SIGTERM) == 0
    for thread in threads:
        thread.join()
    stored = {row[2] for row in running.deliveries()}
    assert len(acknowledged) > 50
    assert set(acknowledged) <= stored
