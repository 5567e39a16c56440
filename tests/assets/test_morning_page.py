"""The morning page of real runs, written when the run is told."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.slow
def test_a_run_writes_the_page(published: Any) -> None:
    """The page says what came in, and the release has a copy."""
    file = published.data / "published" / "morning.html"
    text = file.read_text(encoding="utf-8")
    assert "This night, ended" in text
    assert "<td>orders</td>" in text
    assert "svg" in text
    assert (published.data / "published" / "current" / "morning.html").read_text(encoding="utf-8") == text
