"""Run sql/ over landed documents into the warehouse, hold the rows to their contracts, and publish releases.

Knows nothing of how documents got here, of personal data, or of Dagster.
"""
