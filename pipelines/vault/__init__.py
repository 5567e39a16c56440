"""The only package that stores personal data: encrypted per customer, found by keyed hashes."""

from pipelines.vault.bodies import Answer, Spool, open_spool
from pipelines.vault.erasing import Customer, Destroyed, Erasing, key_sha256
from pipelines.vault.keys import Keys, VaultError, new_key_file, new_keys, read_keys, rotate
from pipelines.vault.vault import Encrypted, PersonalData, Vault, open_vault

__all__ = [
    "Answer",
    "Customer",
    "Destroyed",
    "Encrypted",
    "Erasing",
    "Keys",
    "PersonalData",
    "Spool",
    "Vault",
    "VaultError",
    "key_sha256",
    "new_key_file",
    "new_keys",
    "open_spool",
    "open_vault",
    "read_keys",
    "rotate",
]
