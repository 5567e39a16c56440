"""Bring the warehouse up to date with new loads: find the affected keys, recompute only those, commit once."""
