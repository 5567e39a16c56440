"""Orders made up by a known rule, in exact decimals, and the evidence that the tables gather about them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.evidence.gathering import gather_evidence
from pipelines.warehouse.evidence.verdicts import create_candidates
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.rows.fresh_rows import has_declared_columns, rows_as_declared, typed
from pipelines.warehouse.rows.session import create_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SETTINGS = {
    "formula_min_distinguishing_orders": 20,
    "formula_max_violation_rate": 0.05,
}
CHAIN = (
    "workings.formula_forms",
    "audit.formula_rules",
    "workings.formula_parts",
    "workings.order_line_sums",
    "workings.order_closes",
    "workings.order_components",
    "workings.order_rule_settings",
    "workings.subtotal_patterns",
    "workings.total_patterns",
    "audit.formula_populations",
    "workings.formula_divisions",
    "workings.formula_evidence",
    "workings.order_populations",
    "workings.orders_off_alike",
    "workings.closed_population_rules",
    "workings.closed_order_rules",
    "audit.order_rules",
)


@dataclasses.dataclass
class Modifier:
    """A modifier of a line."""

    price: Decimal | None
    quantity: int | None = 1
    action: str | None = "add"


@dataclasses.dataclass
class Line:
    """A line of an order."""

    price: Decimal | None
    quantity: int | None = 1
    modifiers: list[Modifier] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Order:
    """An order; subtotal and total are what it states."""

    order_id: int
    lines: list[Line]
    subtotal: Decimal | None = None
    delivery: Decimal | None = Decimal(0)
    tip: Decimal | None = Decimal(0)
    discount: Decimal | None = Decimal(0)
    loyalty: Decimal | None = Decimal(0)
    total: Decimal | None = None
    platform: str | None = "web"
    dispatch_method: str | None = "pick_up"
    store_id: int | None = 1
    business_date: dt.date | None = dt.date(2026, 10, 31)
    currency: str | None = None
    status: str | None = "delivered"
    sale_class: str = "counted"

    @property
    def line_count(self) -> int:
        """How many lines it has."""
        return len(self.lines)

    @property
    def unit_count(self) -> int:
        """How many units its lines have, of an unstated quantity none."""
        return sum(line.quantity or 0 for line in self.lines)

    @property
    def weekday(self) -> int | None:
        """Monday is 1."""
        return self.business_date and self.business_date.isoweekday()


MODES = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN, "down": ROUND_DOWN}
PARTS = ("subtotal", "delivery", "tip", "discount", "loyalty")
NAMED_ALONE = {"zero": 0, "negated": -1}
OBSERVED_SIGNS = {"subtotal": 1, "delivery": 1, "tip": 1, "discount": -1, "loyalty": -1}


def rounded(amount: Decimal, rounding: str) -> Decimal:
    """Round as the last part of a rule's name says: half_up_2_per_order."""
    if rounding == "unrounded":
        return amount
    mode, digits = rounding.split("_per_", maxsplit=1)[0].rsplit("_", 1)
    return amount.quantize(Decimal(1).scaleb(-int(digits)), MODES[mode])


def subtotal_by(rule: str, order: Order) -> Decimal:
    """Return the subtotal that a rule gives, read from the rule's name."""
    price, modifiers, actions, discount, rounding = rule.split("/")
    amounts = []
    for line in order.lines:
        unit, once = (line.price, Decimal(0)) if price == "unit_price" else (Decimal(0), line.price)
        for modifier in line.modifiers:
            sign = 1 if modifier.action == "add" else {"all_add": 1, "only_add": 0, "others_subtract": -1}[actions]
            own = modifier.quantity if modifiers.endswith("by_own") else 1
            added = 0 if modifiers == "no_modifiers" else sign * own * modifier.price
            if "per_unit" in modifiers:
                unit += added
            else:
                once += added
        if rounding.endswith("unit"):
            unit = rounded(unit, rounding)
        amount = line.quantity * unit + once
        amounts.append(rounded(amount, rounding) if rounding.endswith("line") else amount)
    discounted = {"before_discount": 0, "after_discount": -1, "discount_added": 1}[discount] * order.discount
    whole = rounding if rounding.endswith("order") else "unrounded"
    return rounded(sum(amounts, Decimal(0)) + discounted, whole)


def total_by(rule: str, order: Order) -> Decimal:
    """Return the total that a rule gives, read from the rule's name."""
    form, rounding = rule.split("/")
    if form in NAMED_ALONE:
        return rounded(NAMED_ALONE[form] * total_by("observed/unrounded", order), rounding)
    signs = dict(OBSERVED_SIGNS)
    for difference in form.split("+") if form != "observed" else ():
        if difference.startswith("without_"):
            signs[difference.removeprefix("without_")] = 0
        else:
            part, _, turned = difference.rpartition("_")
            signs[part] = {"added": 1, "subtracted": -1}[turned]
    return rounded(sum((sign * getattr(order, part) for part, sign in signs.items()), Decimal(0)), rounding)


@pytest.fixture(scope="session")
def world() -> SimpleNamespace:
    """Give the makers of orders, and what each rule makes of one."""
    return SimpleNamespace(order=Order, line=Line, modifier=Modifier, subtotal_by=subtotal_by, total_by=total_by)


def some_orders(seed: int, orders: int, decimals: int = 2) -> list[Order]:
    """Make up orders that tell every rule of the catalogue from every other; prices are still to be stated."""
    chance = random.Random(seed)
    unit = Decimal(1).scaleb(-decimals)

    def money(low: int, high: int) -> Decimal:
        return chance.randrange(low * 10**decimals, high * 10**decimals) * unit

    made = []
    for order_id in range(1, orders + 1):
        lines = [
            Line(
                money(2, 15),
                chance.choices((1, 2, 3), (70, 20, 10))[0],
                [
                    Modifier(
                        money(0, 3) if chance.random() < 0.7 else Decimal(0),
                        chance.choices((1, 2), (80, 20))[0],
                        chance.choices(("add", "remove"), (88, 12))[0],
                    )
                    for _ in range(chance.choices((0, 1, 2), (45, 35, 20))[0])
                ],
            )
            for _ in range(chance.choices((1, 2, 3), (50, 30, 20))[0])
        ]
        made.append(
            Order(
                order_id,
                lines,
                delivery=money(1, 4) if chance.random() < 0.5 else Decimal(0),
                tip=money(1, 5) if chance.random() < 0.4 else Decimal(0),
                discount=money(1, 3) if chance.random() < 0.3 else Decimal(0),
                loyalty=money(1, 2) if chance.random() < 0.3 else Decimal(0),
                platform=chance.choice(("web", "ios", "android")),
                dispatch_method=chance.choice(("pick_up", "store_delivery")),
                store_id=chance.randrange(1, 4),
                business_date=dt.date(2026, 10, 1) + dt.timedelta(days=chance.randrange(60)),
            )
        )
    return made


def state_prices(orders: list[Order], subtotal_rule: str, total_rule: str, noise: float = 0.0, seed: int = 7) -> None:
    """State the subtotal and the total of every order by a rule; a share of each is off by something."""
    chance = random.Random(seed)
    for order in orders:
        order.subtotal = subtotal_by(subtotal_rule, order)
        if chance.random() < noise:
            order.subtotal += chance.choice((-1, 1)) * chance.randrange(1, 500) * Decimal("0.01")
        order.total = total_by(total_rule, order)
        if chance.random() < noise:
            order.total += chance.choice((-1, 1)) * chance.randrange(1, 500) * Decimal("0.01")


@pytest.fixture(scope="session")
def make_orders() -> Callable[..., list[Order]]:
    """Give `make_orders(seed, orders, decimals=2)`."""
    return some_orders


@pytest.fixture(scope="session")
def state() -> Callable[..., None]:
    """Give `state(orders, subtotal_rule, total_rule, noise=0.0)`."""
    return state_prices


@pytest.fixture
def regather() -> Callable[[duckdb.DuckDBPyConnection], None]:
    """Give `regather(con)`: make the tables of the evidence from the database's present rows."""
    return gather_after


@pytest.fixture
def gather() -> Iterator[Callable[..., duckdb.DuckDBPyConnection]]:
    """Give `gather(orders, **settings)`: a database with all evidence tables, checked against their contracts."""
    opened = []

    def run(
        orders: Iterable[Order],
        rules: Iterable[dict[str, Any]] = (),
        components: Iterable[dict[str, Any]] = (),
        **settings: Any,
    ) -> duckdb.DuckDBPyConnection:
        con = duckdb.connect(config={"threads": 1})
        opened.append(con)
        con.execute("set timezone = 'UTC'")
        for schema in ("raw", *catalogue.SCHEMAS):
            con.execute(f"create schema {schema}")
        create_functions(con)
        create_candidates(con)
        chosen = SETTINGS | settings
        con.execute(
            "create table raw.settings as select "
            "?::bigint as formula_min_distinguishing_orders, ?::double as formula_max_violation_rate",
            list(chosen.values()),
        )
        for name, rows in (("raw.formula_settings", rules), ("raw.formula_components", components)):
            _create_raw(con, name)
            for number, row in enumerate(rows, 1):
                key = {"setting_no" if name.endswith("settings") else "component_no": number}
                _insert_row(con, name, key | row)
        for name in (
            "raw.day_closes",
            "raw.closed_orders",
            "raw.closed_rules",
            "raw.closed_scopes",
            "raw.closed_components",
        ):
            _create_raw(con, name)
        _load(con, list(orders))
        gather_after(con)
        return con

    yield run
    for con in opened:
        con.close()


def gather_after(con: duckdb.DuckDBPyConnection) -> None:
    """Make all tables of the evidence from the core tables that there are."""
    for name in CHAIN:
        if name == "audit.formula_populations":
            gather_evidence(con)
        con.execute(f"drop table if exists {name}")
        _make(con, name)


def _create_raw(con: duckdb.DuckDBPyConnection, name: str) -> None:
    columns = ", ".join(f"{column} {kind}" for column, kind in relations.RAW[name].items())
    con.execute(f"create table {name} ({columns})")


def _insert_row(con: duckdb.DuckDBPyConnection, name: str, row: dict[str, Any]) -> None:
    con.execute(f"insert into {name} ({', '.join(row)}) values ({', '.join('?' for _ in row)})", list(row.values()))


def _make(con: duckdb.DuckDBPyConnection, name: str) -> None:
    table = catalogue.table(name)
    con.execute(f"create table {name} as {typed(table)}")
    assert has_declared_columns(con, table, table.sql).sample == []
    row = con.execute(f"select count(*) from {name}").fetchone()
    assert [each.sample for each in rows_as_declared(con, table, name, row[0] if row else 0)] == [[], []]


def _load(con: duckdb.DuckDBPyConnection, orders: list[Order]) -> None:
    money = pa.decimal128(18, 4)
    order_columns = {
        "order_id": ("order_id", pa.int64()),
        "store_id": ("store_id", pa.int64()),
        "platform": ("platform", pa.string()),
        "dispatch_method": ("dispatch_method", pa.string()),
        "business_date": ("business_date", pa.date32()),
        "weekday": ("weekday", pa.int64()),
        "line_count": ("line_count", pa.int64()),
        "unit_count": ("unit_count", pa.int64()),
        "currency": ("currency", pa.string()),
        "status": ("status", pa.string()),
        "sale_class": ("sale_class", pa.string()),
        "subtotal_price": ("subtotal", money),
        "delivery_price": ("delivery", money),
        "tip": ("tip", money),
        "discount": ("discount", money),
        "loyalty_discount": ("loyalty", money),
        "total_price": ("total", money),
    }
    _insert(
        con,
        ("core.orders", "mart.orders"),
        {name: (pa.array([getattr(o, field) for o in orders], kind)) for name, (field, kind) in order_columns.items()},
    )
    lines = [(o.order_id, number, line) for o in orders for number, line in enumerate(o.lines, 1)]
    _insert(
        con,
        ("core.order_lines",),
        {
            "order_id": pa.array([order_id for order_id, _, _ in lines], pa.int64()),
            "line_no": pa.array([number for _, number, _ in lines], pa.int64()),
            "quantity": pa.array([line.quantity for _, _, line in lines], pa.int64()),
            "price": pa.array([line.price for _, _, line in lines], money),
        },
    )
    modifiers = [
        (order_id, line_no, number, each)
        for order_id, line_no, line in lines
        for number, each in enumerate(line.modifiers, 1)
    ]
    _insert(
        con,
        ("core.order_line_modifiers",),
        {
            "order_id": pa.array([order_id for order_id, _, _, _ in modifiers], pa.int64()),
            "line_no": pa.array([line_no for _, line_no, _, _ in modifiers], pa.int64()),
            "modifier_no": pa.array([number for _, _, number, _ in modifiers], pa.int64()),
            "action": pa.array([each.action for _, _, _, each in modifiers], pa.string()),
            "quantity": pa.array([each.quantity for _, _, _, each in modifiers], pa.int64()),
            "price": pa.array([each.price for _, _, _, each in modifiers], money),
        },
    )


def _insert(con: duckdb.DuckDBPyConnection, names: tuple[str, ...], columns: dict[str, pa.Array]) -> None:
    given = pa.table(columns)
    for name in names:
        spelled = ", ".join(f'"{column.name}" {column.type}' for column in catalogue.table(name).columns)
        con.execute(f"create table {name} ({spelled})")
        kept = given.select([c for c in given.column_names if c in {x.name for x in catalogue.table(name).columns}])
        con.register("given", kept)
        con.execute(f"insert into {name} by name select * from given")
        con.unregister("given")
