"""One contract a table: what a row is, what each column means, what must hold within the table.

Contracts refuse to know how rows are made, and what needs two tables: that is a claim in `sql/checks/`.
"""
