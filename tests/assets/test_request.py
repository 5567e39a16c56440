"""Which ids a run is asked to pull."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.assets.request import ask_for, ids_of_range
from pipelines.inbox.worklist import WorkList
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def work(tmp_path: Path) -> WorkList:
    """An empty work list."""
    return WorkList(tmp_path / "worklist.sqlite")


def test_a_file_of_ids(tmp_path: Path, work: WorkList) -> None:
    """One id a line; blank lines and comments are passed over."""
    (tmp_path / "ids.txt").write_text("# last week\n12\n\n 7 \n", encoding="utf-8")
    with work:
        ask_for(work, order_ids_file=str(tmp_path / "ids.txt"), order_id_range="20-22")
        assert sorted(work.due("orders")) == [7, 12, 20, 21, 22]


@pytest.mark.parametrize("line", ["twelve", "1.5", "9223372036854775808", "1 2", "٣"])
def test_a_wrong_line_adds_nothing(tmp_path: Path, work: WorkList, line: str) -> None:
    """A wrong line is named, and no half of the file is taken."""
    (tmp_path / "ids.txt").write_text(f"12\n{line}\n", encoding="utf-8")
    with work:
        with pytest.raises(SettingsError, match=r"ids\.txt, line 2: not an id"):
            ask_for(work, order_ids_file=str(tmp_path / "ids.txt"))
        assert work.due("orders") == []


@pytest.mark.parametrize("text", ["", "5", "9-3", "a-b", "-1-5", "1-99999999999999999999"])
def test_what_is_no_range(text: str) -> None:
    """A range is A-B with A at most B; anything else is a usage error."""
    with pytest.raises(SettingsError, match="no range of ids"):
        ids_of_range(text)
