"""The page of a reconciliation, read by an HTML parser."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import Selection, open_release
from pipelines.report.finance_views import page_text
from pipelines.report.page.morning import write_morning_page
from tests.recorded import recorded
from tests.report.pages import Page, offences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import World

NOW = dt.datetime(2026, 11, 2, 3, 20, tzinfo=dt.UTC)


def text_of(world: World, most_rows: int = 60, **chosen: Any) -> str:
    """Return the page of a selection of the world."""
    with open_release(world.settings) as release:
        return page_text(reconciliation(release, Selection(**chosen)), most_rows)


@pytest.fixture(scope="module")
def text(world: World) -> str:
    """Return the page of the whole world."""
    return text_of(world)


def test_page_is_well_formed_and_self_contained(text: str) -> None:
    """Every tag is closed; no scripts, requests or styles but the one that the policy names by its hash."""
    assert offences(text) == []


def test_untrusted_text_is_escaped(text: str) -> None:
    """A store name that looks like a script is shown as text."""
    assert "<script" not in text
    cells = {cell for table in Page(text).tables for row in table for cell in row}
    assert "<script>alert(1)</script>&\"' (5)" in cells


def test_breaks_come_first_the_largest_first(text: str) -> None:
    """The first table has the largest break of each currency first; the next the sums by currency."""
    breaks, summary = Page(text).tables[:2]
    assert [[row[0], row[3], *row[-2:]] for row in breaks[1:]] == [
        ["14", "+0.50", "subtotal", "USD"],
        ["51", "-0.0001", "total", ">0"],
        ["22", "-3.00", "total", "EUR"],
        ["13", "+0.01", "total", "USD"],
    ]
    assert [[row[-1], row[0], *row[2:4]] for row in summary[1:]] == [
        ["USD", "counted", "7", "2"],
        ["EUR", "counted", "2", "1"],
        [">0", "unmapped", "1", "1"],
        ["USD", "excluded", "1", "0"],
    ]
    assert summary[1][1] == "98,765,432,110,021.5569"


def test_each_waterfall_ends_at_the_total(text: str) -> None:
    """The description of a chart names every difference; those of EUR are 4 of delivery, and 3 too few in all."""
    assert "Waterfall of 2 orders: delivery  +4.00; residual  -3.00." in text
    assert "Subtotal 51.00 to total 52.00, counted orders, EUR" in text


def test_days_with_breaks_come_first(world: World, text: str) -> None:
    """The last table has a row per day, currency and sale class, those with breaks first."""
    days = Page(text).tables[-1]
    breaks = [int(row[3]) for row in days[1:]]
    assert breaks == sorted(breaks, reverse=True)
    query = "select count(*) from (select distinct currency, sale_class, business_date from mart.orders)"
    assert len(breaks) == world.all(query)[0][0]


def test_a_selection_limits_every_table(world: World) -> None:
    """The page of a store has its breaks and days alone."""
    text = text_of(world, store_id=4)
    breaks, summary, *_ = Page(text).tables
    assert [row[0] for row in breaks[1:]] == ["22"]
    assert [row[0] for row in summary[1:]] == ["counted"]
    assert "By sale class, EUR" in text  # the only currency, which has no column


def test_page_has_no_personal_data(text: str, canaries: tuple[str, ...]) -> None:
    """The page has no personal value."""
    assert [canary for canary in canaries if canary in text] == []


def test_long_tables_are_cut_with_a_note(world: World) -> None:
    """A table beyond the limit is cut, with a note on where to find the rest."""
    text = text_of(world, most_rows=1)
    assert "First 1 of 4; all in <code>ordermart breaks list</code>" in text
    assert len(Page(text).tables[0]) == 2


@pytest.mark.slow
def test_restatements_rank_within_their_currency_and_measure(
    tmp_path: Path, world_of: Callable[..., World], make_order: Callable[..., Any]
) -> None:
    """Two large changes in JPY do not crowd out a small one in USD, nor totals the tips."""
    world = world_of(tmp_path / "world", '[sales]\ncounted_statuses = ["delivered"]\n')
    world.land(
        "stores",
        [{"id": id_, "name": "S", "timezone": "UTC", "currency": code} for id_, code in ((3, "USD"), (4, "JPY"))],
    )
    world.land("orders", [make_order(1), *(make_order(id_, store_id=4) for id_ in (2, 3))])
    world.publish()
    closed = world.command("close", "2026-11-01", "--with-exceptions", "a test")
    assert closed.returncode == 0, closed.stderr
    changes = [(1, 3, 3), (2, 4, 9000), (3, 4, 8000)]
    world.land(
        "orders",
        [make_order(id_, store_id=store, tip=tip, total_price=27.5 + tip) for id_, store, tip in changes],
        dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1),
    )
    world.publish()
    text = text_of(world, most_rows=4)
    assert offences(text) == []
    (table,) = (table for table in Page(text).tables if "by" in table[0])
    assert [[row[0], row[5], row[6], row[3]] for row in table[1:]] == [
        ["2", "+9,000", "JPY", "counted tip"],
        ["2", "+9,000", "JPY", "counted total price"],
        ["1", "+3.00", "USD", "counted tip"],
        ["1", "+3.00", "USD", "counted total price"],
    ]


@pytest.mark.slow
def test_restatements_stand_under_their_heads(closed_world: World) -> None:
    """On both pages each row has as many cells as the head, also if all have one currency; and the right ones."""
    shown = [text_of(closed_world)]
    assert write_morning_page(closed_world.settings, recorded(NOW), NOW) == ""
    shown.append((closed_world.settings.data_dir / "published" / "morning.html").read_text("utf-8"))
    (tip,) = closed_world.all(
        "select order_id::varchar, closed_business_date || 'store ' || store_id, replace(cause::varchar, '_', ' '), "
        "sale_class || ' ' || measure, '0.00', '+3.00' from mart.restatements where measure = 'tip' and order_id = 1"
    )
    for text in shown:
        assert offences(text) == []
        (table,) = (table for table in Page(text).tables if "by" in table[0])
        assert table[0] == ["order", "closed day, store", "cause", "class, measure", "at close", "by"]
        assert list(tip) in table
