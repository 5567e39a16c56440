"""The only package that stores personal data: encrypted per customer, found by keyed hashes."""

from pipelines.vault.bodies import (
    Keys,
    VaultError,
    new_key_file,
    new_keys,
    read_keys,
    rotate,
)
from pipelines.vault.erasing import Destroyed, Erasing, Person, Rule, key_sha256
from pipelines.vault.vault import Encrypted, PersonalData, Vault, open_vault

__all__ = [
    "Destroyed",
    "Encrypted",
    "Erasing",
    "Keys",
    "Person",
    "PersonalData",
    "Rule",
    "Vault",
    "VaultError",
    "key_sha256",
    "new_key_file",
    "new_keys",
    "open_vault",
    "read_keys",
    "rotate",
]
