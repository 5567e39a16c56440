"""Show personal data to those who may see it: one order's for support, a person's for an access request; rotate keys.

Each is an entry in the ledger, written before anything is shown, without personal data.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipelines.landing.reprocess import unknown_pattern
from pipelines.ledger.decisions import EXPORTED, FIELDS_REVEALED, REVEALED, ROTATED, current_user
from pipelines.ledger.signed_head import sign_missing_heads, signing_ledger
from pipelines.settings.tables import Secret
from pipelines.vault import open_vault
from pipelines.vault.keys import new_keys, read_keys
from pipelines.vault.rotation import rotate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.ledger.decisions import FoundBy, User
    from pipelines.settings import Settings
    from pipelines.vault import Customer, Vault
    from pipelines.vault.rotation import Rotated


class PrivacyError(Exception):
    """A request about personal data cannot be met; the message says why, and never a value."""


class Asked(NamedTuple):
    """By what a person is found, and the value: an order id, a phone number or an e-mail address."""

    found_by: FoundBy
    value: str

    def __repr__(self) -> str:
        return f"Asked({self.found_by}, …)"


def customers(vault: Vault, asked: Asked) -> list[Customer]:
    """Return the customers; raise PrivacyError if there are none."""
    erasing = vault.erasing
    if asked.found_by == "order_id":
        found = erasing.of_order(int(asked.value))
    else:
        found = (erasing.of_phone if asked.found_by == "phone" else erasing.of_email)(asked.value)
    if not found:
        if asked.found_by != "order_id" and erasing.is_held_unfound(asked.found_by, asked.value):
            raise PrivacyError(
                "the vault is damaged: it holds personal data that the lookup hashes of this request do not find. See "
                "`ordermart inventory`; ask by an order of this person meanwhile"
            )
        what = {"order_id": f"order {asked.value}", "phone": "this phone number", "email": "this e-mail address"}
        raise PrivacyError(f"the vault holds no personal data of {what[asked.found_by]}: erased, or never landed")
    return found


def reveal(settings: Settings, order_id: int, reason: str, user: User | None = None) -> dict[str, Any]:
    """Return the personal data of an order, pointer → value, and record who saw it and why.

    Raise PrivacyError if none is held, VaultError if it was erased or the keys are wrong.
    """
    with open_vault(settings) as vault:
        found = vault.decrypt("orders", order_id)
    if not found:
        raise PrivacyError(f"the vault holds no personal data of order {order_id}")
    body = {"order_id": order_id, "reason": reason, **(user or current_user()).body}
    signing_ledger(settings).append(REVEALED, body)
    return found


def undocumented(settings: Settings, reason: str, user: User | None = None) -> list[dict[str, Any]]:
    """Return the undocumented fields of orders with their true names, and record who saw them and why."""
    orders: Counter[str] = Counter()
    owners: defaultdict[str, set[int]] = defaultdict(set)
    with open_vault(settings) as vault:
        for customer, content in vault.erasing.orders():
            for pattern in {found for pointer in content if (found := unknown_pattern(pointer))}:
                orders[pattern] += 1
                owners[pattern].add(customer)
    body = {"reason": reason, "field_count": len(orders), **(user or current_user()).body}
    signing_ledger(settings).append(FIELDS_REVEALED, body)
    return [{"path": p, "order_count": n, "customer_count": len(owners[p])} for p, n in orders.most_common()]


def export(settings: Settings, asked: Asked, user: User | None = None) -> dict[str, Any]:
    """Return the data held about a person, every version, and record that it was exported.

    Raise PrivacyError if nothing is held.
    """
    with open_vault(settings) as vault:
        found = customers(vault, asked)
        documents = vault.erasing.held(found)
    body = {
        "found_by": asked.found_by,
        "customer_sha256": sorted(each.key_sha256 for each in found),
        "version_count": len(documents),
        **(user or current_user()).body,
    }
    signing_ledger(settings).append(EXPORTED, body)
    orders = sorted({order_id for each in found for order_id in each.order_ids})
    return {"customer_count": len(found), "order_ids": orders, "personal_data": documents}


def rotate_keys(
    settings: Settings,
    file: Path,
    user: User | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Rotated:
    """Give the vault the keys of a file, created if necessary; doing it again changes nothing.

    The caller holds the run lock. Raise PrivacyError if there is no vault yet, VaultError for unusable keys.
    """
    path = settings.data_dir / "vault" / "vault.sqlite"
    if not path.exists():
        raise PrivacyError("there is no vault yet: `ordermart vault generate-keys FILE` makes the keys of a new one")
    done = rotate(path, read_keys(settings), new_keys(file), progress)
    # Only the new keys open the vault, which keeps the key that signs.
    vault = msgspec.structs.replace(
        settings.vault, key_file=str(file.resolve()), master_key=Secret(""), lookup_secret=Secret("")
    )
    rotated = msgspec.structs.replace(settings, vault=vault)
    sign_missing_heads(rotated)
    ledger = signing_ledger(rotated)
    if done.at and not any(entry.body["rotated_at"] == done.at for entry in ledger.entries(ROTATED)):
        body = {"rotated_at": done.at, "customer_count": done.customers, "version_count": done.versions}
        ledger.append(ROTATED, body | (user or current_user()).body)
    return done
