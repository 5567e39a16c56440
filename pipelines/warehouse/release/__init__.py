"""Publish the warehouse: one DuckDB file, Parquet and a manifest, switched atomically."""
