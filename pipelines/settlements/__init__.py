"""Statements of platforms and payouts of banks: read by a mapping into neutral lines, and kept in the ledger."""

from pipelines.settlements.bank import CREDITS
from pipelines.settlements.importing import (
    BANK,
    STATEMENT,
    Imported,
    Payouts,
    Statement,
    effective_banks,
    effective_statements,
    import_bank,
    import_statements,
)
from pipelines.settlements.lines import LINES, SettlementError, read_lines, table_of
from pipelines.settlements.mapping import COSTS, GROSS, REFUNDS, MappingError, Read, read_mapping

__all__ = [
    "BANK",
    "COSTS",
    "CREDITS",
    "GROSS",
    "LINES",
    "REFUNDS",
    "STATEMENT",
    "Imported",
    "MappingError",
    "Payouts",
    "Read",
    "SettlementError",
    "Statement",
    "effective_banks",
    "effective_statements",
    "import_bank",
    "import_statements",
    "read_lines",
    "read_mapping",
    "table_of",
]
