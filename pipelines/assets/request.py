"""Say which orders and menus a run is to pull: files of ids, a range, or only what is already due.

Knows nothing of Dagster or HTTP; fills the work list.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from pipelines.inbox.worklist import WorkList

_LARGEST_ID = 2**63 - 1


def ids_of_file(path: Path) -> Iterator[int]:
    """Yield the ids of a file, one a line; blank lines and lines that start with # are passed over.

    Raise SettingsError naming the file and the line for anything that is no 64-bit integer.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                if not (text.isascii() and text.lstrip("-").isdigit() and abs(int(text)) <= _LARGEST_ID):
                    raise SettingsError(f"{path.name}, line {number}: not an id; give one integer a line")
                yield int(text)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


def ids_of_range(text: str) -> range:
    """Return the ids of a range written A-B, both ends included; raise SettingsError when it is not one."""
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last) <= _LARGEST_ID):
        raise SettingsError(f"{text!r} is no range of ids: write it as A-B, both ends included")
    return range(int(first), int(last) + 1)


def ask_for(
    work: WorkList,
    *,
    order_ids_file: str = "",
    order_id_range: str = "",
    menu_ids_file: str = "",
    unless_done_since: datetime | None = None,
) -> None:
    """Put what was asked for into the work list, each id with why it is there.

    `unless_done_since` leaves out what was fetched since then: the same request given again after a kill goes on.
    """
    since = unless_done_since
    if order_ids_file:
        work.add("orders", _whole(ids_of_file(Path(order_ids_file))), why="order-ids file", unless_done_since=since)
    if order_id_range:
        work.add("orders", ids_of_range(order_id_range), why="order-id range", unless_done_since=since)
    if menu_ids_file:
        work.add("menus", _whole(ids_of_file(Path(menu_ids_file))), why="menu-ids file", unless_done_since=since)


def _whole(ids: Iterable[int]) -> list[int]:
    # A file with a wrong line adds nothing: half a file in the work list would look like the whole one.
    return list(ids)
