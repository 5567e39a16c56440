"""The targets of fuzzing: each takes a source of chance, makes an input of it, and checks what our code does with it.

A target raises for a crash, or for a result that contradicts the input; what code refuses by an error of its own
is fine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pipelines.inbox.store import Decoder
from pipelines.ingest.outcome import menu_ids_of
from pipelines.landing.archives import UNREADABLE, documents
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.raw_folder import LandingError
from pipelines.landing.unknown_fields import without_plaintext
from pipelines.landing.validate import Validator
from pipelines.partner.breaker import has_a_field
from pipelines.partner.exchange import Answer, ListingBroken
from pipelines.partner.listing import LinkError, StoreListing, targets
from pipelines.partner.pacing import seconds_to_wait
from pipelines.partner.pointer import PointerError, get, get_all, parse
from pipelines.settings import load_settings
from tests.fuzz.inputs import document, mutated, tree
from tests.fuzz.rebuilt import equal, rebuilt, source

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pipelines.settings import Settings

_NOW = datetime(2026, 11, 22, tzinfo=UTC)
_MOST_PAGES = 50


@cache
def settings(toml: str = "") -> Settings:
    """Return settings with every default but these."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ordermart.toml"
        file.write_text(toml, encoding="utf-8")
        return load_settings(file, environ={})


@cache
def _validator(kind: str, toml: str = "") -> Validator:
    return Validator(settings(toml), kind)


def orders(chance: Random) -> None:
    """Document and vault together are the source."""
    body = mutated(chance, document(chance, "orders"))
    toml = chance.choice(["", '[privacy]\nplaintext_fields = ["dispatch_note", "instructions", "tracking_url"]\n'])
    validator = _validator("orders", toml)
    try:
        exact = validator.validate(body)
    except InvalidDocumentError:
        return
    assert equal(rebuilt(exact, "orders"), source(body)), "document and vault together are not the source"
    # names of undocumented fields are in both, and go from both
    without = _validator("orders").validate(body).document
    assert without_plaintext(exact.document) == without_plaintext(without), "plaintext is left"


def menus(chance: Random) -> None:
    """The same for menus."""
    body = mutated(chance, document(chance, "menus"))
    try:
        found = _validator("menus").validate(body)
    except InvalidDocumentError:
        return
    assert equal(rebuilt(found, "menus"), source(body)), "document and vault together are not the source"


def stores(chance: Random) -> None:
    """A store record is accepted or refused by an error of ours."""
    body = mutated(chance, document(chance, "stores"))
    has_a_field(body, {"id"})
    assert all(isinstance(each, int) for each in menu_ids_of(body, settings()))
    try:
        _validator("stores").validate(body)
    except InvalidDocumentError:
        _validator("stores").own_id(body)


def files(chance: Random) -> None:
    """A file is cut into documents in the same way however it is laid out; a broken one is refused by name."""
    rows = [document(chance, "orders") for _ in range(chance.randrange(4))]
    layouts = [b"\n".join(rows), b"[" + b",".join(rows) + b"]", b"\r\n\r\n".join(rows) + b"\n"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        limits = settings().landing
        path.write_bytes(chance.choice(layouts))
        found = list(documents(path, whole=False, limits=limits))
        assert [source(each) for each in found] == [source(each) for each in rows], "other documents than in the file"
        path.write_bytes(mutated(chance, path.read_bytes()))
        try:
            pointer = chance.choice(["", "", "/data", "/data/orders"])
            for each in documents(path, whole=chance.random() < 0.3, limits=limits, pointer=pointer):
                assert len(each) <= limits.max_bytes + 1
        except (LandingError, *UNREADABLE):
            pass


def webhooks(chance: Random) -> None:
    """Whatever the bytes and headers of a delivery: an id within bounds, or why there is none."""
    bodies = [{"topic": "orders.update", "data": {"id": 5}}, {"event": {"type": "menus.update"}, "id": "7"}, [], 5]
    body = mutated(chance, json.dumps(chance.choice(bodies)).encode())
    names = [b"x-webhook-topic", b"x-resource-id", b"webhook-id", b"x-event"]
    values = [b"orders.create", b"12", b"-0", b"9" * 30, bytes(chance.randrange(256) for _ in range(9))]
    headers = {chance.choice(names): chance.choice(values) for _ in range(chance.randrange(3))}
    found = Decoder(settings().webhooks).decode(headers, body)
    assert (found.id is None) == (found.undecodable is not None)
    assert found.id is None or -(2**63) <= found.id < 2**63


def pointers(chance: Random) -> None:
    """A pointer made of tokens leads to the value that it was made for; other texts are refused by an error of ours."""
    value = tree(chance, 4)
    tokens: list[str] = []
    at = value
    while isinstance(at, dict | list) and at and chance.random() < 0.9:
        key = chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
        tokens.append(str(key))
        at = at[key]
    pointer = "".join("/" + each.replace("~", "~0").replace("/", "~1") for each in tokens)
    assert parse(pointer) == tuple(tokens)
    assert get(value, pointer) == at
    text = mutated(chance, pointer.encode()).decode("utf-8", "replace")
    try:
        get_all(value, text)
        get(value, text)
    except PointerError:
        pass


def retry_after(chance: Random) -> None:
    """Seconds and dates give a finite wait that is not negative; anything else gives none."""
    seconds = chance.choice([0, 1, 120, 10**9])
    assert seconds_to_wait(str(seconds), _NOW) == seconds
    when = _NOW + timedelta(seconds=seconds % 10**6)
    assert seconds_to_wait(when.strftime("%a, %d %b %Y %H:%M:%S GMT"), _NOW) == seconds % 10**6
    texts = ["120", "1e3", "nan", "-inf", "Fri, 31 Dec 9999 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "1_0"]
    text = mutated(chance, chance.choice(texts).encode()).decode("latin-1")
    found = seconds_to_wait(text, _NOW)
    assert found is None or (found >= 0 and math.isfinite(found)), "a wait without end"


def links(chance: Random) -> None:
    """A Link header gives the targets that it was made of; any other is refused by an error of ours."""
    urls = [f"/stores?page={n}&x=%3C" for n in range(chance.randrange(4))]
    quote = chance.choice(['"', ""])
    header = ", ".join(f'<{url}>; title="a, \\"<b>"; rel={quote}next{quote}' for url in urls)
    assert targets((header,), "next") == urls
    with contextlib.suppress(LinkError):
        targets((mutated(chance, header.encode()).decode("latin-1"),), "next")


def cursors(chance: Random) -> None:
    """Listing stores ends, or says why it does not, whatever the service answers, and loses no record before that."""
    kind = chance.choice(["none", "link", "cursor", "page"])
    partner = settings().partner
    how = {"pagination": kind, "items_pointer": "/items", "max_pages": _MOST_PAGES, "cursor_parameter": "c"}
    pointer = {"cursor_pointer": "/next"} if kind == "cursor" else {}
    listing = msgspec.structs.replace(partner.list_stores, **how, **pointer)
    asked: list[str] = []

    async def ask(url: str) -> Answer:
        asked.append(url)
        ids = [{"id": chance.randrange(30)} for _ in range(chance.randrange(3))]
        following = chance.choice([None, "", False, f"n{chance.randrange(9)}", 5, url, {"a": 1}, "n" * 70_000])
        body = mutated(chance, json.dumps({"items": ids, "next": following}).encode(), often=0.1)
        link = mutated(chance, f'<{url}&n={len(asked)}>; rel="next"'.encode(), often=0.1).decode("latin-1")
        links = (link,) if chance.random() < 0.5 else ()
        return Answer(status=chance.choice([200] * 9 + [500]), body=body, ms=1.0, links=links)

    async def walk() -> None:
        async for page in StoreListing(msgspec.structs.replace(partner, list_stores=listing), ask, _Clock()).pages():
            for record in page:
                msgspec.json.decode(record)

    with contextlib.suppress(ListingBroken):
        asyncio.run(walk())
    assert len(asked) <= _MOST_PAGES + 1, "the list did not end"


class _Clock:
    def monotonic(self) -> float:
        """Stand still."""
        return 0.0


TARGETS: dict[str, Callable[[Random], None]] = {
    each.__name__: each for each in (orders, menus, stores, files, webhooks, pointers, retry_after, links, cursors)
}
