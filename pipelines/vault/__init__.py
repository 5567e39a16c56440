"""The only package that stores personal data: encrypted per customer, found by keyed hashes."""

from pipelines.vault.bodies import (
    FetchedBody,
    Keys,
    Spool,
    VaultError,
    new_key_file,
    new_keys,
    open_spool,
    read_keys,
    rotate,
)
from pipelines.vault.erasing import Destroyed, Erasing, Person, Rule, key_sha256
from pipelines.vault.vault import Encrypted, PersonalData, Vault, open_vault

__all__ = [
    "Destroyed", "Encrypted", "Erasing", "FetchedBody", "Keys", "Person", "PersonalData", "Rule", "Spool",
    "Vault", "VaultError", "key_sha256", "new_key_file", "new_keys", "open_spool", "open_vault", "read_keys",
    "rotate",
]  # fmt: skip
