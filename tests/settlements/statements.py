"""Orders and statements of four platforms by seed, with the truth by line: what each row settles, and why not.

The truth is made with the statement, apart from the reader and the SQL under test.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import random
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

MAPPINGS = Path(__file__).with_name("mappings")
ZONES = {1: "America/New_York", 2: "America/Los_Angeles"}
NAMES = {1: "North Café", 2: "=South"}
START = dt.datetime(2026, 9, 28, tzinfo=dt.UTC)  # a Monday
DAYS = 28
CENT = Decimal("0.01")
CURRENCIES = ("USD", "GBP", "BRL", "USD")
RATES = {1: (Decimal("0.15"),) * 2, 2: (Decimal("0.15"), Decimal("0.1825"))}  # by store: until CHANGED, and after
BALANCES = """
opening = "+opening_balance"
paid = "+payout_total"
closing = "+closing_balance"
[bank]
fee = "+Fee"
"""
FX = [Decimal(each) for each in ("0.91234", "0.9251", "0.91875", "0.930118")]  # USD to EUR by week
CARRIED = [Decimal(each) for each in ("0", "25.00", "-7.35", "12.40", "0")]  # between weeks
CHANGED = dt.date(2026, 10, 12)
PLATFORMS = ("dashline", "justly", "ifome", "orderly")


@dataclass
class World:
    """Orders as rows of mart.orders; files by name; and of each row of a file what it is: a state and order ids."""

    orders: list[dict[str, Any]]
    files: dict[str, str] = field(default_factory=dict)
    truth: dict[tuple[str, int], tuple[str, set[int]]] = field(default_factory=dict)
    never_settled: set[int] = field(default_factory=set)
    cent_wrong: set[int] = field(default_factory=set)
    overcharged: dict[int, Decimal] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    gap: Decimal = Decimal("3.10")  # that the last statement starts from more than the one before left
    payouts: dict[tuple[str, str], str] = field(default_factory=dict)
    batches: dict[str, list[tuple[Decimal, Decimal, Decimal]]] = field(default_factory=dict)  # net, rate and paid

    def of(self, platform: str) -> list[dict[str, Any]]:
        """Return the counted orders of a platform."""
        return [each for each in self.orders if each["platform"] == platform and each["sale_class"] == "counted"]

    def write(self, folder: Path) -> None:
        """Write mappings and files into a folder."""
        for file in MAPPINGS.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        dashline = (MAPPINGS / "dashline.toml").read_text("utf-8").replace("[bank]", BALANCES)
        (folder / "dashline.toml").write_text(dashline, encoding="utf-8")
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")


def world(seed: int, count: int = 800) -> World:
    """Return a world of so many orders, a quarter on each platform."""
    rng = random.Random(seed)
    made = World([_order(rng, 1000 + number) for number in range(count)])
    _dashline(rng, made)
    _justly(made)
    _ifome(rng, made)
    _orderly(rng, made)
    return made


def _order(rng: random.Random, order_id: int) -> dict[str, Any]:
    store = rng.choice([1, 2])
    created = START + dt.timedelta(minutes=rng.randrange(DAYS * 24 * 60))
    local = created.astimezone(ZoneInfo(ZONES[store])).replace(tzinfo=None)
    items = Decimal(rng.randrange(800, 3000, 50)) / 100
    tip = Decimal(rng.choice([0, 0, 100, 250])) / 100
    return {
        "order_id": order_id,
        "store_id": store,
        "platform": PLATFORMS[order_id % 4],
        "sale_class": "counted" if rng.random() < 0.96 else "excluded",
        "created_at": created,
        "created_at_local": local,
        "business_date": local.date(),
        "currency": CURRENCIES[order_id % 4],
        "subtotal_price": items,
        "delivery_price": Decimal("2.49"),
        "tip": tip,
        "total_price": items + Decimal("2.49") + tip,
    }


def _csv(header: list[str], rows: list[list[Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows([header, *rows])
    return text.getvalue()


def _dashline(rng: random.Random, made: World) -> None:
    """Rows with ids, one file a week; each kind of fault once, in the second week. One payout never arrives.

    The rate of store 2 changes after two weeks.
    """
    header = [
        *("payout_id", "merchant_store_id", "client_order_id", "delivery_id", "transaction_date_local"),
        *("transaction_type", "currency", "customer_name", "order_subtotal", "delivery_fees", "staff_tip"),
        *("merchant_promotions", "adjustment", "commission", "commission_tax", "marketing_fee", "net_total"),
    ]
    balances = ["opening_balance", "payout_total", "closing_balance"]
    orders = sorted(made.of("dashline"), key=lambda each: each["created_at"])
    excluded = [each for each in made.orders if each["platform"] == "dashline" and each["sale_class"] == "excluded"]
    bank: list[list[Any]] = []
    for week in range(4):
        payout, name = f"PO-{week + 1:06d}", f"transactions_{week + 1}.csv"
        mine = [each for each in orders if (each["created_at"] - START).days // 7 == week]
        listed: list[tuple[dict[str, Any], str, set[int], dict[str, Any]]] = []
        for place, order in enumerate(mine):
            own = {order["order_id"]}
            if week == 1 and place == 0:
                made.never_settled |= own
                continue
            is_wrong = week == 1 and place == 1
            made.cent_wrong |= own if is_wrong else set()
            listed.append((order, "matched", own, {"off": -CENT if is_wrong else 0}))
            if week == 1 and place == 2:
                listed.append((order, "settled_twice", own, {}))
            if week == 1 and place == 7:  # charged at another rate
                listed[-1][3]["share"] = Decimal("0.2")
                right, wrong = (_share(order["total_price"], each) for each in (_rate(order), Decimal("0.2")))
                made.overcharged[order["order_id"]] = wrong - right
            if week == 1 and place == 8:
                made.late |= own
                listed[-1][3]["days"] = dt.timedelta(days=20)
            if week == 1 and place == 3:
                listed.append((order, "matched", own, {"kind": "ADJUSTMENT", "adjustment": Decimal("-4.00")}))
        if week == 1:
            other = made.of("justly")[0]
            listed += [
                (mine[4], "not_ours", set(), {"ref": 999_999}),
                (mine[5], "not_ours", {mine[5]["order_id"]}, {"store": 3 - mine[5]["store_id"]}),
                (excluded[0], "not_a_sale", {excluded[0]["order_id"]}, {}),
                (other, "not_ours", {other["order_id"]}, {}),
                (mine[6], "no_order", set(), {"kind": "MERCHANT_FEE", "ref": "", "fee": Decimal("9.90")}),
            ]
        rows = [_dashline_row(order, payout, rng.choice(orders)["order_id"], **more) for order, _, _, more in listed]
        made.truth |= {(name, row): (state, ids) for row, (_, state, ids, _) in enumerate(listed, 2)}
        opening, closing = CARRIED[week : week + 2]
        off = CENT if week == 3 else 0
        opening += made.gap if week == 3 else 0
        net = sum(Decimal(row[-1]) for row in rows) + opening - closing - off
        made.files[name] = _csv([*header, *balances], [[*row, opening, net, closing] for row in rows])
        made.payouts["dashline", payout] = "not_at_bank" if week == 2 else "paid"
        # the missing payout's amount arrives, from somebody else
        text = f"Card terminal, Jane Canary, {net}" if week == 2 else f"DASHLINE INC {payout} THANK YOU"
        fee = Decimal("0.35") if week == 1 else Decimal(0)
        bank.append([f"2026-10-{5 + 7 * week:02d}", net - fee, fee, text])
    bank.append(["2026-11-30", "-12.00", "", "Account fee"])
    made.files["bank.csv"] = _csv(["Booking date", "Amount", "Fee", "Remittance"], bank)


def many(rng: random.Random, count: int, folder: Path) -> list[dict[str, Any]]:
    """Return so many orders of one platform, each on one row of a file that is written with its mapping."""
    orders = [_order(rng, 1_000_000 + 4 * number) for number in range(count)]
    header = world(1).files["transactions_1.csv"].splitlines()[0].split(",")[:-3]
    rows = [_dashline_row(each, f"PO-{each['created_at'].day:06d}", each["order_id"]) for each in orders]
    (folder / "dashline.toml").write_bytes((MAPPINGS / "dashline.toml").read_bytes())
    (folder / "transactions_1.csv").write_text(_csv(header, rows), encoding="utf-8")
    return orders


def _rate(order: dict[str, Any]) -> Decimal:
    return RATES[order["store_id"]][order["business_date"] >= CHANGED]


def _share(amount: Decimal, rate: Decimal) -> Decimal:
    return (amount * rate).quantize(CENT)


def _dashline_row(order: dict[str, Any], payout: str, other_id: int, **more: Any) -> list[Any]:
    kind, nothing, sold = more.get("kind", "DELIVERY"), Decimal(0), order["created_at_local"]
    gross = [order["subtotal_price"] + more.get("off", 0), order["delivery_price"], order["tip"]]
    if kind != "DELIVERY":
        gross = [nothing] * 3
    commission = _share(sum(gross, nothing), more.get("share", _rate(order)))
    adjustment, fee = more.get("adjustment", nothing), more.get("fee", nothing)
    return [
        *(payout, more.get("store", order["store_id"]), more.get("ref", order["order_id"]), other_id),
        *(f"{sold + more.get('days', dt.timedelta()):%m/%d/%Y}", kind, "USD", "Jane Canary", *gross, 0, adjustment),
        *(commission, "0.00", fee, sum(gross) + adjustment - commission - fee),
    ]


def _justly(made: World) -> None:
    """Weekly totals by UTC, for each store; the last week of store 1 is one cent short."""
    rows: list[list[Any]] = []
    paid: dict[int, Decimal] = {}
    for week in range(4):
        first = (START + dt.timedelta(days=7 * week)).date()
        last = first + dt.timedelta(days=6)
        for store in ZONES:
            mine = [e for e in made.of("justly") if e["store_id"] == store and first <= e["created_at"].date() <= last]
            is_wrong = (week, store) == (3, 1)
            total = sum(each["total_price"] for each in mine) - (CENT if is_wrong else 0)
            commission, tax = (total * Decimal("0.2")).quantize(CENT), (total * Decimal("0.04")).quantize(CENT)
            period = f"{first:%d %b %Y} - {last:%d %b %Y}"
            cells = [total, "0.00", -commission, -tax, "0.00", total - commission - tax]
            rows.append(
                [f"W{40 + week}-{store}", store, period, len(mine), *(f"{each:,}" for each in map(Decimal, cells))]
            )
            paid[week] = paid.get(week, Decimal(0)) + total - commission - tax
            made.truth["invoices.csv", len(rows) + 1] = (
                "differs" if is_wrong else "group",
                {e["order_id"] for e in mine},
            )
    for week, amount in paid.items():  # one credit for all stores; of the third week one cent short
        made.payouts["justly", f"W{40 + week}"] = "differs" if week == 2 else "paid"
        amount -= CENT if week == 2 else 0  # noqa: PLW2901
        made.files["bank.csv"] += f"2026-10-{7 + 7 * week:02d},{amount},,justly W{40 + week} settlement\r\n"
    header = ["Invoice number", "Restaurant", "Period", "Orders", "Total sales", "Cash orders collected by you"]
    made.files["invoices.csv"] = _csv(
        [*header, "Commission", "VAT on commission", "Refunds", "Net paid to your bank"], rows
    )


def _ifome(rng: random.Random, made: World) -> None:
    """Events with short numbers; on the 12th of October the platform's store A moves from our store 1 to 2."""
    rows: list[list[Any]] = []
    moved = dt.date(2026, 10, 12)
    made.files["lojas.csv"] = (
        "platform_id,store_id,from,to\nA,1,,2026-10-11\nB,2,,2026-10-11\nA,2,2026-10-12,\nB,1,2026-10-12,\n"
    )
    orders = made.of("ifome")
    number = {each["order_id"]: each["order_id"] % 250 for each in orders}
    for order in orders:
        day = order["created_at_local"].date()
        store = ("A" if order["store_id"] == 1 else "B") if day < moved else ("B" if order["store_id"] == 1 else "A")
        same = {
            each["order_id"]
            for each in orders
            if each["store_id"] == order["store_id"]
            and each["created_at_local"].date() == day
            and number[each["order_id"]] == number[order["order_id"]]
        }
        commission = -(order["total_price"] * Decimal("0.12")).quantize(CENT)
        events = {
            "VENDA": order["subtotal_price"],
            "ENTREGA": order["delivery_price"],
            "GORJETA": order["tip"],
            "COMISSAO": commission,
        }
        for event, amount in events.items():
            if amount or event == "VENDA":
                text = f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))
                rows.append(
                    [
                        "",
                        store,
                        f"Pedido #{number[order['order_id']]}",
                        f"{day:%d-%m-%Y}",
                        f"{day:%d-%m-%Y}",
                        text,
                        event,
                    ]
                )
                made.truth["eventos.csv", len(rows) + 1] = ("matched" if len(same) == 1 else "one_of", same)
    header = ["periodId", "restauranteId", "pedidoCurto", "dataPedido", "dataEvento", "valor", "evento"]
    made.files["eventos.csv"] = _csv(header, rows, ";")


def _orderly(rng: random.Random, made: World) -> None:
    """Amounts and times: equal ones minutes apart are groups; of some a row is missing."""
    rows: list[list[Any]] = []
    orders = made.of("orderly")
    for place, order in enumerate(orders[:40]):  # pairs of equals, minutes apart
        if place % 2:
            twin = orders[place - 1]
            order |= {name: twin[name] for name in ("store_id", "currency", "subtotal_price", "tip", "total_price")}
            order["created_at"] = twin["created_at"] + dt.timedelta(minutes=rng.randrange(1, 9))
            order["created_at_local"] = (
                order["created_at"].astimezone(ZoneInfo(ZONES[order["store_id"]])).replace(tzinfo=None)
            )
            order["business_date"] = order["created_at_local"].date()
    missing = {orders[place]["order_id"] for place in (1, 7, 50)}
    reach = dt.timedelta(minutes=10)
    for order in orders:
        if order["order_id"] in missing:
            continue
        # seconds only: each row reaches the same orders as its own order does
        week = (order["created_at"] - START).days // 7
        batch, rate, fee = f"B{week + 1}", FX[week], Decimal("0.50")
        paid = _share(order["total_price"] - fee, rate)
        made.batches.setdefault(batch, []).append((order["total_price"] - fee, rate, paid))
        at = f"{order['created_at']:%Y-%m-%d %H:%M:%S}"
        rows.append([batch, order["store_id"], at, order["total_price"], fee, "EUR", rate, paid])
        same = _reached(order, orders, reach)
        settled = {each for each in same if each not in missing}
        state = "matched" if len(same) == 1 else "group" if settled == same else "one_of"
        made.truth["orderly_1.csv", len(rows) + 1] = (state, same)
    made.never_settled |= {each for each in missing if len(_reached(_by_id(orders, each), orders, reach)) == 1}
    header = ["Batch", "Location", "Placed at", "Total", "Fee", "Paid in", "Rate", "Paid"]
    made.files["orderly_1.csv"] = _csv(header, rows)
    for batch, parts in made.batches.items():
        made.payouts["orderly", batch] = "paid"
        made.files["bank.csv"] += f"2026-11-02,{sum(paid for *_, paid in parts)},,ORDERLY {batch}\r\n"


def _by_id(orders: list[dict[str, Any]], order_id: int) -> dict[str, Any]:
    return next(each for each in orders if each["order_id"] == order_id)


def _reached(order: dict[str, Any], orders: list[dict[str, Any]], reach: dt.timedelta) -> set[int]:
    """Return the orders of one amount and store that steps of `reach` connect with this one, by walking."""
    equals = [e for e in orders if (e["store_id"], e["total_price"]) == (order["store_id"], order["total_price"])]
    found, fresh = {order["order_id"]}, [order]
    while fresh:
        near = fresh.pop()
        more = [e for e in equals if e["order_id"] not in found and abs(e["created_at"] - near["created_at"]) <= reach]
        found |= {each["order_id"] for each in more}
        fresh += more
    return found
