"""Ingest documents: request what is due from the service and land it, one run at a time.

Knows nothing of Dagster.
"""
