"""The only package that stores personal data: encrypted per customer, found by keyed hashes."""

from pipelines.vault.bodies import Answer, Left, Refused, Spool, open_spool
from pipelines.vault.erasing import Customer, Destroyed, key_sha256
from pipelines.vault.keys import VaultError, new_key_file
from pipelines.vault.vault import Encrypted, PersonalData, Vault, open_vault

__all__ = [
    "Answer",
    "Customer",
    "Destroyed",
    "Encrypted",
    "Left",
    "PersonalData",
    "Refused",
    "Spool",
    "Vault",
    "VaultError",
    "key_sha256",
    "new_key_file",
    "open_spool",
    "open_vault",
]
