"""Remove from a copy of the vault what loads wrote that the copy of raw does not have.

Needs no keys and never touches the vault itself.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipelines.inventory import Head


def forget_later_loads(copy: Path, landed: Iterable[str], since: str, head: Head | None) -> None:
    """Undo loads of load_id `since` or later that are not among the `landed`, as if they had been killed.

    The ledger's `head` is that of the copied ledger, which may be of fewer entries.
    """
    known = set(landed)
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("pragma secure_delete = on")
        rows = db.execute(
            """
            select load_id from personal_data where load_id >= ?1
            union select load_id from refused where load_id >= ?1 and kind <> 'webhooks'
            union select load_id from open_loads
            """,
            (since,),
        ).fetchall()
        later = [(load_id,) for (load_id,) in rows if load_id not in known]
        db.execute("begin")
        for table in ("personal_data", "refused", "open_loads"):
            db.executemany(f"delete from {table} where load_id = ?", later)
        if head is not None and head.signature:
            query = "update meta set value = ? where name = 'ledger/head' and value <> ?"
            db.execute(query, (msgspec.json.encode(head),) * 2)
        db.execute("commit")
