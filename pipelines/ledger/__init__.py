"""An append-only, hash-chained ledger of closes, reopenings, restatements, postings, control totals and decisions.

Upstream of the warehouse: a build reads it and never writes it.
"""

from pathlib import Path

from pipelines.ledger.chain import IntactChain, Ledger, LedgerEntry, LedgerError, verify
from pipelines.ledger.entries import (
    CLOSED,
    CLOSED_ORDERS,
    ERASED,
    HEADER,
    ROTATED,
    Closes,
    TotalsError,
    User,
    current_user,
    day_hashes,
    effective_totals,
    erasures,
    import_totals,
    read_totals,
    written_off,
)

__all__ = [
    "CLOSED", "CLOSED_ORDERS", "ERASED", "HEADER", "ROTATED", "Closes", "IntactChain", "Ledger", "LedgerEntry",
    "LedgerError", "TotalsError", "User", "current_user", "day_hashes", "effective_totals", "erasures",
    "import_totals", "ledger_of", "read_totals", "verify", "written_off",
]  # fmt: skip


def ledger_of(data_dir: Path) -> Ledger:
    """Return the ledger of a data folder."""
    return Ledger(data_dir / "ledger")
