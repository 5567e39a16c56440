"""Say what a verification proved, and the first row of each table that differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.warehouse.verify import Verification


def verification_lines(found: Verification) -> Iterator[str]:
    """Yield the lines that tell it: the first difference of each table and place, then what was compared."""
    for difference in found.differences:
        yield f"DIFFERENT  {difference.sentence()}"
    places = "the warehouse and the current release" if found.has_release else "the warehouse"
    became = f"{len(found.differences)} differences" if found.differences else "every row is the same"
    yield f"{found.orders:,} orders in {len(found.tables)} tables rebuilt and compared with {places}: {became}"
    if not found.has_release:
        yield "The current release is of another build, so it was not compared: run `ordermart build` to publish."
    if found.left_out:
        yield f"Not compared, because the ledger or a log changed since the build: {', '.join(sorted(found.left_out))}"
    if found.differences:
        yield "Run `ordermart build --full` to rebuild every table, and report the difference."
