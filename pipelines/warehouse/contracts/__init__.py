"""One contract a table, at the head of its SQL file: what a row is, what columns mean, what must hold within the table.

Contracts refuse to know how rows are made, and what needs two tables: that is a claim in `sql/checks/`.
"""
