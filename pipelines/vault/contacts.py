"""Read phone numbers and e-mail addresses as people mean them, however they are spelled, and tell which name nobody.

A masked contact, a relay's and `noreply@` name nobody: they are read as "", like a text that is no contact.

A body that nobody could validate is unpacked, read as text, and searched for contacts and ids of orders as it is and
with escapes and encodings in it undone, layer by layer.
"""

import base64
import binascii
import bz2
import html
import lzma
import re
import sys
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import unquote

import idna
import msgspec
import phonenumbers

_SEPARATORS = str.maketrans("", "", " ()-./")
_INTERNATIONAL = re.compile(r"\+[1-9][0-9]{6,14}")
_DIGITS = re.compile(r"(?:\+[\s(]{0,3})?[0-9][0-9\s()./\\-]*")
_MASKED = re.compile(
    r"[*•●…○◦■▒█]|x{2,}|(?<=[0-9])x\W*\Z|\A\W*x(?=[0-9])|[?#]{2,}|__\Z|-{3,}(?!\s?[0-9-])|([^\w\s/()-])\1\1|"
    r"(?<![^\W\d])([^\W\d])\2\2+(?![^\W\d])|\b(hidden|masked|redacted|withheld|removed|deleted|anonym\w*)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?<=[0-9])\s?[_~'’`|\\\u00b7\u2022\u2027\u2e3a\u2e3b]\s?(?=[0-9])")
_TWO = re.compile(r"\s[/|]\s|[;|]|\s(?:or|oder|and|und)\s")
_FEWEST, _MOST = 7, 15  # digits of a whole number
_DOUBTS = ("(0", "..", "--")  # signs of a prefix that is not dialled, or of a masked number
_IN_BRACKETS = re.compile(r"<([^<>]*@[^<>]*)>")
_QUOTES = "«»“”„‘’`"
_BESIDE = re.compile(rf"[\s<>()\",;:\[\]'?{{}}{_QUOTES}]|\.\Z")
_NO_DOMAIN = re.compile(r"[^\w.。-]")
_ADDRESS = re.compile(rf"[^\s<>()\",;:\[\]{{}}{_QUOTES}]{{1,320}}\s?@\s?[\w.。-]{{1,320}}")
_NOBODY = re.compile(
    r"([\w.+-]*[-_.])?(no|do[-_.]?not)[-_.]?reply([-_.+].*|[0-9]*)|x{3,}|.*([*•●]|[?#]{2}|_{3}|\.{3}|x{4}).*|"
    r"(anon|anonym\w*|deleted|hidden|masked|redacted|unknown)([-_.](user|customer|guest))?[-_.]?[0-9]*|"
    r"no[-_.]?e?mail|nobody|none|noone|null|n/a|undefined|mailer-daemon|postmaster",
    re.DOTALL,
)
_RELAY = re.compile(
    r"(.*\.)?([\w-]+-relay|relay-[\w-]+|relays?|privaterelay|proxy|reply|no-?reply[\w-]*|masked|anon|alias|guest)\..*|"
    r"(.*\.)?(marketplace\.amazon|members\.ebay)\..*|"
    r"(.*\.)?(mozmail\.com|duck\.com|anonaddy\.(com|me)|addy\.io|simplelogin\.\w+|slmail\.me|passmail\.(net|com)|"
    r"passfwd\.com|33mail\.com|spamgourmet\.com|craigslist\.org)|host\.airbnb\.com"
)
_FEWEST_ALIKE = 5  # a number of one digit that is repeated is a placeholder


def cleaned(text: str) -> str:
    """Return a text in Unicode's form NFKC with ASCII digits, without characters that nobody sees, stripped."""
    if not text.isascii():
        normal = unicodedata.normalize("NFKC", text)
        signs = (sign for sign in normal if unicodedata.category(sign) != "Cf")
        text = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in signs)
    return text.strip()


def normal_phone(text: str, country: str = "") -> str:
    """Return a phone number as +49…, without extension; its digits where its country is not known; "" for nobody's.

    `country` is where a number without a country code is called from, in two letters.
    """
    text = cleaned(text)
    bare = text.translate(_SEPARATORS)
    if _INTERNATIONAL.fullmatch(bare) and not any(each in text for each in _DOUBTS) and _is_without_prefix(bare):
        return "" if len(set(bare[3:])) == 1 else bare
    text = cleaned(_unescaped(text))
    is_masked = bool(_MASKED.search(_BETWEEN.sub("-", text)))
    text = _number(text)
    # the first digits of the text, however they are separated, and a + before them
    found = _DIGITS.search(text)
    digits = re.sub(r"[^0-9+]", "", found.group()) if found else ""
    is_placeholder = len(digits) >= _FEWEST_ALIKE and len(set(digits.lstrip("+"))) == 1
    return "" if is_placeholder or is_masked else _parsed(text, digits, country)


def _number(text: str) -> str:
    """Return the first number of a text, with usual separators, without the words around it."""
    text = _BETWEEN.sub("-", text)
    parts = _TWO.split(text)
    if len(parts) > 1 and all(sum(map(str.isdigit, part)) >= _FEWEST for part in parts):
        text = parts[0]
    if "phone-context" in text:
        return text
    found = re.match(r"[^0-9+]*([0-9+][^a-zA-Z]*)", text)
    text = found.group(1).strip() if found and sum(map(str.isdigit, found.group(1))) >= _FEWEST else text
    runs = _DIGITS.findall(text)
    if sum(map(str.isdigit, runs[0] if runs else text)) >= _FEWEST:
        return text
    # other signs separate its digits, or letters stand for some
    spelled = re.sub(r"[^0-9]", "", phonenumbers.convert_alpha_characters_in_number(text))
    is_one = sum(map(str.isdigit, text)) >= _FEWEST and len(spelled) <= _MOST
    return ("+" if re.match(r"\W*\+", text) else "") + spelled if is_one else text


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
    if "@" not in text or "\\" in text:
        text = cleaned(_unescaped(text))
    is_beside = _BESIDE.search(text) or _NO_DOMAIN.search(text.rpartition("@")[2])
    if found := _IN_BRACKETS.search(text) or (is_beside and _ADDRESS.search(text.replace('"', ""))):
        text = "".join(found.group(found.lastindex or 0).split()).strip("'").rstrip(".-")
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
_MOST_MEMBERS = 1_000  # of a body of gzip
_CHUNK = 1 << 14
_GZIP = b"\x1f\x8b"
_MOST_TEXTS = 16  # of one body, with one layer of escapes after another undone
_MOST_SEARCHED = 1 << 24  # signs of all of them, or five times those of the body
_MOST_SIGNS = 320  # of either side of an address
_ENDING = 4  # digits by which a number is told from most others
_ESCAPE = re.compile(
    r"[\\%]u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}|\\U([0-9a-fA-F]{8})|"
    r"((?:\\x[0-9a-fA-F]{2})+)|((?:\\[0-3][0-7]{2})+)|\\([\"\\/bfnrt])"
)
_SURROGATE = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_PACKED = re.compile(r"(?:[0-9a-fA-F]{2}){12,}(?![0-9A-Za-z+/_-])|[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]+)*={0,2}")
_PACKED_85 = re.compile(r"<~[^~]{15,}~>|[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{20,}")
_BASE_32 = re.compile("[A-Z2-7]+|[a-z2-7]+")
_UTF_7 = re.compile(r"\+(?:-|[A-Za-z0-9+/]{3,}-)")
_NUMBER = re.compile(r"(?:\+[\s(]{0,3}|\()?[0-9][0-9\s()./_~'\u2010-\u2015\u2212\u2019\u2022\u00b7-]*")
_VANITY = re.compile(r"\+?[0-9][0-9\s().-]{2,20}[A-Za-z][A-Za-z0-9-]{3,15}")
_NUMBERS_APART = re.compile(r"\s{2,}|[\n\t]|\s/\s")
_BEFORE = re.compile(rf"[^@\s\"<>(),;:\[\]{{}}\\\ufffd{_QUOTES}]*\Z")
_AFTER = re.compile(r"[\w.\-\uff0e\u3002]*")
_WITHIN = re.compile(r"[&=?/'|%]")
_MOST_WITHIN = 8
_MOST_WRAPPERS = 4
_WRAPPERS = frozenset("body data document event message object order payload record resource".split())
_OWN_ID = re.compile(r"(?<![\w-])(?:order_)?id[\"']?\s*[:=>]\s*[\"']?([0-9]{1,18})\b")
_OF_ORDERS = ("user_phone", "user_email", "user_name", "user_address")  # beside the id of an order, whatever wraps it
_HEADERS = re.compile(rb"(?:[!-9;-~]+: [^\r\n]*(?:\r\n|\Z))+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROLS = dict.fromkeys(code for code in range(128) if _CONTROL.match(chr(code)))


class Sought(NamedTuple):
    """What leads to a person: ids of orders, and contacts as contacts.py reads them."""

    ids: set[int]
    phones: set[str]
    emails: set[str]


def is_mentioned(body: bytes, sought: Sought, countries: Iterable[str]) -> bool | None:
    """Tell whether a body names any of it, or is a document of one of the orders; None if it cannot be read."""
    if not (texts := _texts(body)):
        return None
    if sought.ids and sought.ids & own_ids(body):
        return True
    endings = {each[-_ENDING:] for each in sought.phones}
    for layer in _layers(texts):
        if sought.emails and not sought.emails.isdisjoint(_addresses(layer)):
            return True
        for run in (*_NUMBER.findall(layer), *_VANITY.findall(layer)) if endings else ():
            for each in {run, *_NUMBERS_APART.split(run)}:
                spelled = phonenumbers.convert_alpha_characters_in_number(each)
                if "".join(c for c in spelled if c.isdecimal())[-_ENDING:] in endings and any(
                    normal_phone(each, country) in sought.phones for country in countries
                ):
                    return True
    return False


def is_readable(body: bytes) -> bool:
    """Tell whether a body has text, so that it can be searched."""
    return bool(_texts(body))


def _texts(body: bytes) -> list[str]:
    """Return the text of a body, unpacked, in each way that it may be meant; nothing if it has none."""
    head, end, rest = body.partition(b"\r\n\r\n")
    if end and _HEADERS.fullmatch(head):  # of a delivery
        return [*texts, head.decode("latin-1")] if (texts := _texts(rest)) else []
    for _ in range(_MOST_TEXTS):
        unpack = next((each for start, each in _PACKERS.items() if body.startswith(start)), None)
        if unpack is None:
            break
        try:
            body = unpack(body) or b"\0"  # nothing is no text
        except (zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError, RuntimeError, EOFError, ValueError):
            if body[:1] != b"x":
                return []
            break
    return _decoded(_deflated(body) or body)


def _decoded(body: bytes) -> list[str]:
    texts: list[str] = []
    for encoding in (*_wide(body), "utf-8-sig"):
        with suppress(UnicodeDecodeError):
            texts = texts or [body.decode(encoding)]
    if not texts and len(body.translate(None, _ASCII)) * 5 <= len(body) * 2:
        texts = [body.decode(each, "replace") for each in ("utf-8", "cp1252", "cp437", "mac_roman")]
    elif texts and not texts[0].isascii():
        for encoding in ("cp1252", "latin-1"):
            with suppress(UnicodeError):  # of a text that was encoded twice
                texts.append(texts[0].encode(encoding).decode())
    if not texts or len(texts[0].translate(_CONTROLS)) * 10 < len(texts[0]) * 9:
        return []
    apart = [_CONTROL.sub(" ", each) for each in texts]
    return apart if apart == texts else [*apart, *(_CONTROL.sub("", each) for each in texts)]


def _inflated(body: bytes) -> bytes:
    """Return what a body of gzip or zlib holds, all members of it; of a damaged one what comes before the damage."""
    found, at = bytearray(), 0
    for _ in range(_MOST_MEMBERS):
        member = zlib.decompressobj(47)
        while at < len(body) and not member.eof and len(found) < _MOST_BYTES:
            sound, part = member.copy(), body[at : at + _CHUNK]
            try:
                found += member.decompress(part, _MOST_BYTES - len(found))
            except zlib.error:  # which keeps back what came before it: again byte by byte
                with suppress(zlib.error):
                    for place in range(len(part)):
                        found += sound.decompress(part[place : place + 1])
                if not found:
                    raise
                return bytes(found)
            at += len(part) - len(member.unused_data)
        if body[at : at + 2] != _GZIP or len(found) >= _MOST_BYTES:
            break
    return bytes(found)


def _deflated(body: bytes) -> bytes:
    """Return what a body without any heading holds, b"" if it is text, or not packed so."""
    member = zlib.decompressobj(-15)
    with suppress(UnicodeDecodeError):
        body.decode()
        return b""
    with suppress(zlib.error):
        found = member.decompress(body, _MOST_BYTES)
        return b"" if member.unused_data or not member.eof else found
    return b""


def _unzipped(body: bytes) -> bytes:
    with zipfile.ZipFile(BytesIO(body)) as archive:
        names = archive.namelist()[:_MOST_TEXTS]
        return b"\n".join(archive.open(name).read(_MOST_BYTES // len(names)) for name in names)


_ASCII = bytes(range(128))
_PACKERS: dict[bytes, Callable[[bytes], bytes]] = {
    _GZIP: _inflated,
    b"x": _inflated,
    b"PK\x03\x04": _unzipped,
    b"BZh": lambda body: bz2.BZ2Decompressor().decompress(body, _MOST_BYTES),
    b"\xfd7zXZ\0": lambda body: lzma.LZMADecompressor().decompress(body, _MOST_BYTES),
}


def _wide(body: bytes) -> tuple[str, ...]:
    """Return the encodings of several bytes a sign that a body may have."""
    if body[:2] in {b"\xff\xfe", b"\xfe\xff"} or body[:4] == b"\0\0\xfe\xff":
        return ("utf-32", "utf-16")
    if body[:4].count(0) < 2:
        return ()
    end = "be" if body[:1] == b"\0" else "le"
    return (f"utf-32-{end}", f"utf-16-{end}")


def _layers(texts: list[str]) -> Iterator[str]:
    """Yield texts as people see them, then with one layer of escapes after another undone."""
    waiting, done, left = [*texts], set[int](), max(_MOST_SEARCHED, 5 * len(texts[0]))
    while waiting and len(done) < _MOST_TEXTS and left > 0:
        text = waiting.pop(0)
        if hash(text) in done:
            continue
        done.add(hash(text))
        left -= len(text)
        yield cleaned(text)
        waiting.append(_unescaped(text))
        if "%" in text and "+" in text:
            waiting.append(_unescaped(text.replace("+", " ")))
        if "=" in text:
            waiting += _decoded(binascii.a2b_qp(text.encode(errors="replace"), header="=?" in text))
        if _UTF_7.search(text):
            waiting.append(text.encode(errors="replace").decode("utf-7", "ignore"))
        packed = ""
        for pattern, unpacked in ((_PACKED, _unpacked), (_PACKED_85, _unpacked_85)):
            for found in pattern.finditer(text):
                packed += unpacked(found.group()) if len(packed) < left else ""
        waiting += [packed] if packed else []


def _unescaped(text: str) -> str:
    text = _ESCAPE.sub(_unescape, text)
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        text = unquote(text, errors="strict")
    except UnicodeDecodeError:
        text = unquote(text, "latin-1")
    return html.unescape(text)


def _unescape(found: re.Match[str]) -> str:
    *codes, units, octal, sign = found.groups()
    if units or octal:
        numbers = (int(each.lstrip("x"), 16 if units else 8) for each in (units or octal)[1:].split("\\"))
        return "".join(_decoded(bytes(numbers))[:1])
    code = next((int(each, 16) for each in codes if each), 0)
    return chr(code) if 0 < code <= sys.maxunicode else sign if sign and sign in '"\\/' else " "


def _unpacked(found: str) -> str:
    """Return the text that digits of base 16, 32 or 64 hold, if any, and the end of a line."""
    digits = "".join(found.split()).rstrip("=")
    of_32 = ""
    if _BASE_32.fullmatch(digits):
        whole = digits[: len(digits) // 8 * 8 + (0, 0, 2, 2, 4, 5, 5, 7)[len(digits) % 8]]
        of_32 = "\n".join([*_texts(base64.b32decode(whole + "=" * (-len(whole) % 8), casefold=True)), ""])
    try:
        content = bytes.fromhex(digits)
    except ValueError:
        digits = digits[: len(digits) - (len(digits) % 4 == 1)]
        content = base64.b64decode(digits + "=" * (-len(digits) % 4), b"-_" if re.search("[-_]", digits) else None)
    return of_32 + "\n".join([*_texts(content), ""])


def _unpacked_85(found: str) -> str:
    """Return the same of digits of base 85."""
    try:
        content = base64.a85decode(found, adobe=True) if found[:2] == "<~" else base64.b85decode(found)
    except ValueError:
        return ""
    return "\n".join([*_texts(content), ""])


def _addresses(text: str) -> Iterator[str]:
    for at in re.finditer("@", text):
        before = _BEFORE.search(text[max(0, at.start() - _MOST_SIGNS) : at.start()])
        after = _AFTER.match(text[at.end() : at.end() + _MOST_SIGNS])
        name, domain = (before.group() if before else ""), (after.group() if after else "").rstrip(".-")
        for start in (0, *[each.end() for each in _WITHIN.finditer(name)][-_MOST_WITHIN:]):
            yield normal_email(f"{name[start:]}@{domain}")


def own_ids(body: bytes) -> set[int]:
    """Return the ids that a body claims as its own, read as people see it, or else with escapes undone."""
    layers = _layers(texts[:1]) if (texts := _texts(body)) else ()
    return next((ids for layer in layers if (ids := set(_own_ids(layer)))), set())


def _own_ids(text: str) -> Iterator[int]:
    """Yield the ids that a document claims; of a broken one the first, and those beside fields of an order."""
    try:
        tree = msgspec.json.decode(text)
        yield from _claimed(tree, _MOST_WRAPPERS)
        yield from _of_orders(tree)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        plain = text.replace("\\", "")
        parts = [each for each in re.split(r"[{}\[\]]", plain) if any(name in each for name in _OF_ORDERS)]
        yield from (int(found.group(1)) for each in (plain, *parts) if (found := _OWN_ID.search(each)))


def _claimed(tree: Any, wrappers: int) -> Iterator[int]:
    """Yield the ids of documents and of what wraps them; not of their parts, nor of stores and the like in them."""
    if isinstance(tree, str) and tree.lstrip()[:1] in {"{", "[", '"'}:
        yield from _own_ids(tree)
    elif isinstance(tree, list):
        for each in tree:
            yield from _claimed(each, wrappers - 1) if wrappers else ()
    elif isinstance(tree, dict):
        own = {str(value) for value in (tree.get("id"), tree.get("order_id")) if type(value) in {int, str}}
        yield from (int(value) for value in own if re.fullmatch(r"-?[0-9]{1,18}", value, re.ASCII))
        for name, value in tree.items() if wrappers else ():
            if name in _WRAPPERS or (not own and not isinstance(value, str)):
                yield from _claimed(value, wrappers - 1)


def _of_orders(tree: Any) -> Iterator[int]:
    """Yield the ids of all orders in a tree, and in documents that its texts are."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.values()
            if not each.keys().isdisjoint(_OF_ORDERS):
                yield from _claimed(each, 0)
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str) and each.lstrip()[:1] in {"{", "["}:
            with suppress(msgspec.MsgspecError, ValueError, RecursionError):
                waiting.append(msgspec.json.decode(each))
