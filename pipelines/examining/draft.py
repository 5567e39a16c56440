"""The answers of [partner] so far, each with its evidence, the few requests by which they are found, and store records.

Of records it finds the id of a store, the path of its details, and where they have their fields and menus. The secret
leaves this machine at most `SECRETS` times before a service accepts it, and to one origin only.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import zoneinfo
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import msgspec

from pipelines.landing.exact import escaped, shown
from pipelines.partner.client import network_of
from pipelines.partner.exchange import ASK_FOR_JSON, read_body
from pipelines.partner.pointer import get, get_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.examining.lists import ListSearch
    from pipelines.settings import Settings

    Record = dict[str, Any]

REQUESTS, SECRETS = 160, 4
ANSWERED = "answered"
_SECONDS = 10.0
_BODY = 8_388_608
_DEPTH = 6
_ELEMENTS = 50  # of an array, that are looked at


class UnprovenError(Exception):
    """An answer could not be proven; the message says which one, and what to give instead."""


class LimitError(httpx.TransportError):
    """A request was not sent: it would be one too many, carry the secret too often, or go elsewhere."""


class Meter(httpx.AsyncBaseTransport):
    """The network of an examination: counts requests and those with the secret, and sends no more than allowed."""

    def __init__(self, settings: Settings) -> None:
        partner = settings.partner
        self._network = network_of(partner)
        self._origin = httpx.URL(partner.base_url)
        name, secret = partner.client_id.reveal(), partner.client_secret.reveal()
        pair = base64.b64encode(f"{name}:{secret}".encode()).decode()
        quoted = str(httpx.QueryParams({"": secret}))[1:]
        self._forms = {form for form in (secret, json.dumps(secret)[1:-1], quoted, pair) if secret}
        self.requests = self.secrets = 0
        self.is_secret_accepted = False  # as the token itself: from then on each request carries it

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raise LimitError instead of one too many."""
        texts = [str(request.url), request.content.decode("utf-8", "replace"), *request.headers.values()]
        has_secret = any(form in text for form in self._forms for text in texts)
        url = request.url
        if (url.scheme, url.host, url.port) != (self._origin.scheme, self._origin.host, self._origin.port):
            raise LimitError("another origin")
        if self.requests >= REQUESTS:
            raise LimitError(f"{REQUESTS} requests")
        if has_secret and not self.is_secret_accepted:
            if self.secrets >= SECRETS:
                raise LimitError(f"the secret {SECRETS} times")
            self.secrets += 1
        self.requests += 1
        return await self._network.handle_async_request(request)

    async def close(self) -> None:
        """Close the connections; a client that used this network does not."""
        await self._network.aclose()

    def sentence(self) -> str:
        """Return what was sent."""
        times = f"{self.secrets} of at most {SECRETS} times" + (", then as the token" * self.is_secret_accepted)
        return f"{self.requests} of at most {REQUESTS} requests were sent, the secret {times}."


class Reply(NamedTuple):
    """An answer: status 0 is none at all; `value` is what its JSON says, None without JSON."""

    status: int
    headers: httpx.Headers = httpx.Headers()
    value: Any = None
    body: bytes = b""


async def send(meter: Meter, method: str, url: str, **content: Any) -> Reply:
    """Send one request, and read the answer; raise nothing but UnprovenError, beyond a limit."""
    headers = {**ASK_FOR_JSON, **content.pop("headers", {})}
    return await sent(meter, httpx.Request(method, url, headers=headers, **content))


async def sent(meter: Meter, request: httpx.Request) -> Reply:
    """Do the same with a request that was made elsewhere."""
    limit = ""
    try:
        async with asyncio.timeout(_SECONDS):
            response = await meter.handle_async_request(request)
            try:
                body, _ = await read_body(response, response.headers.get("content-encoding", ""), _BODY)
            finally:
                await response.aclose()
    except LimitError as error:
        limit = str(error)
    except Exception:  # noqa: BLE001 -- errors of the network hold the request, and so the secret
        return Reply(0)
    if limit:
        raise UnprovenError(f"the examination ends here: no more than {limit}")
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        value = None
    return Reply(response.status_code, response.headers, value, body)


class Draft:
    """The settings as they would be: keys and tables `given` stay, those `found` are to be written, with evidence."""

    def __init__(self, settings: Settings, ask: Callable[[str, str], str], given: frozenset[str] = frozenset()) -> None:
        self.settings, self.given = settings, given
        self.found: dict[str, tuple[Any, str]] = {}
        self._ask = ask
        self._extras: dict[str, str] = {}

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return self.settings.partner.base_url.rstrip("/") + path

    def set(self, evidence: str, **answers: Any) -> None:
        """Note answers, named as table__key below [partner], unless they are given."""
        for name, value in answers.items():
            key = name.replace("__", ".")
            if not self.has(key):
                self.note(f"partner.{key}", value, evidence)

    def note(self, key: str, value: Any, evidence: str) -> None:
        """Note one answer by its dotted key."""
        self.settings = replaced(self.settings, key.split("."), value)
        self.found[key] = (value, evidence)

    def drop(self, *tables: str) -> None:
        """Forget answers below [partner] whose names begin so, as their proof failed; those of people stay."""
        for key, (_, evidence) in list(self.found.items()):
            if evidence != ANSWERED and key.removeprefix("partner.").startswith(tables):
                del self.found[key]

    def ask(self, key: str, question: str) -> str:
        """Return what a person answers; raise where there is nobody to ask."""
        return self._ask(key, question).strip()

    def login_field(self, name: str) -> str:
        """Return the value of a further field of the login, asked for once."""
        if name not in self._extras:
            self._extras[name] = self.ask(f"partner.authenticate.body.{name}", f"The login wants {name}; its value")
        return self._extras[name]

    def has(self, name: str) -> bool:
        """Return whether the answer to a key below [partner] is given."""
        key = f"partner.{name}"
        return key in self.given or key.rpartition(".")[0] in self.given


def replaced(table: Any, path: list[str], value: Any) -> Any:
    """Return a copy of settings in which the key at `path` has this value."""
    inner = value if len(path) == 1 else replaced(getattr(table, path[0]), path[1:], value)
    return msgspec.structs.replace(table, **{path[0]: inner})


def leaves(value: Any, pointer: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of a record's scalars; "*" stands for the elements of an array.

    Of an object whose keys are all whole numbers it yields these, at "{key}". Names that do not look like names may
    hold personal data, and are passed over.
    """
    if isinstance(value, dict):
        if value and all(key.isascii() and key.isdigit() for key in value):
            yield from ((f"{pointer}/{{key}}", int(key)) for key in value)
        elif depth:
            for key, inner in plain_members(value):
                yield from leaves(inner, f"{pointer}/{key}", depth - 1)
    elif isinstance(value, list):
        for inner in value[:_ELEMENTS] if depth else ():
            yield from leaves(inner, f"{pointer}/*", depth - 1)
    else:
        yield pointer, value


class Search:
    """A search of the service with a token that works."""

    def __init__(self, draft: Draft, meter: Meter, headers: dict[str, str]) -> None:
        self.draft, self.meter, self.headers = draft, meter, headers

    async def get(self, path: str, **query: Any) -> Reply:
        """Request a path with the token."""
        url = httpx.URL(self.draft.url(path))
        url = url.copy_merge_params(query) if query else url
        return await send(self.meter, "GET", str(url), headers=self.headers)


def plain_members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield members by their names as in a pointer; names that do not look like names may hold personal data."""
    return ((escaped(key), inner) for key, inner in value.items() if shown(key) == key)


def values_at(records: list[dict[str, Any]], pointer: str) -> list[Any]:
    """Return the values of all records at a pointer."""
    return [value for record in records for value in get_all(record, pointer)]


def own_numbers(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield pointers of whole numbers that every record has, and no two the same."""
    for pointer in dict.fromkeys(pointer for pointer, _ in leaves(records[0] if records else None)):
        values = values_at(records, pointer)
        is_own = all(type(value) is int for value in values) and len(set(values)) == len(values) == len(records)
        if is_own and "*" not in pointer and "{key}" not in pointer:
            yield pointer


_NOBODY = 2_147_483_599  # an id that no store and no menu has
_SHOWN = 5
_CODES = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF "
    "CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG "
    "HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA "
    "MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD "
    "RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX "
    "USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG".split()
)  # ISO 4217


class RecordSearch(Search):
    """The search in the records of a list that was found."""

    def __init__(self, found: ListSearch, orders: list[int]) -> None:
        super().__init__(found.draft, found.meter, found.headers)
        self.records, self._orders = found.records, orders
        self.ids: list[int] = []

    async def find_record(self) -> None:
        """Find the id and path of details, then the fields of five records."""
        candidates = list(own_numbers(self.records))
        if not candidates:
            raise UnprovenError("no member of the stores is a whole number of its own: text ids cannot be had")
        if self._orders:
            order = await self.get(self.draft.settings.partner.order.path.replace("{id}", str(self._orders[0])))
            named = order.value.get("store_id") if isinstance(order.value, dict) else None
            if named is None:
                raise UnprovenError(
                    f"order {self._orders[0]} answers {order.status}: give --order-id of one that exists"
                )
            candidates = [each for each in candidates if named in values_at(self.records, each)]
            if not candidates:
                raise UnprovenError(f"no number of the listed stores is the store_id of order {self._orders[0]}")
        _, walked = self.draft.found.get("partner.store.id_pointer", ("", ""))
        paged_by = self.draft.settings.partner.store.id_pointer if walked else ""
        if len(candidates) > 1 and not self.draft.has("store.id_pointer"):
            which = self.draft.ask(
                "partner.store.id_pointer",
                f"Which number do orders name a store by: {', '.join(candidates)} (or --order-id)",
            )
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
        self.ids = values_at(self.records, pointer)
        path = self.draft.settings.partner.list_stores.path
        stem, dot, end = path.rpartition(".") if "." in path.rpartition("/")[2] else (path, "", "")
        templates = [f"{stem.rstrip('/')}/{{store_id}}{dot}{end}", f"{path.rstrip('/')}/{{store_id}}"]
        if self.draft.has("store.path"):
            templates = [self.draft.settings.partner.store.path]
        for template in [*dict.fromkeys(templates), ""]:
            if not template:
                question = (
                    f"Path of a store's details, with {{store_id}} ({' and '.join(dict.fromkeys(templates))} have none)"
                )
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
        kinds: dict[str, Callable[[str, str], bool]] = {
            "name": lambda key, value: (
                re.search(r"(name|title)$", key, re.IGNORECASE) is not None and value.strip() not in {"", *zones}
            ),
            "timezone": lambda _, value: value in zones and ("/" in value or value == "UTC"),
            "currency": lambda _, value: value in _CODES,
        }
        for name, is_fit in kinds.items():
            places = {
                pointer: values
                for pointer in dict.fromkeys(pointer for record in details for pointer, _ in leaves(record))
                if "*" not in pointer and (values := [each for each in values_at(details, pointer) if each is not None])
                if all(isinstance(each, str) and is_fit(pointer.rpartition("/")[2], each) for each in values)
            }
            whole = {pointer: values for pointer, values in places.items() if len(values) == len(details)}
            if name == "name" and len(details) > 1:
                whole = {pointer: values for pointer, values in whole.items() if len(set(values)) > 1}
                if tops := [pointer for pointer in whole if pointer.count("/") == 1]:
                    whole = {pointer: whole[pointer] for pointer in tops}
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
                pointer = self.draft.ask(f"partner.{key}", f"The store's {name} is one of {', '.join(places)}; which")
                if pointer and pointer not in places:
                    raise UnprovenError(f"no record has a {name} at {pointer}: give --set {key}=…")
                self.draft.set(ANSWERED, **{f"store__{name}_pointer": pointer})

    def _ask_instead(self, name: str) -> None:
        """Ask for the zone or currency of all stores, which no record states."""
        key = {"timezone": "business_day.timezone", "currency": "finance.currency"}.get(name)
        if key is None or key in self.draft.given:
            return
        answer = self.draft.ask(key, f"No record states a {name}; the {name} of all stores (IANA or ISO 4217)")
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
        answer = self.draft.ask("partner.store.menu_id_pointers", f"Where records name menus: {which} (empty: nowhere)")
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


def _envelopes(value: Any, pointer: str, id_: int, at: str = "", depth: int = 2) -> Iterator[str]:
    """Yield where a body has an object with this id at `pointer`."""
    if not isinstance(value, dict):
        return
    if get_all(value, pointer) == [id_]:
        yield at
    for key, inner in plain_members(value) if depth else ():
        yield from _envelopes(inner, pointer, id_, f"{at}/{key}", depth - 1)
