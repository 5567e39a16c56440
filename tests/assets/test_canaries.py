"""Marked values in every place of what a service answers: where they end up after a whole run, and where never."""

from __future__ import annotations

import json
import sqlite3
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from conftest import Place

MARK = "canary-7f3a"
FAR = 12.345678912  # a latitude, a number of too many decimals: only in the vault
AMOUNTS = {
    "subtotal_price": "99999999999999.9999",
    "delivery_price": "0.0001",
    "tip": "0.30",
    "discount": "1234567890123.4567",
    "loyalty_discount": "-0.0001",
    "total_price": "98765432109876.8432",
}


def mark(place: str) -> str:
    """Return a text that occurs nowhere else."""
    return f"{MARK}-{place}"


def order(order_id: int) -> dict[str, Any]:
    """Return an order with a mark in every personal place, every free text and every unknown field."""
    personal = {name: mark(name) for name in ("user_name", "user_address", "apartment_details", "dispatch_note")}
    return {
        "id": order_id,
        **personal,
        "user_phone": f"+49 30 {MARK}",
        "user_email": f"{MARK}@example.org",
        "user_latitude": FAR,
        "user_longitude": -FAR,
        "dispatch_method": "store_delivery",
        "store_id": 1,
        "status": "preparing",
        "platform": "web",
        "created_at": "2026-11-01T10:00:00Z",
        "loyalty_card": mark("unknown"),
        "items": [
            {
                "id": 1,
                "product_id": 5,
                "quantity": 3,
                "name": "Soup",
                "instructions": mark("instructions"),
                "price": 0.1,
                "modifiers": [{"id": 2, "name": "Big", "price": 0.2, "gift_for": mark("deep")}],
            }
        ],
        "deliveries": [
            {
                "id": 1,
                "type": "own_delivery",
                "status": "confirmed",
                "confirmation_code": mark("code"),
                "tracking_url": f"https://example.org/{MARK}",
                "rider": {"name": mark("rider")},
            }
        ],
    }


def bodies() -> dict[str, tuple[int, bytes]]:
    """Return what the service answers, by path: status and body."""
    good = json.dumps(order(1))[:-1] + "".join(f', "{name}": {text}' for name, text in AMOUNTS.items()) + "}"
    orders: dict[int, tuple[int, str]] = {
        1: (200, good),
        2: (200, json.dumps(order(2))[:-40]),
        3: (200, json.dumps(order(3) | {"tip": mark("wrong type")})),
        4: (200, json.dumps(order(4) | {"tip": FAR})),
        5: (200, json.dumps(order(5))[:-1] + f', "status": "{mark("twice")}"}}'),
        6: (200, json.dumps(order(6) | {"id": mark("id")})),
        7: (404, json.dumps({"error": mark("not found")})),
        8: (400, json.dumps({"error": mark("bad request")})),
        9: (200, f"<html>{mark('page')}</html>"),
        10: (200, json.dumps(order(10) | {"created_at": mark("time")})),
    }
    root = "/v1/partner_developers"
    store = {"id": 1, "name": "Nord", "timezone": "Europe/Berlin", "currency": "EUR", "owner": {"phone": mark("owner")}}
    return {
        f"{root}/authenticate": (200, json.dumps({"access_token": mark("token"), "expires_in": 3600}).encode()),
        f"{root}/stores": (200, json.dumps([store]).encode()),
        f"{root}/stores/1": (200, json.dumps(store).encode()),
        **{f"{root}/orders/{number}": (status, body.encode()) for number, (status, body) in orders.items()},
    }


class Service(BaseHTTPRequestHandler):
    """A service that answers with marked values."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[dict[str, tuple[int, bytes]]] = bodies()

    def do_GET(self) -> None:
        """Answer with the body of the path."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status, body = self.answers.get(self.path.split("?")[0], (404, b"{}"))
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Answer likewise."""
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def night(place_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, CompletedProcess[str]]]:
    """Run the whole job once against the service of marked values."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        secret = {"ORDERMART_PARTNER__CLIENT_ID": mark("client"), "ORDERMART_PARTNER__CLIENT_SECRET": mark("secret")}
        folder = tmp_path_factory.mktemp("canaries")
        place: Place = place_of(folder, f"http://127.0.0.1:{server.server_port}", **secret)
        done = place.command("run", "--order-id-range", "1-10", ORDERMART_PARTNER__MAX_ATTEMPTS="2")
        yield place, done
        server.shutdown()


def test_what_is_refused_is_listed_and_the_rest_published(night: tuple[Place, CompletedProcess[str]]) -> None:
    """One order is published, eight are refused or failed with a reason, one is missing; the run says so with 3."""
    place, done = night
    assert done.returncode == 3, done.stdout + done.stderr
    assert place.all("select order_id from core.orders") == [(1,)]
    refused = {row[0] for row in place.all("select entity_id from audit.quarantine where kind = 'orders'")}
    assert refused == {2, 3, 4, 5, 6, 8, 9, 10}
    assert place.all("select reason from audit.quarantine where reason is null") == []


def test_money_is_exact_in_the_file_and_in_parquet(night: tuple[Place, CompletedProcess[str]]) -> None:
    """Amounts at both ends of what is taken are the same to the last digit wherever they are published."""
    place, _ = night
    columns = ", ".join(f"{name}::varchar" for name in AMOUNTS)
    expected = [tuple(Decimal(text) for text in AMOUNTS.values())]
    folder = place.data / "published" / "current" / "parquet"
    for relation in ("core.orders", "mart.orders", "mart.daily_store_sales"):
        for source in (relation, f"'{folder}/{relation.replace('.', '/')}/**/*.parquet'"):
            rows = place.all(f"select {columns} from {source}")
            assert [tuple(Decimal(str(each)) for each in row) for row in rows] == expected, source
    total = place.all("select formula_total::varchar, total_residual::varchar from mart.order_reconciliation")
    sums = {name: Decimal(text) for name, text in AMOUNTS.items()}
    formula = (
        sums["subtotal_price"] + sums["delivery_price"] + sums["tip"] - sums["discount"] - sums["loyalty_discount"]
    )
    assert [tuple(Decimal(str(each)) for each in row) for row in total] == [(formula, sums["total_price"] - formula)]


def test_marked_values_are_nowhere_but_in_the_vault(night: tuple[Place, CompletedProcess[str]]) -> None:
    """Raw, tables, Parquet, quarantine, work list, Dagster's runs and logs, and what the command said hold no mark."""
    place, done = night
    marks = (MARK.encode(), b"12.345678")
    assert not [each for each in marks if each in (done.stdout + done.stderr).encode()]
    kinds = set()
    for file in sorted(place.data.rglob("*")):
        if file.is_file() and file.relative_to(place.data).parts[0] != "vault":
            kinds.add(file.relative_to(place.data).parts[0])
            for content in readable(file):
                assert not [each for each in marks if each in content], file.relative_to(place.data)
    assert {"raw", "warehouse", "published", "dagster", "inbox"} <= kinds
    vault = b"".join(file.read_bytes() for file in (place.data / "vault").rglob("*") if file.is_file())
    assert MARK.encode() not in vault  # encrypted there


def readable(file: Path) -> Iterator[bytes]:
    """Return the bytes of a file, and what a reader of its format sees in them."""
    yield file.read_bytes()
    if file.suffix == ".parquet":
        yield repr(pq.read_table(file).to_pylist()).encode()
    if file.suffix == ".duckdb":
        with duckdb.connect(str(file), read_only=True) as con:
            tables = con.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
            for (table,) in tables:
                yield repr(con.execute(f"from {table}").fetchall()).encode()
    if file.read_bytes()[:15] == b"SQLite format 3":
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
            yield "\n".join(db.iterdump()).encode()
        db.close()
