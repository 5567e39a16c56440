"""Say what came that was never seen before, and which stores fell silent.

Drift is told once, by the run that published a release: of loads that the release before did not have. Knows nothing of
how either is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SHOWN = 10  # of each in a terminal
_NEW = """
    select kind, path, change_type, value, example_ids from audit.schema_drift
    where load_id > ? order by kind desc, path, change_type, value
"""
_SILENT = """
    select silences.store_id, stores.name, inactive_from_date, day_count, expected_order_count
    from audit.inactive_periods as silences left join core.stores as stores using (store_id)
    where is_ongoing order by expected_order_count desc, store_id
"""


def alarms(db: duckdb.DuckDBPyConnection, release: Path, *, is_new: bool) -> Iterator[str]:
    """Yield lines on drift since the release before this one, and on silences that go on; none where all is usual.

    `db` is this release, opened; `is_new` says that this run published it: drift was told when it was new.
    """
    known = _last_load(release) if is_new else None
    new = db.execute(_NEW, [known]).fetchall() if known else []
    if new:
        yield f"New since the last release: {len(new):,} (audit.schema_drift)"
    for kind, path, what, value, ids in new[:_SHOWN]:
        first = f", first in {', '.join(map(str, ids))}" if ids else ""
        yield f"  {kind} {path}: {what}{'' if value is None else ' ' + repr(value)}{first}"
    silent = db.execute(_SILENT).fetchall()
    if silent:
        yield f"Stores without orders where they usually have some: {len(silent):,} (audit.inactive_periods)"
    for store_id, name, since, days, expected in silent[:_SHOWN]:
        yield f"  {store_id} {name or 'without a name'}: since {since}, {days} days, about {expected:.0f} orders missed"
    for each in (new, silent):
        if len(each) > _SHOWN:
            yield f"  and {len(each) - _SHOWN:,} more"


def _last_load(release: Path) -> str | None:
    """Return the last load of the release before this one; None where there is none to read."""
    before = [each for each in sorted(release.parent.iterdir()) if each.name < release.name]
    file = before[-1] / "ordermart.duckdb" if before else None
    if file is None or not file.exists():
        return None
    with duckdb.connect(str(file), read_only=True) as db:
        row = db.execute("select max(load_id) from audit.loads").fetchone()
    return row[0] if row else None
