"""List the stores page by page, without ever ending early unnoticed, and without going on for ever.

Returns the JSON text of each record: of its content it knows the id, by which a store is recognised. Links to next
pages may be in headers (RFC 8288). The last page is looked at for signs that the list goes on, whatever pagination the
settings name: names that public services use, outside the records.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

import httpx
import msgspec

from pipelines.partner.exchange import Answer, ListingBroken, RequestError
from pipelines.partner.pacing import Clock
from pipelines.partner.pointer import UNREADABLE, parse, raw_at
from pipelines.partner.token import origin_of
from pipelines.settings import Partner

_LEVELS = 3
_DIGITS = 13
_MEMBERS = 1_000  # of the envelope; more of them are no envelope
NEXT = frozenset(
    "next nextcursor nextkey nextlink nextpage nextpagetoken nextpageurl nexttoken nexturl "
    "cursor continuation continuationtoken".split()
)
MORE = frozenset("hasmore hasnext hasnextpage more morepages".split())
_PAGES = frozenset("totalpages pagecount lastpage pages numpages".split())
_NOUN = "(?:items?|results?|records?|elements?|rows?|entries|hits|objects?|resources?|stores?|locations?|restaurants?)"
TOTALS = re.compile(
    f"count|total(?:count|number|{_NOUN}(?:count)?)?|{_NOUN}(?:total|count)|(?:number|num)(?:of)?{_NOUN}"
)
# Where totals of the list stand; elsewhere a total may count anything.
OF_THE_LIST = frozenset(["", "meta", "metadata", "paging", "pagination", "page", "pageinfo"])


def sign_of_more(
    body: bytes,
    items_pointer: str,
    *,
    pagination: str,
    pages: int,
    stores: int,
    headers: Mapping[str, str] | None = None,
) -> str:
    """Return what of the last page says that more follows, as a sentence without its value; "" for nothing.

    `pages` were read, with so many distinct `stores`. A count in a header is believed as one in the envelope.
    """
    for path, name, value in (*_said_in(headers or {}), *scalars(body, parse(items_pointer))):
        is_header = path[:1] == _HEADER
        place = f"header {path[1] if len(path) > 1 else name}" if is_header else "/" + "/".join([*path, name])
        path = path[2:] if is_header else path  # noqa: PLW2901 -- of the envelope that a header may be
        word = word_of(name)
        if word in {"href", "url"} and path:
            word = word_of(path[-1])  # as HAL and JSON:API write a link
        if isinstance(value, str) and len(value) < 2 * _DIGITS and (found := _COUNT.fullmatch(value)):
            value = int(found[1].replace(",", ""))  # noqa: PLW2901 -- a count in quotes
        if pagination == "none" and word in NEXT and value not in (None, "", False, 0):
            return f"the answer has a next page at {place}, which [partner.list_stores] pagination does not follow"
        if (word in MORE and value in (True, "true", "True")) or (word in {"last", "islast"} and value is False):
            return f"{place} says that more stores follow"
        if type(value) is not int or (word_of(path[-1]) if path else "") not in OF_THE_LIST:
            continue
        if word in _PAGES and value > pages:
            return f"{place} states {value:,} pages, and {pages:,} were read"
        if TOTALS.fullmatch(word) and value > stores:
            return f"{place} states {value:,} stores, and the pages read have {stores:,}"
    return ""


_HEADER = ("header",)
_FAMILY = re.compile("^x?(?:wp|ms|opc|odata|pagination|paging|pager|pagy|page|list|collection|query|search|api|meta)?")
# Of a header that is sent twice there are two, with a comma.
_COUNT = re.compile(r'"?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:[.]0+)?"?(?:, *"?\1"?)*', re.ASCII)
_RANGE = re.compile(r"(?!bytes)[a-z-]*[ =]?(?:[0-9]+-[0-9]+|\*)/([0-9]{1,12})", re.IGNORECASE)


def _said_in(headers: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield what headers say of pages and totals as scalars() does, X-WP-TotalPages as its name "totalpages"."""
    for header, value in headers.items():
        word, text = word_of(header), value.strip()
        if word.endswith("contentrange") and (found := _RANGE.fullmatch(text)):
            yield (*_HEADER, header), "total", int(found[1])
        elif text.startswith("{") and "pag" in word:
            yield from (((*_HEADER, header, *path), name, each) for path, name, each in scalars(text.encode(), ()))
        elif word not in {"cursor", "count", "next", "pages", "last", "more"}:
            words, signs = (word.removeprefix("x"), _FAMILY.sub("", word)), NEXT | MORE | _PAGES
            known = next((each for each in words if each in signs or TOTALS.fullmatch(each)), "")
            if known and text.lower() not in {"", "null", "none", "0", "-1", "false"}:
                yield (*_HEADER, header), known, text


def scalars(body: bytes, items: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield (path, name, value) of the scalars of the envelope: at most three levels, not of the records."""
    seen = 0
    level: list[tuple[tuple[str, ...], bytes | msgspec.Raw]] = [((), body)]
    for _ in range(_LEVELS):
        below: list[tuple[tuple[str, ...], bytes | msgspec.Raw]] = []
        for path, text in level:
            try:
                members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
            except UNREADABLE:
                continue  # an array: the records, or a list beside them
            for name, raw in members.items():
                seen += 1
                if seen > _MEMBERS:
                    return
                if (*path, name) == items:
                    continue
                if (start := bytes(memoryview(raw)[:1])) == b"{":
                    below.append(((*path, name), raw))
                elif start != b"[":
                    try:
                        yield path, name, msgspec.json.decode(raw)
                    except UNREADABLE:
                        continue
        level = below


def word_of(name: str) -> str:
    """Return a member's name without case and separators: nextCursor, next_cursor and next-cursor are one."""
    return name.replace("_", "").replace("-", "").lower()


# RFC 8288 section 3 and RFC 9110 section 5.6: <target> then parameters, values bare or quoted.
_TARGET = re.compile(r"[\s,]*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""", re.ASCII)
_REST = re.compile(r"[ \t,]*+")
_END = re.compile(r"\s*(?:,|$)")


class LinkError(ValueError):
    """A Link header does not follow RFC 8288."""


def targets(headers: tuple[str, ...], relation: str) -> list[str]:
    """Return the targets of `relation` as written, but those with an anchor; raise LinkError for text that is none."""
    found = []
    for header in headers:
        position = 0
        while not _REST.fullmatch(header, position):
            if (match := _TARGET.match(header, position)) is None:
                raise LinkError("a Link header cannot be read")
            target, position = match[1], match.end()
            parameters: dict[str, str] = {}
            while (match := _PARAMETER.match(header, position)) is not None:
                value = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
                parameters.setdefault(match[1].lower(), value or "")  # the first rel counts, section 3.3
                position = match.end()
            if (match := _END.match(header, position)) is None:
                raise LinkError("a Link header cannot be read")
            position = match.end()
            if "anchor" not in parameters and relation in parameters.get("rel", "").lower().split():
                found.append(target)
    return found


_OK = 200
# A store added meanwhile may move others to the next page, and a filter may leave pages empty: one page is no sign.
_PAGES_WITHOUT_NEWS = 10


class StoreListing:
    """One walk over the pages of [partner.list_stores]."""

    def __init__(self, partner: Partner, ask: Callable[[str], Awaitable[Answer | RequestError]], clock: Clock) -> None:
        self._how, self._id_pointer, self._clock = partner.list_stores, partner.store.id_pointer, clock
        self._first = httpx.URL(partner.base_url.rstrip("/") + partner.list_stores.path)
        if self._how.query:
            self._first = self._first.copy_merge_params(self._how.query)
        self._ask = ask
        self._seen: set[str] = set()
        self._seen_pages: set[bytes] = set()
        self._seen_stores: set[bytes] = set()
        self._without_news = 0
        self._number = self._how.first_page if self._how.pagination == "page" else 0

    async def pages(self) -> AsyncIterator[list[bytes]]:
        """Yield the records of each page, as sent.

        Raise ListingBroken for a response, an envelope or a next page that does not match the settings, and for a list
        that does not end: after max_pages, after max_seconds, or when page after page brings no store not seen before.
        """
        began = self._clock.monotonic()
        url: httpx.URL | None = self._first
        if self._counts():
            url = self._first.copy_set_param(self._how.cursor_parameter, self._number)
        while url is not None:
            if str(url) in self._seen:
                raise self._broken("a page links to a page that was listed already")
            if len(self._seen) == self._how.max_pages:
                raise self._broken(f"it does not end after {self._how.max_pages:,} pages; raise max_pages if it may")
            if self._clock.monotonic() - began > self._how.max_seconds:
                why = f"it does not end after {self._how.max_seconds:g} s and {len(self._seen):,} pages"
                raise self._broken(f"{why}; raise max_seconds if it may")
            self._seen.add(str(url))
            answer = await self._requested(url)
            records = self._records(answer.body)
            try:
                following = self._following(url, answer, records)
            except httpx.InvalidURL:
                raise self._broken("the next page has an address that cannot be requested") from None
            yield records
            self._count(records)
            if following is None:
                self._expect_no_more(url, answer)
            elif self._without_news == _PAGES_WITHOUT_NEWS:
                why = f"it does not end: {_PAGES_WITHOUT_NEWS} pages in a row"
                raise self._broken(f"{why}, up to page {len(self._seen):,}, bring no store not seen before")
            url = following

    def _count(self, records: list[bytes]) -> None:
        """Count the stores that were not seen before, and the pages in a row that bring none."""
        known = len(self._seen_stores)
        self._seen_stores.update(self._identity(record) for record in records)
        self._without_news = 0 if len(self._seen_stores) > known else self._without_news + 1

    def _expect_no_more(self, url: httpx.URL, answer: Answer) -> None:
        """Raise ListingBroken if the last page says that more stores follow: the list would end early, unnoticed."""
        how, seen = self._how, {"pages": len(self._seen), "stores": len(self._seen_stores)}
        sign = sign_of_more(answer.body, how.items_pointer, pagination=how.pagination, headers=answer.headers, **seen)
        last, known = (
            {str(url.join(target)) for relation in relations for target in self._links(answer, relation)}
            for relations in (["last"], ["first", "self"])
        )
        if self._how.pagination == "none" and last - known - {str(url)}:
            sign = "the answer links to a last page, which is another one"
        if sign:
            raise self._broken(f"{sign}: check pagination, cursor_pointer and cursor_parameter")

    def _identity(self, record: bytes) -> bytes:
        """Return the text of a store's id, or the hash of a record without one."""
        found = value_at(record, self._id_pointer)
        return hashlib.sha256(record if found is None else found).digest()

    async def _requested(self, url: httpx.URL) -> Answer:
        answer = await self._ask(str(url))
        if isinstance(answer, RequestError):
            raise self._broken(f"page {len(self._seen)}: {answer.message} ({answer.code})")
        if answer.status != _OK:
            raise self._broken(f"page {len(self._seen)}: the service answers {answer.status}; check the path")
        if answer.oversize:
            raise self._broken(f"page {len(self._seen)} is too large to read")
        return answer

    def _records(self, body: bytes) -> list[bytes]:
        pointer = self._how.items_pointer
        if (value := value_at(body, pointer)) is None:
            raise self._broken(f"items_pointer {pointer!r} leads to nothing")
        try:
            found = msgspec.json.decode(value, type=list[msgspec.Raw])
        except RecursionError:
            raise self._broken("the answer has more levels than can be read, as no list of stores has") from None
        except UNREADABLE:
            raise self._broken(f"items_pointer {pointer!r} does not lead to an array") from None
        return [bytes(record) for record in found]

    def _following(self, url: httpx.URL, answer: Answer, records: list[bytes]) -> httpx.URL | None:
        """Return the address of the next page; None if this is the last."""
        if self._how.pagination == "none":
            if self._links(answer, "next"):
                raise self._broken('the service links to a next page, but pagination is "none"')
            return None
        if self._how.pagination == "link":
            return self._linked(url, answer)
        if self._counts():
            return self._counted(records)
        if (cursor := self._cursor(answer.body)) is None:
            return None
        if self._how.pagination == "next_url":
            return self._safe(url.join(str(cursor)))
        if self._how.pagination == "last_id":
            # the next page begins after the last record
            found = value_at(records[-1], self._id_pointer) if records else None
            if found is None:
                raise self._broken("more stores follow, but the last record has no id at [partner.store] id_pointer")
            cursor = msgspec.json.decode(found, type=str | int)
        elif cursor is True:
            raise self._broken(f"cursor_pointer {self._how.cursor_pointer!r} leads to true, which is not a cursor")
        return self._first.copy_set_param(self._how.cursor_parameter, cursor)

    def _linked(self, url: httpx.URL, answer: Answer) -> httpx.URL | None:
        if not (found := {str(url.join(target)) for target in self._links(answer, "next")}):
            return None  # RFC 8288 has no other way to mark the last page
        if len(found) > 1:
            raise self._broken("a page links to two next pages")
        return self._safe(httpx.URL(found.pop()))

    def _safe(self, following: httpx.URL) -> httpx.URL:
        """Return the address of a next page, unless it is one to which the token must not be sent."""
        following = following.copy_with(fragment=None)
        if origin_of(following) != origin_of(self._first):
            raise self._broken("a page links to a next page on another host, to which the token is not sent")
        return following

    def _links(self, answer: Answer, relation: str) -> list[str]:
        try:
            return targets(answer.links, relation)
        except LinkError as error:
            raise self._broken(str(error)) from None

    def _counts(self) -> bool:
        return self._how.pagination in {"page", "offset"} and not self._how.cursor_pointer

    def _counted(self, records: list[bytes]) -> httpx.URL | None:
        """Return the address of the next page number, or of the next offset; an empty page is the last."""
        if not records:
            return None
        if (digest := hashlib.sha256(b"\n".join(records)).digest()) in self._seen_pages:
            raise self._broken("two page numbers return the same page; check cursor_parameter")
        self._seen_pages.add(digest)
        self._number += 1 if self._how.pagination == "page" else len(records)
        return self._first.copy_set_param(self._how.cursor_parameter, self._number)

    def _cursor(self, body: bytes) -> str | int | None:
        """Return what names the next page; None if this is the last."""
        pointer = self._how.cursor_pointer
        if (raw := value_at(body, pointer)) is None:
            if self._how.cursor_is_optional:
                return None
            why = f"cursor_pointer {pointer!r} leads to nothing"
            raise self._broken(f"{why}; the last page needs a null there, unless cursor_is_optional")
        try:
            cursor = msgspec.json.decode(raw, type=str | int | bool | None)
        except UNREADABLE:
            raise self._broken(f"cursor_pointer {pointer!r} leads to a value that is not a cursor") from None
        return None if cursor == "" or cursor is False else cursor

    def _broken(self, what: str) -> ListingBroken:
        return ListingBroken(f"[partner.list_stores] {self._how.path}: {what}")


def value_at(body: bytes, pointer: str) -> msgspec.Raw | None:
    """Return the JSON text at `pointer` in `body`; None if there is none."""
    return raw_at(body, parse(pointer))
