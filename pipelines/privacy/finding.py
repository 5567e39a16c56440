"""Find the customers that a request is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pipelines.ledger.decisions import FoundBy
    from pipelines.vault import Customer, Vault


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
