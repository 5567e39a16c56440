"""Make rows of tables in a DuckDB session, and check them against contracts and claims."""
