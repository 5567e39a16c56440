"""sql/finance/restated_orders.sql: what was known of an order when its day was closed, to the second."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.finance.released import finance_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = dt.datetime(2026, 11, 7, tzinfo=dt.UTC)  # the close saw what was known by then, and was written then
SECOND = dt.timedelta(seconds=1)
TABLES = {
    "audit.pending_restatements": "order_id int, currency text, platform text, close_entry_no int, "
    "store_id int, business_date date, measure text, restatement_amount decimal(18, 4)",
    "core.order_versions": "order_id int, version_no int, first_seen_at timestamptz, last_seen_at timestamptz, "
    "_load_id text",
    "audit.loads": "load_id text, started_at timestamptz",
    "build.refusals": "kind text, id int, verdict text, observed_at timestamptz",
    "core.order_changes": "order_id int, version_no int, field text",
    "main.entries": "entry_no int, known_to timestamptz, written_at timestamptz",
    "mart.orders": "order_id int, store_id int, business_date date, sale_class text, timezone text, is_deleted bool",
    "core.orders": "order_id int, _payload_sha256 text, _fetched_at timestamptz",
    "temp.last_booked": "order_id int, written_at timestamptz, checked_at timestamptz",
}
PENDING = {"order_id": 1, "close_entry_no": 2, "store_id": 1, "business_date": "2026-10-31", "measure": "tip"}
VERSION = {"order_id": 1, "version_no": 1, "first_seen_at": NOW, "last_seen_at": NOW, "_load_id": "a"}
REFUSAL = {"kind": "orders", "id": 1, "verdict": "quarantined", "observed_at": NOW}
GIVEN = {
    "audit.pending_restatements": [PENDING | {"restatement_amount": 1}],
    "core.order_versions": [VERSION],
    "main.entries": [{"entry_no": 2, "known_to": NOW, "written_at": NOW}],
    "mart.orders": [{"order_id": 1, "store_id": 1, "sale_class": "counted", "is_deleted": False}],
    "core.orders": [{"order_id": 1, "_payload_sha256": "a"}],
}


@pytest.fixture
def known() -> Iterator[Callable[..., dict[str, Any]]]:
    """Give a function that returns the facts on order 1, of these rows instead of those of GIVEN."""
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'; create schema audit; create schema core; create schema mart")
        con.execute("create schema build")
        for name, columns in TABLES.items():
            con.execute(f"create {'temp ' * name.startswith('temp')}table {name} ({columns})")

        def run(**instead: list[dict[str, Any]]) -> dict[str, Any]:
            named = {name: instead.get(name.partition(".")[2], GIVEN.get(name, [])) for name in TABLES}
            for name, rows in named.items():
                con.execute(f"delete from {name}")
                for row in rows:
                    marks = ", ".join(["?"] * len(row))
                    con.execute(f"insert into {name} ({', '.join(row)}) values ({marks})", list(row.values()))
            found = con.execute(finance_sql("restated_orders"))
            names = [column[0] for column in found.description or ()]
            (first, *others) = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
            assert not others
            return first

        yield run


def test_a_version_is_known_at_close_by_its_load_too(known: Any) -> None:
    """Seen by the time of the close counts, unless its load, such as an archive's, began later."""
    late = VERSION | {"first_seen_at": NOW + SECOND}
    assert known()["was_known_at_close"]
    assert known()["changed_at"] == NOW
    assert not known(order_versions=[late])["was_known_at_close"]
    assert known(loads=[{"load_id": "a", "started_at": NOW}])["was_known_at_close"]
    archive = known(loads=[{"load_id": "a", "started_at": NOW + SECOND}])
    assert (archive["was_known_at_close"], archive["changed_at"]) == (False, NOW + SECOND)
    both = known(order_versions=[VERSION, late | {"version_no": 2}])
    assert (both["was_known_at_close"], both["changed_at"]) == (True, NOW + SECOND)


def test_of_the_versions_the_last_by_number_counts(known: Any) -> None:
    """An archive may bring an older time under a later number."""
    older = VERSION | {"version_no": 2, "first_seen_at": NOW - SECOND}
    assert known(order_versions=[VERSION, older])["changed_at"] == NOW - SECOND


@pytest.mark.parametrize(
    ("refusal", "is_quarantined"),
    [
        ({}, True),
        ({"observed_at": NOW + SECOND}, False),  # after the close
        ({"observed_at": NOW - SECOND}, False),  # the order was seen since
        ({"verdict": "failed"}, False),
        ({"kind": "menus"}, False),
        ({"id": 2}, False),
    ],
)
def test_an_order_is_quarantined_from_its_refusal_until_it_is_seen(
    known: Any, refusal: dict[str, Any], *, is_quarantined: bool
) -> None:
    """By the close, and by the last entry that booked it."""
    seen = NOW - SECOND
    given = {
        "refusals": [REFUSAL | refusal],
        "order_versions": [VERSION | {"first_seen_at": seen, "last_seen_at": seen}],
        "last_booked": [{"order_id": 1, "written_at": NOW, "checked_at": seen}],
    }
    found = known(**given)
    assert (found["was_quarantined_at_close"], found["was_quarantined_when_booked"]) == (is_quarantined,) * 2


def test_the_latest_time_seen_ends_a_quarantine(known: Any) -> None:
    """Of several versions the one that was seen last; none at all ends nothing."""
    seen = [
        VERSION | {"version_no": number, "first_seen_at": NOW - 3 * SECOND, "last_seen_at": NOW - number * SECOND}
        for number in (1, 2)
    ]
    between = [REFUSAL | {"observed_at": NOW - 1.5 * SECOND}]
    assert not known(order_versions=seen, refusals=between)["was_quarantined_at_close"]
    later = VERSION | {"first_seen_at": NOW + SECOND, "last_seen_at": NOW + SECOND}
    unseen = known(order_versions=[later], refusals=between)
    assert (unseen["was_known_at_close"], unseen["was_quarantined_at_close"]) == (False, True)
    booked = [{"order_id": 1, "written_at": NOW, "checked_at": None}]
    assert known(refusals=between, last_booked=booked)["was_quarantined_when_booked"]
    assert not known(refusals=between)["was_quarantined_when_booked"]  # booked never


def test_amounts_that_net_to_zero_have_not_changed(known: Any) -> None:
    """Each measure by itself, over the days and stores of a move."""

    def of(*amounts: tuple[str, int, int]) -> tuple[bool, bool, bool]:
        rows = [
            PENDING | {"measure": measure, "store_id": store, "restatement_amount": amount}
            for measure, store, amount in amounts
        ]
        found = known(pending_restatements=rows)
        return found["has_changed"], found["is_of_lines_alone"], found["is_between_closed_days"]

    assert of(("tip", 1, 1)) == (True, False, False)
    assert of(("line_amount", 1, 1)) == (True, True, False)
    assert of(("line_amount", 1, 1), ("tip", 1, 1)) == (True, False, False)
    assert of(("tip", 1, -2), ("tip", 2, 2)) == (False, False, True)
    assert of(("tip", 1, -2), ("tip", 2, 3)) == (True, False, True)
    assert of(("tip", 1, -2), ("discount", 1, 2)) == (True, False, False)


def test_a_change_of_the_store_is_as_old_as_its_version(known: Any) -> None:
    """The latest of them, and changes of nothing else."""
    versions = [VERSION | {"version_no": number, "first_seen_at": NOW + number * SECOND} for number in (1, 2, 3)]
    changes = [
        {"order_id": 1, "version_no": number, "field": field}
        for number, field in ((1, "store_id"), (2, "store_id"), (3, "tip"))
    ]
    assert known(order_versions=versions, order_changes=changes)["store_changed_at"] == NOW + 2 * SECOND
    assert known(order_versions=versions, order_changes=changes[2:])["store_changed_at"] is None
