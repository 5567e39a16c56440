"""Which ids a run requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.ingest.loop import add_requested, ids_of_range
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def work(tmp_path: Path) -> WorkList:
    """An empty work list."""
    return WorkList(tmp_path / "worklist.sqlite")


def test_add_requested_reads_file_and_range(tmp_path: Path, work: WorkList) -> None:
    """One id a line; blank lines and comments are skipped."""
    (tmp_path / "ids.txt").write_text("# last week\n12\n\n 7 \n", encoding="utf-8")
    with work:
        add_requested(work, order_ids_file=str(tmp_path / "ids.txt"), order_id_range="20-22")
        assert sorted(work.due("orders")) == [7, 12, 20, 21, 22]


@pytest.mark.parametrize("line", ["twelve", "1.5", "9223372036854775808", "1 2", "٣"])
def test_add_requested_invalid_line_adds_nothing(tmp_path: Path, work: WorkList, line: str) -> None:
    """An invalid line is named, and nothing of the file is added."""
    (tmp_path / "ids.txt").write_text(f"12\n{line}\n", encoding="utf-8")
    with work:
        with pytest.raises(SettingsError, match=r"ids\.txt, line 2: not a valid id"):
            add_requested(work, order_ids_file=str(tmp_path / "ids.txt"))
        assert work.due("orders") == []


@pytest.mark.parametrize("text", ["", "5", "9-3", "a-b", "-1-5", "1-99999999999999999999"])
def test_ids_of_range_rejects_invalid_text(text: str) -> None:
    """A range is A-B with A at most B; anything else is rejected."""
    with pytest.raises(SettingsError, match="not a valid range"):
        ids_of_range(text)
