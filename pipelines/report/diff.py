"""Show the differences of two releases as lines or as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.warehouse.release.release_diff import Diff


def diff_json(found: Diff) -> str:
    """Return the differences as one JSON object; amounts are texts, exact."""
    rows, amounts = found.changes.rows, found.changes.amounts
    said = {"previous_release_id": found.before, "release_id": found.after, "changes": rows, "changed_amounts": amounts}
    return json.dumps(said, default=str)


def diff_lines(found: Diff) -> Iterator[str]:
    """Yield a line per table, store and month with rows that differ, and one below it per amount."""
    yield f"{found.before} → {found.after}"
    if not found.changes.rows:
        yield "No row of core or mart differs."
    amounts: dict[tuple[object, ...], list[str]] = {}
    for each in found.changes.amounts:
        place = each["table_name"], each["store_id"], each["month"]
        was, now = ("null" if each[name] is None else str(each[name]) for name in ("previous_amount", "current_amount"))
        amounts.setdefault(place, []).append(f"    {each['column_name']}: {was} → {now}")
    for each in found.changes.rows:
        place = each["table_name"], each["store_id"], each["month"]
        store = "" if each["store_id"] is None else f", store {each['store_id']}"
        month = "" if each["month"] is None else f", {each['month']}"
        counts = [f"{each[f'{what}_row_count']:,} {what}" for what in ("added", "removed", "changed")]
        yield f"{each['table_name']}{store}{month}: rows {', '.join(counts)}"
        yield from amounts.get(place, [])
