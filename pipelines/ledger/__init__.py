"""What people decided: an append-only chain of acts, each with the hash of the one before it.

Knows nothing of tables, of finance's rules or of who may decide. Upstream of the warehouse: a rebuild reads it and
never writes it.
"""

from pipelines.ledger.chain import Entry, Ledger, LedgerError, Verified, verify

__all__ = ["Entry", "Ledger", "LedgerError", "Verified", "verify"]
