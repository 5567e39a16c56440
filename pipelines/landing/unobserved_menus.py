"""Tell which orders are of a time at which no menu of their store was observed.

Reads raw files alone.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import msgspec
import pyarrow.parquet as pq

from pipelines.landing.checksums import naming_damage
from pipelines.landing.raw_files import raw_files

if TYPE_CHECKING:
    from pathlib import Path


class _Order(msgspec.Struct):
    store_id: int | None = None
    created_at: str | None = None


class _Store(msgspec.Struct):
    id: int
    menu_ids: list[int] = []


_ORDER = msgspec.json.Decoder(_Order)
_STORE = msgspec.json.Decoder(_Store)


class ObservedMenus:
    """When each store's first menu was observed, by the landed documents."""

    def __init__(self, data_dir: Path) -> None:
        first: dict[int, dt.datetime] = {}
        for file in raw_files(data_dir, "menus").observations:
            with naming_damage(data_dir, file.path):
                table = pq.read_table(file.path, columns=["id", "observed_at", "verdict"])
            for id_, at, verdict in zip(*(column.to_pylist() for column in table.columns), strict=True):
                if at is not None and verdict in ("accepted", "unchanged"):
                    first[id_] = min(at, first.get(id_, at))
        self._since: dict[int, dt.datetime] = {}
        for file in raw_files(data_dir, "stores").documents:
            if not file.path.exists():
                continue
            with naming_damage(data_dir, file.path):
                texts = pq.read_table(file.path, columns=["document"]).column(0).to_pylist()
            for text in texts:
                store = _STORE.decode(text)
                times = [first[menu] for menu in store.menu_ids if menu in first]
                if times:
                    self._since[store.id] = min([*times, *filter(None, [self._since.get(store.id)])])

    def had(self, body: bytes) -> bool:
        """Tell whether a menu of the order's store had been observed when the order was made."""
        try:
            order = _ORDER.decode(body)
            created = dt.datetime.fromisoformat(order.created_at or "")
        except (msgspec.DecodeError, ValueError, RecursionError):
            return False
        since = None if order.store_id is None else self._since.get(order.store_id)
        return since is not None and since <= (created if created.tzinfo else created.replace(tzinfo=dt.UTC))
