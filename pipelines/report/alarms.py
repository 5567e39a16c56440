"""Report schema drift since the previous release, and stores without orders.

Drift is reported once, by the run that publishes it: of loads that the previous release did not have.
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
    """Yield lines on drift since the previous release and on inactive stores; none if there is nothing to report.

    `db` is this release, opened; `is_new`: this run published it. Drift is reported for a new release only.
    """
    known = _last_load(release) if is_new else None
    new = db.execute(_NEW, [known]).fetchall() if known else []
    if new:
        yield f"Schema drift since the previous release: {len(new):,} (audit.schema_drift)"
    for kind, path, what, value, ids in new[:_SHOWN]:
        first = f", first in {', '.join(map(str, ids))}" if ids else ""
        yield f"  {kind} {path}: {what}{'' if value is None else ' ' + repr(value)}{first}"
    silent = db.execute(_SILENT).fetchall()
    if silent:
        yield f"Stores without the usual orders: {len(silent):,} (audit.inactive_periods)"
    for store_id, name, since, days, expected in silent[:_SHOWN]:
        yield f"  {store_id} {name or 'without a name'}: since {since}, {days} days, about {expected:.0f} orders missed"
    for rows in (new, silent):
        if len(rows) > _SHOWN:
            yield f"  and {len(rows) - _SHOWN:,} more"


def _last_load(release: Path) -> str | None:
    """Return the last load of the previous release; None if there is none to read."""
    before = [folder for folder in sorted(release.parent.iterdir()) if folder.name < release.name]
    file = before[-1] / "ordermart.duckdb" if before else None
    if file is None or not file.exists():
        return None
    with duckdb.connect(str(file), read_only=True) as db:
        row = db.execute("select max(load_id) from audit.loads").fetchone()
    return row[0] if row else None
