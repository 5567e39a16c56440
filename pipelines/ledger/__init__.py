"""What people decided: an append-only chain of acts, each with the hash of the one before it.

Knows nothing of tables, of finance's rules or of who may decide. Upstream of the warehouse: a rebuild reads it and
never writes it.
"""

from pipelines.ledger.chain import Entry, Ledger, LedgerError, Verified, verify
from pipelines.ledger.totals import TotalsError, import_totals, totals_in_force

__all__ = [
    "Entry",
    "Ledger",
    "LedgerError",
    "TotalsError",
    "Verified",
    "import_totals",
    "totals_in_force",
    "verify",
]
