"""Examine the service by the settings, with a run's own client and validator: all of the list, some stores and menus.

`init`, `doctor` and a second `init` share it. Nothing is landed; no values of documents are shown. Gives up within
seconds: a run would try for longer.
"""

from __future__ import annotations

import datetime as dt
import email.utils
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec

from pipelines.ingest.outcome import StoreRecords, listed_id
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator
from pipelines.partner import ListingBroken, PartnerClient, PartnerError, ServiceDown
from pipelines.record import current_release

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from pipelines.partner import Fetched
    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind

_SECONDS = 10.0
_SKEW = dt.timedelta(seconds=60)
_EACH, _ORDERS = 5, 30
_OK, _NOT_FOUND = 200, 404
Found = tuple[str, Any, str, str]  # part, level, what was found, what to do


@dataclass
class Examined:
    """What was found, in the order in which a run needs it, and the tables of [partner] that work or are wrong."""

    findings: list[Found] = field(default_factory=list)
    works: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    statuses: list[str] = field(default_factory=list)  # of the orders, one each

    def add(self, part: str, level: str, text: str, fix: str = "", table: str = "") -> None:
        """Note one finding, and which table of settings it is about."""
        self.findings.append((part, level, text, fix))
        if table and level != "warning":
            (self.failed if level == "failure" else self.works).add(table)


async def examine(
    settings: Settings,
    network: httpx.AsyncBaseTransport | None = None,
    orders: list[int] | None = None,
    listed: list[int] | None = None,
) -> Examined:
    """Request a token, the whole list (unless it is given), five stores, five menus, and some orders or the newest."""
    partner = msgspec.structs.replace(
        settings.partner,
        max_attempts=2,
        timeout_seconds=min(_SECONDS, settings.partner.timeout_seconds),
        outage_timeout_seconds=min(_SECONDS, settings.partner.outage_timeout_seconds),
        max_retry_after_seconds=1.0,
    )
    found = Examined()
    async with PartnerClient(partner, max_bytes=settings.landing.max_bytes, transport=network) as client:
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
        known = menus or _known(settings, "menus", "menu_id")
        await _documents(settings, client, "menus", list(dict.fromkeys(known)), found)
        orders = (orders or [])[:_ORDERS] or _known(settings, "orders", "order_id")
        bodies = await _documents(settings, client, "orders", orders, found)
        found.statuses = [each["status"] for each in bodies if each.get("status")]
    return found


async def _list(settings: Settings, client: PartnerClient, found: Examined) -> list[int] | None:
    """List every store; return the ids, None if no token was had."""
    ids: list[int | None] = []
    try:
        async for page in client.list_stores():
            ids += [listed_id(record, settings) for record in page]
    except ServiceDown as error:
        found.add("service", "failure", f"{error}.", "check [partner] base_url, the network and the service", "partner")
        return None
    except ListingBroken as error:
        found.add("service", "ok", f"answers, and issues a token: {settings.partner.base_url}.", "", "authenticate")
        found.add("store list", "failure", f"{error}.", "`ordermart init` on the same file", "list_stores")
        return []
    except PartnerError as error:
        found.add("token", "failure", f"{error}.", "`ordermart init` on the same file finds the login", "authenticate")
        return None
    found.add("service", "ok", f"answers, and issues a token: {settings.partner.base_url}.", "", "authenticate")
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
    if not ids:
        if kind == "orders":
            found.add(part, "warning", "none is known yet to ask for.", "`ordermart run --order-ids FILE`")
        return []
    accepted, first = [], None
    for id_ in ids[: _ORDERS if kind == "orders" else _EACH]:
        try:
            fetched = await client.fetch(kind, id_)
        except PartnerError as error:
            found.add(part, "failure", f"{error}.", f"check [partner.{part}] path", table)
            break
        first = first or fetched
        look(fetched.body)
        if fetched.status == _NOT_FOUND:
            level = "warning" if kind == "orders" else "failure"
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


def _clock(fetched: Fetched, found: Examined) -> None:
    try:
        skew = fetched.fetched_at - email.utils.parsedate_to_datetime(fetched.headers.get("date") or "")
    except (TypeError, ValueError):
        found.add("clock", "ok", "the service sends no date to compare with.")
        return
    text = f"is {skew.total_seconds():+,.0f} seconds from the service's."
    if abs(skew) > _SKEW:
        found.add("clock", "warning", text, "synchronise it (NTP)")
    else:
        found.add("clock", "ok", text)


def _known(settings: Settings, table: str, key: str) -> list[int]:
    """Return the highest id of a table of the current release; none without one."""
    release = current_release(settings.data_dir / "published")
    if release is None:
        return []
    try:
        with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
            row = db.execute(f"select max({key}) from core.{table}").fetchone()
    except duckdb.Error:
        return []
    return [row[0]] if row and row[0] is not None else []
