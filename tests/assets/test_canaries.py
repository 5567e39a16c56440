"""Marked values in every place of a service's answers: where they end up after a whole run, and where never."""

from __future__ import annotations

import json
import sys
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
import pytest
import typer.main

from pipelines import cli
from pipelines.report.mcp_server import Limits, server
from pipelines.settings import load_settings
from tests.canaries import Marks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import CompletedProcess

    from conftest import Place

MARK = "canary-7f3a"
FAR = 12.345678912  # a latitude, a number of too many decimals: only in the vault
MARKS = Marks(MARK, str(FAR)[:9])
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
        f"{MARK}@example.org": {"a": 1},
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
    """Return the service's answers, by path: status and body."""
    good = json.dumps(order(1))[:-1] + "".join(f', "{name}": {text}' for name, text in AMOUNTS.items()) + "}"
    orders: dict[int, tuple[int, str]] = {
        1: (200, good),
        2: (200, json.dumps(order(2))[:-40]),
        3: (200, json.dumps(order(3) | {"tip": mark("wrong type")})),
        4: (200, json.dumps(order(4) | {"tip": FAR})),
        5: (200, json.dumps(order(5))[:-1] + f', "status": "{mark("twice")}"}}'),
        6: (200, json.dumps(order(6) | {"id": mark("id")})),
        7: (404, json.dumps({"error": mark("not found")})),
        8: (400, json.dumps({"error": mark("bad request"), f"{MARK}@example.org": 1})),
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


@pytest.mark.slow
def test_what_is_refused_is_listed_and_the_rest_published(night: tuple[Place, CompletedProcess[str]]) -> None:
    """One order is published, eight are refused or failed with a reason, one is missing; the run says so with 3."""
    place, done = night
    assert done.returncode == 3, done.stdout + done.stderr
    assert place.all("select order_id from core.orders") == [(1,)]
    refused = {row[0] for row in place.all("select entity_id from audit.quarantine where kind = 'orders'")}
    assert refused == {2, 3, 4, 5, 6, 8, 9, 10}
    assert place.all("select reason from audit.quarantine where reason is null") == []


@pytest.mark.slow
def test_money_is_exact_in_the_file_and_in_parquet(night: tuple[Place, CompletedProcess[str]]) -> None:
    """Amounts at both ends of the accepted range are the same to the last digit wherever they are published."""
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


@pytest.mark.slow
def test_marked_values_are_nowhere_but_in_the_vault(night: tuple[Place, CompletedProcess[str]]) -> None:
    """Raw, tables, Parquet, quarantine, work list, Dagster's runs and logs, and the command's output hold no mark."""
    place, done = night
    assert not MARKS.in_bytes((done.stdout + done.stderr).encode())
    assert MARKS.hits(place.data) == []  # in the vault it is encrypted
    kinds = {file.relative_to(place.data).parts[0] for file in place.data.rglob("*") if file.is_file()}
    assert {"raw", "warehouse", "published", "runs", "inbox", "vault"} <= kinds


# Every command, in this order, with its arguments; None: why it is not run here.
COMMANDS: dict[str, list[str] | None] = {
    "run": None,  # the night
    "demo": None,  # a world of its own, without marks
    "init": None,  # lands nothing
    "dev": None,  # servers
    "sandbox serve": None,
    "webhooks serve": None,  # tests/inbox
    "mcp": None,  # a server; its answers are searched below
    "vault export": None,  # prints personal data, as asked
    "vault reveal": None,
    "vault fields": None,  # prints the names of undocumented fields, as asked
    "vault generate-keys": ["{folder}/other.json"],
    "status": [],
    "doctor": [],
    "questions": [],
    "contract": [],
    "retry": [],
    "ledger verify": [],
    "ledger accept-head": ["--reason", "a test"],
    "inventory": [],
    "source move": ["http://127.0.0.1:1", "http://127.0.0.1:2"],
    "explain order": ["1"],
    "reconcile": [],
    "breaks list": ["--all"],
    "breaks accept": ["1", "--reason", "r"],
    "breaks assign": ["1", "--to", "x"],
    "breaks comment": ["1", "--text", "t"],
    "restatements list": ["--all"],
    "diff": ["--json"],
    "webhooks undecodable": [],
    "webhooks reprocess": [],
    "land orders": ["{folder}/orders.jsonl"],
    "journal": ["--check"],
    "land menus": ["{folder}/orders.jsonl"],
    "land stores": ["{folder}/orders.jsonl"],
    "land reprocess": [],
    "totals import": ["{folder}/orders.jsonl"],
    "settlements keys": ["{folder}/orders.jsonl"],
    "settlements import": ["{folder}/orders.jsonl", "--map", "{folder}/orders.jsonl"],
    "settlements list": [],
    "settlements aging": [],
    "settlements undo": ["1", "--reason", "r"],
    "explain payout": ["PO-1"],
    "build": [],
    "verify": [],
    "copy": ["--to", "postgresql://127.0.0.1:1/none"],
    "models new": ["mine"],
    "models check": [],
    "models test": [],
    "close accept-no-orders": ["2026-11-01", "--reason", "r"],
    "close day": ["2026-11-01", "--with-exceptions", "r"],
    "close approve": ["2026-11-01"],
    "restatements post": ["--period", "2026-12"],
    "audit-pack": ["--period", "2026-11", "--out", "{folder}/pack"],
    "close reopen": ["2026-11-01", "--reason", "r"],
    "backup": ["{folder}/backups"],
    "vault rotate": ["--new-key-file", "{folder}/new.json"],
    "vault erase": ["--order-id", "1"],
    "restore": ["{folder}/backups"],
}


def leaves(command: Any, path: str = "") -> Iterator[str]:
    """Give the names of all commands."""
    inner = getattr(command, "commands", {})
    if not inner:
        yield path.strip()
    for name, each in inner.items():
        yield from leaves(each, f"{path} {name}")


def test_every_command_is_searched_for_marks() -> None:
    """A command that is added is added to the list, and its output and files are searched."""
    assert sorted(leaves(typer.main.get_command(cli.app))) == sorted(COMMANDS)


@pytest.mark.slow
def test_mcp_answers_hold_no_mark(night: tuple[Place, CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tool's answer about orders that were published, rejected and missing, and errors that quote the query."""
    from mcp import Client  # noqa: PLC0415 -- takes a second, in each worker

    place, _ = night
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_tables", {}),
        ("describe_table", {"table_name": "core.orders"}),
        ("list_examples", {}),
        *(("explain_order", {"order_id": number}) for number in (1, 2, 7)),
        ("open_questions", {}),
        ("query", {"sql": "select * from core.orders, audit.quarantine"}),
        ("query", {"sql": "select status::int from mart.orders"}),
    ]

    async def answers() -> list[bytes]:
        async with Client(server(load_settings(), Limits(seconds=240))) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {name for name, _ in calls}
            return [(await client.call_tool(*call)).model_dump_json().encode() for call in calls]

    found = anyio.run(answers)
    assert [call for call, answer in zip(calls, found, strict=True) if MARKS.in_bytes(answer)] == []
    assert b"/items/0/price" in found[3]
    assert b"preparing" in found[-1]  # an error with a value of the release


@pytest.mark.slow
def test_no_command_prints_or_writes_a_mark(
    night: tuple[Place, CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Output of every command and every file afterwards, also after rotation, erasure and restore."""
    place, _ = night
    body = json.dumps(order(11) | {"total_price": 1})
    (place.folder / "orders.jsonl").write_text(f"{body}\n{body[:-9]}\n", encoding="utf-8")
    log = place.folder / "erasures.jsonl"
    log.write_text("", encoding="utf-8")
    environ = place.environ | {"ORDERMART_PRIVACY__ERASURE_LOG": str(log), "ORDERMART_VERIFY__SECONDS": "0"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    codes = {}
    for name, arguments in COMMANDS.items():
        if arguments is None:
            continue
        if name == "restore":  # older than the erasure, wrapped by the older keys
            monkeypatch.setenv("ORDERMART_VAULT__KEY_FILE", environ["ORDERMART_VAULT__KEY_FILE"])
            place.data.rename(place.folder / "before")
        given = [each.format(folder=place.folder) for each in arguments]
        monkeypatch.setattr(sys, "argv", ["ordermart", *name.split(), *given])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        codes[name] = ended.value.code or 0
        printed = "".join(capfd.readouterr())
        assert not MARKS.in_bytes(printed.encode()), name
        if name == "vault rotate":
            monkeypatch.setenv("ORDERMART_VAULT__KEY_FILE", str(place.folder / "new.json"))
    worked = {"backup", "vault rotate", "vault erase", "build", "close day", "audit-pack", "land orders"}
    assert {name: codes[name] for name in worked} == dict.fromkeys(worked, 0)
    assert codes["restore"] == 3  # of another erasure, so it was not compared with the release of that time
    assert (place.data / "published" / "current").exists()
    assert MARKS.hits(place.folder, [place.folder / "orders.jsonl"]) == []
