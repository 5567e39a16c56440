"""Dagster assets over the other packages: ingestion, build, release, maintenance. Decides nothing by itself."""
