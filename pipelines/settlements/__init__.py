"""Statements of platforms and payouts of banks: read by a mapping into neutral lines, and kept in the ledger."""
