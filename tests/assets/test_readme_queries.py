"""The queries of the README run as they are written, and have an answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    """Return the blocks of a language in the README."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_queries_answer(published: Any) -> None:
    """Each block of SQL has rows, once statuses are counted as sales."""
    assert len(blocks("sql")) == 2
    for query in blocks("sql"):
        assert published.all(query.replace("sale_class = 'counted'", "true")), query


def test_python_keeps_decimals(
    published: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The block of Python prints sums of the same decimals as the file's."""
    monkeypatch.setenv("ORDERMART_DATA__DIR", str(published.data))
    (code,) = blocks("python")
    exec(code, {})  # noqa: S102 -- our own document
    printed = capsys.readouterr().out
    sums = published.all(
        "select sum(total_price) as s from mart.daily_store_sales group by store_name order by s desc limit 5"
    )
    assert all(str(amount) in printed for (amount,) in sums)
