"""Shared by the gate's tests: settings in a fresh folder, an open vault, a clean order and menu, readers of raw/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.landing.load import Load
from pipelines.landing.raw_folder import raw_files
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def shared() -> Path:
    """Return the folder of data that nobody here wrote, or skip."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not there")
    return SHARED


@pytest.fixture(scope="session")
def configure(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Settings]:
    """Return a function that makes settings in a folder, with other values than the defaults as TOML lines."""
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    new_key_file(keys)

    def make(folder: Path, toml: str = "") -> Settings:
        environ = {"ORDERMART_VAULT__KEY_FILE": str(keys)}
        file = folder / "ordermart.toml"
        file.write_text(toml, encoding="utf-8")
        return load_settings(file, environ=environ)

    return make


@pytest.fixture
def settings(configure: Callable[..., Settings], tmp_path: Path) -> Settings:
    """Return settings with every default, in a fresh folder."""
    return configure(tmp_path)


@pytest.fixture
def vault(settings: Settings) -> Iterator[Vault]:
    """Return the open vault of `settings`."""
    with open_vault(settings) as opened:
        yield opened


@pytest.fixture
def order() -> dict[str, Any]:
    """Return an order with every documented field."""
    return {
        "id": 7,
        "user_phone": "+1 212 555 0100",
        "user_email": "ann@example.com",
        "user_address": "1 Park Avenue",
        "user_name": "Ann",
        "apartment_details": "",
        "user_latitude": 40.80255,
        "user_longitude": -73.94072,
        "dispatch_note": "ring twice",
        "dispatch_method": "store_delivery",
        "store_id": 3,
        "status": "preparing",
        "platform": "web",
        "requested_time": "2026-10-01T12:00:00Z",
        "promised_delivery_time": "2026-10-01T12:40:00Z",
        "promised_pick_up_time": None,
        "created_at": "2026-10-01T11:59:00.123Z",
        "subtotal_price": 23.5,
        "delivery_price": 2,
        "tip": 0,
        "discount": 1.25,
        "loyalty_discount": 0,
        "total_price": 24.25,
        "items": [
            {
                "id": 71,
                "product_id": 100,
                "quantity": 2,
                "name": "Pizza",
                "instructions": "no olives",
                "price": 10.5,
                "modifiers": [{"id": 900, "name": "Large", "price": 1.25, "action": "add", "quantity": 1}],
            },
        ],
        "deliveries": [
            {
                "id": 5,
                "type": "own_delivery",
                "confirmation_code": "4711",
                "status": "confirmed",
                "tracking_url": "https://track.example/x",
            },
        ],
    }


@pytest.fixture
def menu() -> dict[str, Any]:
    """Return a menu with every documented field."""
    price = {"price_id": 1, "product_id": 100, "position": 1, "channel": "both", "price": 10.5, "delivery_price": 11}
    return {
        "menu": {
            "id": 40,
            "name": "Lunch",
            "price_groups": [{"id": 2, "name": "Pizza", "position": 1, "prices": [price]}],
        },
        "products": {
            "100": {
                "name": "Pizza",
                "description": "thin",
                "dispatch_method": "both",
                "modifiers": [{"modifier_id": 900, "position": 1, "price": 1.25}],
            },
        },
        "modifiers": {"900": {"name": "Large", "description": "", "children": []}},
    }


@pytest.fixture
def land(settings: Settings, vault: Vault) -> Callable[..., LoadSummary]:
    """Return a function that lands documents (objects or bytes) of a kind in one load."""

    def run(kind: str, *documents: Any, source: Any = "live", **how: Any) -> LoadSummary:
        with Load(settings, vault, kind, source) as load:
            for document in documents:
                load.validate(document if isinstance(document, bytes) else json.dumps(document).encode(), **how)
            return load.commit()

    return run


@pytest.fixture
def raw(settings: Settings) -> Callable[[str, str], list[dict[str, Any]]]:
    """Return a function that reads all rows of `documents` or `observations` of a kind, in order."""

    def rows(area: str, kind: str) -> list[dict[str, Any]]:
        files = getattr(raw_files(settings.data_dir, kind), area)
        return pa.concat_tables([pq.read_table(f.path) for f in files]).to_pylist() if files else []

    return rows
