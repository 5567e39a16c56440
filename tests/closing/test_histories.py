"""Random histories of closed days: the books of every period are those that the ledger's files make."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.histories import books_history, play
from tests.replayed_books import PRICES, replay

if TYPE_CHECKING:
    from pathlib import Path

DAY = "2026-10-31"
ORDER = {"store_id": 1, "business_date": DAY, "sale_class": "counted", "currency": "EUR"} | dict.fromkeys(PRICES)
KEY = (1, "counted", "EUR", "total_price")


@pytest.mark.slow
def test_the_books_of_a_short_history_are_those_of_the_ledger(tmp_path: Path) -> None:
    """Closes, postings, reopenings, kills, other currencies, zones, sales and components, in ten steps."""
    assert play(books_history(1, 10), tmp_path) > 0


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
def test_the_books_of_sixty_steps_are_those_of_the_ledger(seed: int, tmp_path: Path) -> None:
    """Closed + posted + unposted = current by currency, class and period; closed figures stay what they were."""
    assert play(books_history(seed), tmp_path) > 0


def test_histories_of_books_cover_what_can_happen() -> None:
    """Among the histories of sixty steps are all kinds of steps and kills; stores change currency and zone."""
    steps = [step for seed in range(3) for step in books_history(seed)]
    assert {step["do"] for step in steps} == {"land", "build", "settings", "close", "reopen", "post", "kill"}
    assert {step["place"] for step in steps if step["do"] == "kill"} == {"before_record", "after_record", "in_append"}
    assert len({step["file"] for step in steps if step["do"] == "settings"}) > 3
    stores = [
        each["document"]
        for step in steps
        if step.get("kind") == "stores"
        for each in step["verdicts"]
        if "document" in each
    ]
    assert len({json.dumps(store, sort_keys=True) for store in stores}) > 10
    assert books_history(7) == books_history(7)


def test_a_replay_follows_the_entries(tmp_path: Path) -> None:
    """Closed in October, 2 posted to November and reversed there, closed again with them, 5 not posted."""
    made: list[tuple[str, dict[str, Any], list[dict[str, Any]] | None]] = [
        ("closed", _days("2026-10"), [ORDER | {"total_price": Decimal(10)}]),
        ("restated", {}, [_restated(1, 1, 2)]),
        ("posted", {"period": "2026-11"}, [{"restatement_no": 1}]),
        ("reopened", {"day": DAY, "store_id": None}, [{"restatement_no": 1, "period": "2026-11"}]),
        ("closed", _days("2026-10"), [ORDER | {"total_price": Decimal(12)}]),
        ("restated", {}, [_restated(2, 5, 5)]),
    ]
    for no, (act, body, rows) in enumerate(made, 1):
        file = rows and f"{no}.parquet"
        if file:
            pq.write_table(pa.Table.from_pylist(rows), tmp_path / file)
        with (tmp_path / "ledger.jsonl").open("a") as lines:
            lines.write(json.dumps({"no": no, "act": act, "body": body, "file": file}) + "\n")
    books = replay(tmp_path)
    assert {key[0]: sums for key, sums in books.periods.items() if key[1:] == KEY} == {
        "2026-10": [12, 0, 0],
        "2026-11": [0, 2, -2],
    }
    assert books.days[DAY, *KEY] == [12, 0, 5]


def _days(period: str) -> dict[str, Any]:
    return {"days": [{"day": DAY, "stores": None, "period": period}]}


def _restated(number: int, close_entry_no: int, amount: int) -> dict[str, Any]:
    row = {"restatement_no": number, "close_entry_no": close_entry_no, "restatement_amount": Decimal(amount)}
    return (
        {name: ORDER[name] for name in ("store_id", "business_date", "sale_class", "currency")}
        | row
        | {"measure": "total_price"}
    )
