"""Ask the partner service for a token, its stores, a menu and an order, and judge each by today's settings.

Nothing is landed. Gives up within seconds: a run would try for longer. Shows no values of documents.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import email.utils
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec

from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator
from pipelines.partner import ListingBroken, PartnerClient, PartnerError, ServiceDown
from pipelines.record import current_release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind

_SECONDS = 10.0
_SKEW = dt.timedelta(seconds=60)
_OK, _NOT_FOUND = 200, 404

Found = tuple[str, Any, str, str]  # the fields of a Finding


def service_findings(settings: Settings) -> Iterator[Found]:
    """Yield what was found about the service, in the order in which a run needs it."""
    yield from asyncio.run(_examine(settings))


async def _examine(settings: Settings) -> list[Found]:
    partner = msgspec.structs.replace(
        settings.partner,
        max_attempts=2,
        timeout_seconds=min(_SECONDS, settings.partner.timeout_seconds),
        outage_timeout_seconds=min(_SECONDS, settings.partner.outage_timeout_seconds),
        max_retry_after_seconds=1.0,
    )
    found: list[Found] = []
    async with PartnerClient(partner, max_bytes=settings.landing.max_bytes) as client:
        records: list[bytes] = []
        try:
            async with aclosing(client.list_stores()) as pages:
                async for page in pages:
                    records = page
                    break
        except ServiceDown as error:
            return [("service", "failure", f"{error}.", "check [partner] base_url, the network and the service")]
        except ListingBroken as error:
            found.append(("store list", "failure", f"{error}.", "correct [partner.list_stores]"))
        except PartnerError as error:
            return [("token", "failure", f"{error}.", "check the credentials and [partner.authenticate]")]
        found.insert(0, ("service", "ok", f"answers, and issues a token: {partner.base_url}.", ""))
        menu_ids = _store_findings(settings, records, found) if records else _known(settings, "menus", "menu_id")
        for kind, ids in (("menus", menu_ids), ("orders", _known(settings, "orders", "order_id"))):
            await _document(settings, client, kind, ids[:1], found)  # type: ignore[arg-type]
    return found


def _store_findings(settings: Settings, records: list[bytes], found: list[Found]) -> list[int]:
    """Judge the first record of the list; return the menus that it names."""
    judged = _judged(settings, "stores", records[0], None)
    if isinstance(judged, str):
        found.append(("store", "failure", f"the first record is rejected: {judged}.", "correct [partner.store]"))
        return []
    document = msgspec.json.decode(judged.document)
    menu_ids = list(document["menu_ids"])
    said = f"{len(records):,} on the first page; the first one parses and names {len(menu_ids)} menus."
    level = "ok" if menu_ids else "warning"
    found.append(("store", level, said, "" if menu_ids else "correct [partner.store] menu_id_pointers"))
    return menu_ids


async def _document(settings: Settings, client: PartnerClient, kind: Kind, ids: list[int], found: list[Found]) -> None:
    """Fetch and judge one document, and compare the clock with its answer's."""
    what = kind.removesuffix("s")
    if not ids:
        found.append((what, "warning", "none is known yet to ask for.", "`ordermart run --order-ids FILE`"))
        return
    try:
        fetched = await client.fetch(kind, ids[0])
    except PartnerError as error:
        found.append((what, "failure", f"{error}.", f"check [partner.{what}] path"))
        return
    if kind == "orders":
        found.append(_clock(fetched.headers.get("date"), fetched.fetched_at))
    if fetched.status == _NOT_FOUND:
        found.append((what, "warning", f"{ids[0]} is not found (404).", f"check [partner.{what}] path and base_url"))
        return
    judged = _judged(settings, kind, fetched.body, ids[0])
    if isinstance(judged, str):
        found.append((what, "failure", f"{ids[0]} is rejected: {judged}.", "see audit.quarantine and [landing]"))
    else:
        found.append((what, "ok", f"{ids[0]} parses.", ""))


def _clock(date: str | None, now: dt.datetime) -> Found:
    try:
        skew = now - email.utils.parsedate_to_datetime(date or "")
    except (TypeError, ValueError):
        return ("clock", "ok", "the service sends no date to compare with.", "")
    seconds = skew.total_seconds()
    if abs(skew) > _SKEW:
        return ("clock", "warning", f"is {seconds:+,.0f} seconds from the service's.", "synchronise it (NTP)")
    return ("clock", "ok", f"is {seconds:+,.0f} seconds from the service's.", "")


def _judged(settings: Settings, kind: str, body: bytes, asked: int | None) -> Any:
    """Return the validated document, or the code and place of its rejection."""
    try:
        return Validator(settings, kind).validate(body, asked)
    except InvalidDocumentError as error:
        return str(error)


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
