"""The queries of the documents run as they are written, and have an answer."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/TABLES.md", "docs/BI.md")


def blocks(language: str, *documents: str) -> list[str]:
    """Return the blocks of a language in the documents."""
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in documents or DOCUMENTS)
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def _of_every_class(query: str) -> str:
    """Return a query that counts every order: no status of this world is a sale."""
    assert "sale_class = 'counted'" in query
    return query.replace("sale_class = 'counted'", "true")


@pytest.mark.slow
def test_queries_answer(published: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement of SQL has rows, once statuses are counted as sales."""
    monkeypatch.chdir(tmp_path)  # where one of them writes a file
    statements = [each for block in blocks("sql") for each in block.split(";") if each.strip()]
    assert len(statements) == 6
    for query in statements:
        assert published.all(query.replace("sale_class = 'counted'", "true")), query
    assert (tmp_path / "sales.csv").stat().st_size > 100


@pytest.mark.slow
def test_python_keeps_decimals(published: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's block of Python has the rows of its first query, in exact decimals; the other one has Arrow's."""
    monkeypatch.setenv("ORDERMART_DATA__DIR", str(published.data))
    code, of_schemas = blocks("python", "README.md")
    shown: dict[str, Any] = {}
    exec(_of_every_class(code), shown)  # noqa: S102 -- our own document
    best = shown["by_store"].sort_values("total_price", ascending=False).head(5).reset_index()
    rows = published.all(_of_every_class(blocks("sql", "README.md")[0]))
    assert [tuple(row) for row in best.itertuples(index=False)] == rows
    assert all(isinstance(amount, Decimal) for amount in best["total_price"])
    exec(of_schemas, {})  # noqa: S102 -- a block of its own
    names: dict[str, Any] = {}
    exec(blocks("python", "docs/BI.md")[1], names)  # noqa: S102 -- our own document
    assert pa.types.is_decimal(names["frame"]["total_price"].dtype.pyarrow_dtype)
    names["con"].close()
