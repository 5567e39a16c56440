"""The disk that loses power keeps what was synced, and only that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sweep.disk import Disk, Operation

if TYPE_CHECKING:
    from pathlib import Path

CREATE, TRUNCATE_ON_OPEN = 0, 1


def after(folder: Path, loss: str, *operations: tuple[str, str, str, int, bytes]) -> dict[str, bytes]:
    """Return path → content after these operations and a loss of power."""
    start, end = folder / "start", folder / f"end {loss} {len(list(folder.iterdir()))}"
    start.mkdir(exist_ok=True)
    (start / "old").write_bytes(b"old")
    end.mkdir()
    disk = Disk(start)
    for operation in operations:
        disk.apply(Operation(*operation))
    disk.write(end, loss)
    return {str(path.relative_to(end)): path.read_bytes() for path in end.rglob("*") if path.is_file()}


STEPS = (
    ("o", "new.tmp", "", CREATE, b""),
    ("w", "new.tmp", "", 0, b"content!"),
    ("s", "new.tmp", "", 0, b""),
    ("r", "new", "new.tmp", 0, b""),
    ("s", "", "", 0, b""),
)


@pytest.mark.parametrize(
    ("steps", "loss", "left"),
    [
        (1, "dropped", {}),
        (1, "named", {"new.tmp": b""}),
        (2, "dropped", {}),
        (2, "named", {"new.tmp": b""}),
        (2, "torn", {"new.tmp": b"cont"}),
        (3, "dropped", {}),
        (3, "named", {"new.tmp": b"content!"}),
        (4, "dropped", {}),
        (4, "named", {"new": b"content!"}),
        (5, "dropped", {"new": b"content!"}),
        (5, "torn", {"new": b"content!"}),
    ],
)
def test_file_is_safe_once_it_and_its_folder_are_synced(
    steps: int, loss: str, left: dict[str, bytes], tmp_path: Path
) -> None:
    """Before that its name, its content or both are lost; afterwards nothing is."""
    assert after(tmp_path, loss, *STEPS[:steps]) == {"old": b"old", **left}


def test_rename_without_a_sync_leaves_an_empty_file(tmp_path: Path) -> None:
    """The classic fault: the new name is there, the content is not, and the old content is gone."""
    steps = (STEPS[0], STEPS[1], ("r", "old", "new.tmp", 0, b""), STEPS[4])
    assert after(tmp_path, "named", *steps) == {"old": b""}


def test_removal_without_a_sync_is_undone(tmp_path: Path) -> None:
    """A removed name is back unless its folder was synced."""
    remove = ("u", "old", "", 0, b"")
    assert after(tmp_path, "dropped", remove) == {"old": b"old"}
    assert after(tmp_path, "named", remove) == {}
    assert after(tmp_path, "dropped", remove, STEPS[4]) == {}


def test_overwriting_and_truncating_need_a_sync(tmp_path: Path) -> None:
    """What was written over is back until the file is synced; a torn write has both."""
    write = ("w", "old", "", 0, b"NEWS")
    assert after(tmp_path, "named", write) == {"old": b"old"}
    assert after(tmp_path, "torn", write) == {"old": b"NEd"}
    assert after(tmp_path, "named", write, ("s", "old", "", 0, b"")) == {"old": b"NEWS"}
    emptied = ("o", "old", "", TRUNCATE_ON_OPEN, b"")
    assert after(tmp_path, "dropped", emptied, write) == {"old": b"old"}
    assert after(tmp_path, "named", emptied, write) == {"old": b""}


def test_databases_keep_their_names_and_what_was_synced(tmp_path: Path) -> None:
    """SQLite and DuckDB look after their own files: these are as they were when last synced."""
    steps = (
        ("o", "a.sqlite-wal", "", CREATE, b""),
        ("w", "a.sqlite-wal", "", 0, b"frame"),
        ("s", "a.sqlite-wal", "", 0, b""),
        ("w", "a.sqlite-wal", "", 5, b"later"),
    )
    assert after(tmp_path, "dropped", *steps) == after(tmp_path, "torn", *steps) | {"a.sqlite-wal": b"frame"}
