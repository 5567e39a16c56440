"""Finance: reconcile, seal business days, record what changes in them afterwards, and hand auditors the evidence.

Knows nothing of how documents are fetched or tables are made: it reads releases and writes acts into the ledger.
"""
