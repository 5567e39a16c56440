"""A month closed, restated, reopened and posted: a story, and histories in which all sums hold."""

from __future__ import annotations

import contextlib
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.finance.released import FinanceError
from pipelines.ledger import LedgerError, verify

if TYPE_CHECKING:
    from collections.abc import Callable

OCTOBER, LAST = "2026-10-31T10:00:00Z", "2026-10-30T10:00:00Z"
D30, D31 = date(2026, 10, 30), date(2026, 10, 31)


@pytest.fixture(scope="module")
def template(books_of: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Close October with six orders on two days."""
    books = books_of(tmp_path_factory.mktemp("october") / "books")
    for order_id in range(1, 7):
        books.land(order_id, created_at=OCTOBER if order_id < 5 else LAST, store_id=1, total_price="10.00")
    books.publish()
    assert books.close("2026-10").order_count == 6
    books.publish()
    return books


@pytest.fixture
def october(template: Any, tmp_path: Path) -> Any:
    """Give a copy of those books."""
    return template.copied(tmp_path / "books")


@pytest.mark.slow
def test_changes_to_a_closed_month_are_restated(october: Any, hours: tuple[int, int]) -> None:
    """Late, changed, deleted and moved orders and a changed setting have distinct causes; the sums hold throughout."""
    books, after = october, hours[1]
    assert books.restated("restatement_no") == []
    books.land(9, after, created_at=OCTOBER, store_id=1, total_price="7.00")
    books.land(1, after, created_at=OCTOBER, store_id=1, total_price="12.5001")
    for hour in range(3):
        books.land(2, after + 2 * hour, verdict="missing")
    books.land(3, after, created_at=LAST, store_id=1, total_price="10.00")
    books.land(4, after, created_at=OCTOBER, store_id=1, total_price="10.00", status="refused")
    books.publish()
    assert books.causes() == {
        9: {"late_arriving"},
        1: {"source_changed"},
        2: {"deleted"},
        3: {"business_date_changed"},
        4: {"sale_class_changed"},
    }
    assert books.restated("order_id", "closed_business_date", "sale_class", "restatement_amount") == [
        (3, D30, "counted", Decimal(10)),
        (1, D31, "counted", Decimal("2.5001")),
        (2, D31, "counted", Decimal(-10)),
        (2, D31, "deleted", Decimal(10)),
        (3, D31, "counted", Decimal(-10)),
        (4, D31, "counted", Decimal(-10)),
        (4, D31, "excluded", Decimal(10)),
        (9, D31, "counted", Decimal(7)),
    ]
    assert books.off() == []
    assert (books.total("closed_amount"), books.total("unposted_amount"), books.total("current_amount")) == (
        60,
        Decimal("9.5001"),
        Decimal("69.5001"),
    )

    assert books.post("2026-11").amounts == (("", Decimal("9.5001")),)
    books.publish()
    assert (books.total("posted_amount"), books.total("unposted_amount")) == (Decimal("9.5001"), 0)
    assert books.post("2026-11").restatement_count == 0

    before = books.all("select * exclude (posted_period) from mart.restatements order by restatement_no")
    books.set(sales={"counted_statuses": ["done", "refused"]})
    books.publish()
    assert books.restated("order_id", "restatement_amount", "cause", "posted_period")[8:] == [
        (4, Decimal(10), "setting_changed", None),
        (4, Decimal(-10), "setting_changed", None),
    ]
    assert (
        books.all("select * exclude (posted_period) from mart.restatements order by restatement_no")[: len(before)]
        == before
    )
    assert books.off() == []

    books.reopen("2026-10-31")
    books.publish()
    assert {row[0] for row in books.all("select distinct business_date from mart.closed_days")} == {D30}
    assert books.off() == []
    with pytest.raises(FinanceError, match="is not closed"):
        books.reopen("2026-10-31")
    again = books.close("2026-10-31")
    assert again.order_count == 4
    books.publish()
    assert books.all("select sum(unposted_amount) from mart.closed_days where business_date = '2026-10-31'") == [(0,)]
    assert books.off() == []
    assert verify(books.ledger).entries == 6


@pytest.mark.long
def test_a_rebuild_gives_the_same(october: Any, hours: tuple[int, int]) -> None:
    """A full rebuild from raw and ledger gives the same restatements, detection times included."""
    books = october
    books.land(1, hours[1], created_at=OCTOBER, store_id=1, total_price="12.00")
    books.publish()
    before = books.world.contents()
    books.publish(full=True)
    assert books.world.contents() == before
    assert [row[:2] for row in books.restated("order_id", "restatement_amount")] == [(1, Decimal(2))]


@pytest.mark.slow
def test_a_closed_month_cannot_be_closed_again(october: Any) -> None:
    """Closing the month, a day of it or a store of that day again is an error."""
    for what, store in (("2026-10", None), ("2026-10-31", None), ("2026-10-31", 1)):
        with pytest.raises(FinanceError, match="is already closed"):
            october.close(what, store)


@pytest.mark.slow
def test_another_rule_reaches_closed_days_after_reopening_alone(october: Any) -> None:
    """A rule of the settings that changed restates nothing; once the day is reopened its lines have amounts by it."""
    rule = "line_price/no_modifiers/all_add/before_discount/unrounded"
    october.set(formula={"subtotal_rule": rule})
    october.publish()
    assert october.all("select * from mart.restatements") == []
    assert october.off() == []
    rules = "select distinct line_rule, current_subtotal_rule from audit.order_rules join mart.orders using (order_id) "
    closed = "where business_date = date '2026-10-31'"
    assert october.all(rules + closed) != [(rule, rule)]
    assert {row[1] for row in october.all(rules + closed)} == {rule}
    october.reopen("2026-10-31")
    october.publish()
    assert october.all(rules + closed) == [(rule, rule)]


@pytest.mark.slow
def test_a_build_rejects_a_changed_row_file(october: Any) -> None:
    """A changed row file of a close stops the build: nothing is restated against it."""
    (entry,) = october.ledger.entries("closed")
    path = october.ledger.folder / entry.file
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(LedgerError, match="was changed"):
        october.publish()


DAYS = ["2026-10-30", "2026-10-31"]
CHANGE = st.fixed_dictionaries(
    {
        "id": st.integers(1, 3),
        "day": st.sampled_from([*DAYS, None]),
        "store_id": st.sampled_from([1, 2, None]),
        "total_price": st.sampled_from(["10", "0.0001", "99999999999999.9999", "-3.5", None]),
        "status": st.sampled_from(["done", "refused", "other"]),
    }
)
STEP = st.one_of(
    st.tuples(st.just("land"), CHANGE),
    st.tuples(st.just("delete"), st.integers(1, 3)),
    st.tuples(st.just("close"), st.tuples(st.sampled_from([*DAYS, "2026-10"]), st.sampled_from([None, 1]))),
    st.tuples(st.just("reopen"), st.tuples(st.sampled_from(DAYS), st.sampled_from([None, 1]))),
    st.tuples(st.just("post"), st.sampled_from(["2026-11", "2026-12"])),
    st.tuples(st.just("set"), st.lists(st.sampled_from(["done", "refused"]), unique=True)),
)


def prove(books: Any, steps: list[tuple[str, Any]]) -> None:
    """Take the steps, publish after each, and compare all that a release showed before with what it shows now."""
    shown: list[tuple[Any, ...]] = []
    books.land(1, created_at="2026-10-30T10:00:00Z", store_id=1)
    books.publish()
    for number, (what, values) in enumerate(steps):
        take(books, number, what, values)
        books.publish()
        assert books.off() == []
        assert books.all("from audit.pending_restatements") == []
        now = books.all(
            "select * exclude (posted_period, reversed_period, is_close_active) from mart.restatements "
            "order by restatement_no"
        )
        assert now[: len(shown)] == shown
        assert [row[0] for row in now] == list(range(1, len(now) + 1))
        shown = now
    verify(books.ledger)
    before = books.world.contents()
    books.publish(full=True)
    for table, rows in books.world.contents().items():
        if table.startswith(("mart.", "audit.pending_", "workings.closed_")):
            assert before[table] == rows, table


def take(books: Any, number: int, what: str, values: Any) -> None:
    """Take one step; what finance may not do is refused, and changes nothing."""
    at = -80_000 + 10 * number
    if what == "land":
        day = values["day"]
        books.land(
            values["id"],
            at,
            created_at=day and f"{day}T10:00:00Z",
            **{name: values[name] for name in ("store_id", "total_price", "status")},
        )
    elif what == "delete":
        for hour in range(3):
            books.land(values, at + 2 * hour, verdict="missing")
    elif what == "post":
        books.post(values)
    elif what == "set":
        books.set(sales={"counted_statuses": values, "excluded_statuses": []})
    else:
        with contextlib.suppress(FinanceError):
            getattr(books, what)(*values)


@pytest.mark.long
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=1, max_size=2))
def test_a_few_histories(books_of: Callable[[Path], Any], steps: list[tuple[str, Any]]) -> None:
    """After each step all sums hold, and nothing that was shown has changed."""
    with tempfile.TemporaryDirectory() as folder:
        prove(books_of(Path(folder) / "books"), [("close", ("2026-10", None)), *steps])


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=3, max_size=9))
def test_many_histories(books_of: Callable[[Path], Any], steps: list[tuple[str, Any]]) -> None:
    """The same, for long."""
    with tempfile.TemporaryDirectory() as folder:
        prove(books_of(Path(folder) / "books"), steps)
