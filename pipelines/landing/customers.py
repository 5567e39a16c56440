"""Give the vault the countries of stores, by which it reads phone numbers, and the raw files the vault's customers."""

import re
import secrets
from functools import cache

import msgspec

from pipelines.landing.data_folder import note_erasure
from pipelines.landing.merge import rekey_in_raw
from pipelines.landing.raw_folder import folder, read_rows
from pipelines.settings import Settings
from pipelines.vault import Rule, VaultError, open_vault
from pipelines.vault.contacts import country_of

_STORE = re.compile(rb'"store_id":([0-9]{1,18})')


class _Zone(msgspec.Struct):
    timezone: str | None = None


def store_of(document: bytes) -> int | None:
    """Return the store of an order's document."""
    found = _STORE.search(document)
    return int(found.group(1)) if found else None


def filing_rule(settings: Settings) -> Rule:
    """Return the rule by which orders are filed under customers, with the countries of the landed stores."""
    data_dir, decode = settings.data_dir, msgspec.json.Decoder(_Zone).decode
    of_stores: dict[int, str] = {}
    if folder(data_dir, "observations", "stores").is_dir():
        for id_, document in read_rows(data_dir, "stores", "documents", ("id", "document")):
            of_stores[id_] = country_of(decode(document).timezone)

    @cache
    def stores() -> dict[int, int | None]:
        rows = read_rows(data_dir, "orders", "documents", ("id", "document"))
        return {id_: store_of(document.encode()) for id_, document in rows}

    country = settings.privacy.country or country_of(settings.business_day.timezone)
    known = {store: each for store, each in of_stores.items() if each}
    return Rule(settings.privacy.max_people_per_contact, country, known, lambda id_: stores().get(id_))


def settle_customers(settings: Settings) -> None:
    """File orders again whose contacts prove to be others', and give raw files their customers. Needs the run lock."""
    if not (settings.data_dir / "vault" / "vault.sqlite").exists():
        return
    try:
        opened = open_vault(settings, filing_rule(settings))
    except VaultError:  # a build needs no keys: the next one that has them files what waits
        return
    with opened as vault:
        vault.tally_rows()
        if vault.filing.file_again():
            if rekey_in_raw(settings.data_dir, vault.filing.moved()):
                note_erasure(settings.data_dir, f"customers {secrets.token_hex(8)}")  # tables are made again
            vault.filing.settle()
