"""What people decided: an append-only chain of acts, each with the hash of the one before it.

Knows nothing of tables, of finance's rules or of who may decide. Upstream of the warehouse: a rebuild reads it and
never writes it.
"""

from pathlib import Path

from pipelines.ledger.chain import Entry, Ledger, LedgerError, Verified, verify
from pipelines.ledger.closing import Seals
from pipelines.ledger.totals import TotalsError, import_totals, totals_in_force

__all__ = [
    "Entry",
    "Ledger",
    "LedgerError",
    "Seals",
    "TotalsError",
    "Verified",
    "import_totals",
    "ledger_of",
    "totals_in_force",
    "verify",
]


def ledger_of(data_dir: Path) -> Ledger:
    """Return the ledger of a data folder."""
    return Ledger(data_dir / "ledger")
