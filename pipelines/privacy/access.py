"""Show personal data to those who may see it: one order's for support, a person's for an access request.

Each is an entry in the ledger, written before anything is shown, without personal data.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from pipelines.landing.reprocess import unknown_pattern
from pipelines.ledger.decisions import EXPORTED, FIELDS_REVEALED, REVEALED, current_user
from pipelines.ledger.signed_head import signing_ledger
from pipelines.privacy.finding import PrivacyError, customers
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from pipelines.ledger.decisions import User
    from pipelines.privacy.finding import Asked
    from pipelines.settings import Settings


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
