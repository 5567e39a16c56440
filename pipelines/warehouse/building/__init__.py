"""Decide between no build, an increment and a full rebuild, and run it."""
