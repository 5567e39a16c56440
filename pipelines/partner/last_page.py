"""Look at the last page of a list for signs that the list goes on, whatever pagination the settings name.

The names are those that public services use; a sign outside the records counts, one inside a record does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.partner.pointer import UNREADABLE, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEVELS = 3
_MEMBERS = 1_000  # of the envelope; more of them are no envelope
NEXT = frozenset(
    "next nextcursor nextkey nextpage nextpagetoken nextpageurl nexttoken nexturl cursor continuationtoken".split()
)
MORE = frozenset("hasmore hasnext hasnextpage more morepages".split())
_PAGES = frozenset("totalpages pagecount lastpage pages numpages".split())
TOTALS = frozenset("total totalcount totalitems totalresults totalrecords totalelements count".split())
# Where totals of the list stand; elsewhere a total may count anything.
OF_THE_LIST = frozenset(["", "meta", "metadata", "paging", "pagination", "page", "pageinfo"])


def sign_of_more(body: bytes, items_pointer: str, *, pagination: str, pages: int, stores: int) -> str:
    """Return the member of the last page that says that more follows, as a sentence without its value; "" for none.

    `pages` were read, with so many distinct `stores`.
    """
    for path, name, value in scalars(body, parse(items_pointer)):
        place = "/" + "/".join([*path, name])
        word = word_of(name)
        if word in {"href", "url"} and path:
            word = word_of(path[-1])  # as HAL and JSON:API write a link
        if pagination == "none" and word in NEXT and value not in (None, "", False, 0):
            return f"the answer has a next page at {place}, which [partner.list_stores] pagination does not follow"
        if (word in MORE and value is True) or (word in {"last", "islast"} and value is False):
            return f"{place} says that more stores follow"
        if type(value) is not int or (word_of(path[-1]) if path else "") not in OF_THE_LIST:
            continue
        if word in _PAGES and value > pages:
            return f"{place} states {value:,} pages, and {pages:,} were read"
        if word in TOTALS and value > stores:
            return f"{place} states {value:,} stores, and the pages read have {stores:,}"
    return ""


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
                start = bytes(memoryview(raw)[:1])
                if start == b"{":
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
