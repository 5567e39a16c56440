"""Find the list of stores and its pages, the store's id and details, and where a record has its fields."""

from __future__ import annotations

import json
import re
import zoneinfo
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
import msgspec

from pipelines.examining.draft import REQUESTS, Draft, Meter, Reply, UnprovenError, leaves, send
from pipelines.examining.login import Hints
from pipelines.landing.exact import escaped, shown
from pipelines.partner import Clock, ListingBroken
from pipelines.partner.exchange import ASK_FOR_JSON, exchange
from pipelines.partner.last_page import MORE, NEXT, OF_THE_LIST, TOTALS, scalars, word_of
from pipelines.partner.links import LinkError, targets
from pipelines.partner.listing import Listing
from pipelines.partner.pointer import PointerError, get, get_all, parse

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
_NOBODY = 2_147_483_599  # an id that no store and no menu has
_SHOWN = 5
_LAST = re.compile("last.*(id|key|cursor)")
_CODES = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF "
    "CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG "
    "HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA "
    "MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD "
    "RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX "
    "USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG".split()
)  # ISO 4217


async def refused_lists(draft: Draft, meter: Meter) -> tuple[list[str], Hints]:
    """Return the paths that may list stores, as they are refused without a token, and what the refusals say."""
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
        draft.set("answered", list_stores__path=path)
        if reply.status not in (401, 403):
            raise UnprovenError(f"{path} answers {reply.status} without a token: nothing proves that a token is used")
        found = [path]
    return found, hints


class Stores:
    """The search by a token that works."""

    def __init__(self, draft: Draft, meter: Meter, headers: dict[str, str], orders: list[int], stores: int) -> None:
        self._draft, self._meter, self._headers, self._stores = draft, meter, headers, stores
        self._orders = orders
        self.records: list[Record] = []
        self.ids: list[int] = []

    async def find_list(self, paths: list[str]) -> None:
        """Find path, items and pages; walk the list to its end."""
        for path in paths:
            first = await self._get(path)
            arrays = dict(_arrays(first.value)) if first.status == 200 else {}
            if len(arrays) > 1:
                items = self._draft.ask(
                    "partner.list_stores.items_pointer", f"Where the stores are: {', '.join(arrays)}"
                )
                arrays = {items: arrays[items]} if items in arrays else {}
            for items, records in arrays.items():
                self._draft.set(
                    "lists records with the token", list_stores__path=path, list_stores__items_pointer=items
                )
                await self._find_pages(first, records)
                await self._walk()
                return
        path = self._draft.ask(
            "partner.list_stores.path", "Path of the list of stores (none of the usual ones has any)"
        )
        if path in ("", *paths):
            raise UnprovenError("no list of stores was found: give --set list_stores.path=…")
        self._draft.set("answered", list_stores__path=path)
        await self.find_list([path])

    async def find_record(self) -> None:
        """Find the id and path of details, then the fields of five records."""
        candidates = list(self._id_pointers())
        if not candidates:
            raise UnprovenError("no member of the stores is a whole number of its own: text ids cannot be had")
        if self._orders:
            order = await self._get(self._draft.settings.partner.order.path.replace("{id}", str(self._orders[0])))
            named = order.value.get("store_id") if isinstance(order.value, dict) else None
            if named is None:
                raise UnprovenError(
                    f"order {self._orders[0]} answers {order.status}: give --order-id of one that exists"
                )
            candidates = [each for each in candidates if named in _values(self.records, each)]
            if not candidates:
                raise UnprovenError(f"no number of the listed stores is the store_id of order {self._orders[0]}")
        if len(candidates) > 1 and not self._draft.has("store.id_pointer"):
            which = self._draft.ask(
                "partner.store.id_pointer",
                f"Which number do orders name a store by: {', '.join(candidates)} (or --order-id)",
            )
            candidates = [which] if which in candidates else []
        if self._draft.has("store.id_pointer"):
            candidates = [self._draft.settings.partner.store.id_pointer]
        if len(candidates) != 1:
            raise UnprovenError("the store's id is not decided: give --order-id, or --set store.id_pointer=…")
        details = await self._find_details(candidates[0])
        self._find_fields(details)
        await self._find_menus(details)

    async def _get(self, path: str, **query: Any) -> Reply:
        url = httpx.URL(self._draft.url(path))
        url = url.copy_merge_params(query) if query else url
        return await send(self._meter, "GET", str(url), headers=self._headers)

    # Pages.

    async def _page(self, query: dict[str, Any]) -> tuple[list[Record], Reply]:
        how = self._draft.settings.partner.list_stores
        reply = await self._get(how.path, **query)
        try:
            records = get(reply.value, how.items_pointer)
        except PointerError:
            records = []
        return (records if reply.status == 200 and isinstance(records, list) else []), reply

    async def _find_pages(self, first: Reply, records: list[Record]) -> None:
        """Find how the next page is requested; a list without a sign of one is asked for pages of one record."""
        if self._draft.has("list_stores.pagination") or await self._signed(first, records, {}):
            return
        small: dict[str, Any] = {}
        for name in _LIMITS if len(records) > 1 else ():
            one, reply = await self._page({name: 1})
            if one == records[:1]:
                small = {name: 1}
                if await self._signed(reply, one, small):
                    return
                break
        if not await self._counted(records[:1] if small else records, small):
            await self._expect_all(first, records, small)
            self._set_pages("no sign of more, and neither ?page=2 nor an offset has other stores", "none")

    async def _counted(self, few: list[Record], query: dict[str, Any]) -> bool:
        """Find a parameter that counts pages or records; return whether there is one."""
        for name in _PAGES:
            if await self._brings({**query, name: 2}, few):
                for number in (1, 0):
                    if (await self._page({**query, name: number}))[0] == few:
                        evidence = f"?{name}={number} is the first page, ?{name}=2 has other stores"
                        self._set_pages(evidence, "page", parameter=name, first=number)
                        return True
        for name in _OFFSETS:
            if await self._brings({**query, name: len(few)}, few):
                self._set_pages(f"?{name}={len(few)} has the stores that follow", "offset", parameter=name)
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
            answer = self._draft.ask(
                "--stores", f"How many stores are there? The list has {len(records)}, a round number"
            )
            self._stores = int(answer) if answer.isdigit() else 0
        if (len(records) in _ROUND or self._stores) and self._stores != len(records):
            raise UnprovenError(f"the list may end early at {len(records)} stores: {_GIVE_PAGES}")

    async def _signed(self, reply: Reply, records: list[Record], query: dict[str, Any]) -> bool:
        """Find the pages by a sign of the first one; return whether there is a sign that leads to other stores."""
        with suppress(LinkError):
            if targets(reply.headers.get_list("link"), "next"):
                self._set_pages("the first page has a Link header with rel=next", "link")
                return True
        items = self._draft.settings.partner.list_stores.items_pointer
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
        for place in self._id_pointers(records):
            for parameter in _AFTER:
                if await self._brings({**query, parameter: get(records[-1], place)}, records):
                    evidence = f"{pointer} is true, and ?{parameter}= with the last {place} has other stores"
                    self._set_pages(evidence, "last_id", pointer, parameter)
                    return True
        return False

    async def _follows_address(self, pointer: str, value: str, records: list[Record]) -> bool:
        how = self._draft.settings.partner.list_stores
        try:
            address = str(httpx.URL(self._draft.url(how.path)).join(value))
        except httpx.InvalidURL:
            return False
        following = await send(self._meter, "GET", address, headers=self._headers)
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
        how = self._draft.settings.partner.list_stores
        changed = {key: value for key, value in keys.items() if key == "pagination" or value != getattr(how, key)}
        self._draft.set(evidence, **{f"list_stores__{key}": value for key, value in changed.items()})

    async def _walk(self) -> None:
        """Walk the list to its end, by the code of a run; keep all records."""
        header, limit = {**ASK_FOR_JSON, **self._headers}, 67_108_864

        async def ask(url: str) -> Answer | RequestError:
            request = httpx.Request("GET", url, headers=header)
            return await exchange(self._meter, request, limit=limit, seconds=30.0, clock=Clock())

        for is_optional in (False, True):
            partner = self._draft.settings.partner
            if is_optional and partner.list_stores.pagination not in {"cursor", "next_url"}:
                break
            if is_optional:
                self._draft.set("the last page has no such member", list_stores__cursor_is_optional=True)
                partner = self._draft.settings.partner
            try:
                pages = [page async for page in Listing(partner, ask, Clock()).pages()]
            except ListingBroken as error:
                broken = str(error)
                if self._meter.requests >= REQUESTS:
                    raise UnprovenError(f"the list does not end within {REQUESTS} requests: {_GIVE_PAGES}") from None
                continue
            self.records = [msgspec.json.decode(record) for page in pages for record in page]
            if len({json.dumps(record) for record in self.records}) < len(self.records):
                raise UnprovenError(f"pages of the list have the same store twice: {_GIVE_PAGES}")
            if self._stores and self._stores != len(self.records):
                raise UnprovenError(f"the list has {len(self.records)} stores, not {self._stores}: {_GIVE_PAGES}")
            return
        raise UnprovenError(f"{broken}. {_GIVE_PAGES}")

    # Records.

    def _id_pointers(self, records: list[Record] | None = None) -> Iterator[str]:
        """Yield pointers of whole numbers that every record has, and no two the same."""
        records = self.records if records is None else records
        for pointer in dict.fromkeys(pointer for pointer, _ in leaves(records[0] if records else None)):
            values = _values(records, pointer)
            is_own = all(type(value) is int for value in values) and len(set(values)) == len(values) == len(records)
            if is_own and "*" not in pointer and "{key}" not in pointer:
                yield pointer

    async def _find_details(self, pointer: str) -> list[Record]:
        """Find path and envelope of details by three records, and that an id of no store has none."""
        self.ids = _values(self.records, pointer)
        path = self._draft.settings.partner.list_stores.path
        stem, dot, end = path.rpartition(".") if "." in path.rpartition("/")[2] else (path, "", "")
        templates = [f"{stem.rstrip('/')}/{{store_id}}{dot}{end}", f"{path.rstrip('/')}/{{store_id}}"]
        if self._draft.has("store.path"):
            templates = [self._draft.settings.partner.store.path]
        for template in [*dict.fromkeys(templates), ""]:
            if not template:
                question = (
                    f"Path of a store's details, with {{store_id}} ({' and '.join(dict.fromkeys(templates))} have none)"
                )
                template = self._draft.ask("partner.store.path", question)  # noqa: PLW2901
                if "{store_id}" not in template:
                    break
            replies = [await self._get(template.replace("{store_id}", str(id_))) for id_ in self.ids[:_SHOWN]]
            envelopes = [set(_envelopes(r.value, pointer, i)) for r, i in zip(replies, self.ids, strict=False)]
            common = set.intersection(*envelopes) if envelopes else set()
            nobody = await self._get(template.replace("{store_id}", str(_NOBODY)))
            if not common or (nobody.status == 200 and list(_envelopes(nobody.value, pointer, _NOBODY))):
                continue
            envelope = min(common, key=len)
            evidence = f"{len(replies)} listed ids open records with the same id, another one none"
            self._draft.set(evidence, store__path=template, store__id_pointer=pointer, store__record_pointer=envelope)
            return [get(reply.value, envelope) for reply in replies]
        raise UnprovenError(f"no path opens a store by its {pointer}: give --set store.path=… with {{store_id}}")

    def _find_fields(self, details: list[Record]) -> None:
        """Find name, zone and currency: members of that kind in all records; two that differ are asked for."""
        zones = zoneinfo.available_timezones()
        kinds = {
            "name": lambda key, value: bool(re.search(r"(name|title)$", key, re.IGNORECASE)) and bool(value.strip()),
            "timezone": lambda _, value: value in zones and ("/" in value or value == "UTC"),
            "currency": lambda _, value: value in _CODES,
        }
        for name, is_fit in kinds.items():
            places = {
                pointer: values
                for pointer in dict.fromkeys(pointer for record in details for pointer, _ in leaves(record))
                if "*" not in pointer and (values := [each for each in _values(details, pointer) if each is not None])
                if all(isinstance(each, str) and is_fit(pointer.rpartition("/")[2], each) for each in values)
            }
            whole = {pointer: values for pointer, values in places.items() if len(values) == len(details)}
            if name == "name" and len(details) > 1:
                whole = {pointer: values for pointer, values in whole.items() if len(set(values)) > 1}
                if tops := [pointer for pointer in whole if pointer.count("/") == 1]:
                    whole = {pointer: whole[pointer] for pointer in tops}
            distinct = {json.dumps(values): pointer for pointer, values in reversed(whole.items())}
            key, is_partial = f"store.{name}_pointer", name != "name" and len(places) > len(whole)
            if len(distinct) == 1 and not is_partial:
                self._draft.set(f"in all {len(details)} records", **{f"store__{name}_pointer": min(whole, key=len)})
            elif not places:
                self._draft.set("no record has one", **{f"store__{name}_pointer": ""})
                self._ask_instead(name)
            elif not self._draft.has(key):
                pointer = self._draft.ask(f"partner.{key}", f"The store's {name} is one of {', '.join(places)}; which")
                if pointer and pointer not in places:
                    raise UnprovenError(f"no record has a {name} at {pointer}: give --set {key}=…")
                self._draft.set("answered", **{f"store__{name}_pointer": pointer})

    def _ask_instead(self, name: str) -> None:
        """Ask for the zone or currency of all stores, which no record states."""
        key = {"timezone": "business_day.timezone", "currency": "finance.currency"}.get(name)
        if key is None or key in self._draft.given:
            return
        answer = self._draft.ask(key, f"No record states a {name}; the {name} of all stores (IANA or ISO 4217)")
        if answer not in (zoneinfo.available_timezones() if name == "timezone" else _CODES):
            raise UnprovenError(f"{answer!r} is not a {name}: give --set {key}=…")
        self._draft.note(key, answer, "answered")

    async def _find_menus(self, details: list[Record]) -> None:
        """Find where records name menus: numbers below a member named so, by which menus of the same id come."""
        if self._draft.has("store.menu_id_pointers"):
            return
        named: dict[str, list[list[int]]] = {}
        for pointer in dict.fromkeys(pointer for record in details for pointer, _ in leaves(record)):
            values = [[each for each in get_all(record, pointer) if type(each) is int] for record in details]
            if "menu" in pointer.lower() and any(values) and await self._are_menus(values):
                named[pointer] = values
        sets = {json.dumps([sorted(each) for each in values]): pointer for pointer, values in named.items()}
        if len(sets) == 1:
            evidence = "five of them open menus of the same id, another one none"
            self._draft.set(evidence, store__menu_id_pointers=(next(iter(sets.values())),))
            return
        which = ", ".join(named) or "none opens a menu"
        answer = self._draft.ask(
            "partner.store.menu_id_pointers", f"Where records name menus: {which} (empty: nowhere)"
        )
        self._draft.set("answered", store__menu_id_pointers=tuple(each for each in re.split(r"[ ,]+", answer) if each))

    async def _are_menus(self, values: list[list[int]]) -> bool:
        path = self._draft.settings.partner.menu.path
        ids = list(dict.fromkeys(id_ for each in values for id_ in each))[:_SHOWN]
        for id_ in [*ids, _NOBODY]:
            value = (await self._get(path.replace("{menu_id}", str(id_)))).value
            menu = value.get("menu") if isinstance(value, dict) else None
            if (isinstance(menu, dict) and menu.get("id") == id_) != (id_ != _NOBODY):
                return False
        return True


_GIVE_PAGES = "give --set list_stores.pagination=… and its keys (see ordermart.toml), or --stores N"


def _arrays(value: Any, pointer: str = "", depth: int = 3) -> Iterator[tuple[str, list[Record]]]:
    """Yield pointers of arrays of objects in an envelope."""
    if isinstance(value, list):
        if value and all(isinstance(each, dict) for each in value):
            yield pointer, value
    elif isinstance(value, dict) and depth:
        for key, inner in _plain_members(value):
            yield from _arrays(inner, f"{pointer}/{key}", depth - 1)


def _envelopes(value: Any, pointer: str, id_: int, at: str = "", depth: int = 2) -> Iterator[str]:
    """Yield where a body has an object with this id at `pointer`."""
    if not isinstance(value, dict):
        return
    if get_all(value, pointer) == [id_]:
        yield at
    for key, inner in _plain_members(value) if depth else ():
        yield from _envelopes(inner, pointer, id_, f"{at}/{key}", depth - 1)


def _plain_members(value: Record) -> Iterator[tuple[str, Any]]:
    """Yield members by their names as in a pointer; names that do not look like names may hold personal data."""
    return ((escaped(key), inner) for key, inner in value.items() if shown(key) == key)


def _values(records: list[Record], pointer: str) -> list[Any]:
    return [value for record in records for value in get_all(record, pointer)]


def _meet(one: list[Record], other: list[Record]) -> bool:
    """Return whether two pages have a record in common."""
    known = {json.dumps(record) for record in other}
    return any(json.dumps(record) in known for record in one)
