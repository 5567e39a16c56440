"""A small folder with models: three orders of two people, published once with the models of `MODELS`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.privacy.conftest import World, copied, land

if TYPE_CHECKING:
    from pathlib import Path

WEEKLY = """\
-- One row per week and currency with orders.
--
-- key: week, currency
--
-- week DATE null: The Monday.
-- order_count: How many.
select
    date_trunc('week', business_date)::date as week,
    currency,
    count(*) as order_count,
    sum(total_price) as total_price,
from mart.orders
group by all
"""
DAILY = """\
-- One row per business day.
--
-- key: business_date
-- scope: day
select business_date, count(*) as order_count, sum(total_price) as total_price from mart.orders group by business_date
"""
BY_ORDER = """\
-- One row per order with lines.
--
-- key: order_id
-- scope: order
select lines.order_id, any_value(orders.status) as status, count(*) as line_count
from core.order_lines as lines
inner join core.orders as orders using (order_id)
group by lines.order_id
"""
TOTAL = """\
-- One row: the total of all weeks.
select sum(total_price) as total_price from own.weekly
"""
MODELS = {"weekly": WEEKLY, "daily": DAILY, "by_order": BY_ORDER, "total": TOTAL}


def write(world: World, name: str, text: str) -> Path:
    """Write a file of models."""
    path = world.place / "models" / f"{name}.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a folder of which a release with own tables is published."""
    world = World(tmp_path_factory.mktemp("own") / "place")
    land(world)
    for name, text in MODELS.items():
        write(world, name, text)
    world.publish()
    return world


@pytest.fixture
def own(first: World, tmp_path: Path) -> World:
    """Give a copy of one's own."""
    return copied(first, tmp_path / "place")
