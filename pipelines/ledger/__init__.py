"""An append-only, hash-chained ledger of closes, reopenings, restatements, postings, control totals and decisions.

Upstream of the warehouse: a build reads it and never writes it.
"""

from pathlib import Path

from pipelines.ledger.chain import Entry, Ledger, LedgerError, Verified, verify
from pipelines.ledger.closed_days import Closes
from pipelines.ledger.totals import TotalsError, effective_totals, import_totals

__all__ = [
    "Closes",
    "Entry",
    "Ledger",
    "LedgerError",
    "TotalsError",
    "Verified",
    "effective_totals",
    "import_totals",
    "ledger_of",
    "verify",
]


def ledger_of(data_dir: Path) -> Ledger:
    """Return the ledger of a data folder."""
    return Ledger(data_dir / "ledger")
