"""Groups of n orders and m lines of one amount: the lesser number is settled, if each of it can have one of its own.

The rest is one break. Against every pairing there is, for drawn times; then in the journal, to the cent.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.finance.released import finance_sql
from pipelines.warehouse import catalogue
from tests.settlements.conftest import Books
from tests.settlements.statements import MAPPINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOON = dt.datetime(2026, 10, 5, 12, tzinfo=dt.UTC)
WINDOW, FEE = 10, Decimal("0.50")
SOLD = ("orderly", "older")
# amount → minutes of its orders, of its lines, and the places of orders that were sold under the older name
CASES: dict[int, tuple[list[int], list[int], set[int]]] = {
    10: ([0, 2, 4], [1, 3], set()),
    11: ([0, 2], [0, 1, 2], set()),
    12: ([0], [0, 1], set()),
    13: ([0, 18, 19, 20], [-5, -4, 10], set()),  # two lines have one order
    14: ([-5, -4, 10], [0, 18, 19, 20], set()),  # two orders have one line
    15: ([0, 1], [0], {1}),
    16: ([0, 1], [0, 1, 2], {1}),
    17: ([0, 2, 25, 26], [1, 25, 26, 27], set()),  # two groups: together as many lines as orders
    18: ([0, 18], [-5, -4], set()),  # two lines have one order, and the other order has none
    19: ([0, 1], [0, 1], {1}),
    20: ([0, 1, 2], [2], {0, 1, 2}),
}
# amount → state, of its groups and lines: the amount that is settled, and the rest
SETTLED: dict[int, list[tuple[str, int | None, int]]] = {
    10: [("one_of", 20, 10)],
    11: [("one_of", 22, -11)],
    12: [("one_of", 12, -12)],
    13: [("one_of", None, 13)],
    14: [("one_of", None, -14)],
    15: [("one_of", None, 15)],
    16: [("one_of", 32, -16)],
    17: [("one_of", 17, 17), ("one_of", 34, -17)],
    18: [("one_of", 18, -18)],
    19: [("group", 38, 0)],
    20: [("one_of", 20, 40)],
}
# the open items by the name that orders were sold on; of groups without a pairing all orders
OPEN = {"orderly": 10 + 4 * 13 + 3 * 14 + 15 + 17 + 18, "older": 15 + 40}


def made(folder: Path, cases: dict[int, tuple[list[int], list[int], set[int]]]) -> Books:
    """Return the books of one statement."""
    orders: list[dict[str, Any]] = []
    rows = ["Batch,Location,Placed at,Total,Fee,Paid in,Rate,Paid"]
    for amount, (ours, theirs, older) in cases.items():
        for place, minute in enumerate(ours):
            created = NOON + dt.timedelta(minutes=minute)
            orders.append(
                {
                    "order_id": len(orders) + 1,
                    "store_id": 1,
                    "platform": SOLD[place in older],
                    "sale_class": "counted",
                    "created_at": created,
                    "created_at_local": (created - dt.timedelta(hours=4)).replace(tzinfo=None),
                    "business_date": created.date(),
                    "currency": "USD",
                    "total_price": Decimal(amount),
                }
            )
        rows += [
            f"B1,1,{NOON + dt.timedelta(minutes=minute):%Y-%m-%d %H:%M:%S},{amount},{FEE},,,{amount - FEE}"
            for minute in theirs
        ]
    mapping = (MAPPINGS / "orderly.toml").read_text("utf-8").replace('= ["orderly"]', f"= {list(SOLD)}")
    (folder / "orderly.toml").write_text(mapping, encoding="utf-8")
    (folder / "orderly_1.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    books = Books(folder, orders)
    books.statement("", "orderly")
    return books


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the tables of the cases."""
    with duckdb.connect(config={"threads": 1}) as connection:
        yield made(tmp_path_factory.mktemp("groups"), CASES).build(connection)


def balanced(con: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the checks of receivable, clearing and unmatched find nothing."""
    names = (
        "order_settlements__equal_the_receivable",
        "payouts__equal_the_clearing",
        "settlement_matches__equal_the_unmatched",
    )
    return not any(con.execute(catalogue.check(f"mart.{name}").sql).fetchall() for name in names)


def journal(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], Decimal]:
    """Return the balance of each class and platform: sales, and statements as the journal has them; entries balance."""
    con.execute(f"create or replace temp table debits as {finance_sql('journal_settlements')}")
    entries = "select kind, entry_no, day, store_id, currency from debits group by all having sum(amount) <> 0"
    assert con.execute(entries).fetchall() == []
    rows = con.execute(
        "select account_class, platform, sum(amount) from (select account_class, platform, amount from debits "
        "union all select 'receivable', platform, total_price from mart.orders) group by all having sum(amount) <> 0"
    ).fetchall()
    return {(name, platform): amount for name, platform, amount in rows}


def test_the_lesser_number_is_settled_in_amount(con: duckdb.DuckDBPyConnection) -> None:
    """More orders, more lines, no pairing, an older name, groups beside each other; the rest is the only break."""
    found: dict[int, list[Any]] = defaultdict(list)
    for amount, *rest in con.execute(
        "select cast(their_amount / settlement_count as int), match_state, matched_amount, difference "
        "from mart.settlement_matches order by line_date, difference desc, match_id"
    ).fetchall():
        found[amount].append(tuple(rest))
    assert found == SETTLED
    breaks = con.execute(
        "select break_kind, amount from audit.settlement_breaks where break_kind <> 'never_settled' order by all"
    ).fetchall()
    rests = [rest for groups in SETTLED.values() for _, _, rest in groups if rest]
    assert breaks == [("one_of", rest) for rest in sorted(rests)]


def test_orders_are_settled_if_all_of_a_group_are(con: duckdb.DuckDBPyConnection) -> None:
    """With more lines each order is settled; with more orders nobody knows which."""
    found = con.execute(
        "select cast(ordered_amount as int), settlement_state, open_amount, count(*) from mart.order_settlements "
        "group by all order by all"
    ).fetchall()
    assert found == [
        (10, "unknown", None, 3),
        (11, "settled", 0, 2),
        (12, "settled", 0, 1),
        (13, "unknown", None, 4),
        (14, "unknown", None, 3),
        (15, "unknown", None, 2),
        (16, "settled", 0, 2),
        (17, "settled", 0, 2),
        (17, "unknown", None, 2),
        (18, "open", 18, 1),
        (18, "settled", 0, 1),
        (19, "settled", 0, 2),
        (20, "unknown", None, 3),
    ]


def test_the_journal_has_the_open_items_and_the_rest(con: duckdb.DuckDBPyConnection) -> None:
    """Receivable by the name that orders were sold on; unmatched has the gross of further lines alone."""
    assert balanced(con)
    costs = sum(len(theirs) for amount, (_, theirs, _) in CASES.items() if amount not in {13, 14, 15}) * FEE
    whole = [13] * 3 + [14] * 4 + [15]
    assert journal(con) == {
        **{("receivable", platform): amount for platform, amount in OPEN.items()},
        ("unmatched", "orderly"): len(whole) * FEE - sum(whole) - (11 + 12 + 16 + 17 + 18),
        ("fee", "orderly"): costs,
        ("clearing", "orderly"): sum(len(theirs) * (amount - FEE) for amount, (_, theirs, _) in CASES.items()),
    }


def test_an_accepted_rest_moves_alone(con: duckdb.DuckDBPyConnection) -> None:
    """Out of the receivable or unmatched; what was settled before stays; a group without a pairing moves whole."""
    con.execute("begin")
    try:
        before = journal(con)
        con.execute(
            "insert into raw.break_decisions (break_key, content, entry_no, account_class) "
            "select break_key, content, 50, 'loss' from audit.settlement_breaks where break_kind = 'one_of'"
        )
        after = journal(con)
        kinds = "select account_class, platform, sum(amount) from debits where kind = 'writeoff' group by all"
        moved = {(name, platform): amount for name, platform, amount in con.execute(kinds).fetchall()}
        assert moved["receivable", "older"] == -15 - 40
        assert {key: after.get(key, 0) - before.get(key, 0) for key in moved} == moved
        assert ("unmatched", "orderly") not in after
        assert after["receivable", "orderly"] == 18, "the order that no line reaches, and which is not due"
        assert sum(amount for (name, _), amount in moved.items() if name == "loss") == sum(
            rest for groups in SETTLED.values() for _, _, rest in groups
        )
        con.execute(
            "delete from raw.break_decisions where break_key not in (select match_id from mart.settlement_matches "
            "where matched_amount = 20 and difference = 10)"
        )
        journal(con)
        assert con.execute(
            "select account_class, platform, amount from debits where kind = 'writeoff' order by all"
        ).fetchall() == [("loss", "orderly", 10), ("receivable", "orderly", -10)]
    finally:
        con.execute("rollback")


@pytest.mark.parametrize(
    "fault",
    [
        "update mart.settlement_matches set matched_amount = null where difference = 10",
        "update mart.settlement_matches set matched_amount = their_amount where difference = -11",
        "update mart.settlement_matches set difference = 0 where difference = 10",
        "update mart.settlement_matches set matched_amount = their_amount where difference = 13",
        "update mart.order_settlements set settled_amount = null, open_amount = null where ordered_amount = 11",
        "update mart.order_settlements set settled_amount = 0 where ordered_amount = 16",
        "update workings.settlement_pairs set surplus = null where surplus = 'orders'",
        "update workings.settlement_pairs set surplus = 'settlements' where surplus is null and match_state = 'one_of'",
    ],
)
def test_a_group_booked_otherwise_is_found(con: duckdb.DuckDBPyConnection, fault: str) -> None:
    """A claim too many or too few on one side breaks the identity."""
    con.execute("begin")
    try:
        con.execute(fault)
        assert not balanced(con)
    finally:
        con.execute("rollback")


def pairings(ours: list[int], theirs: list[int]) -> int:
    """Return how many can be paired at most, by trying to move each that holds a place."""
    held: dict[int, int] = {}

    def placed(line: int, tried: set[int]) -> bool:
        for order, minute in enumerate(ours):
            if abs(minute - theirs[line]) <= WINDOW and order not in tried:
                tried.add(order)
                if order not in held or placed(held[order], tried):
                    held[order] = line
                    return True
        return False

    return sum(placed(line, set()) for line in range(len(theirs)))


@pytest.mark.parametrize("seed", [1, 2])
def test_pairs_are_claimed_if_and_only_if_there_is_a_pairing(tmp_path: Path, seed: int) -> None:
    """For drawn times: each group against its greatest pairing, found by another way."""
    rng = random.Random(seed)

    def minutes() -> list[int]:
        """Draw times in clusters, so that some cannot be shared out."""
        return rng.choices([9 * each for each in rng.sample(range(6), 3)], k=rng.randrange(3, 10))

    cases = {amount: (minutes(), minutes(), set[int]()) for amount in range(100, 500)}
    seen: dict[tuple[bool, int], int] = defaultdict(int)
    with duckdb.connect(config={"threads": 1}) as con:
        books = made(tmp_path, cases)
        books.build(con)
        minute = {each["order_id"]: (each["created_at"] - NOON) // dt.timedelta(minutes=1) for each in books.orders}
        for amount, state, matched, ids, times in con.execute(
            "select their_amount / settlement_count, match_state, matched_amount, candidate_order_ids, "
            "(select list(epoch(ordered_at)) from workings.settlement_rows where (entry_no, settlement_no) in (select "
            "(entry_no, settlement_no) from mart.settlement_lines as lines where lines.match_id = matches.match_id)) "
            "from mart.settlement_matches as matches where match_rule = 'amount_and_time'"
        ).fetchall():
            ours = [minute[order] for order in ids]
            theirs = [round(at - NOON.timestamp()) // 60 for at in times]
            fewer = min(len(ours), len(theirs))
            is_paired = pairings(ours, theirs) == fewer
            assert matched == (fewer * amount if is_paired else None), (ours, theirs)
            assert (state == "one_of") == (not is_paired or len(ours) != len(theirs))
            seen[is_paired, (len(ours) > len(theirs)) - (len(ours) < len(theirs))] += 1
        assert balanced(con)
    assert len(seen) == 6, seen
    assert min(seen.values()) > 5, seen


@pytest.mark.parametrize("amount", [10, 11, 12, 19])
def test_a_period_does_not_settle_what_lines_settle(tmp_path: Path, amount: int) -> None:
    """Its count and amount are those of all orders, and some of them lines of another statement have settled."""
    books = made(tmp_path, {amount: CASES[amount]})
    mapping = (MAPPINGS / "justly.toml").read_text("utf-8").replace('"justly"', '"orderly"').replace("GBP", "USD")
    mapping = mapping.replace('= ["orderly"]', f"= {list(SOLD)}").replace("invoices.csv", "weeks.csv")
    (tmp_path / "weeks.toml").write_text(mapping, encoding="utf-8")
    count = len(books.orders)
    heads = "Invoice number,Restaurant,Period,Orders,Total sales,Cash orders collected by you,Commission"
    row = f"W1,1,05 Oct 2026 - 11 Oct 2026,{count},{count * amount},0,0,0,0,{count * amount}"
    (tmp_path / "weeks.csv").write_text(f"{heads},VAT on commission,Refunds,Net paid to your bank\n{row}\n")
    books.statement("weeks.csv", "weeks")
    with duckdb.connect(config={"threads": 1}) as con:
        books.build(con)
        query = "select match_state, matched_amount from mart.settlement_matches where match_rule = 'period'"
        assert con.execute(query).fetchall() == [("settled_twice", None)]
        assert balanced(con)
