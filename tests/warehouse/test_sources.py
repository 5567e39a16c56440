"""Sources: what no load brings is read by a build, and a change of it alone makes one."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.inbox.store import connect, micros, transaction
from pipelines.ledger import Ledger, import_totals
from pipelines.settings import load_settings
from pipelines.warehouse.building.build import build

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def hint(world: Any) -> Any:
    """Give a function that stores a delivery as the receiver does."""

    def store(received_at: datetime, id: int) -> None:  # noqa: A002
        connection = connect(world.settings.data_dir / "inbox" / "worklist.sqlite")
        with transaction(connection):
            connection.execute(
                "insert into deliveries (received_at, topic, kind, id, bytes) "
                "values (?, 'orders.create', 'orders', ?, 2)",
                (micros(received_at), id),
            )
        connection.close()

    return store


@pytest.mark.slow
def test_a_change_of_a_source_alone_is_built(world: Any, make_order: Any, hint: Any) -> None:
    """A new delivery brings a new build and what reads it up to date; nothing new brings none."""
    world.land("orders", [{"id": 1, "document": make_order(1), "customer": "c1"}])
    hint(datetime(2026, 11, 1, 10, tzinfo=UTC), 1)
    assert world.build().rows["audit.coverage"] == 1
    assert not world.build().changed
    hint(datetime(2026, 11, 2, 10, tzinfo=UTC), 2)
    again = world.build()
    assert (again.changed, again.full, again.why) == (True, False, "nothing was landed; raw.hints changed")
    assert again.rows["audit.coverage"] == 2
    assert not world.build().changed


@pytest.mark.slow
def test_deliveries_are_not_read_where_nothing_changed(world: Any, make_order: Any, hint: Any) -> None:
    """Of 120,000 a build that finds nothing new keeps none in memory; one that does has the same rows as of few."""
    world.land("orders", [{"id": 1, "document": make_order(1), "customer": "c1"}])
    hint(datetime(2026, 11, 1, 10, tzinfo=UTC), 1)
    world.build()
    quiet = peak_of(world)
    connection = connect(world.settings.data_dir / "inbox" / "worklist.sqlite")
    at = micros(datetime(2026, 11, 1, 9, tzinfo=UTC))
    rows = ((at + 1000 * number, 1 + number % 2 * (number % 90_000)) for number in range(120_000))
    with transaction(connection):
        connection.executemany(
            "insert into deliveries (received_at, topic, kind, id, bytes) values (?, 'orders.update', 'orders', ?, 2)",
            rows,
        )
    connection.close()
    assert world.build().why == "nothing was landed; raw.hints changed"
    named = {1} | {1 + number % 90_000 for number in range(1, 120_000, 2)}
    table = "select occurrence_count, metric_value from audit.service_behaviour where aspect = 'deliveries' and name = "
    assert world.rows(f"{table}'orders.update'") == [(120_000, 120_000 / len(named))]
    assert world.rows(f"{table}'orders.create'") == [(1, 1)]
    assert peak_of(world) < quiet + 2 * 2**20


def peak_of(world: Any) -> int:
    """Return the bytes that Python held at most during a build in which nothing changed."""
    tracemalloc.start()
    try:
        assert not world.build().changed
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_control_totals_are_compared(world: Any, make_order: Any, tmp_path: Path) -> None:
    """Totals imported after a build are compared by the next one, and a later import by the one after."""
    world.land("orders", [{"id": 1, "document": make_order(1), "customer": "c1"}])
    world.build()
    file, ledger = tmp_path / "totals.csv", Ledger(world.data / "ledger")
    for amount, status in (("13.5001", "tied"), ("13.50", "variance")):
        file.write_text(
            "business_date,store_id,order_count,amount,amount_field,sale_classes\n"
            f"2026-11-02,2,1,{amount},total_price,all\n"
        )
        import_totals(ledger, file)
        result = world.build()
        assert result.why == "nothing was landed; raw.control_totals changed"
        assert world.rows("select tie_out_status from audit.control_totals") == [(status,)]
    before = world.contents()
    world.build(full=True)
    assert world.contents() == before


@pytest.mark.slow
def test_settings_that_questions_show_make_a_build(world: Any, make_order: Any) -> None:
    """Another timeout alone brings the assumptions up to date; a secret, or what no question shows, makes no build."""
    world.land("orders", [{"id": 1, "document": make_order(1), "customer": "c1"}])
    world.build()
    assumed = "select assumption from audit.questions where question = 'timeouts'"
    assert "timeout_seconds = 30" in world.rows(assumed)[0][0]
    file = world.data.parent / "ordermart.toml"
    hidden = {"ORDERMART_PARTNER__CLIENT_SECRET": "s3cret", "ORDERMART_WAREHOUSE__THREADS": "1"}
    assert not build(load_settings(file, hidden)).changed
    result = build(load_settings(file, {**hidden, "ORDERMART_PARTNER__TIMEOUT_SECONDS": "20"}))
    assert (result.full, result.why) == (False, "nothing was landed; raw.assumptions changed")
    assert "timeout_seconds = 20" in world.rows(assumed)[0][0]
