"""The receiver under what it must not bear: too much, too slow, too many, and no room on the disk."""

from __future__ import annotations

import base64
import resource
import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.inbox.receiver import Senders, sender_of
from pipelines.inbox.store import undecodable
from pipelines.settings import load_settings
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = b"POST /webhooks HTTP/1.1\r\nhost: x\r\n"
ORDER = {"topic": "orders.update", "data": {"id": 5}}


def keys() -> dict[str, str]:
    """Return variables with keys of a vault."""
    return {
        "ORDERMART_VAULT__MASTER_KEY": base64.b64encode(b"m" * 32).decode(),
        "ORDERMART_VAULT__LOOKUP_SECRET": base64.b64encode(b"l" * 32).decode(),
    }


def until_closed(connection: socket.socket) -> bytes:
    """Return the receiver's answer until it closes the connection."""
    said = b""
    try:
        while part := connection.recv(4096):
            said += part
    except ConnectionResetError:
        pass
    return said


def test_a_large_body_is_refused_by_its_length(start: Callable[..., Any]) -> None:
    """A length over the limit is refused before a byte of the body is read; the limit itself is not over it."""
    running = start("max_bytes = 1000")
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.sendall(HEAD + b"content-length: 1001\r\n\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 413")
    assert running.post(b"x" * 1000).status_code == 202
    assert running.post(b"x" * 1001).status_code == 413
    assert len(running.deliveries()) == 1


def test_a_chunked_body_is_refused_while_it_streams(start: Callable[..., Any]) -> None:
    """A chunked body that never ends is refused as soon as it passes the limit."""
    running = start("max_bytes = 1000")
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        for _ in range(3):
            connection.sendall(b"190\r\n" + b"x" * 400 + b"\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 413")
    assert running.deliveries() == []


@pytest.mark.slow
def test_slow_headers_are_cut(start: Callable[..., Any]) -> None:
    """Headers that are not complete in time end the connection, however steadily they trickle."""
    running = start("read_timeout_seconds = 1.0")
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.settimeout(0.2)
        connection.sendall(HEAD)
        closed = False
        while not closed and time.monotonic() - began < 30:
            try:
                connection.sendall(b"x-more: x\r\n")
                closed = connection.recv(4096) == b"" or closed
            except TimeoutError:
                continue
            except OSError:
                closed = True
    assert closed
    assert 0.8 < time.monotonic() - began < 30


@pytest.mark.slow
def test_a_slow_body_is_cut(start: Callable[..., Any]) -> None:
    """A body of one byte in a while is cut in time, and nothing of it is stored."""
    running = start("read_timeout_seconds = 1.0")
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.sendall(HEAD + b"content-length: 500\r\n\r\n")
        connection.settimeout(0.2)
        said = b""
        while not said and time.monotonic() - began < 30:
            connection.sendall(b"x")
            try:
                said = connection.recv(4096)
            except TimeoutError:
                continue
    assert said.startswith(b"HTTP/1.1 408")
    assert 0.8 < time.monotonic() - began < 30
    assert running.deliveries() == []


def test_a_sender_that_goes_away_leaves_nothing(start: Callable[..., Any]) -> None:
    """Half a body and a closed connection are no delivery."""
    running = start()
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.sendall(HEAD + b'content-length: 500\r\n\r\n{"topic":')
    assert running.post(ORDER).status_code == 202
    assert len(running.deliveries()) == 1


def test_many_slow_senders_do_not_hold_up_others(start: Callable[..., Any]) -> None:
    """A hundred connections that say nothing leave room for a delivery."""
    running = start()
    idle = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(100)]
    for connection in idle[:50]:
        connection.sendall(HEAD)
    for connection in idle[50:]:
        connection.sendall(HEAD + b"content-length: 10\r\n\r\nx")
    began = time.monotonic()
    assert running.post(ORDER).status_code == 202
    assert time.monotonic() - began < 30
    for connection in idle:
        connection.close()


@pytest.mark.slow
def test_a_full_queue_says_come_again(start: Callable[..., Any]) -> None:
    """While nothing can be committed, the queue fills; further deliveries get 503 with Retry-After at once."""
    running = start("queue_size = 3\nretry_after_seconds = 7")
    with closing(sqlite3.connect(running.inbox, isolation_level=None)) as other, ThreadPoolExecutor(8) as pool:
        other.execute("begin immediate")
        waiting = [pool.submit(running.post, ORDER) for _ in range(8)]
        done, _ = wait(waiting, timeout=1.5)
        other.execute("rollback")
        answers = [future.result() for future in waiting]
    assert len(done) == 5
    assert {future.result().status_code for future in done} == {503}
    assert {future.result().headers["retry-after"] for future in done} == {"7"}
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [503] * 5
    assert len(running.deliveries()) == 3


@pytest.mark.slow
def test_a_full_disk_says_come_again(start: Callable[..., Any]) -> None:
    """With no room for its files the receiver answers 503 and stores nothing; with room again, it goes on."""
    running = start()
    assert running.post({"topic": "orders.create", "data": {"id": 1}}).status_code == 202
    was = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (4096, was[1]))
    refused = [running.post({"topic": "orders.create", "data": {"id": id_}}) for id_ in range(100, 110)]
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in refused} == {(503, "5")}
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, was)
    assert running.post({"topic": "orders.create", "data": {"id": 2}}).status_code == 202
    assert [row[2] for row in running.deliveries()] == [1, 2]
    assert "were answered with 503" in (running.folder / "stderr").read_text()
    with closing(sqlite3.connect(running.inbox)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


def test_receiver_recreates_a_removed_inbox(start: Callable[..., Any]) -> None:
    """Deliveries after the inbox was deleted are acknowledged only into a file that is there."""
    running = start()
    running.post(ORDER)
    for file in running.inbox.parent.iterdir():
        file.unlink()
    answers = [running.post({"topic": "orders.create", "data": {"id": id_}}).status_code for id_ in (1, 2)]
    assert answers[-1] == 202
    assert len(running.deliveries()) == answers.count(202)


@pytest.mark.slow
def test_undecodable_bodies_take_limited_room(start: Callable[..., Any]) -> None:
    """The oldest bodies make room for new ones, which is said; all deliveries stay listed, the new with bodies."""
    running = start("max_stored_bytes = 4000", **keys())
    for number in range(8):
        assert running.post(b"%d" % number + b"x" * 1000).status_code == 202
    kept = [delivery.vault_ref is not None for delivery in undecodable(running.inbox)]
    assert kept == sorted(kept)
    assert (len(kept), 1 <= sum(kept) <= 3) == (8, True)
    settings = load_settings(running.folder / "ordermart.toml", keys())
    with open_vault(settings) as vault:
        assert vault.refused.stored_bytes("webhooks") <= 4000
        newest = vault.refused.body(undecodable(running.inbox)[-1].vault_ref or "")
    assert newest is not None
    assert newest.endswith(b"7" + b"x" * 1000)
    assert "bodies of undecodable deliveries, the oldest, were removed" in (running.folder / "stderr").read_text()


def test_a_body_beyond_all_room_is_not_taken(start: Callable[..., Any]) -> None:
    """A body that would fit into no room is answered with 503; one that is decoded needs none."""
    running = start("max_stored_bytes = 4000", **keys())
    assert running.post(b"x" * 5000).status_code == 503
    assert running.post({**ORDER, "note": "x" * 5000}).status_code == 202
    assert len(running.deliveries()) == 1


@pytest.mark.slow
def test_an_unsigned_sender_has_a_rate(start: Callable[..., Any]) -> None:
    """A sender beyond its rate is asked to come again; another one, that a trusted proxy names, is not."""
    running = start('max_per_second = 0.001\ntrusted_proxies = ["127.0.0.1"]')
    assert running.post(ORDER).status_code == 202
    refused = running.post(ORDER)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert [running.post(ORDER, {"X-Real-IP": name}).status_code for name in ("192.0.2.1", "192.0.2.1")] == [202, 429]
    assert len(running.deliveries()) == 2


def test_senders_share_nothing_but_memory() -> None:
    """Each address has its own bucket, which fills again; beyond ten thousand they share one, until some are quiet."""
    now = [0.0]
    senders = Senders(2.0, lambda: now[0])
    assert [senders.allow("a") for _ in range(41)] == [True] * 40 + [False]
    now[0] = 0.5
    assert [senders.allow("a"), senders.allow("a"), senders.allow("b")] == [True, False, True]
    assert sum(senders.allow(f"c{number}") for number in range(10_100)) == 9_998 + 40
    now[0] = 60.0
    assert [senders.allow(f"d{number}") for number in range(41)] == [True] * 41
    assert all(Senders(0).allow("a") for _ in range(1000))


@pytest.mark.parametrize(
    ("client", "headers", "sender"),
    [
        (("203.0.113.9", 1), {}, "203.0.113.9"),
        (("203.0.113.9", 1), {b"x-real-ip": b"192.0.2.1"}, "203.0.113.9"),
        (("127.0.0.1", 1), {b"x-real-ip": b"192.0.2.1"}, "192.0.2.1"),
        (("127.0.0.2", 1), {b"x-real-ip": b"192.0.2.1"}, "127.0.0.2"),
        (("10.1.2.3", 1), {b"x-real-ip": b"192.0.2.1"}, "192.0.2.1"),
        (("::1", 1), {b"x-real-ip": b"2001:db8:1:2:3::4"}, "2001:db8:1:2::/64"),
        (("127.0.0.1", 1), {b"x-real-ip": b"anybody"}, "127.0.0.1"),
        (("127.0.0.1", 1), {b"x-real-ip": b"\xff"}, "127.0.0.1"),
        (None, {}, ""),
    ],
)
def test_who_sends(client: Any, headers: dict[bytes, bytes], sender: str) -> None:
    """The address counts, of IPv6 its network; only a proxy that settings name is believed about another."""
    assert sender_of(client, headers, ("127.0.0.1", "::1", "10.0.0.0/8")) == sender
    assert sender_of(client, {}) == sender_of(client, headers)  # by default none is
