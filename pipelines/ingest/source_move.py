"""Follow a partner service that moved to another address: only if that address has the documents that are held."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pipelines.ingest.ingest_session import PartnerSession
from pipelines.ingest.lock import run_lock
from pipelines.landing.data_folder import note_source, source_of
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator
from pipelines.ledger.signed_head import signing_ledger
from pipelines.partner.answers import RunStopped
from pipelines.settings import SettingsError
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.building.stored_warehouse import newest_documents

if TYPE_CHECKING:
    from pipelines.ledger.decisions import User
    from pipelines.partner.client import PartnerClient
    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind

Held = tuple[int | None, dt.datetime | None] | None  # store and creation of an order; None for other kinds
MOVED = "source_moved"
_ASKED = 10  # documents of each kind
_OK = 200


class SourceError(Exception):
    """The new address does not have the documents that are held; nothing was changed."""


@dataclass(frozen=True)
class Moved:
    """How many documents the new address has as they are held, and how many the old one still answers."""

    held: int
    at_new: int
    at_old: int


def move_source(settings: Settings, old: str, new: str, user: User) -> Moved:
    """Note `new` as the address of the landed data, which came from `old`; record it in the ledger.

    The newest documents of each kind are requested at both addresses. What never changes of them (an order's store and
    creation, a menu's or store's id) must be at the new one as it is held, for all of them. Raise SourceError if it is
    not, SettingsError if the settings or the data folder name other addresses.
    """
    old, new = old.rstrip("/"), new.rstrip("/")
    if settings.partner.base_url.rstrip("/") != new:
        raise SettingsError(f"[partner] base_url is {settings.partner.base_url}: set it to {new} first")
    with run_lock(settings.data_dir, "ordermart source move"):
        if (known := source_of(settings.data_dir)) != old:
            raise SettingsError(f"{settings.data_dir} holds data of {known or 'no service yet'}, not of {old}")
        held = {kind: newest_documents(settings.data_dir, kind, _ASKED) for kind in KINDS}
        count = sum(map(len, held.values()))
        if not count:
            raise SourceError(f"{settings.data_dir} has no built documents to compare: run `ordermart build` first")
        at_new = _same(settings, new, held)
        if at_new < count:
            raise SourceError(f"{new} has {at_new} of {count} documents as they are held: it is not the same service")
        at_old = _same(settings, old, held)
        done = Moved(count, at_new, at_old)
        figures = {"held": done.held, "at_new": done.at_new, "at_old": done.at_old}
        signing_ledger(settings).append(MOVED, {"old": old, "new": new, **figures, **user.body})
        note_source(settings.data_dir, new)
        return done


def _same(settings: Settings, base_url: str, held: dict[Kind, dict[int, Held]]) -> int:
    """Return how many documents an address answers as they are held; 0 if it answers none."""
    partner = replace(settings.partner, base_url=base_url, max_attempts=2, outage_timeout_seconds=10.0)
    asked = replace(settings, partner=partner)

    async def ask(client: PartnerClient) -> int:
        same = 0
        for kind, documents in held.items():
            for id_, then in documents.items():
                fetched = await client.fetch(kind, id_)
                same += fetched.status == _OK and _has(settings, kind, id_, fetched.body, then)
        return same

    try:
        with PartnerSession(asked) as session:
            return session.run(ask)
    except RunStopped:
        return 0


def _has(settings: Settings, kind: Kind, id_: int, body: bytes, held: Held) -> bool:
    """Tell whether a body is a valid document of this id, and of an order also its store and creation."""
    try:
        document = msgspec.json.decode(Validator(settings, kind).validate(body, id_).document)
    except InvalidDocumentError:
        return False
    if held is None:
        return True
    created = document.get("created_at")
    return (document.get("store_id"), created and dt.datetime.fromisoformat(created)) == held
