"""The worst inputs that we know for each function over text of the partner's, in any size.

A case is a name, the function, and what makes its input of so many bytes. Used by tests and by
`benchmarks/worst_input.py`, which compares sizes.
"""

from __future__ import annotations

import datetime as dt
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipelines.inbox.store import Decoder, deserialized, serialized
from pipelines.landing.archives import JsonStream, time_in
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator
from pipelines.literals import one_line as plain
from pipelines.partner.behaviour import shape
from pipelines.partner.breaker import Pages, has_a_field
from pipelines.partner.listing import LinkError, targets, value_at
from pipelines.partner.pacing import seconds_to_wait
from pipelines.partner.pointer import get_all
from pipelines.report.text import fitted, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.settings import Settings

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


class Case(NamedTuple):
    """One function and its worst input."""

    name: str
    work: Callable[[Any], object]
    of: Callable[[int], Any]

    def run(self, size: int) -> None:
        """Do the work once."""
        self.work(self.of(size))


def _filled(before: bytes, again: bytes, after: bytes = b"") -> Callable[[int], bytes]:
    """Return what makes a body of so many bytes by repetition."""
    return lambda size: before + again * ((size - len(before) - len(after)) // len(again)) + after


def _members(before: str, member: str, after: str) -> Callable[[int], bytes]:
    """Return what makes a body of numbered members; `%d` is the number."""
    length = len(member % 1_000_000) + 1
    return lambda size: (
        before + ",".join(member % n for n in range(1_000_000, 1_000_000 + size // length)) + after
    ).encode()


BODIES: dict[str, Callable[[int], bytes]] = {
    "distinct keys": _members('{"id":1,', '"k%d":0', "}"),
    "keys of one digit class": _members('{"id":1,', '"a%d.b":0', "}"),
    "a key repeated at the end": _members('{"id":1,', '"k%d":0', ',"id":2}'),
    "repeated keys in many objects": _filled(b'{"id":1,"x":[', b'{"a":1,"a":2},', b"0]}"),
    "a lone surrogate at the end": _members('{"id":1,', '"k%d":0', ',"z":"\\ud800"}'),
    "a lone surrogate under deep names": lambda size: (
        b'{"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn":' * 40 + _filled(b"[", b"0,", b'"\\ud800"]')(size - 2000) + b"}" * 40
    ),
    "open brackets": _filled(b"", b"["),
    "open objects": _filled(b"", b'{"":'),
    "flat brackets": _filled(b'{"id":1,"x":[', b"[],", b"[]]}"),
    "an open string of backslashes": _filled(b'{"id":1,"x":"', b"\\\\"),
    "open strings of quotes": _filled(b'{"id":1,"x":', b'"\\"'),
    "blanks": _filled(b'{"id":1', b" ", b"}"),
    "quotes and blanks": _filled(b'{"id":1,"x":[', b'"          ",', b"0]}"),
    "digits of an amount": _filled(b'{"id":1,"tip":0.', b"0", b"1}"),
    "digits of a whole amount": _filled(b'{"id":1,"tip":', b"9", b"}"),
    "digits of an exponent": _filled(b'{"id":1,"tip":1e', b"0", b"1}"),
    "digits of an id": _filled(b'{"id":', b"1", b"}"),
    "digits of a latitude": _filled(b'{"id":1,"user_latitude":1.', b"1", b"}"),
    "a long time": _filled(b'{"id":1,"created_at":"2026-10-01T00:00:00.', b"0", b'Z"}'),
    "lines": _filled(b'{"id":1,"items":[', b"{},", b"{}]}"),
    "lines without anything": _filled(b'{"id":1,"items":[', b"null,", b"null]}"),
    "instructions of lines": _filled(b'{"id":1,"items":[', b'{"instructions":"a"},', b"{}]}"),
    "unknown members of lines": _members('{"id":1,"items":[', '{"x%d":"a"}', "]}"),
    "modifiers": _filled(b'{"id":1,"items":[{"modifiers":[', b"{},", b"{}]}]}"),
    "prices of one product": _filled(
        b'{"menu":{"id":1,"price_groups":[{"prices":[', b'{"product_id":1},', b'{"product_id":1}]}]}}'
    ),
    "products": _members('{"menu":{"id":1},"products":{', '"%d":{}', "}}"),
    "references": _filled(
        b'{"menu":{"id":1},"products":{"1":{"modifiers":[', b'{"modifier_id":1},', b'{"modifier_id":1}]}}}'
    ),
    "modifiers below each other": _members(
        '{"menu":{"id":1},"products":{"1":{"modifiers":[{"modifier_id":1000000}]}},"modifiers":{',
        '"%d":{"children":[{"modifier_id":1000000},{"modifier_id":1000001},{"modifier_id":1000002}]}',
        "}}",
    ),
    "menu ids": _members('{"id":1,"menu_ids":[', "%d", "]}"),
}


def _refused(validator: Validator) -> Callable[[bytes], object]:
    def work(body: bytes) -> object:
        try:
            return validator.validate(body)
        except InvalidDocumentError:
            return validator.own_id(body)

    return work


def _links(header: str) -> object:
    try:
        return targets((header,), "next")
    except LinkError:
        return None


def cases(settings: Settings) -> Iterator[Case]:
    """Yield every case under given settings, without a limit of bytes, so that the work itself is seen."""
    settings = msgspec.structs.replace(settings, landing=msgspec.structs.replace(settings.landing, max_bytes=1 << 40))
    for kind in ("orders", "menus", "stores"):
        validate = _refused(Validator(settings, kind))
        yield from (Case(f"{kind}: {name}", validate, of) for name, of in BODIES.items())
    decoder = Decoder(settings.webhooks)
    for name, of in BODIES.items():
        yield Case(f"webhook: {name}", lambda body: decoder.decode({}, body), of)
        yield Case(f"file: {name}", lambda body: list(JsonStream(io.BytesIO(b"[" + body), 1 << 20).elements()), of)
        yield Case(f"error body: {name}", shape, of)
    yield from _others(settings)


def _others(settings: Settings) -> Iterator[Case]:
    keys, deep, links = BODIES["distinct keys"], BODIES["open brackets"], _filled(b"", b"<>; rel=x,")
    yield Case("pointer into a page", lambda body: value_at(body, "/k/k"), keys)
    yield Case("pointer to all ids", lambda body: get_all(msgspec.json.decode(body), "/menu_ids/*"), BODIES["menu ids"])
    yield Case("fields of a body", lambda body: has_a_field(body, {"id"}), keys)
    yield Case("the same body again", lambda body: Pages().origin(1, body), deep)
    yield Case("time of a document", lambda body: time_in(body, "/created_at"), BODIES["a long time"])
    yield Case("a kept delivery", lambda body: deserialized(serialized({b"a": b"b"}, body)), _filled(b"", b"\r\n"))
    for name, header in {"links": links, "commas": _filled(b"", b","), "open links": _filled(b"", b"<")}.items():
        yield Case(f"Link header: {name}", _links, lambda size, of=header: of(size).decode())
    for name, text in {"digits": b"1", "blanks": b" ", "letters": b"Fri, "}.items():
        of = _filled(b"", text)
        yield Case(
            f"Retry-After: {name}", lambda text: seconds_to_wait(text, NOW), lambda size, of=of: of(size).decode()
        )
    for name, sign in {"letters": "n", "wide": "東", "accents": "\u0301", "words": "n ", "escapes": "\x1b"}.items():
        long = lambda size, sign=sign: sign * (size // len(sign.encode()))  # noqa: E731 -- a column of a table
        yield Case(f"plain text of {name}", plain, long)
        yield Case(f"width of {name}", width, long)
        yield Case(f"a fitted name of {name}", lambda text: fitted(text, 20), long)
        yield Case(f"a paragraph of {name}", lambda text: list(wrapped(text)), long)
