"""What happens in the demo's world on fixed days, beyond what chance brings.

A store closes for a few days and another gets a new name, an order is sent twice, a customer's phone number is
corrected, an order of a closed day is amended; a menu has a field that the interface does not show, tips of the iOS app
are paid apart, and orders by phone have a fee that no field states. One order is under way during a night. Days are
counted back from the last day with orders.

Orders of the Android app are settled by weekly statements, in which one order is missing, one is settled twice and one
has too much commission; the rate of the busiest store rises in the last week, and the second payout never arrives.
"""

from __future__ import annotations

import bisect
import datetime as dt
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.sandbox.stores import Store

FEE = Decimal("0.99")
TIP = Decimal(7)
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


def closed_for_days(drawn: Drawn, stores: Sequence[Store], until: dt.date) -> Drawn:
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


def renamed(stores: Sequence[Store], until: dt.date) -> list[Store]:
    """Give the first store another name, seen by the third night."""
    first, *others = stores
    at = int((night(until, 2) + _AFTER_NIGHT).timestamp())
    name = first.names[0][1]
    return [replace(first, names=((0, name), (at, f"{name} {first.town.name}"))), *others]


def sent_twice(drawn: Drawn, until: dt.date) -> tuple[Drawn, int, int]:
    """Send an order again after minutes, and one during the third night, in place of the first of all.

    Return also the places of the one that is sent again, and of its repetition.
    """
    sent = drawn[_place(drawn, _end(until) - _TWICE)]
    again = (sent[0] + _AGAIN_AFTER, sent[1])
    under_way = (int((night(until, 3) - _UNDER_WAY).timestamp()), sent[1])
    changed = sorted([*drawn[2:], again, under_way])
    return changed, changed.index(sent), changed.index(again)


def corrected_phone(drawn: Drawn, until: dt.date) -> tuple[int, int]:
    """Return the place of the order whose phone number is corrected, and when that is: before the last night."""
    return _place(drawn, _end(until) - _CORRECTED), int((night(until, 3) + _AFTER_NIGHT).timestamp())


def amended(drawn: Drawn, until: dt.date) -> tuple[int, int]:
    """Return the place of the order whose tip and lines change, and when: after the second night closed its day."""
    placed = dt.datetime.combine(night(until, 2).date(), dt.time(), dt.UTC) - dt.timedelta(hours=12)
    return _place(drawn, placed), int((night(until, 2) + _AFTER_NIGHT).timestamp())


def night(until: dt.date, number: int) -> dt.datetime:
    """Return when the demo plays one of its first nights, from 1.

    Each is later in the day than the one before: what waits for whole days is due, however slow the machine was.
    """
    return _end(until) - dt.timedelta(days=NIGHTS[number - 1]) + _HOUR + (number - 1) * _LATER


def unstated(platform: str, tip: Decimal) -> Decimal:
    """Return what no field states of the total of an order: the fee by phone, and that the iOS app's tip is not in."""
    return FEE if platform == "phone" else -tip if platform == "ios" else Decimal(0)


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


def other_number(phone: str) -> str:
    """Return the corrected phone number: the last digit is another one."""
    return phone[:-1] + str((int(phone[-1]) + 1) % 10) if phone[-1:].isdigit() else phone


def _place(drawn: Drawn, at: dt.datetime) -> int:
    """Return the place of the first order from then on, or of the last of all."""
    return min(bisect.bisect_left(drawn, (int(at.timestamp()), 0)), len(drawn) - 1)


def _end(until: dt.date) -> dt.datetime:
    return dt.datetime.combine(until + dt.timedelta(days=1), dt.time(), dt.UTC)
