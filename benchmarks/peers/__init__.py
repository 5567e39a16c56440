"""The same orders, by other tools: each reads one NDJSON file and writes four tables."""
