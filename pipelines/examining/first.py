"""Make or complete the settings file of a service: examine it, find what does not work, prove it, write it.

An open answer never replaces one that is written; what comes from the environment is not written.

`init`, `doctor` and a second `init` examine the service in the same way, with a run's own client and validator: all of
the list, some stores and menus. Nothing is landed; no values of documents are shown. It gives up within seconds: a run
would try for longer.
"""

import asyncio
import datetime as dt
import email.utils
import functools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any, Literal, NamedTuple

import duckdb
import httpx
import msgspec
import tomlkit

from pipelines.clock import machine_now, utc_now
from pipelines.durable import make_folder, write_whole
from pipelines.examining import login
from pipelines.examining.store_search import StoreSearch
from pipelines.ingest.outcome import StoreRecords, listed_id
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator
from pipelines.partner import exchange
from pipelines.partner.client import PartnerClient
from pipelines.partner.network import through
from pipelines.record import current_release
from pipelines.settings import Settings, SettingsError, given_keys, load_settings
from pipelines.settings.kinds import Kind
from pipelines.vault import new_key_file

Found = Mapping[str, tuple[Any, str]]  # values by dotted key, each with its evidence

_SECONDS = 10.0
_SKEW = dt.timedelta(seconds=60)
_EACH, _ORDERS = 5, 30
_OK, _NOT_FOUND = 200, 404
Level = Literal["ok", "warning", "failure"]


class Finding(NamedTuple):
    """What was found about one part: `fix` says what to do, unless the level is ok."""

    part: str
    level: Level
    text: str
    fix: str = ""

    def line(self) -> str:
        """Return the finding for a terminal."""
        return f"{self.level:8} {self.part}: {self.text}" + (f" Fix: {self.fix}" if self.fix else "")


@dataclass
class Examined:
    """What was found, in the order in which a run needs it, and the tables of [partner] that work or are wrong."""

    findings: list[Finding] = field(default_factory=list)
    works: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    statuses: list[str] = field(default_factory=list)  # of the orders, one each

    def add(self, part: str, level: Level, text: str, fix: str = "", table: str = "") -> None:
        """Note one finding, and which table of settings it is about."""
        self.findings.append(Finding(part, level, text, fix))
        if table and level != "warning":
            (self.failed if level == "failure" else self.works).add(table)


async def examine(
    settings: Settings,
    network: httpx.AsyncBaseTransport | None = None,
    orders: list[int] | None = None,
    listed: list[int] | None = None,
) -> Examined:
    """Request a token, the whole list (unless it is given), five stores, five menus, and some orders or the newest."""
    names = ("timeout_seconds", "outage_timeout_seconds")
    short = {name: min(_SECONDS, getattr(settings.partner, name)) for name in names}
    partner = msgspec.structs.replace(settings.partner, max_attempts=2, max_retry_after_seconds=1.0, **short)
    found = Examined()
    try:
        opened = PartnerClient(partner, max_bytes=settings.landing.max_bytes, transport=network)
    except exchange.PartnerMisconfigured as error:
        what, _, fix = str(error).rpartition(": ")
        found.add("service", "failure", f"{what}.", fix, "partner")
        return found
    async with opened as client:
        ids = listed or await _list(settings, client, found)
        if ids is None:
            return found
        records = StoreRecords(settings)
        accepted = await _documents(settings, client, "stores", ids, found, records.add)
        for sentence in records.of_stores() if accepted else ():
            text, _, fix = sentence.partition(": ")
            found.add("store", "failure", f"{text}.", fix, "store")
        for sentence in records.of_menus() if accepted else ():
            text, _, fix = sentence.partition(": ")
            found.add("menu", "warning", f"{text}.", fix, "store")
        menus = [menu_id for each in accepted for menu_id in each["menu_ids"]]
        if accepted and not menus and not settings.partner.store.menu_id_pointers:
            found.add("menu", "ok", "stores have none, as [partner.store] menu_id_pointers says.")
        known = menus or _known(settings, "select max(menu_id) from core.menus")
        await _documents(settings, client, "menus", list(dict.fromkeys(known)), found)
        orders = (orders or [])[:_ORDERS] or _known(settings, "select max(order_id) from core.orders")
        bodies = await _documents(settings, client, "orders", orders, found)
        if expiries := {*client.expiries, *_known(settings, _EXPIRIES)}:
            codes = ", ".join(sorted(expiries))
            found.add("token", "ok", f"expires before it is said to; the service then answers {codes}; it is renewed.")
        found.statuses = [each["status"] for each in bodies if each.get("status")]
    return found


async def _list(settings: Settings, client: PartnerClient, found: Examined) -> list[int] | None:
    """List every store; return the ids, None if no token was had."""
    ids: list[int | None] = []
    answers = f"answers, and issues a token: {settings.partner.base_url}{through(settings.partner)}."
    try:
        async for page in client.list_stores():
            ids += [listed_id(record, settings) for record in page]
    except exchange.ServiceDown as error:
        fix = "check [partner] base_url and proxy, the network and the service"
        found.add("service", "failure", f"{error}{through(settings.partner)}.", fix, "partner")
        return None
    except exchange.ListingBroken as error:
        found.add("service", "ok", answers, "", "authenticate")
        found.add("store list", "failure", f"{error}.", "`ordermart init` on the same file", "list_stores")
        return []
    except exchange.RunStopped as error:
        found.add("token", "failure", f"{error}.", "`ordermart init` on the same file finds the login", "authenticate")
        if isinstance(error, exchange.TokenRefused):  # the login works
            found.works |= {f"authenticate.{key}" for key in ("path", "encoding", "body")}
        return None
    found.add("service", "ok", answers, "", "authenticate")
    whole = [id_ for id_ in ids if id_ is not None]
    if not ids:
        found.add("store list", "failure", "is empty.", "`ordermart init` on the same file", "list_stores")
    elif len(whole) < len(ids):
        text = f"{len(ids) - len(whole):,} of {len(ids):,} listed stores have no usable id at id_pointer."
        found.add("store list", "failure", text, "`ordermart init` on the same file", "store")
    elif len(set(whole)) < len(whole):
        text = f"{len(whole) - len(set(whole)):,} of {len(whole):,} stores are listed twice."
        found.add("store list", "failure", text, "correct [partner.list_stores] pagination", "list_stores")
    else:
        found.add("store list", "ok", f"{len(whole):,} stores, to the list's end.", "", "list_stores")
    return list(dict.fromkeys(whole))


async def _documents(
    settings: Settings,
    client: PartnerClient,
    kind: Kind,
    ids: list[int],
    found: Examined,
    look: Callable[[bytes], object] = len,
) -> list[dict[str, Any]]:
    """Fetch and validate documents of a kind; return those that are accepted, and let `look` see each body."""
    part, table = kind.removesuffix("s"), "store" if kind == "menus" else kind.removesuffix("s")
    if kind == "orders" and not ids:
        found.add(part, "warning", "none is known yet to ask for.", "`ordermart run --order-ids FILE`")
    accepted, first = [], None
    for id_ in ids[: _ORDERS if kind == "orders" else _EACH]:
        try:
            fetched = await client.fetch(kind, id_)
            why = f"{kind} {id_}: {fetched.message} ({fetched.code})" if fetched.code else ""
        except exchange.RunStopped as error:
            why = str(error)
        if why:
            found.add(part, "failure", f"{why}.", f"check [partner.{part}] path", table)
            break
        first = first or fetched
        look(fetched.body)
        if fetched.status == _NOT_FOUND:
            level: Level = "warning" if kind == "orders" else "failure"
            found.add(part, level, f"{id_} is not found (404).", f"check [partner.{part}] path and base_url", table)
            break
        try:
            accepted.append(msgspec.json.decode(Validator(settings, kind).validate(fetched.body, id_).document))
        except InvalidDocumentError as error:
            # A document may be broken by itself; that all are is the fault of the settings.
            found.add(part, "warning", f"{id_} is rejected: {error}.", "see audit.quarantine and [landing]")
    if accepted:
        found.add(part, "ok", f"{len(accepted)} requested by id and accepted.", "", table)
    elif first is not None and first.status == _OK:
        fix = "correct [partner.store]" if kind == "stores" else "see the rejections above"
        found.add(part, "failure", "none is accepted.", fix, table)
    if kind == "orders" and first is not None:
        _clock(first, found)
    return accepted


def _clock(fetched: exchange.Fetched, found: Examined) -> None:
    try:
        played = utc_now() - machine_now()  # by the demo: the service's Date is the machine's time
        skew = fetched.fetched_at - played - email.utils.parsedate_to_datetime(fetched.date)
    except (TypeError, ValueError):
        found.add("clock", "ok", "the service sends no date to compare with.")
        return
    text = f"is {skew.total_seconds():+,.0f} seconds from the service's."
    if abs(skew) > _SKEW:
        found.add("clock", "warning", text, "synchronise it (NTP)")
    else:
        found.add("clock", "ok", text)


_EXPIRIES = """
    select name from audit.service_behaviour
    where aspect = 'token_lifetime' and name not in ('claimed', 'accepted', 'refused')
"""


def _known(settings: Settings, query: str) -> list[Any]:
    """Return the values of a query on the current release that are not null; none without a release."""
    if (release := current_release(settings.data_dir / "published")) is None:
        return []
    try:
        with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
            return [value for (value,) in db.execute(query).fetchall() if value is not None]
    except duckdb.Error:
        return []


_SECRET, _ID = "ORDERMART_PARTNER__CLIENT_SECRET", "ORDERMART_PARTNER__CLIENT_ID"
_EXCLUDED = re.compile("cancel|reject|declin|fail|refund|void|expir|abandon|denied|missed", re.IGNORECASE)
_COUNTED = re.compile("complet|deliver|pick|clos|fulfil|done|paid|finish|collect|served", re.IGNORECASE)
_STATUSES, _WORDS = "sales.counted_statuses", {"yes", "y", "no", "n"}
_FEW_PAGES, _OTHERS = 5, 12  # requests of the proof besides list and orders
_START = """\
# Settings of ordermart; keys that are left out keep the defaults of its own ordermart.toml.

[partner]

[data]
dir = "{stem}-data"

[vault]
key_file = "{stem}-keys.json"
"""


@dataclass(frozen=True)
class InitAnswers:
    """What a person gives: answers by dotted key, orders, the number of stores (0: not given)."""

    answers: dict[str, Any] = field(default_factory=dict)
    orders: tuple[int, ...] = ()
    stores: int = 0
    again: str = ""  # the options of orders, as written


@dataclass
class ProvenAnswers:
    """What a search gave: answers with their evidence, open questions, and how much was sent."""

    found: dict[str, tuple[Any, str]] = field(default_factory=dict)
    examined: Examined = field(default_factory=Examined)
    open: list[str] = field(default_factory=list)
    sent: str = ""

    @property
    def is_proven(self) -> bool:
        """Whether nothing is open, and a run would work."""
        return not self.open and not self.examined.failed


def make_settings(file: Path, given: InitAnswers, ask: login.Ask, environ: dict[str, str]) -> tuple[list[str], bool]:
    """Write or complete a settings file, with keys and secret beside it; return what to say, and if all is proven."""
    folder = file.absolute().parent
    make_folder(folder)
    secret_file = folder / f"{file.stem}-client-secret"
    text = file.read_text(encoding="utf-8-sig") if file.exists() else _START.format(stem=file.stem)
    written, named = given_keys(file, {}), given_keys(None, environ)
    answers = {key: value for key, value in given.answers.items() if not key.startswith("partner.authenticate.body.")}
    counted = answers.pop(_STATUSES, [])  # answers the question for them, by `yes` and `no` too
    _ask_first(answers, {*written, *named}, environ, secret_file, ask)
    # Before anything is sent: can this file take an answer at all?
    with_answers(text, {f"partner.{table}.x": ("", "") for table in ("authenticate", "list_stores", "store")})
    start = {key: (value, "given") for key, value in answers.items()}
    settings = _drafted(file, with_answers(text, start), environ)
    made = asyncio.run(find(settings, ask, given, frozenset({*start, *named}), frozenset(written - {*start})))
    if not {str(each).lower() for each in counted} <= _WORDS:
        made.found.setdefault(_STATUSES, (counted, "given"))
    for key, (value, _) in list(made.found.items()):
        if key in named or (file.exists() and value == functools.reduce(getattr, key.split("."), settings)):
            del made.found[key]  # it is there already
    changed = with_answers(text, {**start, **made.found})
    if not file.exists() or changed != text:
        write_whole(file, changed.encode())
    keys = folder / f"{file.stem}-keys.json"
    if not keys.exists() and settings.vault.key_file == keys.name:
        new_key_file(keys)
    if _SECRET in environ:
        write_whole(secret_file, environ.pop(_SECRET).encode() + b"\n", 0o600)
        environ[f"{_SECRET}_FILE"] = str(secret_file)
    return list(_said(file, made, environ, given.again, is_changed=changed != text)), made.is_proven


def _ask_first(answers: dict[str, Any], known: set[str], env: dict[str, str], secret: Path, ask: login.Ask) -> None:
    """Add address and credentials that are not known; raise SettingsError that names all that are missing."""
    missing: list[str] = []

    def first(key: str, question: str) -> str:
        try:
            return ask(key, question)
        except login.OpenAnswerError as error:
            missing.append(str(error))
            return ""

    if not {"partner.base_url"} & {*answers, *known}:
        answers["partner.base_url"] = first("partner.base_url", "Address of the service (https://…)")
    client_id = answers.pop("partner.client_id", "")
    if client_id or not {_ID, f"{_ID}_FILE"} & env.keys():
        env[_ID] = str(client_id or first("partner.client_id", "client_id"))
    if not {_SECRET, f"{_SECRET}_FILE"} & env.keys():
        if secret.exists():
            env[f"{_SECRET}_FILE"] = str(secret)
        else:
            env[_SECRET] = first("partner.client_secret", "client_secret")
    if missing:
        raise SettingsError("; ".join(missing))


def _drafted(file: Path, text: str, environ: dict[str, str]) -> Settings:
    """Return the settings that a text gives beside the file."""
    draft = file.absolute().with_name(f".{file.name}.draft.toml")
    try:
        write_whole(draft, text.encode())
        return load_settings(draft, environ)
    finally:
        draft.unlink(missing_ok=True)


def _said(file: Path, made: ProvenAnswers, environ: dict[str, str], orders: str, *, is_changed: bool) -> Iterator[str]:
    yield f"Wrote {file}, with the evidence of each answer:" if is_changed else "Nothing to correct."
    tables: dict[str, list[str]] = {}
    for key, (value, _) in made.found.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} {json.dumps(value)}")
    yield from (f"  [{table}] {', '.join(answers)}" for table, answers in tables.items())
    yield from (finding.line() for finding in made.examined.findings)
    yield from (f"open     {sentence}." for sentence in made.open)
    yield made.sent
    yield "Keep a copy of the keys elsewhere: without them encrypted personal data cannot be recovered. Next:"
    names = (name for name in (_ID, f"{_ID}_FILE", f"{_SECRET}_FILE") if name in environ)
    yield f"  export {' '.join(f'{name}={quote(environ[name])}' for name in names)}"
    options = orders if orders.startswith("--order-ids") else "--order-ids FILE"
    again = f"ordermart --config {quote(str(file))} run {options}"
    init = " ".join(filter(None, ("ordermart init", quote(str(file)), orders)))
    yield f"  {again if made.is_proven else f'{init}  # with what is open above'}"


async def find(
    settings: Settings, ask: login.Ask, given: InitAnswers, keep: frozenset[str], written: frozenset[str]
) -> ProvenAnswers:
    """Find the answers that settings lack, and prove them; `keep` stays, `written` stays as far as it works."""
    meter, made, draft = login.Meter(settings), ProvenAnswers(), login.Draft(settings, ask, keep)
    orders, unproven = list(given.orders), ["authenticate"]
    try:
        tables = {key.split(".")[1] for key in written if key.count(".") > 1 and key.startswith("partner.")}
        if tables:
            meter.is_secret_accepted = settings.partner.authenticate.encoding == "none"
            made.examined = await examine(settings, meter, orders)
            if not made.examined.failed:
                made.found |= _sales(draft, made.examined)
                return made
            keep |= {f"partner.{table}" for table in made.examined.works - made.examined.failed}
            keep |= {key for key in written if not key.startswith("partner.")}
        meter.is_secret_accepted = False
        draft = login.Draft(settings, ask, keep)
        made.found = draft.found
        lists, hints = await login.refused_lists(draft, meter)  # asks at most for the path
        reply = await login.find_login(draft, meter)
        path = made.found.get("partner.authenticate.path", ("", login.ANSWERED))
        if path[1] == login.ANSWERED:  # a person's path that issued a token; a guessed one may be a trap
            unproven = [f"authenticate.{key}" for key in ("header", "scheme", "token_pointer", "expires_in_pointer")]
        headers = await login.find_token(draft, meter, reply, lists, hints)
        search = StoreSearch(draft, meter, headers, orders, given.stores)
        unproven = ["list_stores.pagination", "list_stores.cursor", "list_stores.first_page", "store.id_pointer"]
        await search.find_list(lists)
        await search.find_record()
        unproven = []
        # A long list was walked by the code of a run, and is not walked again; the requests left are for orders.
        listed = search.ids if len(search.pages) > _FEW_PAGES else None
        room = login.REQUESTS - meter.requests - _OTHERS - (0 if listed else len(search.pages))
        made.examined = await examine(draft.settings, meter, orders[: max(room, 1)], listed)
        draft.drop(*(f"{table}." for table in made.examined.failed))
        made.found |= _sales(draft, made.examined)
    except login.UnprovenError as error:
        made.open.append(str(error))
        draft.drop(*unproven)
    finally:
        made.open += draft.open
        made.sent = meter.sentence()
        await meter.close()
    return made


def _sales(draft: login.Draft, examined: Examined) -> Found:
    """Propose which statuses are sales, for a person to confirm."""
    sales = draft.settings.sales
    if not examined.statuses or sales.counted_statuses or sales.excluded_statuses:
        return {}
    counts = Counter(examined.statuses)
    excluded = sorted(status for status in counts if _EXCLUDED.search(status))
    counted = sorted(status for status in counts if _COUNTED.search(status) and status not in excluded)
    seen = ", ".join(f"{status} ({count})" for status, count in counts.most_common())
    answer = draft.ask_by_the_way(
        _STATUSES,
        f"Statuses seen: {seen}. Count as sales {', '.join(counted) or 'none'}; not {', '.join(excluded) or 'none'}? "
        "(yes, no, or the counted ones with commas)",
    )
    if not answer or answer.lower() in {"n", "no"}:
        return {}
    if answer.lower() not in {"y", "yes"}:
        counted = [each.strip() for each in answer.split(",")]
        excluded = [status for status in excluded if status not in counted]
    evidence = f"confirmed, of {sum(counts.values())} orders"
    return {_STATUSES: (tuple(counted), evidence), "sales.excluded_statuses": (tuple(excluded), evidence)}


def with_answers(text: str, found: Found) -> str:
    """Return a settings file with these answers, each with its evidence as a comment; all else stays as it is.

    Raise SettingsError for a file in which that is not possible, as its tables are written as dotted keys.
    """
    tree, plain = tomlkit.parse(text), tomllib.loads(text)
    for key, (value, evidence) in found.items():
        *path, name = key.split(".")
        table, inner = tree, plain
        for part in path:
            table, inner = table.setdefault(part, tomlkit.table()), inner.setdefault(part, {})
        inner[name] = list(value) if isinstance(value, tuple) else value
        item = tomlkit.item(list(value) if isinstance(value, tuple) else value)
        if isinstance(value, dict):
            item = tomlkit.inline_table()
            item.update(value)
        item.comment(evidence)
        table[name] = item
    written = tomlkit.dumps(tree)
    if tomllib.loads(written) != plain:
        advice = "write them as [partner.store]"
        raise SettingsError(f"the file has tables as dotted keys, which cannot be completed: {advice}")
    return re.sub(r"(?<=[^\n])\n\[", "\n\n[", written) if text.startswith(_START[:40]) else written
