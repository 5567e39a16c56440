"""A data folder in which days are closed: documents are landed row by row; releases and ledger are real."""

from __future__ import annotations

import copy
import datetime as dt
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.finance import closing
from pipelines.finance.released import one_day, period_of
from pipelines.ledger import Ledger, ledger_of
from pipelines.settings import load_settings
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal
    from types import ModuleType

    from pipelines.finance.closing import Closed, Posting

_SPEC = importlib.util.spec_from_file_location("landed", Path(__file__).parents[1] / "warehouse" / "conftest.py")
assert _SPEC
assert _SPEC.loader
LANDED: ModuleType = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(LANDED)

# Hours after 2026-11-01 12:00 UTC: before any close of these tests, whenever they run, and after all of them.
BEFORE, AFTER = -24 * 3650, 24 * 3650 * 4
WHY = "the tests close what they have"
RULES = {
    "total_rule": "observed/unrounded",
    "subtotal_rule": "line_price/no_modifiers/all_add/before_discount/unrounded",
}
# An order that both rules explain.
LINE = {"id": 1, "product_id": 100, "quantity": 1, "name": "Soup", "has_instructions": False, "price": "7.25"}
BALANCED = {
    "items": [LINE | {"modifiers": []}],
    "subtotal_price": "7.25",
    "delivery_price": "2",
    "tip": "0",
    "discount": "1",
    "loyalty_discount": "0",
    "total_price": "8.25",
}


def _toml(value: Any) -> str:
    """Return a value, with dictionaries as inline tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(_toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


class Books:
    """One data folder: lands orders, publishes, closes, reopens, posts."""

    def __init__(self, folder: Path) -> None:
        self.world = LANDED.World(folder)
        self.loads = 0
        self.tables: dict[str, dict[str, Any]] = {}
        self.set(sales={"counted_statuses": ["done"], "excluded_statuses": ["refused"]})

    def copied(self, folder: Path) -> Books:
        """Return the same books in another folder."""
        books = copy.copy(self)
        books.world = self.world.copied(folder)
        books.tables = dict(self.tables)
        return books

    def empty_ledger(self) -> None:
        """Remove the ledger, and the record that knows of it."""
        for file in self.ledger.folder.glob("*"):
            file.unlink()
        for name in ("inventory.json", "inventory-copy.json"):
            (self.settings.data_dir / name).unlink(missing_ok=True)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the folder."""
        return ledger_of(self.world.data)

    @property
    def settings(self) -> Any:
        """The settings in force."""
        return self.world.settings

    def set(self, **tables: dict[str, Any]) -> None:
        """Write the settings file again, with these tables replaced."""
        self.tables |= tables
        lines = [
            f"[{table}]\n" + "\n".join(f"{key} = {_toml(value)}" for key, value in keys.items())
            for table, keys in self.tables.items()
        ]
        file: Path = self.world.settings.file
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.world.settings = load_settings(file, {"ORDERMART_WAREHOUSE__THREADS": "1"})

    def land(self, order_id: int, at: int = BEFORE, verdict: str = "accepted", **fields: Any) -> None:
        """Land one verdict about an order, so many hours after START."""
        each: dict[str, Any] = {"id": order_id, "at": at, "verdict": verdict, "customer": "c"}
        if verdict == "accepted":
            each["document"] = LANDED.order(order_id, **({"status": "done"} | fields))
        elif verdict == "quarantined":
            each |= {"reason": "wrong_type", "pointer": "/items/0/price"}
        self.loads += 1
        self.world.land("orders", [each], load_id=f"20160101T{self.loads:012d}-abcdef")

    def store(self, store_id: int, **fields: Any) -> dict[str, Any]:
        """Return a canonical store."""
        document: dict[str, Any] = LANDED.store(store_id, **fields)
        return document

    def order(self, order_id: int, **fields: Any) -> dict[str, Any]:
        """Return a canonical order of store 1."""
        document: dict[str, Any] = LANDED.order(order_id, **({"status": "done", "store_id": 1} | fields))
        return document

    def publish(self, *, full: bool = False) -> None:
        """Build, record, publish, as a night does."""
        closing.build_and_record(self.settings, full=full)
        publish(self.settings)

    def close(self, what: str, store_id: int | None = None) -> Closed:
        """Close a day or a period, whatever the blockers."""
        period = one_day(what) if what.count("-") > 1 else period_of(self.settings, what)
        return closing.close(self.settings, period, store_id, exceptions=WHY)

    def reopen(self, day: str, store_id: int | None = None) -> None:
        """Reopen a day."""
        closing.reopen(self.settings, dt.date.fromisoformat(day), store_id, "a test")

    def post(self, period: str) -> Posting:
        """Post the unposted restatements."""
        return closing.post(self.settings, period)

    def all(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the current release."""
        with duckdb.connect(str(self.world.data / "published/current/ordermart.duckdb"), read_only=True) as con:
            con.execute("set timezone = 'UTC'")
            return con.execute(query).fetchall()

    def restated(self, *columns: str, measure: str = "total_price") -> list[tuple[Any, ...]]:
        """Return these columns of the restatements of one measure, by number."""
        selected = ", ".join(columns)
        return self.all(f"select {selected} from mart.restatements where measure = '{measure}' order by restatement_no")

    def causes(self) -> dict[int, set[str]]:
        """Return the causes of each order's restatements."""
        found: dict[int, set[str]] = {}
        for order_id, cause in self.all("select order_id, cause from mart.restatements"):
            found.setdefault(order_id, set()).add(cause)
        return found

    def off(self) -> list[tuple[Any, ...]]:
        """Return the rows of mart.closed_days that do not add up, found independently of the build."""
        return self.all(
            """
            select * from mart.closed_days as days
            where closed_amount + posted_amount + unposted_amount <> current_amount
                or current_amount <> coalesce((
                    select if(days.measure = 'order_count', count(*), sum(total_price)) from mart.orders as orders
                    where orders.business_date = days.business_date
                        and orders.store_id is not distinct from days.store_id and orders.sale_class = days.sale_class
                        and orders.currency is not distinct from days.currency
                        and orders.platform is not distinct from days.platform
                ), 0) and measure in ('order_count', 'total_price')
            """
        )

    def total(self, column: str) -> Decimal | None:
        """Return the sum of a column of mart.closed_days, of total_price."""
        query = f"select sum({column}) from mart.closed_days where measure = 'total_price'"
        found: Decimal | None = self.all(query)[0][0]
        return found


@pytest.fixture(scope="session")
def rules() -> dict[str, str]:
    """Give the [formula] by which `balanced` adds up."""
    return RULES


@pytest.fixture(scope="session")
def balanced() -> dict[str, Any]:
    """Give what an order states whose total and subtotal are those of `rules`."""
    return BALANCED


@pytest.fixture
def books(tmp_path: Path) -> Books:
    """Give an empty data folder in which done counts and refused does not."""
    return Books(tmp_path / "books")


@pytest.fixture(scope="session")
def books_of() -> Callable[[Path], Books]:
    """Give `books_of(folder)`: a data folder there."""
    return Books


@pytest.fixture(scope="session")
def hours() -> tuple[int, int]:
    """Give two times of observation: before every close of the tests, and after all of them."""
    return BEFORE, AFTER
