"""What a second night brings that the first did not show stands in audit.drift and in the run's summary."""

from __future__ import annotations

import datetime as dt
import json
import time
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.landing import open_load
from pipelines.report.alarms import alarms
from pipelines.settings import load_settings
from pipelines.vault import open_vault
from pipelines.warehouse import build, publish

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


def _order(order_id: int, **fields: Any) -> bytes:
    order = {
        "id": order_id,
        "user_name": "Canary K4n4ry",
        "store_id": 1,
        "status": "done",
        "created_at": "2026-11-20T10:00:00Z",
        "total_price": 5.25,
        "tip": 0,
        "items": [],
        "deliveries": [],
    }
    return json.dumps(order | fields).encode()


@pytest.fixture
def settings(place: Any) -> Settings:
    """Give the settings of a fresh data folder."""
    return load_settings(environ=place.environ)


def _night(settings: Settings, *orders: bytes) -> list[str]:
    with open_vault(settings) as vault, open_load(settings, vault, "orders") as load:
        for body in orders:
            load.judge(body, observed_at=dt.datetime.now(dt.UTC), http_status=200)
        load.commit()
    build(settings)
    release: Path = publish(settings).path
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
        return list(alarms(db, release))


@pytest.mark.slow
def test_a_new_value_field_and_null_are_told_once(settings: Settings) -> None:
    """The first night tells nothing, the second what is new with its first ids, the third nothing again."""
    assert _night(settings, _order(1), _order(2, status="new")) == []
    time.sleep(10.5)  # the pause that ends what later loads are compared with
    told = _night(settings, _order(1, status="eaten"), _order(3, tip=None, gift="K4n4ry"))
    assert told == [
        "New since the last release: 3 (audit.drift)",
        "  orders /gift: field 'string', first in 3",
        "  orders /status: value 'eaten', first in 1",
        "  orders /tip: null, first in 3",
    ]
    assert _night(settings, _order(2, status="done"), _order(4, status="new")) == []
