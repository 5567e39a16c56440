"""Phone numbers and e-mail addresses are one however they are spelled, and two people's are never one."""

from __future__ import annotations

import base64
import bz2
import gzip
import html
import io
import json
import lzma
import quopri
import random
import zipfile
import zlib
from email.header import Header
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import msgspec
import pytest

from pipelines.vault.contacts import (
    Sought,
    country_of,
    is_mentioned,
    is_readable,
    normal_email,
    normal_phone,
    own_ids,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = [
    "+49 170 1234567",
    "0170 1234567",
    "0170/1234567",
    "0049 170 1234567",
    "+49 (0)170 1234567",
    "+49 170 1234567;ext=5",
    "+49 170 1234567 ext. 5",
    "tel:+49-170-1234567",
    "+49\u00a0170\u00a01234567",
    "+49 170\u20131234567",
    "\uff0b\uff14\uff19 \uff11\uff17\uff10 \uff11\uff12\uff13\uff14\uff15\uff16\uff17",
    "\u0660\u0661\u0667\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667",
    "\u202a+49 170 1234567\u202c",
    "+49\u200b170\u200b1234567",
    "491701234567",
    "+49.170.1234567",
    "(0)170 1234567",
    "0170\u20111234567",
    "0170\u00ad1234567",
    "0170_1234567",
    "+49\u00b7170\u00b71234567",
    "+49\u2022170\u20221234567",
    "0170'1234567",
    "\u0966\u0967\u096d\u0966\u0967\u0968\u0969\u096a\u096b\u096c\u096d",
    "\U0001d7ce\U0001d7cf\U0001d7d5\U0001d7ce1234567",
    "0170 1234567 (mobil)",
    "+49 170 1234567 Durchwahl 5",
    "+49 170 1234567p5",
    "Schifffahrt 0170 1234567",
    "0170 1234567 / 0171 7654321",
    "tel:0170-1234567;phone-context=+49",
    "%2B49170 1234567",
    "&#43;491701234567",
    "\\u002b49 170 1234567",
    "+49-170/123 45 67",
    "(0170) 1234567",
    "+49 [0] 170 1234567",
    "00 49 170 1234567",
    "=+491701234567",
    "sip:+491701234567@host",
    "+49,170,1234567",
    "0170:1234567",
    "0170\u22151234567",
    "{+49} 170 1234567",
    "0\ufe0f\u20e31\ufe0f\u20e37\ufe0f\u20e30\ufe0f\u20e3 1234567",
]
ADDRESS = [
    "zoe@example.org",
    "Zoe@Example.ORG ",
    "\ufeffzoe@example.org",
    "zoe\u200b@example.org",
    "\uff5a\uff4f\uff45@example.org",
    "Zoe <zoe@example.org>",
    "mailto:zoe@example.org",
    "MAILTO:zoe@example.org?subject=x",
    "zoe@example.org.",
    "zoe @ example.org",
    "zoe@example.org (Zoe)",
    "e-mail: zoe@example.org;",
    "'zoe@example.org'",
    '"zoe"@example.org',
    "zoe\u00ad@example.org",
    "zoe\uff20example\uff0eorg",
    "zoe%40example.org",
    "zoe&#64;example.org",
    "zoe\\u0040example.org",
    "zoe@example.org\\n",
    "zoe@example.org\0",
    "zoe@example.org/",
    "zoe@example.org!",
    "zoe@example.org|home",
    "mailto:zoe@example.org%3Fsubject=x",
    "\u201czoe@example.org\u201d",
    "\u00abzoe@example.org\u00bb",
    "`zoe@example.org`",
    "{zoe@example.org}",
    "zoe@example\u3002org",
]
NOBODY = ["+1555XXXXXXX", "***", "+1 555 *** 1234", "0000000", "n/a", "", "+1 111 111 1111"]
MASKED = [
    "+49 170 ### ####",
    "+49 170 ____",
    "0170 ???????",
    "+49 170 12345XX",
    "+49 170 nnnnnnn",
    "+49 170 \u00d7\u00d7\u00d7",
    "+49 170 zzz zzzz",
    "+49 170 -------",
    "+1 212 555 ....",
    "+49 170 \u25a0\u25a0\u25a0\u25a0",
    "+49 170 12345??",
    "+49 170 12345__",
    "+49 170 123456X",
    "X4567",
    "+49 170 12345 [redacted]",
    "hidden 170",
]
NO_ADDRESS = ["noreply@m.example", "No-Reply@m.example", "do_not_reply@m.example", "a***@x.example", "", "none", "@"]
NO_ADDRESS += [
    "anonymous@x.example",
    "unknown@x.example",
    "null@null",
    "x@no-reply.shop.example",
    "x@users.noreply.x.example",
    "noreply123@x.example",
    "orders-noreply@x.example",
    "x\u2026@x.example",
    "j___@x.example",
    "j??@x.example",
    "jXXXX@x.example",
    "deleted-user-7@x.example",
    "redacted_7@x.example",
    "no-email@x.example",
]
RELAYS = ["x1@privaterelay.appleid.com", "abc@marketplace.amazon.de", "a@relay.shop.example"]
RELAYS += ["X7@PrivateRelay.AppleID.com", "a@reply.shop.example", "a@anon.addy.io", "a@slmail.me", "a@mozmail.com"]
RELAYS += ["a@m.marketplace.amazon.com", "a@alias.proton.me", "a@mail-relay.x.example", "a@sale.craigslist.org"]


@pytest.mark.parametrize("text", ONE)
def test_number_is_the_same_in_any_spelling(text: str) -> None:
    """A number that is called from Germany is one, whatever the separators, digits and extensions."""
    assert normal_phone(text, "DE") == "+491701234567"


def test_different_numbers_stay_different() -> None:
    """An extension is no digit of the number, nor is a second number; national numbers are those of their country."""
    assert normal_phone("+1 212 555 1234 ext. 5") == "+12125551234" != normal_phone("+1 212 555 12345")
    assert normal_phone("12345678, 99") != normal_phone("1234567899")
    assert normal_phone("0170 1234567", "DE") != normal_phone("0170 1234567", "FR")
    assert normal_phone("0170 1234567") == "01701234567"  # nobody knows the country: it is not guessed
    assert normal_phone("1-800-FLOWERS", "US") == normal_phone("+1 (800) 356-9377") != normal_phone("+1-800-FLOWER")
    assert normal_phone("(212) KL5-1234", "US") == "+12125551234"
    assert (country_of("Europe/Berlin"), country_of("US/Eastern"), country_of("UTC")) == ("DE", "US", "")


@pytest.mark.parametrize("text", ADDRESS)
def test_address_is_the_same_in_any_spelling(text: str) -> None:
    """Case, width, invisible characters, a name beside it and a scheme do not matter."""
    assert normal_email(text) == "zoe@example.org"


def test_different_addresses_stay_different() -> None:
    """ß is not ss, é is not e, and a sign + is part of the name; domains are compared as the network does."""
    names = ["straße@x.example", "strasse@x.example", "zoé@x.example", "zoe@x.example", "zoe+x@x.example"]
    assert len({normal_email(each) for each in names}) == len(names)
    assert normal_email("zoe\u0301@x.example") == normal_email("ZOÉ@x.example")
    assert normal_email("STRAẞE@x.example") == normal_email("straße@x.example")
    assert normal_email("a@B\u00dcCHER.example") == normal_email("a@xn--bcher-kva.example")


@pytest.mark.parametrize("text", [*NOBODY, *MASKED, *NO_ADDRESS, *RELAYS])
def test_masked_contact_tells_nobody(text: str) -> None:
    """So does a relay, `noreply@`, and a text that is no contact."""
    assert normal_email(text) == "" or "@" not in text
    if text in NOBODY + MASKED:
        assert normal_phone(text, "DE") == ""


BODY = {"user_phone": "+49 170\u20131234567", "user_email": "j\u00f6rg.r&d@example.org", "tip": "x"}
PERSON = Sought(set(), {"+491701234567"}, {"j\u00f6rg.r&d@example.org"})


def _zipped(text: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("order.json", text)
    return written.getvalue()


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if c.isalnum() or c in "@&" else c for c in text)


@pytest.mark.parametrize("part", ["user_phone", "user_email"])
@pytest.mark.parametrize(
    "written",
    [
        lambda text: json.dumps({"a": text}).encode(),
        lambda text: json.dumps({"a": text}, ensure_ascii=False).encode(),
        lambda text: gzip.compress(json.dumps({"a": text.upper()}).encode()),
        lambda text: f'{{"a":"{_escaped(text)}"}}'.encode(),
        lambda text: f'{{"a":"{text}",'.encode().replace(b"&", b"&amp;").replace(b"@", b"&#64;"),
        lambda text: f"email={text}".encode().replace(b"&", b"%26").replace(b"@", b"%40").replace(b"+", b"%2B"),
        lambda text: json.dumps({"note": f"call {text}, soon"}, ensure_ascii=False).encode("utf-16"),
        lambda text: json.dumps(json.dumps({"a": text})).encode(),
        lambda text: gzip.compress(gzip.compress(json.dumps({"a": text}).encode())),
        lambda text: gzip.compress(b"{}") + gzip.compress(json.dumps({"a": text}).encode()),
        lambda text: json.dumps({"a": text}, ensure_ascii=False).encode("utf-16-be"),
        lambda text: json.dumps({"a": text}, ensure_ascii=False).encode("utf-32"),
        lambda text: "".join(f"&#x{ord(c):X};" for c in text).encode(),
        lambda text: html.escape("".join(f"&#{ord(c)};" for c in text)).encode(),
        lambda text: quote(quote(quote(text))).encode(),
        lambda text: quote(text, encoding="latin-1", errors="ignore").encode(),
        lambda text: urlencode({"a": json.dumps({"a": text})}).encode(),
        lambda text: "".join(f"%u{ord(c):04x}" for c in text).encode(),
        lambda text: json.dumps(json.dumps(json.dumps(json.dumps({"a": text})))).encode(),
        lambda text: quopri.encodestring(json.dumps({"a": text}, ensure_ascii=False).encode()),
        lambda text: base64.encodebytes(json.dumps({"a": text}).encode() * 3),
        lambda text: json.dumps({"data": base64.b64encode(gzip.compress(text.encode())).decode()}).encode(),
        lambda text: json.dumps({"a": text}).encode().hex().encode(),
        lambda text: Header(text, "utf-8").encode().encode(),
        lambda text: bz2.compress(text.encode()),
        lambda text: lzma.compress(text.encode()),
        lambda text: zlib.compress(text.encode(), wbits=-15),
        lambda text: gzip.compress(text.encode())[:-8] + b"no crc!!",
        lambda text: gzip.compress(f"{text}\n".encode() * 9)[:-8],
        lambda text: _zipped(json.dumps({"a": text})),
        lambda text: json.dumps({"data": base64.b64encode(_zipped(text)).decode()}).encode(),
        lambda text: b"\xff" + text.encode(),
        lambda text: text.encode().replace(b"rg", b"r\0g").replace(b"70", b"7\x000"),
        lambda text: text.encode().decode("latin-1").encode(),
        lambda text: quopri.encodestring(text.encode("cp1252")),
        lambda text: "".join(f"\\x{each:02x}" for each in text.encode()).encode(),
        lambda text: "".join(f"\\u{{{ord(c):x}}}" for c in text).encode(),
        lambda text: "".join(f"\\U{ord(c):08x}" for c in text).encode(),
        lambda text: json.dumps("".join(chr(0x1D7CE + int(c)) if c.isdigit() else c for c in text)).encode(),
        lambda text: msgspec.msgpack.encode({"a": text, "b": 2}),
        lambda text: json.dumps({"a": text}).encode("utf-7"),
        lambda text: "".join(f"\\{each:03o}" for each in text.encode()).encode(),
        lambda text: base64.b32encode(json.dumps({"a": text}).encode()),
        lambda text: json.dumps({"a": base64.b32encode(f"to {text}!".encode()).decode().lower()}).encode(),
        lambda text: json.dumps({"a": base64.b85encode(gzip.compress(text.encode())).decode()}).encode(),
        lambda text: base64.a85encode(json.dumps({"a": text}).encode(), adobe=True),
        lambda text: json.dumps({"a": text.replace("\u2013", "-")}, ensure_ascii=False).encode("cp437"),
        lambda text: json.dumps({"a": text}, ensure_ascii=False).encode("mac_roman"),
        lambda text: b"content-type: text/x\r\nx-signature: abc\r\n\r\n" + gzip.compress(text.encode()),
        lambda text: f"x-customer: {text}\r\n\r\n{{}}".encode("latin-1", "ignore"),
    ],
)
def test_body_that_names_a_person_is_found(part: str, written: object) -> None:
    """However it is encoded; a body of another person is not."""
    assert callable(written)
    assert is_mentioned(written(BODY[part]), PERSON, ["DE"])
    assert not is_mentioned(written("+49 170 12345678" if part == "user_phone" else "r&d@example.org"), PERSON, ["DE"])


def test_body_of_an_order_is_found_by_its_id() -> None:
    """Its own id, or that of what it wraps, and of a broken one the first; not the id of a line."""
    sought = Sought({7}, set(), set())
    for body in (b'{"id":7}', b'{"order":{"id":"7"}}', b'[{"order_id":7}]', b'{"id": 7, "tip": '):
        assert is_mentioned(body, sought, [""])
    wrapped = (
        {"data": [{"id": 7}]},
        {"a": {"b": {"id": "7"}}},
        {"id": "evt", "data": {"id": 7}},
        json.dumps({"id": 7}),
    )
    for wrap in wrapped:
        assert is_mentioned(json.dumps(wrap).encode(), sought, [""]), wrap
    assert own_ids(b'"{\\"id\\": 7, \\"tip\\": ') == own_ids(b'\xff{"id": 7}') == {7}
    assert own_ids(b'{"id":8,"store":{"id":7},"items":[{"id":7}]}') == {8}
    for body in (b'{"id":8,"items":[{"id":7}]}', b'{"id": 77, "tip": '):
        assert is_mentioned(body, sought, [""]) is False
    for unread in (bytes(range(256)) * 3, b"PK\x03\x04" + bytes(range(200)), gzip.compress(bytes(range(256)))[:12]):
        assert is_mentioned(unread, sought, [""]) is None
    assert is_mentioned(b'{"phone": "1-800-FLOWERS"}', Sought(set(), {"+18003569377"}, set()), ["US"])


@pytest.mark.parametrize(
    "pack", [gzip.compress, zlib.compress, bz2.compress, lzma.compress, lambda body: _zipped(body.decode())]
)
def test_damaged_packed_body_is_unreadable_at_worst(pack: Callable[[bytes], bytes]) -> None:
    """Whatever byte of it is another, is lost or comes in between, it is read or counted as unreadable."""
    chance, packed = random.Random(1), pack(json.dumps({"id": 7, "user_phone": "+49 170 1234567"}).encode())
    for _ in range(800):
        body = bytearray(packed)
        at = chance.randrange(len(body))
        body[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        assert is_readable(bytes(body)) or not own_ids(bytes(body))


def test_damaged_gzip_is_read_up_to_the_damage() -> None:
    """Also where it is longer than what is unpacked at once, and damaged at its end alone."""
    chance = random.Random(1)
    packed = bytearray(gzip.compress(b"+49 170 1234567\n" + chance.randbytes(200_000).hex().encode()))
    packed[-20_000:-19_000] = b"\xff" * 1_000
    assert is_mentioned(bytes(packed), PERSON, ["DE"])
