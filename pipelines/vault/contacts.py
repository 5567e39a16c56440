"""Read phone numbers and e-mail addresses as people mean them, however they are spelled, and tell which name nobody.

A masked contact, a relay's and `noreply@` name nobody: they are read as "", like a text that is no contact.

Find contacts and ids of orders in bodies that nobody could validate, however they are encoded.

A body is unpacked, read as text, and searched as it is and with escapes of JSON, percent signs and entities undone.
"""

from __future__ import annotations

import html
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import unquote

import idna
import msgspec
import phonenumbers

_SEPARATORS = str.maketrans("", "", " ()-./")
_INTERNATIONAL = re.compile(r"\+[1-9][0-9]{6,14}")
_DIGITS = re.compile(r"(?:\+[\s(]{0,3})?[0-9][0-9\s()./\\-]*")
_MASKED = re.compile(r"[*•●…]|x{2,}", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"<([^<>]*@[^<>]*)>")
_NOBODY = re.compile(r"(no|do[-_.]?not)[-_.]?reply([-_.+].*)?|x{3,}|.*[*•●…].*", re.DOTALL)
_RELAY = re.compile(
    r"(.*\.)?(relay|relays|privaterelay|proxy)\..*|(.*\.)?(mozmail\.com|duck\.com|anonaddy\.(com|me)|simplelogin\.\w+)|"
    r"marketplace\.amazon\..*|members\.ebay\..*|guest\.(booking|airbnb)\.com"
)
_FEWEST_ALIKE = 5  # a number of one digit that is repeated is a placeholder


def cleaned(text: str) -> str:
    """Return a text in Unicode's form NFKC with ASCII digits, without characters that nobody sees, stripped."""
    if not text.isascii():
        normal = unicodedata.normalize("NFKC", text)
        text = "".join(
            str(unicodedata.decimal(c)) if c.isdecimal() else c for c in normal if unicodedata.category(c) != "Cf"
        )
    return text.strip()


def normal_phone(text: str, country: str = "") -> str:
    """Return a phone number as +49…, without extension; its digits where its country is not known; "" for nobody's.

    `country` is where a number without a country code is called from, in two letters.
    """
    text = cleaned(text)
    bare = text.translate(_SEPARATORS)
    if _INTERNATIONAL.fullmatch(bare) and "(0" not in text and _is_without_prefix(bare):
        return "" if len(set(bare[3:])) == 1 else bare
    # the first digits of the text, however they are separated, and a + before them
    found = _DIGITS.search(text)
    digits = re.sub(r"[^0-9+]", "", found.group()) if found else ""
    is_placeholder = len(digits) >= _FEWEST_ALIKE and len(set(digits.lstrip("+"))) == 1
    return "" if is_placeholder or _MASKED.search(text) else _parsed(text, digits, country)


def _parsed(text: str, digits: str, country: str) -> str:
    code = str(phonenumbers.country_code_for_region(country)) if country else "?"
    prefix = country and phonenumbers.ndd_prefix_for_region(country, strip_non_digits=True)
    abroad = (("+" + digits, None),) if country and digits[:1] not in {"+", "0"} else ()
    here = ((text, country or None),)
    attempts = abroad + here if prefix and digits.startswith(code) and not digits.startswith(prefix) else here + abroad
    attempts += (("+" + digits[2:], None),) if digits.startswith("00") else ()
    found = ""
    for given, region in attempts:
        try:
            number = phonenumbers.parse(given, region)
        except phonenumbers.NumberParseException:
            continue
        normal = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        if text.startswith("+") or phonenumbers.is_valid_number(number):
            return normal
        found = found if found and region is None else normal
    return found or digits


def _is_without_prefix(number: str) -> bool:
    """Tell whether nothing after the country code is a prefix that is dialled within the country alone."""
    for length in (1, 2, 3):
        if (code := int(number[1 : 1 + length])) in phonenumbers.COUNTRY_CODE_TO_REGION_CODE:
            return _prefix(code).match(number, 1 + length) is None
    return False


@cache
def _prefix(code: int) -> re.Pattern[str]:
    """Return the prefix dialled before a number within the countries of a code; a pattern without matches if none."""
    region = phonenumbers.region_code_for_country_code(code)
    metadata = phonenumbers.PhoneMetadata.metadata_for_region_or_calling_code(code, region)
    return re.compile((metadata and metadata.national_prefix_for_parsing) or r"(?!)")


def normal_email(text: str) -> str:
    """Return an e-mail address whose case and spelling do not matter, its domain in ASCII; "" for nobody's."""
    text = cleaned(text)
    if found := _IN_BRACKETS.search(text):
        text = found.group(1).strip()
    if text[:7].lower() == "mailto:":
        text = text[7:]
    name, at, domain = text.rpartition("@")
    # as casefold, but ß is not ss: these are two people
    name = name.lower() if name.isascii() else "".join(c.lower() if c in "ßẞ" else c.casefold() for c in name)
    domain = domain.lower()
    if not domain.isascii():
        try:
            domain = idna.encode(domain, uts46=True).decode()
        except (idna.IDNAError, UnicodeError):
            domain = unicodedata.normalize("NFKC", domain)
    return "" if not name or not domain or _NOBODY.fullmatch(name) or _RELAY.fullmatch(domain) else name + at + domain


@lru_cache(maxsize=1)
def _countries() -> dict[str, str]:
    folder = files("tzdata") / "zoneinfo"
    lines = (line.split("\t") for line in (folder / "zone.tab").read_text("utf-8").splitlines() if line[:1] != "#")
    found = {zone: country for country, _, zone, *_ in lines}
    for line in (folder / "tzdata.zi").read_text("utf-8").splitlines():
        if line.startswith("L ") and (names := line.split()):
            found.setdefault(names[2], found.get(names[1], ""))
    return found


def country_of(zone: str | None) -> str:
    """Return the country of a time zone, such as DE of Europe/Berlin; "" where it names none."""
    return _countries().get(zone or "", "")


_MOST_BYTES = 64 << 20  # of an unpacked body
_MOST_LAYERS = 4  # of escapes
_MOST_SIGNS = 320  # of either side of an address
_ENDING = 4  # digits by which a number is told from most others
_JSON_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\([\"\\/bfnrt])")
_NUMBER = re.compile(r"(?:\+[\s(]{0,3}|\()?[0-9][0-9\s()./\u2010-\u2015\u2212\u00b7-]*")
_NUMBERS_APART = re.compile(r"\s{2,}|[\n\t]|\s/\s")
_BEFORE = re.compile(r"[^@\s\"<>(),;:\[\]{}\\]*\Z")
_AFTER = re.compile(r"[\w.\-\uff0e\u3002]*")
_WITHIN = re.compile(r"[&=?/'|%]")
_MOST_WITHIN = 8
_OWN_ID = re.compile(r'"(?:order_)?id"\s*:\s*"?([0-9]{1,18})\b')
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class Sought(NamedTuple):
    """What leads to a person: ids of orders, and contacts as contacts.py reads them."""

    ids: set[int]
    phones: set[str]
    emails: set[str]


def is_mentioned(body: bytes, sought: Sought, countries: Iterable[str]) -> bool | None:
    """Tell whether a body names any of it, or is a document of one of the orders; None if it cannot be read."""
    if (text := _text(body)) is None:
        return None
    if sought.ids and sought.ids & set(_own_ids(text)):
        return True
    endings = {each[-_ENDING:] for each in sought.phones}
    for layer in _layers(text):
        if sought.emails and not sought.emails.isdisjoint(_addresses(layer)):
            return True
        for run in _NUMBER.findall(layer) if endings else ():
            for each in {run, *_NUMBERS_APART.split(run)}:
                if "".join(c for c in each if c.isdecimal())[-_ENDING:] in endings and any(
                    normal_phone(each, country) in sought.phones for country in countries
                ):
                    return True
    return False


def is_readable(body: bytes) -> bool:
    """Tell whether a body has text, so that it can be searched."""
    return _text(body) is not None


def _text(body: bytes) -> str | None:
    """Return the text of a body, unpacked; None if it has none."""
    if body[:2] == b"\x1f\x8b" or body[:1] == b"\x78":
        try:
            body = zlib.decompressobj(47).decompress(body, _MOST_BYTES)
        except zlib.error:
            if body[:1] != b"\x78":
                return None
    is_wide = body[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\0" in body[:4]
    encodings = ("utf-16", "utf-16-be") if is_wide else ("utf-8-sig", "cp1252", "latin-1")
    for encoding in encodings:
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError:
            continue
        if len(_CONTROL.findall(text)) * 10 <= len(text):
            return text
    return None


def _layers(text: str) -> Iterator[str]:
    """Yield a text as people see it, then with one layer of escapes after another undone."""
    for _ in range(_MOST_LAYERS):
        yield cleaned(text)
        unescaped = html.unescape(unquote(_JSON_ESCAPE.sub(_unescape, text)))
        if unescaped == text:
            return
        text = unescaped


def _unescape(found: re.Match[str]) -> str:
    code, sign = found.groups()
    return chr(int(code, 16)) if code else sign if sign in '"\\/' else " "


def _addresses(text: str) -> Iterator[str]:
    for at in re.finditer("@", text):
        before = _BEFORE.search(text[max(0, at.start() - _MOST_SIGNS) : at.start()])
        after = _AFTER.match(text[at.end() : at.end() + _MOST_SIGNS])
        name, domain = (before.group() if before else ""), (after.group() if after else "").rstrip(".-")
        for start in (0, *[each.end() for each in _WITHIN.finditer(name)][-_MOST_WITHIN:]):
            yield normal_email(f"{name[start:]}@{domain}")


def _own_ids(text: str) -> Iterator[int]:
    """Yield the ids that a document claims, itself or one level below."""
    try:
        tree: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        yield from (int(found.group(1)) for found in [_OWN_ID.search(text)] if found)
        return
    for each in tree if isinstance(tree, list) else [tree]:
        if isinstance(each, dict):
            for one in (each, *(value for value in each.values() if isinstance(value, dict))):
                for value in (one.get("id"), one.get("order_id")):
                    if isinstance(value, int) or (isinstance(value, str) and value.isdecimal() and len(value) < 19):
                        yield int(value)
