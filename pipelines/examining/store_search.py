"""Find the stores: the path of their list, where its records are, and how the next page is requested.

Of records it finds the id of a store, the path of its details, and where they have their fields and menus.
"""

import json
import re
import zoneinfo
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import msgspec

from pipelines.examining.login import ANSWERED, REQUESTS, Draft, Meter, Reply, UnprovenError, leaves, members, send
from pipelines.landing.shape import read_sql
from pipelines.partner.exchange import ASK_FOR_JSON, Answer, ListingBroken, RequestError, exchange
from pipelines.partner.listing import (
    MORE,
    NEXT,
    OF_THE_LIST,
    TOTALS,
    LinkError,
    StoreListing,
    scalars,
    targets,
    word_of,
)
from pipelines.partner.pacing import Clock
from pipelines.partner.pointer import PointerError, get, get_all, parse
from pipelines.resources import resource

Record = dict[str, Any]

_LIMITS = "limit page_size pageSize per_page perPage size count max_results maxResults page[size]".split()
_PAGES = "page page_number pageNumber p page[number]".split()
_OFFSETS = "offset skip start startIndex page[offset]".split()
_CURSORS = "cursor after page_token pageToken start_key next token page page[cursor] page[after]".split()
_AFTER = "starting_after after after_id since_id last_id".split()
_ROUND = {10, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000}
_LAST = re.compile("last.*(id|key|cursor)")
_GIVE_PAGES = "give --set list_stores.pagination=… and its keys (see ordermart.toml), or --stores N"
_NOBODY = 2_147_483_599  # an id that no store and no menu has
_SHOWN = 5
_CODES = frozenset(
    re.findall("[A-Z]{3}", read_sql(resource("sql") / "functions" / "is_currency.sql").partition("\n")[2])
)


class StoreSearch:
    """The search with a token that works: `records` has all of the list once it was found, `ids` the stores' ids."""

    def __init__(self, draft: Draft, meter: Meter, headers: dict[str, str], orders: list[int], stores: int) -> None:
        self.draft, self.meter, self.headers = draft, meter, headers
        self._orders, self._stores = orders, stores  # as a person says; 0: not said
        self.records: list[Record] = []
        self.ids: list[int] = []
        self.pages: list[list[bytes]] = []
        self._last: tuple[dict[str, Any], str, int] = ({}, "", 0)  # how the last record is asked for on its own

    async def get(self, path: str, **query: Any) -> Reply:
        """Request a path with the token."""
        url = httpx.URL(self.draft.url(path))
        url = url.copy_merge_params(query) if query else url
        return await send(self.meter, "GET", str(url), headers=self.headers)

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
                question = f"Where the stores are: {', '.join(arrays)}"
                items = self.draft.ask("partner.list_stores.items_pointer", question)
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
        total = None
        for path, name, value in scalars(first.body, ()):
            if TOTALS.fullmatch(word_of(name)) and (word_of(path[-1]) if path else "") in OF_THE_LIST:
                total = value
                break
        if total == len(records):
            return
        if small:
            raise UnprovenError(f"?{next(iter(small))} limits the list, but what follows is not found: {_GIVE_PAGES}")
        if total is not None:
            raise UnprovenError(f"the list states {total} stores and shows {len(records)}: {_GIVE_PAGES}")
        if len(records) in _ROUND and not self._stores:
            said = self.draft.ask("--stores", f"How many stores are there? The list has {len(records)}, a round number")
            self._stores = int(said) if said.isdigit() else 0
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
        for place in _own_numbers(records):
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

    def _set_pages(self, why: str, pagination: str, pointer: str = "", parameter: str = "", first: int = 1) -> None:
        keys = {"pagination": pagination, "cursor_pointer": pointer, "cursor_parameter": parameter, "first_page": first}
        how = self.draft.settings.partner.list_stores
        changed = {key: value for key, value in keys.items() if key == "pagination" or value != getattr(how, key)}
        self.draft.set(why, **{f"list_stores__{key}": value for key, value in changed.items()})

    async def _walk(self) -> None:
        """Walk the list to its end, by the code of a run; keep all records."""
        header, limit = {**ASK_FOR_JSON, **self.headers}, 67_108_864

        async def ask(url: str) -> Answer | RequestError:
            request = httpx.Request("GET", url, headers=header)
            return await exchange(self.meter.client, request, limit=limit, seconds=30.0, clock=Clock())

        for is_optional in (False, True):
            partner = self.draft.settings.partner
            if is_optional and partner.list_stores.pagination not in {"cursor", "next_url"}:
                break
            if is_optional:
                self.draft.set("the last page has no such member", list_stores__cursor_is_optional=True)
                partner = self.draft.settings.partner
            try:
                pages = [page async for page in StoreListing(partner, ask, Clock()).pages()]
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

    async def find_record(self) -> None:
        """Find the id and path of details, then the fields of five records."""
        if not (candidates := list(_own_numbers(self.records))):
            raise UnprovenError("no member of the stores is a whole number of its own: text ids cannot be had")
        if self._orders:
            order = await self.get(self.draft.settings.partner.order.path.replace("{id}", str(self._orders[0])))
            named = order.value.get("store_id") if isinstance(order.value, dict) else None
            if named is None:
                said = f"order {self._orders[0]} answers {order.status}"
                raise UnprovenError(f"{said}: give --order-id of one that exists")
            candidates = [each for each in candidates if named in _values_at(self.records, each)]
            if not candidates:
                raise UnprovenError(f"no number of the listed stores is the store_id of order {self._orders[0]}")
        _, walked = self.draft.found.get("partner.store.id_pointer", ("", ""))
        paged_by = self.draft.settings.partner.store.id_pointer if walked else ""
        if len(candidates) > 1 and not self.draft.has("store.id_pointer"):
            what = f"Which number do orders name a store by: {', '.join(candidates)} (or --order-id)"
            which = self.draft.ask("partner.store.id_pointer", what)
            candidates = [which] if which in candidates else []
        if self.draft.has("store.id_pointer"):
            candidates = [self.draft.settings.partner.store.id_pointer]
        if len(candidates) != 1:
            raise UnprovenError("the store's id is not decided: give --order-id, or --set store.id_pointer=…")
        if paged_by and candidates != [paged_by]:
            raise UnprovenError(f"the list goes on after {paged_by}, but orders name stores by {candidates[0]}")
        details = await self._find_details(candidates[0])
        self._find_fields(details)
        await self._find_menus(details)

    async def _find_details(self, pointer: str) -> list[Record]:
        """Find path and envelope of details by three records, and that an id of no store has none."""
        self.ids = _values_at(self.records, pointer)
        path = self.draft.settings.partner.list_stores.path
        stem, dot, end = path.rpartition(".") if "." in path.rpartition("/")[2] else (path, "", "")
        templates = [f"{stem.rstrip('/')}/{{store_id}}{dot}{end}", f"{path.rstrip('/')}/{{store_id}}"]
        if self.draft.has("store.path"):
            templates = [self.draft.settings.partner.store.path]
        for template in [*dict.fromkeys(templates), ""]:
            if not template:
                tried = " and ".join(dict.fromkeys(templates))
                question = f"Path of a store's details, with {{store_id}} ({tried} have none)"
                template = self.draft.ask("partner.store.path", question)  # noqa: PLW2901
                if "{store_id}" not in template:
                    break
            replies = [await self.get(template.replace("{store_id}", str(id_))) for id_ in self.ids[:_SHOWN]]
            envelopes = [set(_envelopes(r.value, pointer, i)) for r, i in zip(replies, self.ids, strict=False)]
            common = set.intersection(*envelopes) if envelopes else set()
            nobody = await self.get(template.replace("{store_id}", str(_NOBODY)))
            if not common or (nobody.status == 200 and list(_envelopes(nobody.value, pointer, _NOBODY))):
                continue
            envelope = min(common, key=len)
            evidence = f"{len(replies)} listed ids open records with the same id, another one none"
            self.draft.set(evidence, store__path=template, store__id_pointer=pointer, store__record_pointer=envelope)
            return [get(reply.value, envelope) for reply in replies]
        raise UnprovenError(f"no path opens a store by its {pointer}: give --set store.path=… with {{store_id}}")

    def _find_fields(self, details: list[Record]) -> None:
        """Find name, zone and currency: members of that kind in all records; two that differ are asked for."""
        zones = zoneinfo.available_timezones()
        for name in ("name", "timezone", "currency"):
            places = dict(_places(name, details, zones))
            whole = {pointer: values for pointer, values in places.items() if len(values) == len(details)}
            if name == "name" and len(details) > 1:
                whole = _telling_stores_apart(whole)
            distinct = {json.dumps(values): pointer for pointer, values in reversed(whole.items())}
            key, is_partial = f"store.{name}_pointer", name != "name" and len(places) > len(whole)
            if name == "currency":  # some codes are words, too
                is_partial = is_partial or not re.search("curr|money", min(whole, key=len, default=""), re.IGNORECASE)
            if len(distinct) == 1 and not is_partial:
                self.draft.set(f"in all {len(details)} records", **{f"store__{name}_pointer": min(whole, key=len)})
            elif not places:
                self.draft.set("no record has one", **{f"store__{name}_pointer": ""})
                self._ask_instead(name)
            elif not self.draft.has(key):
                question = f"The store's {name} is one of {', '.join(places)}; which"
                if (pointer := self.draft.ask_by_the_way(f"partner.{key}", question)) is None:
                    continue
                if pointer and pointer not in places:
                    raise UnprovenError(f"no record has a {name} at {pointer}: give --set {key}=…")
                self.draft.set(ANSWERED, **{f"store__{name}_pointer": pointer})

    def _ask_instead(self, name: str) -> None:
        """Ask for the zone or currency of all stores, which no record states."""
        key = {"timezone": "business_day.timezone", "currency": "finance.currency"}.get(name)
        if key is None or key in self.draft.given:
            return
        question = f"No record states a {name}; the {name} of all stores (IANA or ISO 4217)"
        if (answer := self.draft.ask_by_the_way(key, question)) is None:
            return
        if answer not in (zoneinfo.available_timezones() if name == "timezone" else _CODES):
            raise UnprovenError(f"{answer!r} is not a {name}: give --set {key}=…")
        self.draft.note(key, answer, ANSWERED)

    async def _find_menus(self, details: list[Record]) -> None:
        """Find where records name menus: numbers below a member named so, by which menus of the same id come."""
        if self.draft.has("store.menu_id_pointers"):
            return
        named: dict[str, list[list[int]]] = {}
        for pointer in dict.fromkeys(pointer for record in details for pointer, _ in leaves(record)):
            values = [[each for each in get_all(record, pointer) if type(each) is int] for record in details]
            if "menu" in pointer.lower() and any(values) and await self._are_menus(values):
                named[pointer] = values
        sets = {json.dumps([sorted(each) for each in values]): pointer for pointer, values in named.items()}
        if len(sets) == 1:
            evidence = "five of them open menus of the same id, another one none"
            self.draft.set(evidence, store__menu_id_pointers=(next(iter(sets.values())),))
            return
        which = ", ".join(named) or "none opens a menu"
        question = f"Where records name menus: {which} (empty: nowhere)"
        if (answer := self.draft.ask_by_the_way("partner.store.menu_id_pointers", question)) is None:
            return
        self.draft.set(ANSWERED, store__menu_id_pointers=tuple(each for each in re.split(r"[ ,]+", answer) if each))

    async def _are_menus(self, values: list[list[int]]) -> bool:
        path = self.draft.settings.partner.menu.path
        ids = list(dict.fromkeys(id_ for each in values for id_ in each))[:_SHOWN]
        for id_ in [*ids, _NOBODY]:
            value = (await self.get(path.replace("{menu_id}", str(id_)))).value
            menu = value.get("menu") if isinstance(value, dict) else None
            if (isinstance(menu, dict) and menu.get("id") == id_) != (id_ != _NOBODY):
                return False
        return True


def _arrays(value: Any, pointer: str = "", depth: int = 3) -> Iterator[tuple[str, list[Record]]]:
    """Yield pointers of arrays of objects in an envelope."""
    if isinstance(value, list):
        if value and all(isinstance(each, dict) for each in value):
            yield pointer, value
    elif isinstance(value, dict) and depth:
        for key, inner in members(value):
            yield from _arrays(inner, f"{pointer}/{key}", depth - 1)


def _meet(one: list[Record], other: list[Record]) -> bool:
    """Return whether two pages have a record in common."""
    known = {json.dumps(record) for record in other}
    return any(json.dumps(record) in known for record in one)


def _values_at(records: list[dict[str, Any]], pointer: str) -> list[Any]:
    """Return the values of all records at a pointer."""
    return [value for record in records for value in get_all(record, pointer)]


def _places(name: str, details: list[Record], zones: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the pointers of texts that may be the name, timezone or currency of a store, each with its texts."""
    for pointer in dict.fromkeys(pointer for record in details for pointer, _ in leaves(record) if "*" not in pointer):
        values = [each for each in _values_at(details, pointer) if each is not None]
        key = pointer.rpartition("/")[2]
        if values and all(isinstance(each, str) and _may_be(name, key, each, zones) for each in values):
            yield pointer, values


def _may_be(name: str, key: str, value: str, zones: set[str]) -> bool:
    if name == "timezone":
        return value in zones and ("/" in value or value == "UTC")
    if name == "currency":
        return value in _CODES
    return re.search("(name|title)$", key, re.IGNORECASE) is not None and value.strip() not in {"", *zones}


def _telling_stores_apart(names: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the places that do not have one name in all records; of these those on the top level, if there are any."""
    several = {pointer: values for pointer, values in names.items() if len(set(values)) > 1}
    return {pointer: values for pointer, values in several.items() if pointer.count("/") == 1} or several


def _own_numbers(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield pointers of whole numbers that every record has, and no two the same."""
    for pointer in dict.fromkeys(pointer for pointer, _ in leaves(records[0] if records else None)):
        values = _values_at(records, pointer)
        is_own = all(type(value) is int for value in values) and len(set(values)) == len(values) == len(records)
        if is_own and "*" not in pointer and "{key}" not in pointer:
            yield pointer


def _envelopes(value: Any, pointer: str, id_: int, at: str = "", depth: int = 2) -> Iterator[str]:
    """Yield where a body has an object with this id at `pointer`."""
    if not isinstance(value, dict):
        return
    if get_all(value, pointer) == [id_]:
        yield at
    for key, inner in members(value) if depth else ():
        yield from _envelopes(inner, pointer, id_, f"{at}/{key}", depth - 1)
