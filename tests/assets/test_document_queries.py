"""The queries of the documents run as they are written, and have an answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/TABLES.md", "docs/BI.md")


def blocks(language: str, *documents: str) -> list[str]:
    """Return the blocks of a language in the documents."""
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in documents or DOCUMENTS)
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def test_queries_answer(published: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement of SQL has rows, once statuses are counted as sales."""
    monkeypatch.chdir(tmp_path)  # where one of them writes a file
    statements = [each for block in blocks("sql") for each in block.split(";") if each.strip()]
    assert len(statements) == 6
    for query in statements:
        assert published.all(query.replace("sale_class = 'counted'", "true")), query
    assert (tmp_path / "sales.csv").stat().st_size > 100


def test_python_keeps_decimals(
    published: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The README's block of Python prints sums of the same decimals as the file's; the other one has Arrow's."""
    monkeypatch.setenv("ORDERMART_DATA__DIR", str(published.data))
    (code,) = blocks("python", "README.md")
    exec(code, {})  # noqa: S102 -- our own document
    printed = capsys.readouterr().out
    sums = published.all(
        "select sum(total_price) as s from mart.daily_store_sales group by store_name order by s desc limit 5"
    )
    assert all(str(amount) in printed for (amount,) in sums)
    (code,) = blocks("python", "docs/BI.md")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 -- our own document
    assert pa.types.is_decimal(names["frame"]["total_price"].dtype.pyarrow_dtype)
    names["con"].close()
