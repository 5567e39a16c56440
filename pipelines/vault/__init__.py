"""The only package that stores personal data: encrypted per customer, found by keyed hashes.

Knows nothing of documents' shapes, HTTP, Parquet or sales.
"""

from pipelines.vault.keys import VaultError, new_key_file
from pipelines.vault.refused import Refused
from pipelines.vault.spool import Answer, Left, Spool, open_spool
from pipelines.vault.vault import Encrypted, PersonalData, Vault, open_vault

__all__ = [
    "Answer",
    "Encrypted",
    "Left",
    "PersonalData",
    "Refused",
    "Spool",
    "Vault",
    "VaultError",
    "new_key_file",
    "open_spool",
    "open_vault",
]
