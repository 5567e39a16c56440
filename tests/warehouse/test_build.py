"""The build: nothing, an increment or everything, and why."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

from pipelines.finance.closing import build_and_record
from pipelines.warehouse.building.build import warehouse_file

Make = "Callable[..., dict[str, Any]]"


@pytest.mark.slow
@pytest.mark.duckdb2
def test_first_build(world: Any, make_order: Any, make_menu: Any, make_store: Any) -> None:
    """The first build makes everything, and its checks hold."""
    world.land("stores", [{"id": i, "document": make_store(i)} for i in (1, 2)])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    world.land("orders", [{"id": i, "document": make_order(i), "customer": f"c{i}"} for i in range(1, 6)])
    result = world.build()
    assert (result.changed, result.full) == (True, True)
    assert result.why == "there was no warehouse yet"
    assert result.rows["core.orders"] == 5
    assert result.rows["core.order_lines"] == 10
    assert result.rows["core.order_line_modifiers"] == 15
    assert result.rows["core.order_deliveries"] == 5
    assert result.rows["mart.orders"] == 5
    assert [each for each in result.checks if each.severity == "blocking" and each.violations] == []
    again = world.build()
    assert (again.changed, again.full, again.rows) == (False, False, result.rows)


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [pytest.param(True, marks=pytest.mark.long), False])
def test_an_order_is_gone_after_three_misses_an_hour_apart(world: Any, make_order: Any, *, at_once: bool) -> None:
    """Misses within an hour count once, the third that counts marks it gone, an answer takes it back."""
    world.land("orders", [{"id": 1, "at": 0, "document": make_order(1)}])
    found = []
    for at in (1, 1.5, 1.9, 2, 2.9, 3, 4):
        world.land("orders", [{"id": 1, "at": at, "verdict": "missing"}])
        if not at_once:
            world.build()
            found.append(world.rows("select is_deleted from core.orders")[0][0])
    world.build()
    assert found in ([], [False] * 5 + [True] * 2)
    assert world.rows("select is_deleted from core.orders") == [(True,)]
    world.land("orders", [{"id": 1, "at": 5, "document": make_order(1)}])
    world.build()
    assert world.rows("select is_deleted from core.orders") == [(False,)]


@pytest.mark.slow
def test_damaged_warehouse_is_rebuilt(world: Any, make_order: Any) -> None:
    """A file that DuckDB cannot read is set aside and rebuilt, with a note; a full build needs no note."""
    world.land("orders", [{"id": 1, "document": make_order(1)}])
    world.build()
    contents = world.contents()
    warehouse_file(world.data).write_bytes(b"not a database" * 1000)
    result = world.build()
    assert (result.full, len(result.notes)) == (True, 1)
    assert world.contents() == contents
    warehouse_file(world.data).write_bytes(b"not a database" * 1000)
    assert world.build(full=True).notes == ()
    assert world.contents() == contents


@pytest.mark.slow
def test_orders_are_inserted_eight_calls_below_a_build(world: Any, make_order: Any) -> None:
    """From the call of a full build to the insert of its orders there are at most eight functions to read."""
    world.land("orders", [{"id": 1, "document": make_order(1)}])
    insert = "insert into warehouse.core.orders "
    stacks = []

    def note(frame: Any, event: str, called: Any) -> None:
        values = frame.f_locals.values() if event == "c_call" and called.__name__ == "execute" else ()
        if any(isinstance(value, str) and value.startswith(insert) for value in values):
            calls = [each for each, _ in traceback.walk_stack(frame)]
            stacks.append([each.f_code.co_name for each in calls if "pipelines" in each.f_globals["__name__"]])

    sys.setprofile(note)
    try:
        build_and_record(world.settings)
    finally:
        sys.setprofile(None)
    assert stacks
    assert max(map(len, stacks)) <= 8, stacks
