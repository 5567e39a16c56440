"""Statements of platforms and payouts of banks: read by a mapping into neutral lines, and kept in the ledger."""

from pipelines.settlements.bank import CREDITS
from pipelines.settlements.importing import (
    BANK,
    STATEMENT,
    Imported,
    effective_banks,
    effective_statements,
    import_bank,
    import_statements,
)
from pipelines.settlements.lines import LINES, SettlementError, read_lines, records_of
from pipelines.settlements.mapping import MappingError, read_mapping

__all__ = [
    "BANK",
    "CREDITS",
    "LINES",
    "STATEMENT",
    "Imported",
    "MappingError",
    "SettlementError",
    "effective_banks",
    "effective_statements",
    "import_bank",
    "import_statements",
    "read_lines",
    "read_mapping",
    "records_of",
]
