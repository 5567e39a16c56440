"""Put the orders and menus that a run was asked for on the work list: files of ids, or a range."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pipelines.inbox.worklist import WorkList

_LARGEST_ID = 2**63 - 1


def ids_of_file(path: Path) -> Iterator[int]:
    """Yield the ids of a file, one per line; skip blank lines and lines that start with #.

    Raise SettingsError with file and line for anything that is not a 64-bit integer.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                if not (text.isascii() and text.lstrip("-").isdigit() and abs(int(text)) <= _LARGEST_ID):
                    raise SettingsError(f"{path.name}, line {number}: not a valid id; use one integer per line")
                yield int(text)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


def ids_of_range(text: str) -> range:
    """Return the ids of a range written A-B, both included; raise SettingsError for anything else."""
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last) <= _LARGEST_ID):
        raise SettingsError(f"--order-id-range: {text!r} is not a valid range; use A-B (inclusive), e.g. 100-200")
    return range(int(first), int(last) + 1)


def add_requested(
    work: WorkList,
    *,
    order_ids_file: str = "",
    order_id_range: str = "",
    menu_ids_file: str = "",
    unless_done_since: datetime | None = None,
) -> None:
    """Add the requested ids to the work list, each with the reason for the request.

    `unless_done_since` leaves out what was fetched since then, so that a repeated request resumes a killed run.
    """
    since = unless_done_since
    # Lists, not iterators: a file with an invalid line adds nothing.
    if order_ids_file:
        work.add("orders", list(ids_of_file(Path(order_ids_file))), why="order-ids file", unless_done_since=since)
    if order_id_range:
        work.add("orders", ids_of_range(order_id_range), why="order-id range", unless_done_since=since)
    if menu_ids_file:
        work.add("menus", list(ids_of_file(Path(menu_ids_file))), why="menu-ids file", unless_done_since=since)
