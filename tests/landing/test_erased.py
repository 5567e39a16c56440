"""Orders erased in raw files, by their ids and by the keys of their customers."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.load import Load
from pipelines.landing.merge import erase_in_raw
from pipelines.vault import open_vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE = "ring at the green door"


@pytest.fixture
def settings(configure: Callable[..., Any], tmp_path: Path) -> Any:
    """Return settings by which notes of couriers stay in documents."""
    return configure(tmp_path, '[privacy]\nplaintext_fields = ["dispatch_note"]\n')


@pytest.fixture
def landed(settings: Any, order: dict[str, Any], raw: Callable[..., Any]) -> Any:
    """Land orders 7 and 8 in a load each, and return what reads documents by id."""
    with open_vault(settings) as vault:
        for number in (7, 8):
            with Load(settings, vault, "orders", "live") as load:
                load.validate(json.dumps(order | {"id": number, "dispatch_note": NOTE}).encode())
                load.commit()
    return lambda: {row["id"]: row for row in raw("documents", "orders")}


def test_an_order_is_erased_by_its_id_alone(settings: Any, landed: Any) -> None:
    """Its plaintext goes and it is marked; the other's load is not written again, nor is anything the second time."""
    assert all(NOTE in row["document"] for row in landed().values())
    assert erase_in_raw(settings.data_dir, [7], []) == 1
    assert NOTE not in landed()[7]["document"]
    assert landed()[7]["is_erased"]
    assert NOTE in landed()[8]["document"]
    assert erase_in_raw(settings.data_dir, [7], []) == 0


def test_a_customers_key_goes_from_every_load(settings: Any, landed: Any, raw: Callable[..., Any]) -> None:
    """By its hash, without an order's id: documents stay as they are."""
    (key,) = {row["customer_key"] for row in raw("observations", "orders")}
    assert erase_in_raw(settings.data_dir, [], [hashlib.sha256(key.encode()).hexdigest()]) == 2
    assert {row["customer_key"] for row in raw("observations", "orders")} == {None}
    assert all(NOTE in row["document"] for row in landed().values())
