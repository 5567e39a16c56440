"""A seeded world of stores, menus and orders, the same bytes for the same configuration, and the story of the demo's.

Holds plans, not documents: each is made, as it stood at a moment, when it is asked for.

The story is what happens in the demo's world on fixed days, beyond what chance brings. A store closes for a few days
and another gets a new name, an order is sent twice, a customer's phone number is corrected, an order of a closed day is
amended; a menu has a field that the interface does not show, tips of the iOS app are paid apart, and orders by phone
have a fee that no field states. One order is under way during a night. Days are counted back from the last day with
orders.

Orders of the Android app are settled by weekly statements, in which one order is missing, one is settled twice and one
has too much commission; the rate of the busiest store rises in the last week, and the second payout never arrives.
"""

import bisect
import datetime as dt
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from pipelines.sandbox.faults import Fault, plan_faults, plant
from pipelines.sandbox.orders import LONGEST, Composer, Placed, SandboxOrder
from pipelines.sandbox.rng import Rng
from pipelines.sandbox.stores import TOWNS, SandboxCustomer, SandboxStore, found_stores, meet

DAY = 86_400
# Orders of the last day may still change for a while; then the world ends, and everything is settled.
AFTERMATH_DAYS = 4
# Decimals become JSON numbers of their own text: no float on the way.
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_REMEMBERED = 20_000
_STORY = 50  # orders at least
_WEEKDAYS = (8, 9, 10, 11, 16, 17, 14)  # Monday is quiet, Friday and Saturday are not


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a world is made from.

    `until` is the last local day with orders, `faults` the share of orders, and of menus, with one planted fault.
    `story`: the story happens too, and orders add up by its rules.
    """

    seed: int = 1
    stores: int = 30
    orders: int = 5000
    days: int = 28
    until: dt.date = dt.date(2026, 10, 31)
    faults: float = 0.0
    story: bool = False


class Event(NamedTuple):
    """Something that a webhook reports; `moment` is in seconds of the world's time."""

    moment: int
    topic: str
    id: int


class World:
    """The world of a configuration at aware moments, None: the end. `order_ids` are in the order of their creation."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config = config or Config()
        if config.stores < 1 or config.days < 1 or config.orders < 0:
            raise ValueError("a world needs a store and a day, and no fewer than no orders")
        first = config.until - dt.timedelta(days=config.days - 1)
        self._first_day = first
        self.start = dt.datetime(first.year, first.month, first.day, tzinfo=dt.UTC) - dt.timedelta(days=1)
        last = config.until + dt.timedelta(days=AFTERMATH_DAYS)
        self.end = dt.datetime(last.year, last.month, last.day, tzinfo=dt.UTC)
        # Menus and store names change in the early morning of some of the days.
        dawn = int(self.start.timestamp()) + 4 * 3600
        self.stores: list[SandboxStore] = found_stores(
            seed=config.seed, stores=config.stores, changes=[dawn + DAY * (2 + day) for day in range(config.days - 1)]
        )
        if config.story:
            self.stores = renamed(self.stores, config.until)
        self._stores = {store.store_id: store for store in self.stores}
        self.menus = {menu.menu_id: menu for store in self.stores for menu in store.menus}
        self._customers: dict[int, SandboxCustomer] = {}
        self._composer = Composer(config.seed, self._customer, is_told=config.story)
        self._menu_faults = plan_faults(config.seed, "menus", list(self.menus), config.faults)
        if config.story:
            self._menu_faults[max(self.menus)] = FIELD
        self._placed = self._place()
        self.order_ids, self.store_ids, self.menu_ids = list(self._placed), list(self._stores), list(self.menus)

    def store(self, store_id: int, at: dt.datetime | None = None) -> bytes | None:
        """Return the record of a store; None if there is no such store."""
        store = self._stores.get(store_id)
        return None if store is None else _ENCODER.encode(store.record(self._moment(at)))

    def store_list(self, at: dt.datetime | None = None) -> bytes:
        """Return the records of all stores as an array."""
        moment = self._moment(at)
        return _ENCODER.encode([store.record(moment) for store in self.stores])

    def menu(self, menu_id: int, at: dt.datetime | None = None) -> bytes | None:
        """Return a menu as it stood; None if there is no such menu."""
        if (menu := self.menus.get(menu_id)) is None:
            return None
        document = menu.document(self._moment(at))
        kind = self._menu_faults.get(menu_id)
        return self._encode("menus", menu_id, kind, document)[0]

    def order(self, order_id: int, at: dt.datetime | None = None) -> bytes | None:
        """Return an order as it stood; None if there is no such order yet."""
        placed, moment = self._placed.get(order_id), self._moment(at)
        if placed is None or placed.created > moment:
            return None
        return self.show(self._composer.compose(placed), moment)

    def orders(self, at: dt.datetime | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Yield (id, moment from which it stays as it is, bytes) of each order that is there, by id."""
        moment = self._moment(at)
        for order_id, placed in self._placed.items():
            if placed.created <= moment:
                order = self._composer.compose(placed)
                yield order_id, order.settled, self.show(order, moment)

    def created(self, order_id: int) -> dt.datetime:
        """Return when an order is placed; KeyError if it never is."""
        return dt.datetime.fromtimestamp(self._placed[order_id].created, dt.UTC)

    def plan(self, order_id: int) -> SandboxOrder:
        """Return the whole course of an order, without its fault; KeyError if there is none."""
        return self._composer.compose(self._placed[order_id])

    def events(self, since: int, until: int, order_ids: Iterable[int]) -> list[Event]:
        """Return the events after `since`, up to `until`; of orders only the given ones.

        Which change emits which of the four topics of interface section 6 is not shown: here a creation emits
        orders.create, and every later visible change an update.
        """
        every = [Event(at, "stores.update", store.store_id) for store in self.stores for at, _ in store.names[1:]]
        every += [Event(at, "menus.update", menu.menu_id) for menu in self.menus.values() for at in menu.changes]
        for order_id in order_ids:
            order = self.plan(order_id)
            created = order.placed.created
            moments = {moment for moment, _ in order.course.steps}
            moments |= {moment for delivery in order.course.deliveries for moment, _ in delivery.steps}
            moments |= {amendment.moment for amendment in order.amendments}
            moments |= {order.placed.corrected or created}
            every.append(Event(created, "orders.create", order_id))
            every += [Event(moment, "orders.update", order_id) for moment in moments if moment > created]
        return sorted({event for event in every if since < event.moment <= until})

    def show(self, order: SandboxOrder, moment: int) -> bytes:
        """Return the bytes of an order at a moment in seconds, its fault included."""
        return self._encode("orders", order.placed.order_id, order.placed.planted, order.document(moment))[0]

    def truth(self) -> list[Fault]:
        """Return every planted fault, menus first, by id."""
        end = self._moment(None)
        found = []
        for menu_id, kind in sorted(self._menu_faults.items()):
            found.append(self._encode("menus", menu_id, kind, self.menus[menu_id].document(end))[1])
        for order_id, placed in self._placed.items():
            if placed.planted is not None:
                document = self._composer.compose(placed).document(end)
                found.append(self._encode("orders", order_id, placed.planted, document)[1])
        return [fault for fault in found if fault is not None]

    def _encode(self, kind: str, id_: int, fault: str | None, document: dict[str, Any]) -> tuple[bytes, Fault | None]:
        if fault is None:
            return _ENCODER.encode(document), None
        planted, spoil = plant(self.config.seed, kind, id_, fault, document)
        return spoil(_ENCODER.encode(document)), planted

    def _moment(self, at: dt.datetime | None) -> int:
        return int((self.end if at is None else at).timestamp())

    def _customer(self, rng: Rng, store: SandboxStore) -> SandboxCustomer:
        """Draw who orders: people of the store's town, some of them much more often than others."""
        towns = min(len(TOWNS), len(self.stores))
        people = max(1, self.config.orders // 4 // towns)
        drawn = rng.random()
        number = TOWNS.index(store.town) + towns * int(people * drawn * drawn)
        if number not in self._customers:
            if len(self._customers) >= _REMEMBERED:
                self._customers.clear()  # they can be met again, the same
            self._customers[number] = meet(self.config.seed, number, store.town)
        return self._customers[number]

    def _place(self) -> dict[int, Placed]:
        """Draw when and where orders are placed; ids grow with time and leave gaps."""
        rng = Rng(self.config.seed, "plan")
        stores = list(itertools.accumulate(store.weight for store in self.stores))
        dates = [self._first_day + dt.timedelta(days=day) for day in range(self.config.days)]
        days = list(itertools.accumulate(_WEEKDAYS[date.weekday()] for date in dates))
        zones = [ZoneInfo(store.town.timezone) for store in self.stores]
        drawn: list[tuple[int, int]] = []
        for _ in range(self.config.orders):
            number = bisect.bisect(stores, rng.random() * stores[-1])
            date = dates[bisect.bisect(days, rng.random() * days[-1])]
            local = dt.datetime(date.year, date.month, date.day) + dt.timedelta(  # noqa: DTZ001 - local on purpose
                seconds=_second_of_day(rng, self.stores[number].late)
            )
            # An hour that comes twice is meant once as the first, once as the second.
            local = local.replace(tzinfo=zones[number], fold=rng.below(2))
            drawn.append((int(local.timestamp()), number))
        drawn.sort()
        told = self._tell(drawn) if self.config.story and len(drawn) > _STORY else {}
        order_id = 200_000 + rng.below(50_000)
        ids = []
        for _ in drawn:
            order_id += 1 if rng.often(0.9) else rng.between(2, 7)
            ids.append(order_id)
        planted = plan_faults(self.config.seed, "orders", ids, self.config.faults)
        for place in told:
            planted.pop(ids[place], None)
        placed = {
            order_id: Placed(order_id, self.stores[number], created, planted.get(order_id))
            for order_id, (created, number) in zip(ids, drawn, strict=True)
        }
        for place, happens in told.items():
            repeats = ids[happens["repeats"]] if "repeats" in happens else None
            placed[ids[place]] = replace(
                placed[ids[place]], repeats=repeats, corrected=happens.get("corrected"), amended=happens.get("amended")
            )
        return placed

    def _tell(self, drawn: list[tuple[int, int]]) -> dict[int, dict[str, int]]:
        """Change when and where orders are placed, as the story tells; return by place what else happens to them."""
        until = self.config.until
        drawn[:], first, again = sent_twice(closed_for_days(drawn, self.stores, until), until)
        told: dict[int, dict[str, int]] = {first: {}, again: {"repeats": first}}
        # A phone number before the last night, and the tip and lines of an order after the second night closed its day.
        of_closed = dt.datetime.combine(night(until, 2).date(), dt.time(), dt.UTC) - dt.timedelta(hours=12)
        for what, placed, after in (("corrected", _end(until) - _CORRECTED, 3), ("amended", of_closed, 2)):
            moment = int((night(until, after) + _AFTER_NIGHT).timestamp())
            told.setdefault(_place(drawn, placed), {})[what] = moment
        return told


def _second_of_day(rng: Rng, late: bool) -> int:
    """Draw a local time: lunch, dinner, between, or after midnight where a store is open late."""
    drawn, peak = rng.random(), (rng.random() + rng.random()) / 2
    if late and drawn < 0.06:
        return int((23 + 4.25 * rng.random()) * 3600)
    if drawn < 0.38:
        return int((11.25 + 3.25 * peak) * 3600)
    if drawn < 0.88:
        return int((17.5 + 4.75 * peak) * 3600)
    return int((10 + 13 * rng.random()) * 3600)


assert LONGEST < AFTERMATH_DAYS * DAY  # noqa: S101 - two constants of two files that must fit


FIELD = "new_field"  # the fault of the last menu
NIGHTS = (30, 9, 3, 2)  # days before the end of the last day with orders, at which the demo plays its first nights
_CLOSED = (14, 11)  # days before the last one, from and to
_TWICE = dt.timedelta(days=6, hours=5)
_AGAIN_AFTER = 200  # seconds
_CORRECTED = dt.timedelta(days=7, hours=4)
_AFTER_NIGHT = dt.timedelta(hours=10)
_HOUR = dt.timedelta(hours=3, minutes=15)  # of the first night
_LATER = dt.timedelta(minutes=2)
_UNDER_WAY = dt.timedelta(minutes=12)

_RATES = Decimal("0.15"), Decimal("0.18"), Decimal("0.30")  # usual, risen, wrong
_FEWEST = 20  # orders of which a statement is made
_CENT = Decimal("0.01")
SETTLED = "android"
MAPPING = """\
platform = "android"
orders = { platform = ["android"] }
[line]
statement = "payout"
payout = "payout"
store = "shop"
order = "order"
date = { column = "date", form = "%Y-%m-%d" }
type = "order"
currency = { column = "currency" }
[components]
gross = "+total"
commission = "-commission"
[check]
net = "+net"
[bank]
date = { column = "Booking date", form = "%Y-%m-%d" }
amount = "+Amount"
text = "Remittance"
payout = '(PO-\\d{6})'
"""

Drawn = list[tuple[int, int]]  # when an order is placed, in seconds, and the place of its store


def closed_for_days(drawn: Drawn, stores: Sequence[SandboxStore], until: dt.date) -> Drawn:
    """Give the orders of the busiest store during its closed days to the next one."""
    if len(stores) < 2:
        return drawn
    busiest = max(range(len(stores)), key=lambda number: stores[number].weight)
    first, last = (_end(until) - dt.timedelta(days=days) for days in _CLOSED)
    since, to = int(first.timestamp()), int(last.timestamp())
    return [
        (created, (number + 1) % len(stores) if number == busiest and since <= created < to else number)
        for created, number in drawn
    ]


def renamed(stores: Sequence[SandboxStore], until: dt.date) -> list[SandboxStore]:
    """Give the first store another name, seen by the third night."""
    first, *others = stores
    at = int((night(until, 2) + _AFTER_NIGHT).timestamp())
    name = first.names[0][1]
    return [replace(first, names=((0, name), (at, f"{name} {first.town.name}"))), *others]


def sent_twice(drawn: Drawn, until: dt.date) -> tuple[Drawn, int, int]:
    """Send an order again after minutes, and one in the third night; return also the places of the one sent twice."""
    sent = drawn[_place(drawn, _end(until) - _TWICE)]
    again = (sent[0] + _AGAIN_AFTER, sent[1])
    under_way = (int((night(until, 3) - _UNDER_WAY).timestamp()), sent[1])
    changed = sorted([*drawn[2:], again, under_way])
    return changed, changed.index(sent), changed.index(again)


def night(until: dt.date, number: int) -> dt.datetime:
    """Return when the demo plays one of its first nights, each later in the day: what waits for whole days is due."""
    return _end(until) - dt.timedelta(days=NIGHTS[number - 1]) + _HOUR + (number - 1) * _LATER


def statements(orders: Sequence[tuple[int, int, dt.date, str, Decimal]]) -> tuple[str, str]:
    """Return statement and bank file, CSV, of whole weeks of orders: id, store, day, currency and total of each."""
    if len(orders) < _FEWEST:
        return "", ""
    first = orders[0][2]
    weeks = (orders[-1][2] - first).days // 7
    ((busiest, _),) = Counter(order[1] for order in orders).most_common(1)
    third = len(orders) // 3
    wrong = next((place for place, order in enumerate(orders[third:], third) if order[1] == busiest), third)
    lines = ["payout,shop,order,date,currency,total,commission,net"]
    paid = defaultdict[int, Decimal](Decimal)
    for place, (order_id, store_id, day, currency, total) in enumerate(orders):
        week = (day - first).days // 7
        is_risen = store_id == busiest and week == weeks - 1
        rate = _RATES[2] if place == wrong else _RATES[is_risen]
        commission = (total * rate).quantize(_CENT, ROUND_HALF_UP)
        net = total - commission
        cells = f"PO-{week + 1:06d},{store_id},{order_id},{day},{currency},{total:.2f},{commission},{net:.2f}"
        count = 0 if place == 0 or week >= weeks else 1 + (place == 1)
        lines += [cells] * count
        paid[week] += count * net
    bank = ["Booking date,Amount,Remittance"]
    bank += [
        f"{first + dt.timedelta(days=7 * week + 9)},{paid[week]:.2f},Payout PO-{week + 1:06d}"
        for week in range(weeks)
        if week != 1
    ]
    return "\n".join(lines), "\n".join(bank)


def _place(drawn: Drawn, at: dt.datetime) -> int:
    """Return the place of the first order from then on, or of the last of all."""
    return min(bisect.bisect_left(drawn, (int(at.timestamp()), 0)), len(drawn) - 1)


def _end(until: dt.date) -> dt.datetime:
    return dt.datetime.combine(until + dt.timedelta(days=1), dt.time(), dt.UTC)
