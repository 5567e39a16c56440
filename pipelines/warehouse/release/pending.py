"""Tell whether anything waits to be built or published, without building.

Compares what is landed, what shapes the tables and what the current release shows.
Reads only; whatever cannot be read counts as waiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from pipelines.landing import raw_files
from pipelines.landing.checksums import RawDamageError, check_raw
from pipelines.ledger import LedgerError
from pipelines.literals import literal
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.build.build import warehouse_file
from pipelines.warehouse.inputs.reference import read_reference
from pipelines.warehouse.inputs.sources import states
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import current_release
from pipelines.warehouse.rows.session import Memory, fingerprint_of, remembered

if TYPE_CHECKING:
    from pipelines.settings import Settings


def is_anything_pending(settings: Settings) -> bool:
    """Tell whether a build or a publication would do anything, or would fail."""
    file = warehouse_file(settings.data_dir)
    release = current_release(settings.data_dir / "published")
    known = read_manifest(release) if release else None
    if known is None or not file.exists():
        return True
    try:
        check_raw(settings.data_dir, hashes=False)
        now = Memory(fingerprint_of(settings), states(settings))
        landed = {load_id for kind in KINDS for load_id in raw_files(settings.data_dir, kind).load_ids}
        with duckdb.connect(":memory:") as con:
            con.execute(f"attach {literal(file)} as warehouse (read_only)")
            built = remembered(con)
            applied = {row[0] for row in con.execute("select load_id from warehouse.build.loads").fetchall()}
            (shown_in,) = con.execute("select shown_in from warehouse.build.memory").fetchone() or ("",)
    except (duckdb.Error, RawDamageError, LedgerError):
        return True
    return (built, applied, known.shown_in, known.fingerprint, known.reference) != (
        now,
        landed,
        shown_in,
        now.fingerprint,
        read_reference(settings).digest,
    )
