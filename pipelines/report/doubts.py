"""Say when settings look wrong by what a run did: keys that are gone, and statuses of sales that never occur."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.literals import one_line as plain
from pipelines.record import current_release
from pipelines.report.text import counted
from pipelines.settings import given_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipelines.record import Run
    from pipelines.settings import Settings

_FEWEST_ORDERS = 20  # that show which statuses there are
_STATUSES = "select status, count(*) as n from mart.orders group by 1 order by n desc, 1"
_SHOWN = 8


def lost_keys(settings: Settings, earlier: Iterable[Run]) -> Iterator[str]:
    """Yield a sentence if the settings file lost keys since the last good run that is remembered."""
    good = [run.keys for run in earlier if run.verdict == "good"]
    lost = sorted(set(good[-1]) - given_keys(settings.file)) if good else []
    if lost := [_shown(key) for key in lost if _is_known(settings, key)]:
        keys = ", ".join(lost[:_SHOWN]) + (", …" if len(lost) > _SHOWN else "")
        yield (
            f"{settings.file.name} lacks {counted(len(lost), 'key', 'keys')} of the last good run: {keys}. Was it cut "
            "off? Write them again, with their defaults of ordermart.toml if they are meant to go"
        )


def _is_known(settings: Settings, key: str) -> bool:
    """Tell whether there is such a setting: a release may have given it up."""
    found: Any = settings
    for part in key.split("."):
        found = getattr(found, part, None)
    return found is not None


def _shown(key: str) -> str:
    *tables, name = key.split(".")
    return f"[{'.'.join(tables)}] {name}"


def unused_statuses(settings: Settings) -> Iterator[str]:
    """Yield a sentence if no order of the release has a status that counts as a sale, though some are named."""
    release = current_release(settings.data_dir / "published")
    if release is None or not settings.sales.counted_statuses:
        return
    try:
        with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
            seen = db.execute(_STATUSES).fetchall()
    except duckdb.Error:
        return  # whoever reads the release names the fault
    is_enough = sum(number for _, number in seen) >= _FEWEST_ORDERS
    if is_enough and {status for status, _ in seen}.isdisjoint(settings.sales.counted_statuses):
        yield f"no order has a status of [sales] counted_statuses; orders have {named(seen)}"


def named(seen: Sequence[tuple[str | None, int]]) -> str:
    """Return statuses with their numbers of orders, the most frequent first."""
    return ", ".join(f"{plain(status or 'none')} {number:,}" for status, number in seen[:_SHOWN])
