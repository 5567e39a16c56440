"""Find the list of stores: its path, where the records are, and how the next page is requested."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
import msgspec

from pipelines.examining.draft import (
    ANSWERED,
    REQUESTS,
    Draft,
    Meter,
    Reply,
    Search,
    UnprovenError,
    own_numbers,
    plain_members,
    send,
)
from pipelines.examining.login import Hints
from pipelines.partner import Clock, ListingBroken
from pipelines.partner.exchange import ASK_FOR_JSON, exchange
from pipelines.partner.listing import MORE, NEXT, OF_THE_LIST, TOTALS, LinkError, Listing, scalars, targets, word_of
from pipelines.partner.pointer import PointerError, get, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.partner.answers import Answer, RequestError

    Record = dict[str, Any]

_PREFIXES = ("/v1/partner_developers", "/v1", "/v2", "/v3", "", "/api", "/api/v1", "/partners/v1")
_WORDS = ("stores", "locations", "restaurants", "merchants")
_LIMITS = "limit page_size pageSize per_page perPage size count max_results maxResults".split()
_PAGES, _OFFSETS = "page page_number pageNumber p".split(), "offset skip start startIndex".split()
_CURSORS = "cursor after page_token pageToken start_key next token page".split()
_AFTER = "starting_after after after_id since_id last_id".split()
_ROUND = {10, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000}
_LAST = re.compile("last.*(id|key|cursor)")
_GIVE_PAGES = "give --set list_stores.pagination=… and its keys (see ordermart.toml), or --stores N"


async def refused_lists(draft: Draft, meter: Meter) -> tuple[list[str], Hints]:
    """Return the paths that may list stores, as they are refused without a token, and what refusals say."""
    hints = Hints()
    if draft.has("list_stores.path"):
        paths = [draft.settings.partner.list_stores.path]
    else:
        paths = [f"{prefix}/{word}" for word in _WORDS for prefix in _PREFIXES]
    nothing = (await send(meter, "GET", draft.url("/v1/there-is-nothing-here"))).status
    if nothing == 0:
        raise UnprovenError(f"{draft.settings.partner.base_url} does not answer: check --base-url and the network")
    if nothing in (401, 403) and len(paths) > 1:  # everything is refused: no path shows itself
        return paths, hints
    found = []
    for path in paths:
        reply = await send(meter, "GET", draft.url(path))
        if reply.status in (401, 403):
            found.append(path)
            hints.add(reply)
    if not found:
        path = draft.ask("partner.list_stores.path", "Path of the list of stores (none of the usual ones is one)")
        reply = await send(meter, "GET", draft.url(path))
        hints.add(reply)
        draft.set(ANSWERED, list_stores__path=path)
        if reply.status not in (401, 403):
            raise UnprovenError(f"{path} answers {reply.status} without a token: nothing proves that a token is used")
        found = [path]
    return found, hints


class ListSearch(Search):
    """The search for the list; `records` has all of it once it was found."""

    def __init__(self, draft: Draft, meter: Meter, headers: dict[str, str], stores: int) -> None:
        super().__init__(draft, meter, headers)
        self._stores = stores  # as a person says; 0: not said
        self.records: list[Record] = []
        self.pages: list[list[bytes]] = []
        self._last: tuple[dict[str, Any], str, int] = ({}, "", 0)  # how the last record is asked for on its own

    async def find_list(self, paths: list[str]) -> None:
        """Find path, items and pages; walk the list to its end."""
        replies = [(path, await self.get(path)) for path in paths]
        found = {path: reply for path, reply in replies if reply.status == 200 and any(_arrays(reply.value))}
        # One list at several paths is one list.
        distinct = {json.dumps(reply.value): path for path, reply in reversed(found.items())}
        path = next(iter(distinct.values()), "")
        if len(distinct) > 1:
            path = self.draft.ask("partner.list_stores.path", f"Which path lists the stores: {', '.join(found)}")
        if path in found:
            first = found[path]
            arrays = dict(_arrays(first.value))
            items = next(iter(arrays))
            if len(arrays) > 1:
                items = self.draft.ask(
                    "partner.list_stores.items_pointer", f"Where the stores are: {', '.join(arrays)}"
                )
            if items not in arrays:
                raise UnprovenError("the list is not decided: give --set list_stores.items_pointer=…")
            self.draft.set("lists records with the token", list_stores__path=path, list_stores__items_pointer=items)
            await self._find_pages(first, arrays[items])
            await self._walk()
            return
        if found:
            raise UnprovenError("the list is not decided: give --set list_stores.path=…")
        path = self.draft.ask("partner.list_stores.path", "Path of the list of stores (none of the usual ones has any)")
        if path in ("", *paths):
            raise UnprovenError("no list of stores was found: give --set list_stores.path=…")
        self.draft.set(ANSWERED, list_stores__path=path)
        await self.find_list([path])

    async def _page(self, query: dict[str, Any]) -> tuple[list[Record], Reply]:
        how = self.draft.settings.partner.list_stores
        reply = await self.get(how.path, **query)
        try:
            records = get(reply.value, how.items_pointer)
        except PointerError:
            records = []
        return (records if reply.status == 200 and isinstance(records, list) else []), reply

    async def _find_pages(self, first: Reply, records: list[Record]) -> None:
        """Find how the next page is requested; a list without a sign of one is asked for pages of one record."""
        if self.draft.has("list_stores.pagination") or await self._signed(first, records, {}):
            return
        small: dict[str, Any] = {}
        for name in _LIMITS if len(records) > 1 else ():
            one, reply = await self._page({name: 1})
            if one == records[:1]:
                small = {name: 1}
                if await self._signed(reply, one, small):
                    return
                break
        if not await self._counted(records, small):
            await self._expect_all(first, records, small)
            self._set_pages("no sign of more, and neither ?page=2 nor an offset has other stores", "none")

    async def _counted(self, records: list[Record], query: dict[str, Any]) -> bool:
        """Find a parameter that counts pages or records; return whether there is one."""
        few = records[:1] if query else records
        for name in _PAGES:
            if await self._brings({**query, name: 2}, few):
                for number in (1, 0):
                    if (await self._page({**query, name: number}))[0] == few:
                        evidence = f"?{name}={number} is the first page, ?{name}=2 has other stores"
                        self._set_pages(evidence, "page", parameter=name, first=number)
                        self._last = (query, name, number - 1)
                        return True
        for name in _OFFSETS:
            following = (await self._page({name: 1}))[0]
            # An offset counts records: from 1 on the second of the whole page comes first.
            if following[:1] == (records[1:2] or following[:1]) and await self._brings({**query, name: len(few)}, few):
                self._set_pages(f"?{name}={len(few)} has the stores that follow", "offset", parameter=name)
                self._last = (query, name, -1)
                return True
        return False

    async def _expect_all(self, first: Reply, records: list[Record], small: dict[str, Any]) -> None:
        """Raise unless a list without pages is whole, as far as anything shows."""
        total = next(
            (
                value
                for path, name, value in scalars(first.body, ())
                if word_of(name) in TOTALS and (word_of(path[-1]) if path else "") in OF_THE_LIST
            ),
            None,
        )
        if total == len(records):
            return
        if small:
            raise UnprovenError(f"?{next(iter(small))} limits the list, but what follows is not found: {_GIVE_PAGES}")
        if total is not None:
            raise UnprovenError(f"the list states {total} stores and shows {len(records)}: {_GIVE_PAGES}")
        if len(records) in _ROUND and not self._stores:
            answer = self.draft.ask(
                "--stores", f"How many stores are there? The list has {len(records)}, a round number"
            )
            self._stores = int(answer) if answer.isdigit() else 0
        if (len(records) in _ROUND or self._stores) and self._stores != len(records):
            raise UnprovenError(f"the list may end early at {len(records)} stores: {_GIVE_PAGES}")

    async def _signed(self, reply: Reply, records: list[Record], query: dict[str, Any]) -> bool:
        """Find the pages by a sign of the first one; return whether there is a sign that leads to other stores."""
        with suppress(LinkError):
            if targets(tuple(reply.headers.get_list("link")), "next"):
                self._set_pages("the first page has a Link header with rel=next", "link")
                return True
        items = self.draft.settings.partner.list_stores.items_pointer
        for path, name, value in scalars(reply.body, parse(items)):
            word = word_of(path[-1]) if word_of(name) in {"href", "url"} and path else word_of(name)
            pointer = "/" + "/".join([*path, name])
            if word in MORE and value is True:
                is_it = await self._follows_last(pointer, records, query)
            elif not value or isinstance(value, bool) or not (word in NEXT or _LAST.fullmatch(word)):
                is_it = False
            elif isinstance(value, str) and re.search(r"[/?]", value):
                is_it = await self._follows_address(pointer, value, records)
            else:
                is_it = await self._follows_cursor(pointer, name, value, records, query)
            if is_it:
                return True
        return False

    async def _follows_last(self, pointer: str, records: list[Record], query: dict[str, Any]) -> bool:
        for place in own_numbers(records):
            for parameter in _AFTER:
                if await self._brings({**query, parameter: get(records[-1], place)}, records):
                    evidence = f"{pointer} is true, and ?{parameter}= with the last {place} has other stores"
                    self._set_pages(evidence, "last_id", pointer, parameter)
                    self.draft.set("the list goes on after it", store__id_pointer=place)
                    return True
        return False

    async def _follows_address(self, pointer: str, value: str, records: list[Record]) -> bool:
        how = self.draft.settings.partner.list_stores
        try:
            address = str(httpx.URL(self.draft.url(how.path)).join(value))
        except httpx.InvalidURL:
            return False
        following = await send(self.meter, "GET", address, headers=self.headers)
        more = dict(_arrays(following.value)).get(how.items_pointer)
        if more and not _meet(more, records):
            self._set_pages(f"{pointer} is the address of a page with other stores", "next_url", pointer)
            return True
        return False

    async def _follows_cursor(
        self, pointer: str, name: str, value: Any, records: list[Record], query: dict[str, Any]
    ) -> bool:
        for parameter in dict.fromkeys((name, re.sub("^next_?", "", name), *_CURSORS)):
            if parameter and await self._brings({**query, parameter: value}, records):
                self._set_pages(f"?{parameter}= with {pointer} has other stores", "cursor", pointer, parameter)
                return True
        return False

    async def _brings(self, query: dict[str, Any], records: list[Record]) -> bool:
        more = (await self._page(query))[0]
        return bool(more) and not _meet(more, records)

    def _set_pages(
        self, evidence: str, pagination: str, pointer: str = "", parameter: str = "", first: int = 1
    ) -> None:
        keys = {"pagination": pagination, "cursor_pointer": pointer, "cursor_parameter": parameter, "first_page": first}
        how = self.draft.settings.partner.list_stores
        changed = {key: value for key, value in keys.items() if key == "pagination" or value != getattr(how, key)}
        self.draft.set(evidence, **{f"list_stores__{key}": value for key, value in changed.items()})

    async def _walk(self) -> None:
        """Walk the list to its end, by the code of a run; keep all records."""
        header, limit = {**ASK_FOR_JSON, **self.headers}, 67_108_864

        async def ask(url: str) -> Answer | RequestError:
            request = httpx.Request("GET", url, headers=header)
            return await exchange(self.meter, request, limit=limit, seconds=30.0, clock=Clock())

        for is_optional in (False, True):
            partner = self.draft.settings.partner
            if is_optional and partner.list_stores.pagination not in {"cursor", "next_url"}:
                break
            if is_optional:
                self.draft.set("the last page has no such member", list_stores__cursor_is_optional=True)
                partner = self.draft.settings.partner
            try:
                pages = [page async for page in Listing(partner, ask, Clock()).pages()]
            except ListingBroken as error:
                broken = str(error)
                if self.meter.requests >= REQUESTS:
                    raise UnprovenError(f"the list does not end within {REQUESTS} requests: {_GIVE_PAGES}") from None
                continue
            self.pages = pages
            self.records = [msgspec.json.decode(record) for page in pages for record in page]
            if len({json.dumps(record) for record in self.records}) < len(self.records):
                raise UnprovenError(f"pages of the list have the same store twice: {_GIVE_PAGES}")
            await self._expect_end()
            if self._stores and self._stores != len(self.records):
                raise UnprovenError(f"the list has {len(self.records)} stores, not {self._stores}: {_GIVE_PAGES}")
            return
        raise UnprovenError(f"{broken}. {_GIVE_PAGES}")

    async def _expect_end(self) -> None:
        """Raise unless pages of one record end where the list did: pages that skip some would not."""
        query, name, before = self._last
        if not query:
            return
        last, beyond = [(await self._page({**query, name: len(self.records) + before + more}))[0] for more in (0, 1)]
        if last[-1:] != self.records[-1:] or beyond:
            raise UnprovenError(f"pages of one store end elsewhere than the list: {_GIVE_PAGES}")


def _arrays(value: Any, pointer: str = "", depth: int = 3) -> Iterator[tuple[str, list[Record]]]:
    """Yield pointers of arrays of objects in an envelope."""
    if isinstance(value, list):
        if value and all(isinstance(each, dict) for each in value):
            yield pointer, value
    elif isinstance(value, dict) and depth:
        for key, inner in plain_members(value):
            yield from _arrays(inner, f"{pointer}/{key}", depth - 1)


def _meet(one: list[Record], other: list[Record]) -> bool:
    """Return whether two pages have a record in common."""
    known = {json.dumps(record) for record in other}
    return any(json.dumps(record) in known for record in one)
