"""The one room that holds personal data: sealed per customer, found by keyed hashes.

Knows nothing of documents' shapes, of HTTP, of Parquet or of what is sold.
"""

from pipelines.vault.keys import VaultError, new_key_file
from pipelines.vault.refused import Refused
from pipelines.vault.spool import Answer, Left, Spool, open_spool
from pipelines.vault.vault import Sealed, Sealing, Vault, open_vault

__all__ = [
    "Answer",
    "Left",
    "Refused",
    "Sealed",
    "Sealing",
    "Spool",
    "Vault",
    "VaultError",
    "new_key_file",
    "open_spool",
    "open_vault",
]
