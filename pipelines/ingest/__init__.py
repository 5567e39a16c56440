"""Ingest documents: request due documents from the service and land them, one run at a time."""
