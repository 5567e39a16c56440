"""From an archive of orders to the books by commands alone: an order of another platform since, tax rounded by line."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tests.forked import ordermart

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
SETTINGS = """[partner]
base_url = "http://127.0.0.1:9"
[sales]
counted_statuses = ["delivered"]
[finance]
currency = "EUR"
[formula]
total_rule = "observed/unrounded"
subtotal_rule = "line_price/no_modifiers/all_add/before_discount/unrounded"
"""
KEYS = {
    "ORDERMART_PARTNER__CLIENT_ID": "lab",
    "ORDERMART_PARTNER__CLIENT_SECRET": "lab-secret-of-sixteen-bytes",
    "ORDERMART_VAULT__MASTER_KEY": "A" * 43 + "=",
    "ORDERMART_VAULT__LOOKUP_SECRET": "B" * 42 + "A=",
    "ORDERMART_WAREHOUSE__THREADS": "1",
}
MAPPING = """platform = "NAME"
orders = { platform = ["NAME"] }
[line]
statement = "stm"
order = "order"
date = { column = "date", form = "%Y-%m-%d" }
type = "order"
currency = "EUR"
[components]
gross = "+gross"
"""
CLASSES = "receivable subtotal_price delivery_price tip discount loyalty_discount clearing unmatched tax".split()
RATE, SHARES = Decimal("0.08875"), [3 * Decimal("1.11"), Decimal("7.49"), Decimal("2.05")]


class Shop:
    """A folder of its own, used by commands."""

    def __init__(self, folder: Path, settings: str) -> None:
        self.folder = folder
        (folder / "om.toml").write_text(settings, encoding="utf-8")
        lines = "".join(f'{name} = "{place}"\n' for place, name in enumerate(CLASSES, 1000))
        (folder / "accounts.toml").write_text(f"[accounts]\n{lines}", encoding="utf-8")

    def __call__(self, *words: str, code: int = 0) -> str:
        """Run a command; return what it said."""
        environ = KEYS | {"ORDERMART_CONFIG": str(self.folder / "om.toml"), "PATH": "/usr/bin"}
        done = ordermart(words, environ, timeout=300, folder=self.folder)
        assert done.returncode == code, (words, done.stdout + done.stderr)
        return done.stdout

    def land(self, name: str, orders: list[dict[str, Any]], at: str) -> None:
        """Land an archive, and build."""
        (self.folder / name).write_text("".join(json.dumps(each) + "\n" for each in orders), encoding="utf-8")
        self("land", "orders", name, "--observed-at", at)
        self("build")

    def state(self, platform: str) -> None:
        """Import a statement of a platform that pays order 1, and build."""
        (self.folder / f"{platform}.toml").write_text(MAPPING.replace("NAME", platform), encoding="utf-8")
        (self.folder / f"{platform}.csv").write_text("stm,order,date,gross\nS,1,2026-11-20,20.00\n", encoding="utf-8")
        self("settlements", "import", f"{platform}.csv", "--map", f"{platform}.toml")
        self("build")

    def all(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the current release."""
        with duckdb.connect(str(self.folder / "data/published/current/ordermart.duckdb"), read_only=True) as con:
            return con.execute(query).fetchall()

    def receivable(self) -> dict[str, Decimal]:
        """Return the receivable of each platform over all exported files."""
        found: dict[str, Decimal] = defaultdict(Decimal)
        for file in (self.folder / "journals").glob("*.csv"):
            for line in csv.DictReader(file.read_text("utf-8").splitlines()):
                if line["class"] == "receivable":
                    found[line["platform"]] += Decimal(line["debit"] or 0) - Decimal(line["credit"] or 0)
        return {platform: amount for platform, amount in found.items() if amount}


def order(order_id: int, prices: list[Decimal], total: Decimal, **fields: Any) -> dict[str, Any]:
    """Return a document of the partner's."""
    at = dict.fromkeys(("created_at", "requested_time", "promised_delivery_time"), "2026-10-05T18:00:00Z")
    person = {"user_phone": "+351", "user_email": "a@b.c", "user_address": "S", "user_name": "U", "dispatch_note": None}
    place = {"apartment_details": None, "user_latitude": 1.0, "user_longitude": 1.0, "promised_pick_up_time": None}
    lines = [
        {"id": 10 * order_id + place, "product_id": 1, "quantity": 1, "name": "Dish", "instructions": None}
        | {"price": float(price), "modifiers": []}
        for place, price in enumerate(prices)
    ]
    amounts = {"subtotal_price": float(sum(prices)), "total_price": float(total), "items": lines}
    amounts |= dict.fromkeys(("delivery_price", "tip", "discount", "loyalty_discount"), 0.0)
    said = {"dispatch_method": "store_delivery", "store_id": 2, "status": "delivered", "platform": "dash"}
    return {"id": order_id} | person | place | at | said | amounts | fields


@pytest.mark.long
def test_an_order_whose_platform_changes_twice_is_in_one_receivable(tmp_path: Path) -> None:
    """Exported as dash, then web, then kiosk: each export moves it, and a statement credits the last."""
    shop, price = Shop(tmp_path, SETTINGS), [Decimal("20.00")]
    shop.land("1.ndjson", [order(1, price, price[0])], "2026-11-20T00:00:00Z")
    shop("close", "--period", "2026-10", "--with-exceptions", "all is known")
    export = ("journal", "--map", "accounts.toml", "--out", "journals", "--period")
    shop("build")
    shop(*export, "2026-10")
    assert shop.receivable() == {"dash": Decimal(20)}
    for platform, day in (("web", 21), ("kiosk", 22)):
        shop.land(f"{platform}.ndjson", [order(1, price, price[0], platform=platform)], f"2026-11-{day}T00:00:00Z")
        shop("restatements", "post", "--period", "2026-11")
        shop("build")
        shop(*export, "2026-11")
        assert shop.receivable() == {platform: Decimal(20)}
    shop.state("web")
    assert shop.all("select match_state from mart.settlement_matches") == [("not_ours",)]
    shop.state("kiosk")
    shop(*export, "2026-11")
    assert shop.receivable() == {}
    assert shop.all("select platform, open_amount from mart.order_settlements") == [("kiosk", 0)]
    assert "kiosk" not in shop("settlements", "aging")


def test_tax_that_is_rounded_by_line_makes_no_break(tmp_path: Path) -> None:
    """Tax of 8.875% of each line: all orders are right, also the many whose tax would be another one by order."""
    orders, off = [], 0
    for order_id in range(1, 41):
        prices = [each + Decimal(order_id) / 100 for each in SHARES]
        exact = [each * RATE for each in prices]
        by_line = sum(each.quantize(Decimal("0.01"), ROUND_HALF_UP) for each in exact)
        off += by_line != sum(exact, Decimal(0)).quantize(Decimal("0.01"), ROUND_HALF_UP)
        orders.append(order(order_id, prices, sum(prices) + by_line))
    component = f'[[formula.component]]\nname = "tax"\nshare = "{RATE}"\nbase = "subtotal"\nround = "line"\n'
    shop = Shop(tmp_path, SETTINGS + component)
    shop.land("1.ndjson", orders, "2026-11-20T00:00:00Z")
    said = shop("reconcile")
    states = dict(shop.all("select verdict, count(*) from mart.order_reconciliation group by all"))
    assert 5 < off < 35
    assert states == {"balanced": 40}, said
