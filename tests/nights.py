"""Play nights of a service that goes wrong in many ways in turn, and compare each morning's report with the truth.

The truth is declared here, beside the fault that makes it so, and what was served; no code of ordermart is used. The
command, its exit code, `status --json`, the page, the alarms that were sent and the heartbeats are looked at from
outside. The clock of the commands goes on by a day each night.

    python -m tests.nights [--nights 40] [--only FAULT …] [--seed 1]
    python -m tests.nights --good 60
    python -m tests.nights --lasting FAULT …
    python -m tests.nights --reasons [REASON …]
"""

from __future__ import annotations

import argparse
import copy
import http.server
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from benchmarks.many_nights import shim
from pipelines.sandbox.process import Sandbox
from pipelines.vault import new_key_file
from tests.rewriting import rewriting

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from tests.rewriting import Change

ROOT = Path(__file__).resolve().parents[1]
STORES = "/v1/partner_developers/stores"
DAY = 86_400
PATIENCE = {"OUTAGE_TIMEOUT_SECONDS": "3", "TIMEOUT_SECONDS": "2", "MAX_ATTEMPTS": "3"}


@dataclass(frozen=True)
class Fault:
    """What goes wrong, which kinds are then not up to date, and the settings that the night has."""

    change: Change
    kinds: frozenset[str]  # that are not up to date; none: the night is good all the same
    settings: dict[str, str] = field(default_factory=dict)


def _of(kind: str, path: str) -> bool:
    return path == STORES if kind == "list" else path.startswith(f"/v1/partner_developers/{kind}/")


def _answers(kind: str, status: int, body: Any = b"{}") -> Change:
    return lambda path, was, found: (status, body) if _of(kind, path) else (was, found)


def _changed(kind: str, change: Callable[[Any], Any]) -> Change:
    return lambda path, was, found: (was, change(found) if _of(kind, path) and was == 200 else found)


def _everything(status: int) -> Change:
    return lambda _path, _was, _found: (status, b"{}")


def _some(kind: str, status: int, share: float) -> Change:
    """Answer a share of first requests so; the same request is answered well when it comes again."""
    seen: Counter[str] = Counter()

    def change(path: str, was: int, found: Any) -> tuple[int, Any]:
        seen[path] += 1
        fails = _of(kind, path) and seen[path] % 2 == 1 and random.Random(path).random() < share
        return (status, b"{}") if fails else (was, found)

    return change


def _one_document(path: str, was: int, found: Any, kept: dict[str, Any] = {}) -> tuple[int, Any]:  # noqa: B006
    return (was, kept.setdefault("orders", found)) if _of("orders", path) else (was, found)


def _gone(path: str, was: int, found: Any, first: set[str] = set()) -> tuple[int, Any]:  # noqa: B006
    if _of("orders", path) and not first:
        first.add(path)
    return (404, {}) if path in first else (was, found)


def _without(name: str) -> Callable[[Any], Any]:
    return lambda found: {key: value for key, value in found.items() if key != name}


STALE_STORES, STALE_MENUS, STALE_ORDERS = frozenset({"stores"}), frozenset({"menus"}), frozenset({"orders"})
ALL = frozenset({"stores", "menus", "orders"})
DATA = {"ORDERMART_PARTNER__LIST_STORES__ITEMS_POINTER": "/data"}
FAULTS: dict[str, Fault] = {
    "list answers 500": Fault(_answers("list", 500), STALE_STORES),
    "list answers 403": Fault(_answers("list", 403), STALE_STORES),
    "list is empty": Fault(_answers("list", 200, []), STALE_STORES),
    "list is not JSON": Fault(_answers("list", 200, b"<html>"), STALE_STORES),
    "list has a cursor": Fault(_changed("list", lambda a: {"data": a[:2], "next_cursor": "x"}), STALE_STORES, DATA),
    "list states a total": Fault(_changed("list", lambda a: {"data": a[:2], "total": len(a)}), STALE_STORES, DATA),
    "list lacks stores": Fault(_changed("list", lambda found: found[:1]), STALE_STORES),
    "stores answer 500": Fault(_answers("stores", 500), STALE_STORES),
    "stores answer 403": Fault(_answers("stores", 403), STALE_STORES),
    "stores lack their id": Fault(_changed("stores", _without("id")), STALE_STORES),
    "stores lack the zone": Fault(_changed("stores", _without("timezone")), STALE_STORES),
    "stores lack the currency": Fault(_changed("stores", _without("currency")), STALE_STORES),
    "stores lack menus": Fault(_changed("stores", _without("menu_ids")), STALE_MENUS),
    "menus answer 404": Fault(_answers("menus", 404), STALE_MENUS),
    "menus answer 403": Fault(_answers("menus", 403), STALE_MENUS),
    "menus are HTML": Fault(_answers("menus", 200, b"<html>"), STALE_MENUS),
    "orders answer 404": Fault(_answers("orders", 404), STALE_ORDERS),
    "orders answer 403": Fault(_answers("orders", 403), STALE_ORDERS),
    "orders answer 500": Fault(_answers("orders", 500), STALE_ORDERS),
    "orders are one document": Fault(_one_document, STALE_ORDERS),
    "orders send ids as text": Fault(_changed("orders", lambda a: {**a, "id": str(a["id"])}), STALE_ORDERS),
    "orders lack lines": Fault(_changed("orders", lambda found: {**found, "items": "none"}), STALE_ORDERS),
    "everything answers 401": Fault(_everything(401), ALL),
    "everything answers 503": Fault(_everything(503), ALL),
    "everything redirects": Fault(_everything(302), ALL),
    "a third of the orders answers 500 once": Fault(_some("orders", 500, 0.3), frozenset()),
}


# Habits of a service that is well: nights with them are good, and nobody is told anything.
HABITS: dict[str, Change] = {
    "answers as before": lambda _path, was, found: (was, found),
    "answers some orders with 500 once": _some("orders", 500, 0.3),
    "answers some orders with 429 once": _some("orders", 429, 0.2),
    "answers some menus with 503 once": _some("menus", 503, 0.5),
    "lists its stores in another order": _changed("list", lambda found: found[::-1]),
    "lists one store less": _changed("list", lambda found: found[1:]),
    "sends a field that it never sent": _changed("orders", lambda found: {**found, "loyalty_level": "gold"}),
    "knows one order no longer": _gone,
    "names a status that it never named": _changed(
        "orders", lambda found: {**found, "status": "parked"} if found["id"] % 20 == 0 else found
    ),
}


def _raw(answer: bytes, seconds: float = 0) -> Callable[[Any], None]:
    """Answer with these bytes, after so long, and close the connection."""

    def send(handler: http.server.BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        handler.wfile.write(answer)

    return send


def _text(old: str, new: str) -> Callable[[dict[str, Any]], bytes]:
    """Change the text of a document."""
    return lambda found: json.dumps(found).replace(old, new, 1).encode("utf-8", "surrogateescape")


def _nested(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "deep": json.loads("[" * 200 + "]" * 200)}


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: %s\r\n\r\n{}"
_LIMITS = {"ORDERMART_LANDING__MAX_BYTES": "100000", "ORDERMART_LANDING__MAX_ORDER_PARTS": "500"}
# Why a request of some ids can fail → the answer of the service for these, given their document.
REASONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "404": lambda _: (404, {}),
    "content_encoding": lambda found: (200, found, {"content-encoding": "br"}),
    "content_type": lambda _: (200, _raw(_HEAD % (2, b"text/html"))),
    "no_known_field": lambda found: (200, {"greeting": found["id"]}),
    "not_json": lambda found: (200, b"<html>%d" % found["id"]),
    "protocol": lambda _: (200, _raw(b"SIP/2.0 what\r\n\r\n")),
    "rate_limited": lambda _: (429, {}),
    "redirect": lambda _: (302, {}, {"location": "/elsewhere"}),
    "reset": lambda _: (200, _raw(b"")),
    "same_body": lambda _: (200, {"status": "delivered", "platform": "web"}),
    "server_error": lambda _: (503, {}),
    "timeout": lambda _: (200, _raw(b"", 3)),
    "truncated": lambda _: (200, _raw(_HEAD % (20, b"application/json"))),
    "unauthorized": lambda _: (401, {}),
    "status_NNN": lambda _: (403, {}),
    "bad_timestamp": lambda found: (200, {**found, "created_at": "yesterday"}),
    "duplicate_key": lambda found: (200, _text('"id":', '"id": 1, "id":')(found)),
    "id_out_of_range": lambda found: (200, {**found, "id": -found["id"]}),
    "integer_out_of_range": lambda found: (200, {**found, "store_id": 2**70}),
    "invalid_utf8": lambda found: (200, _text('"status": "', '"status": "\udcff')(found)),
    "lone_surrogate": lambda found: (200, {**found, "status": "\ud800"}),
    "no_id": lambda found: (200, _without("id")(found)),
    "not_finite": lambda found: (200, {**found, "tip": float("nan")}),
    "too_deep": lambda found: (200, _nested(found)),
    "too_large": lambda found: (200, {**found, "note": "x" * 200_000}),
    "too_many_decimals": lambda found: (200, {**found, "tip": 0.123456}),
    "too_many_digits": lambda found: (200, {**found, "tip": 10**30}),
    "too_many_parts": lambda found: (200, {**found, "items": found["items"] * 600}),
    "wrong_id": lambda found: (200, {**found, "id": found["id"] + 1_000_000}),
    "wrong_type": lambda found: (200, {**found, "items": "none"}),
}
# No request of some ids alone, or of orders, can fail for these.
OF_ALL = {"certificate", "connect", "no_address", "proxy", "transport", "bad_dictionary_key"}
CLASSES = {  # words of a message → what it is about; "Over: …" says that this is over
    r"gave no usable answer|the outage of": "outage",  # first: it names kinds
    r"stores (are|that were) not up to date": "stores",
    r"menus (are|that were) not up to date": "menus",
    r"orders (are|that were) not up to date": "orders",
    r"The last night (failed|was)|the failed run": "failed night",
    r"The last run for webhooks|run_failed": "failed run for webhooks",
    r"No night was good|nights without a good one": "no good night",
    r"quarantined or failed": "quarantined",
}
_COVERING = {"outage", "failed night"}  # of every kind


def about(text: str) -> str:
    """Return what a message is about; the message itself if that is not known."""
    return next((name for words, name in CLASSES.items() if re.search(words, text)), text)


def most_in_a_week(messages: list[tuple[int, str, bool]]) -> tuple[int, str]:
    """Return the most messages about one thing in any seven days, and what they were about."""
    counts = Counter((what, first) for day, what, _ in messages for first in range(day - 6, day + 1))
    (what, _), number = max(counts.items(), key=lambda item: item[1], default=(("", 0), 0))
    return number, what


def well(_path: str, was: int, found: Any) -> tuple[int, Any]:
    """Change nothing."""
    return was, found


@contextmanager
def listening() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Take heartbeats and alarms; give the address, and (path, body) of each request."""
    came: list[tuple[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._take(None)

        def do_POST(self) -> None:
            self._take(json.loads(self.rfile.read(int(self.headers.get("content-length") or 0))))

        def _take(self, body: Any) -> None:
            came.append((self.path, body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", came
    finally:
        server.shutdown()
        server.server_close()


class Mornings:
    """A service, a data folder and their nights; `wrong` collects what a morning said that was not true."""

    def __init__(self, folder: Path, stack: ExitStack, orders: int) -> None:
        sandbox = stack.enter_context(Sandbox(orders=orders, stores=6, days=3, ids=folder / "ids"))
        self.change: Change = well
        address = stack.enter_context(rewriting(sandbox.base_url, self._change))
        listener, self.came = stack.enter_context(listening())
        self.data, self.no, self.wrong = folder / "data", 0, []  # type: ignore[var-annotated]
        self.served: dict[int, Any] = {}  # the last good document of an order, of nights with a reason
        self.failed: list[int] = []  # the last night, for its reason
        self.messages: list[tuple[int, str, bool]] = []  # night, what it is about, whether it is over
        self.announced: dict[str, int] = {}  # when a message said that others would not follow for a week
        self.believed: set[str] = set()  # of these, those of which somebody who reads messages knows that they last
        keys = folder / "keys.json"
        self.environ = {
            **os.environ,
            "LD_PRELOAD": shim(folder),
            "ORDERMART_PARTNER__BASE_URL": address,
            "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
            "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
            "ORDERMART_VAULT__KEY_FILE": str(keys),
            "ORDERMART_DATA__DIR": str(self.data),
            "ORDERMART_NOTIFY__HEARTBEAT_URL": f"{listener}/heartbeat",
            "ORDERMART_NOTIFY__WEBHOOK_URL": f"{listener}/alarm",
            "ORDERMART_NOTIFY__MIN_FREE_GB": "0.1",
            "ORDERMART_SALES__COUNTED_STATUSES": '["delivered", "picked_up"]',
            "ORDERMART_SALES__EXCLUDED_STATUSES": '["cancelled"]',
            **{f"ORDERMART_PARTNER__{name}": value for name, value in PATIENCE.items()},
        }
        new_key_file(keys)
        self.ids = folder / "ids"

    def _change(self, path: str, was: int, found: Any) -> tuple[int, Any]:
        return self.change(path, was, found)

    def command(self, *arguments: str, hours: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """Run `ordermart` at the time of this night, or so many hours later."""
        shift = str(self.no * DAY + hours * 3600)
        return subprocess.run(
            [sys.executable, "-m", "pipelines.cli", *arguments],
            cwd=ROOT, env={**self.environ, **more, "SHIFT_SECONDS": shift},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def play(self, name: str) -> None:
        """Run a night with this fault, "" for none, and compare the morning's report with the truth."""
        fault = FAULTS.get(name, Fault(HABITS.get(name, well), frozenset()))
        self.change, self.no = fault.change, self.no + 1
        self.came.clear()
        done = self.command("run", "--order-ids", str(self.ids), **fault.settings)
        self.change = well
        said = {
            "exit code": done.returncode == 0,
            "heartbeat": any(path == "/heartbeat" for path, _ in self.came),
            "status": self._status(),
            "page": self._page(),
            "summary": "not up to date" not in done.stdout and "FAILED" not in done.stdout + done.stderr,
        }
        is_good = not fault.kinds
        label = f"night {self.no}, {name or 'nothing wrong'}"
        self.wrong += [
            f"{label}: {who} says {'good' if good else 'not good'}" for who, good in said.items() if good != is_good
        ]
        text = done.stdout + done.stderr
        if "Traceback" in text:
            self.wrong.append(f"{label}: a traceback: {text[-800:]}")
        self.wrong += [f"{label}: does not name {kind}" for kind in sorted(fault.kinds) if kind not in text]
        self._read_messages(label, is_good=is_good)
        expected = {what for what, night in self.announced.items() if self.no - night < 7}
        unknown = [kind for kind in sorted(fault.kinds) if not (self.believed | expected) & {kind, *_COVERING}]
        self.wrong += [f"{label}: nobody was told of {kind}" for kind in unknown]

    def due(self, name: str, hours: int) -> None:
        """Run the due ids, so many hours after the night, with its fault: no message may say that it is over."""
        self.change = FAULTS[name].change
        self.came.clear()
        self.command("run", "--due", hours=hours, **FAULTS[name].settings)
        self.change = well
        self._read_messages(f"night {self.no}, {hours} hours later, {name}", is_good=False)

    def _read_messages(self, label: str, *, is_good: bool) -> None:
        texts = [str(body.get("text", body)) for path, body in self.came if path == "/alarm"]
        for text in texts:
            what, is_over = about(text), "Over:" in text
            self.messages.append((self.no, what, is_over))
            if "further changes are shown by `ordermart status` alone" in text:
                self.announced[what] = self.no
            (self.believed.discard if is_over else self.believed.add)(what)
            if is_good and not is_over:
                self.wrong.append(f"{label}: a false alarm: {text}")

    def play_reason(self, reason: str, failing: list[int], well: list[int]) -> None:
        """Run a night that new ids fail for this reason; all others, and those that failed before, must come well."""
        self.no += 1
        self.came.clear()

        def change(path: str, was: int, found: Any) -> Any:
            id_ = int(path.rpartition("/")[2]) if path.startswith("/v1/partner_developers/orders/") else None
            if id_ in failing:
                return REASONS[reason](copy.deepcopy(found))
            if id_ is not None:
                self.served[id_] = found
            return was, found

        self.change = change
        self.ids.write_text("".join(f"{each}\n" for each in (*well, *failing)), encoding="ascii")
        done = self.command("run", "--order-ids", str(self.ids), **_LIMITS)
        text, label = done.stdout + done.stderr, f"night {self.no}, {reason}"
        state = json.loads(self.command("status", "--json").stdout)["last_run"]
        said = {
            "exit code": done.returncode == (3 if failing and reason != "404" else 0),
            "heartbeat": any(path == "/heartbeat" for path, _ in self.came),
            "status": bool(state and state["is_good"]),
            "page": self._page(),
            "summary": "FAILED" not in text and "Traceback" not in text,
        }
        self.wrong += [f"{label}: {who} does not say good: {text[-1500:]}" for who, good in said.items() if not good]
        told = {about(str(body.get("text", body))) for path, body in self.came if path == "/alarm"}
        self.wrong += [f"{label}: a message about {what}" for what in told - {"quarantined"}]
        with duckdb.connect(str(self.data / "published" / "current" / "ordermart.duckdb"), read_only=True) as con:
            shown = dict(con.execute("select order_id, total_price from core.orders").fetchall())
        truth = {id_: Decimal(str(found["total_price"])) for id_, found in self.served.items()}
        missing, more = truth.keys() - shown.keys(), shown.keys() - truth.keys()
        if missing or more or shown != truth:
            self.wrong.append(f"{label}: {sorted(missing)} are missing, {sorted(more)} are there, or a total is wrong")
        late = set(self.failed) - self.served.keys()
        self.wrong += [f"{label}: {sorted(late)}, which failed the night before, were not asked for"] if late else []
        self.failed = failing

    def _status(self) -> bool:
        found = json.loads(self.command("status", "--json").stdout)
        return bool(found["last_run"] and found["last_run"]["is_good"]) and not found["alarms"]

    def _page(self) -> bool:
        text = (self.data / "published" / "morning.html").read_text(encoding="utf-8")
        level = re.search(r'class="verdict (\w+)"', text)
        return level is not None and level[1] != "bad"


@contextmanager
def mornings(orders: int = 60, *, has_night: bool = True) -> Iterator[Mornings]:
    """Give a service and a data folder that had one good night; afterwards add if somebody was told too often."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        made = Mornings(Path(folder), stack, orders)
        if has_night:
            made.play("")
        yield made
        number, what = most_in_a_week(made.messages)
        if number > 3:
            made.wrong.append(f"{number} messages about one thing in a week: {what}")


def play(nights: int, only: list[str], seed: int) -> list[str]:
    """Play so many nights, each fault followed by a good night until the nights are over; return what was not true."""
    names = only or random.Random(seed).sample(list(FAULTS), len(FAULTS))
    goods = max(0, nights - 1 - len(names))
    with mornings() as made:
        for no, name in enumerate(names):
            made.play(name)
            if no < goods:
                made.play("")
    return made.wrong


def play_good(nights: int) -> list[str]:
    """Play nights that are good, with one habit after the other; return what was not true."""
    with mornings() as made:
        for no in range(nights - 1):
            made.play(list(HABITS)[no % len(HABITS)])
        made.wrong += [f"night {no}: a message about {what}" for no, what, _ in made.messages]
    return made.wrong


def play_lasting(name: str, nights: int = 3) -> list[str]:
    """Play nights with one fault, each with two runs for webhooks, and as many good ones; return untrue things."""
    with mornings() as made:
        for _ in range(nights):
            made.play(name)
            for hours in (7, 14):
                made.due(name, hours)
        over = [what for _, what, is_over in made.messages if is_over]
        made.wrong += [f"{name}: {what} is said to be over while it is not" for what in over]
        told = Counter(what for _, what, _ in made.messages)
        made.wrong += [f"{name}: {number} messages about {what}" for what, number in told.items() if number > 1]
        for _ in range(nights):
            made.play("")
        made.wrong += [f"{name}: nobody was told that {what} is over" for what in sorted(made.believed)]
    return made.wrong


def play_reasons(only: Collection[str] = ()) -> list[str]:
    """Play a night for each reason, in which two of three new ids fail for it, of a hundred; return what was not true.

    Nobody names these ids again: the night after has them. At the end a night in which nothing fails.
    """
    with mornings(200, has_night=False) as made:
        known = [int(line) for line in made.ids.read_text("ascii").split()]
        first, rest = known[:100], known[100:]
        made.play_reason("404", [], first)
        for no, reason in enumerate(only or REASONS):
            made.play_reason(reason, rest[3 * no : 3 * no + 2], [*first, rest[3 * no + 2]])
            print(f"{reason}: {len(made.wrong)} untrue so far", flush=True)
        made.play_reason("404", [], first)
    return made.wrong


def main() -> int:
    """Play, and print what was not true."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=40)
    parser.add_argument("--good", type=int, default=0, help="so many good nights instead")
    parser.add_argument("--only", nargs="*", default=[], choices=sorted(FAULTS), metavar="FAULT")
    parser.add_argument("--lasting", nargs="*", default=[], choices=sorted(FAULTS), metavar="FAULT")
    parser.add_argument("--reasons", nargs="*", choices=REASONS, metavar="REASON")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.reasons is not None:
        wrong = play_reasons(asked.reasons)
    elif asked.lasting:
        wrong = [each for name in asked.lasting for each in play_lasting(name)]
    else:
        wrong = play_good(asked.good) if asked.good else play(asked.nights, asked.only, asked.seed)
    for line in wrong:
        print(line)
    print(f"{len(wrong)} untrue")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
