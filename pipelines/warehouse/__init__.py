"""Run sql/ over landed documents into the warehouse, check the rows against their contracts, and publish releases."""
