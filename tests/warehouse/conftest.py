"""A data folder whose raw files are written row by row, in the gate's layout, with the real build over it."""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
import json
import shutil
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.landing.raw_rows import OBSERVATIONS, documents_schema
from pipelines.settings import load_settings
from pipelines.warehouse.building.build import build, warehouse_file
from pipelines.warehouse.catalogue.tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pipelines.settings import Settings
    from pipelines.warehouse.rows.fresh_rows import BuildResult

Document = dict[str, Any]
PRICES = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
START = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


class World:
    """One data folder: lands verdicts, builds, reads tables."""

    def __init__(self, folder: Path, **environ: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "ordermart.toml"
        file.write_text("", encoding="utf-8")
        self._environ = {"ORDERMART_WAREHOUSE__THREADS": "1", **environ}
        self.settings: Settings = load_settings(file, self._environ)
        self.data = self.settings.data_dir
        self._loads = 0
        self._known: set[tuple[str, int, str]] = set()

    def land(
        self,
        kind: str,
        verdicts: Iterable[dict[str, Any]],
        source: str = "live",
        load_id: str | None = None,
    ) -> str:
        """Land one load of verdicts: id, document or verdict, at (hours after START, or None), customer, gate, cost."""
        self._loads += 1
        load_id = load_id or f"20261101T{self._loads:012d}-{self._loads:06x}"
        documents, observations = [], []
        for seq, each in enumerate(verdicts):
            document = each.get("document")
            text = None if document is None else json.dumps(document, separators=(",", ":"))
            sha = None if text is None else hashlib.sha256(text.encode()).hexdigest()
            at = each.get("at", 0)
            observations.append(
                {
                    "kind": kind,
                    "id": each["id"],
                    "seq": seq,
                    "observed_at": None if at is None else START + dt.timedelta(hours=at),
                    "source": source,
                    "verdict": each.get("verdict", "accepted"),
                    "sha256": sha,
                    "http_status": 404 if each.get("verdict") == "missing" else 200,
                    "load_id": load_id,
                    "reason": each.get("reason"),
                    "pointer": each.get("pointer"),
                    "customer_key": each.get("customer"),
                    "changed_personal": each.get("personal", []),
                    "refused_ref": None,
                    **each.get("cost", {}),
                }
            )
            if (
                document is not None
                and text is not None
                and sha is not None
                and (kind, each["id"], sha) not in self._known
            ):
                self._known.add((kind, each["id"], sha))
                documents.append(
                    {
                        "id": each["id"],
                        "sha256": sha,
                        "document": text,
                        "load_id": load_id,
                        "bytes": len(text),
                        "absences": each.get("absences", []),
                        "rounded": 0,
                        "has_unknown": "_unknown" in document,
                        **gate_counts(kind, document),
                        **each.get("gate", {}),
                    }
                )
        self._write("documents", kind, load_id, documents, documents_schema(kind))
        self._write("observations", kind, load_id, observations, OBSERVATIONS)
        return load_id

    def _write(self, area: str, kind: str, load_id: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
        folder = self.data / "raw" / area / kind
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / f"{load_id}.parquet", compression="zstd")

    def copied(self, folder: Path) -> World:
        """Return the same world in another folder."""
        shutil.copytree(self.settings.file.parent, folder, symlinks=True)
        world = copy.copy(self)
        world._known = set(self._known)
        world.settings = load_settings(folder / self.settings.file.name, self._environ)
        world.data = world.settings.data_dir
        return world

    def build(self, *, full: bool = False) -> BuildResult:
        """Build for real."""
        return build(self.settings, full=full)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a select on the warehouse."""
        with duckdb.connect(str(warehouse_file(self.data)), read_only=True) as con:
            con.execute("set timezone = 'UTC'")
            return con.execute(sql).fetchall()

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows of all tables, sorted."""
        with duckdb.connect(str(warehouse_file(self.data)), read_only=True) as con:
            con.execute("set timezone = 'UTC'")
            return {table.name: sorted(con.execute(f"from {table.name}").fetchall(), key=repr) for table in tables()}


def gate_counts(kind: str, document: Document) -> dict[str, Any]:
    """Count and add up as the gate does, by other means than the gate's and the warehouse's."""
    if kind == "stores":
        return {"menu_ids": len(document.get("menu_ids") or [])}
    if kind == "menus":
        groups = (document.get("menu") or {}).get("price_groups") or []
        prices = [price for group in groups for price in group.get("prices") or []]
        products, modifiers = document.get("products") or {}, document.get("modifiers") or {}
        of_products = [each for product in products.values() for each in product.get("modifiers") or []]
        of_modifiers = [each for modifier in modifiers.values() for each in modifier.get("children") or []]
        return {
            "price_groups": len(groups),
            "prices": len(prices),
            "products": len(products),
            "product_references": len(of_products),
            "modifiers": len(modifiers),
            "child_references": len(of_modifiers),
            "price_money": _total(price.get("price") for price in prices),
            "delivery_price_money": _total(price.get("delivery_price") for price in prices),
            "reference_money": _total(each.get("price") for each in of_products + of_modifiers),
        }
    items = document.get("items") or []
    modifiers_ = [each for item in items for each in item.get("modifiers") or []]
    return {
        "lines": len(items),
        "modifiers": len(modifiers_),
        "deliveries": len(document.get("deliveries") or []),
        "order_money": _total(document.get(price) for price in PRICES),
        "line_money": _total(item.get("price") for item in items),
        "modifier_money": _total(each.get("price") for each in modifiers_),
    }


def order(order_id: int, **fields: Any) -> Document:
    """Return a canonical order of two lines, three modifiers and a delivery; `fields` take the place of its own."""
    return {
        "id": order_id,
        "has_user_phone": True,
        "has_dispatch_note": False,
        "dispatch_method": "store_delivery",
        "store_id": 1 + order_id % 2,
        "status": "preparing",
        "platform": "web",
        "requested_time": "2026-11-01T11:30:00Z",
        "promised_pick_up_time": None,
        "created_at": f"2026-11-{1 + order_id % 3:02d}T10:00:00Z",
        "subtotal_price": "12.50",
        "delivery_price": "2",
        "tip": "0.0001",
        "discount": "1e0",
        "loyalty_discount": None,
        "total_price": "13.5001",
        "items": [
            {
                "id": 10 * order_id,
                "product_id": 100 + order_id % 2,
                "quantity": 2,
                "name": "Soup",
                "has_instructions": True,
                "price": "5.25",
                "modifiers": [
                    {"id": 201, "name": "Big", "price": "1.00", "action": "add", "quantity": 1},
                    {"id": 201, "name": "Big", "price": "1.00", "action": "add", "quantity": 2},
                ],
            },
            {
                "id": 10 * order_id + 1,
                "product_id": 101,
                "quantity": 1,
                "name": "Bread",
                "has_instructions": False,
                "price": "2",
                "modifiers": [{"id": 202, "name": "Salt", "price": None, "action": "add", "quantity": 1}],
            },
        ],
        "deliveries": [{"id": 7, "type": "own_delivery", "has_confirmation_code": True, "status": "confirmed"}],
        **fields,
    }


def menu(menu_id: int, products: Sequence[int] = (100, 101), **prices: str) -> Document:
    """Return a canonical menu that sells these products, each with modifier 201 and its child 202."""
    return {
        "menu": {
            "id": menu_id,
            "name": f"Menu {menu_id}",
            "price_groups": [
                {
                    "id": 1,
                    "name": "All",
                    "position": 1,
                    "prices": [
                        {
                            "price_id": product,
                            "product_id": product,
                            "position": place,
                            "channel": "both",
                            "price": prices.get(f"p{product}", "5.25"),
                            "delivery_price": "6",
                        }
                        for place, product in enumerate(products, 1)
                    ],
                }
            ],
        },
        "products": {
            str(product): {
                "name": f"Product {product}",
                "description": None,
                "dispatch_method": "both",
                "modifiers": [{"modifier_id": 201, "position": 1, "price": "1.00"}],
            }
            for product in products
        },
        "modifiers": {
            "201": {"name": "Size", "description": "", "children": [{"modifier_id": 202, "position": 1, "price": "0"}]},
            "202": {"name": "Salt", "description": "", "children": []},
        },
    }


def store(store_id: int, **fields: Any) -> Document:
    """Return a canonical store with menu 1."""
    return {
        "id": store_id,
        "name": f"Store {store_id}",
        "timezone": "Europe/Berlin",
        "currency": "EUR",
        "menu_ids": [1],
        "attributes": {},
        **fields,
    }


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give an empty data folder."""
    return World(tmp_path / "world")


@pytest.fixture
def other(tmp_path: Path) -> World:
    """Give another empty data folder."""
    return World(tmp_path / "other")


@pytest.fixture
def make_order() -> Any:
    """Give `make_order(order_id, **fields)`: a canonical order."""
    return order


@pytest.fixture
def make_menu() -> Any:
    """Give `make_menu(menu_id, products, p100="9")`: a canonical menu."""
    return menu


@pytest.fixture
def make_store() -> Any:
    """Give `make_store(store_id, **fields)`: a canonical store."""
    return store


def _total(texts: Iterable[str | None]) -> Decimal:
    return sum((Decimal(text) for text in texts if text is not None), Decimal(0))


@pytest.fixture(scope="session")
def world_of() -> Any:
    """Give `world_of(folder, **environ)`: a data folder there."""
    return World


@pytest.fixture(scope="session")
def makers() -> Any:
    """Give the makers of canonical orders, menus and stores."""
    return order, menu, store
