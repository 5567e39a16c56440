"""What a second night brings that the first did not show stands in audit.schema_drift and in the run's summary."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.landing.load import Load
from pipelines.record import Step
from pipelines.report.outcomes import drift_and_silence, summary
from pipelines.settings import load_settings
from pipelines.vault import open_vault
from pipelines.warehouse.building.build import build
from pipelines.warehouse.release.release import publish
from tests.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


NOW = dt.datetime(2026, 11, 5, 3, tzinfo=dt.UTC)


def _items(action: str) -> list[dict[str, Any]]:
    modifier = {"id": 3, "name": "Salt", "price": 0, "action": action, "quantity": 1}
    return [{"id": 1, "product_id": 5, "quantity": 1, "name": "Soup", "price": 5.25, "modifiers": [modifier]}]


def _order(order_id: int, **fields: Any) -> bytes:
    order = {
        "id": order_id,
        "user_name": "Canary K4n4ry",
        "store_id": 1,
        "status": "done",
        "platform": "web",
        "created_at": "2026-11-20T10:00:00Z",
        "total_price": 5.25,
        "tip": 0,
        "items": _items("add"),
        "deliveries": [{"id": 1, "type": "own_delivery", "status": "confirmed"}],
    }
    return json.dumps(order | fields).encode()


@pytest.fixture
def settings(place: Any) -> Settings:
    """Give the settings of a fresh data folder."""
    return load_settings(environ=place.environ)


def _night(settings: Settings, day: int, *orders: bytes) -> list[str]:
    """Land a load of these on a day of November, publish, and return the alarms."""
    now = dt.datetime(2026, 11, day, 3, tzinfo=dt.UTC)
    with open_vault(settings) as vault, Load(settings, vault, "orders", now=lambda: now) as load:
        for body in orders:
            load.validate(body, observed_at=now, http_status=200)
        load.commit()
    build(settings)
    release: Path = publish(settings).path
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
        return list(drift_and_silence(db, release, is_new=True))


@pytest.mark.slow
def test_alarms_report_new_values_fields_and_nulls_once(settings: Settings) -> None:
    """The first night reports nothing, the second new values with their first ids, the third nothing again."""
    assert _night(settings, 2, *map(_order, range(1, 7)), _order(7, status="new")) == []
    drones = [{"id": 1, "type": "drone", "status": "confirmed"}]
    second = [
        _order(1, status="eaten"),  # a status alone, and then other fields alone, of orders that are known
        _order(2, platform="kiosk"),
        _order(3, dispatch_method="robot"),
        _order(4, items=_items("swap")),
        _order(5, deliveries=drones),
        _order(8, tip=None, total_price=None, gift="K4n4ry"),
    ]
    assert _night(settings, 3, *second) == [
        "Schema drift since the previous release: 8 (audit.schema_drift)",
        "  orders /?: field 'string', first in 8",  # its name is hidden until many customers' orders have it
        "  orders /deliveries/*/type: value 'drone', first in 5",
        "  orders /dispatch_method: value 'robot', first in 3",
        "  orders /items/*/modifiers/*/action: value 'swap', first in 4",
        "  orders /platform: value 'kiosk', first in 2",
        "  orders /status: value 'eaten', first in 1",
        "  orders /tip: null, first in 8",
        "  orders /total_price: null, first in 8",
    ]
    heading = "Schema drift since the previous release"
    published, nothing = ("\n".join(summary(settings, recorded(NOW, is_new=is_new))) for is_new in (True, False))
    assert heading in published
    assert "  unmapped 36.75 no currency in 7 of 8 orders\n" in published, "of the orders that state a total"
    assert "Published nothing" not in published
    assert heading not in nothing
    assert nothing.strip().startswith("Published nothing: the current release is still ")
    kept = recorded(NOW)
    kept.why_kept = "nothing changed"
    reason = "Published nothing: nothing changed; the current release is still /"
    assert "\n".join(summary(settings, kept)).strip().startswith(reason)
    # a later status of an order makes nothing else of it new
    third = [_order(2, platform="kiosk", status="eaten"), _order(5, deliveries=drones, status="new"), _order(9)]
    assert _night(settings, 4, *third) == []


@pytest.mark.slow
def test_alarms_report_a_document_that_stays_refused_once(settings: Settings) -> None:
    """The night in which a documented field first has another type says so; those that meet it again say nothing."""
    refused = _order(7, user_name=["Canary K4n4ry"])
    assert _night(settings, 2, *map(_order, range(1, 7))) == []
    assert _night(settings, 3, refused) == [
        "Schema drift since the previous release: 1 (audit.schema_drift)",
        "  orders /user_name: type, first in 7",
    ]
    assert _night(settings, 4, _order(8), refused) == []


def test_a_good_night_says_what_it_mended(settings: Settings) -> None:
    """Other notes are for --verbose; that a file was damaged is said, however well the night ended."""
    run = recorded(NOW)
    run.steps.append(Step("heal", NOW, NOW, said=["raw/service/2.json is damaged, and was made again."]))
    run.steps.append(Step("orders", NOW, NOW, said=["No known orders needed re-fetching."]))
    assert run.run_state == "good"
    assert "  raw/service/2.json is damaged, and was made again." in list(summary(settings, run))
    assert "re-fetching" not in "\n".join(summary(settings, run))
