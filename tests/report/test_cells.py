"""Texts that a spreadsheet may run as a formula: one function decides, and DuckDB's says the same."""

from __future__ import annotations

import duckdb
import pytest

from pipelines.literals import cell, cell_in_sql

RUN = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@a",
    "\t=1",
    "\r",
    " =1",
    "＝1+1",
    "＋1",
    "－1",
    "＠a",
    "﹣1",
    "﹦1",
    "−1+1",
    "\ufeff=1",
    "\u00a0=1",
    "\x0b=1",
    "\x85=1",
    "\u3000=1",
    "\u200b=1",
    "\u2028=1",
    "\u202e=1",
    "\u00ad=1",
    "-1\n",
]
HARMLESS = ["", "a=1", "-12.50", "+5", "1", "5 - 3", "Müller", "(1)", "'=1"]


@pytest.mark.parametrize("text", [*RUN, *HARMLESS])
def test_what_a_spreadsheet_may_run_is_written_after_an_apostrophe(text: str) -> None:
    """Also where it is written full-width or after spaces; numbers stay."""
    wanted = f"'{text}" if text in RUN else text
    assert cell(text) == wanted
    assert duckdb.execute(f"select {cell_in_sql('x')} from (select ? as x)", [text]).fetchone() == (wanted,)
