"""closed_amount + posted_amount + unposted_amount = current_amount, whatever happens in whatever order."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.finance.released import FinanceError
from pipelines.ledger import verify

if TYPE_CHECKING:
    from collections.abc import Callable

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
        if table.startswith(("mart.", "audit.closed_", "audit.pending_")):
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


@pytest.mark.sample
@pytest.mark.slow
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
