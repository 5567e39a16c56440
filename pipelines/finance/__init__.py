"""Finance: reconcile, close business days, record restatements of closed days.

Knows nothing of how documents are fetched or tables are built: it reads releases and appends to the ledger.
"""
