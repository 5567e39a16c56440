"""The morning page and the page of a reconciliation: self-contained HTML without scripts."""
