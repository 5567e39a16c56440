"""The usual shortcuts, each tried on the same statements: where it fails, and that matching does not take it."""

from __future__ import annotations

import csv
import datetime as dt
import io
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb

from tests.settlements.conftest import Books

if TYPE_CHECKING:
    from pathlib import Path

    from tests.settlements.statements import World


_DATED = (
    "select count(*) from mart.settlement_lines as lines "
    "inner join mart.settlement_matches as matches using (match_id) "
    "inner join mart.orders as orders on matches.order_id = orders.order_id where lines.platform = 'orderly' and"
)


def rows_of(made: World, name: str, delimiter: str = ",") -> list[dict[str, str]]:
    """Return the rows of a file as the platform wrote them."""
    return list(csv.DictReader(io.StringIO(made.files[name]), delimiter=delimiter))


def count(con: duckdb.DuckDBPyConnection, query: str) -> int:
    """Return the one number of a query."""
    found = con.execute(query).fetchone()
    return int(found[0]) if found else -1


def test_a_column_of_existing_ids_is_not_the_key(
    made: World, con: duckdb.DuckDBPyConnection, tmp_path: Path, books: Books
) -> None:
    """Every delivery_id exists as an order id and hardly any has the row's amount; of the right column nearly all.

    The evidence of imported rows says the same of either mapping.
    """
    (tmp_path / "dashline.toml").write_text(
        (books.folder / "dashline.toml").read_text("utf-8").replace("client_order_id", "delivery_id"), "utf-8"
    )
    wrong = Books(tmp_path, made.orders)
    for name in made.files:
        (tmp_path / name).write_text(made.files[name], encoding="utf-8")
    wrong.statement("", "dashline")
    select = (
        "select sum(known_count) / sum(value_count), sum(same_amount_count) / sum(known_count) "
        "from workings.settlement_keys where reference = 'order' and entry_no <= 4"
    )
    with duckdb.connect(config={"threads": 1}) as other:
        ((known, same),) = wrong.build(other).execute(select).fetchall()
        assert (known, same < 0.1) == (1, True)
    ((known, same),) = con.execute(select).fetchall()
    assert known > 0.9 < same
    totals = {str(each["order_id"]): each["total_price"] for each in made.orders}
    rows = [row for name in made.files if name.startswith("trans") for row in rows_of(made, name)]
    rows = [row for row in rows if row["transaction_type"] == "DELIVERY"]
    gross = [sum(Decimal(row[part]) for part in ("order_subtotal", "delivery_fees", "staff_tip")) for row in rows]
    for column, least, most in (("client_order_id", 0.9, 1.0), ("delivery_id", 0.0, 0.1)):
        known = [
            (totals[row[column]], amount) for row, amount in zip(rows, gross, strict=True) if row[column] in totals
        ]
        assert len(known) >= 0.9 * len(rows)
        assert least <= sum(ours == theirs for ours, theirs in known) / len(rows) <= most, column


def test_nearest_amount_guesses_within_equals(made: World, con: duckdb.DuckDBPyConnection) -> None:
    """By two cents and an hour many rows have several orders to guess from; here no group of equals is told apart."""
    orders = made.of("orderly")
    guessed = 0
    for row in rows_of(made, "orderly_1.csv"):
        near = [
            each
            for each in orders
            if str(each["store_id"]) == row["Location"]
            and abs(each["total_price"] - Decimal(row["Total"])) <= Decimal("0.02")
            and abs((each["created_at"].replace(tzinfo=None) - _moment(row["Placed at"])).total_seconds()) <= 3600
        ]
        guessed += len(near) > 1
    assert guessed > 20
    assert (
        count(
            con,
            "select count(*) from mart.settlement_matches "
            "where match_state = 'one_of' and order_id is not null and platform = 'orderly'",
        )
        == 0
    )


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_weeks_by_the_local_day_differ(made: World, con: duckdb.DuckDBPyConnection) -> None:
    """Of the eight store-weeks one differs by UTC, which is the truth; by the stores' own days most do."""
    local = 0
    for row in rows_of(made, "invoices.csv"):
        first, last = (dt.datetime.strptime(day, "%d %b %Y").date() for day in row["Period"].split(" - "))  # noqa: DTZ007
        mine = [
            e
            for e in made.of("justly")
            if str(e["store_id"]) == row["Restaurant"] and first <= e["business_date"] <= last
        ]
        local += sum(each["total_price"] for each in mine) != Decimal(row["Total sales"].replace(",", ""))
    assert local > 4
    assert count(con, "select count(*) from mart.settlement_matches where match_state = 'differs'") == 1


def test_utc_days_are_other_days(made: World, con: duckdb.DuckDBPyConnection) -> None:
    """A third of the times are on another day by UTC; lines have the store's day."""
    orders = made.of("orderly")
    assert sum(each["created_at"].date() != each["business_date"] for each in orders) > len(orders) // 10
    assert (
        count(
            con,
            f"{_DATED} lines.line_date <> orders.business_date",
        )
        == 0
    )
    assert (
        count(
            con,
            f"{_DATED} lines.line_date <> cast(orders.created_at as date)",
        )
        > 20
    )


def test_bank_credit_of_the_same_amount_is_not_the_payout(made: World, con: duckdb.DuckDBPyConnection) -> None:
    """The missing payout's exact amount arrives from elsewhere: by amount it would be found."""
    found = con.execute(
        "select stated_amount, payout_state, is_due from mart.payouts where payout_ref = 'PO-000003'"
    ).fetchone()
    assert found is not None
    amount, state, is_due = found
    assert amount in [Decimal(row["Amount"]) for row in rows_of(made, "bank.csv")]
    assert (state, is_due) == ("not_at_bank", True)


def test_short_numbers_recur(made: World) -> None:
    """Without store and day most numbers name several orders."""
    numbers = [row["pedidoCurto"] for row in rows_of(made, "eventos.csv", ";") if row["evento"] == "VENDA"]
    orders = [each["order_id"] % 250 for each in made.orders]
    assert sum(orders.count(int(number.split("#")[1])) > 1 for number in numbers) > len(numbers) // 2


def test_one_store_map_without_days_is_wrong(made: World, con: duckdb.DuckDBPyConnection) -> None:
    """After the platform's store moved, its old store of ours would be wrong for these lines."""
    assert (
        count(
            con,
            "select count(*) from mart.settlement_lines "
            "where store_ref = 'A' and store_id = 1 and line_date < date '2026-10-12'",
        )
        > 0
    )
    assert (
        count(
            con,
            "select count(*) from mart.settlement_lines "
            "where store_ref = 'A' and store_id = 2 and line_date >= date '2026-10-12'",
        )
        > 0
    )
    assert (
        count(
            con,
            "select count(*) from mart.settlement_lines "
            "where store_ref = 'A' and (store_id = 2) <> (line_date >= date '2026-10-12')",
        )
        == 0
    )


def test_a_cent_is_named_not_absorbed(made: World, con: duckdb.DuckDBPyConnection) -> None:
    """One order, one period and one payout are a cent off: each is listed with that cent, and nothing else is."""
    orders = con.execute(
        "select order_id, open_amount from mart.order_settlements where settlement_state = 'differs'"
    ).fetchall()
    assert dict(orders) == dict.fromkeys(made.cent_wrong, Decimal("0.01"))
    periods = con.execute("select difference from mart.settlement_matches where match_state = 'differs'").fetchall()
    payouts = con.execute("select difference from mart.payouts where payout_state = 'differs'").fetchall()
    assert periods == payouts == [(Decimal("0.01"),)]


def test_net_is_never_booked_for_gross(con: duckdb.DuckDBPyConnection) -> None:
    """The receivable falls by gross; commission is apart, and an order's net is gross, refunds and costs."""
    rows = con.execute(
        "select settled_amount, refund_amount, cost_amount, net_amount from mart.order_settlements "
        "where platform = 'dashline' and settlement_state = 'settled' and settled_again_amount = 0"
    ).fetchall()
    assert rows
    assert all(gross > net and gross + refunds + costs == net for gross, refunds, costs, net in rows)


def test_a_batch_converted_as_a_whole_differs_from_its_lines(made: World, con: duckdb.DuckDBPyConnection) -> None:
    """Each row is rounded by itself, as it is paid: most batches converted whole come to another amount."""
    whole = {
        batch: (sum((net for net, _, _ in rows), Decimal(0)) * rows[0][1]).quantize(Decimal("0.01"))
        for batch, rows in made.batches.items()
    }
    paid = {batch: sum((amount for *_, amount in rows), Decimal(0)) for batch, rows in made.batches.items()}
    assert sum(whole[batch] != paid[batch] for batch in paid) > len(paid) / 2
    found = con.execute(
        "select payout_ref, currency, stated_amount, payout_state from mart.payouts where platform = 'orderly'"
    ).fetchall()
    assert {ref: rest for ref, *rest in found} == {ref: ["EUR", amount, "paid"] for ref, amount in paid.items()}
