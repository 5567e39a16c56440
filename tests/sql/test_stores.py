"""core.stores: one row per store, as its record was last observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

LINEAGE: dict[str, Any] = {"is_deleted": False, "_load_id": "L1", "_payload_sha256": "aa"}


@pytest.mark.duckdb2
def test_record_becomes_columns(run_table: Run) -> None:
    """A record's name, timezone and currency are taken as they are, a timezone that does not exist too."""
    rows = run_table(
        "core.stores",
        {
            "raw.latest_stores": [
                {"store_id": 1, "document": {"name": "Nord", "timezone": "Mars/Base", "currency": "EUR"}, **LINEAGE},
                {
                    "store_id": 2,
                    "document": {"name": "", "attributes": '{"/city": "Oslo"}'},
                    **LINEAGE,
                    "is_deleted": True,
                },
            ]
        },
    )
    got = [(r["store_id"], r["name"], r["timezone"], r["currency"], r["attributes"], r["is_deleted"]) for r in rows]
    assert got == [
        (1, "Nord", "Mars/Base", "EUR", None, False),
        (2, "", None, None, '{"/city": "Oslo"}', True),
    ]


def test_absent_is_null(run_table: Run) -> None:
    """A record that gives nothing but its id is a row."""
    rows = run_table("core.stores", {"raw.latest_stores": [{"store_id": 3, "document": {"id": 3}, **LINEAGE}]})
    assert {name for name, value in rows[0].items() if value is not None} == {"store_id", *LINEAGE}


def test_an_empty_currency_is_none(run_table: Run) -> None:
    """It would keep amounts from the currency of [finance]."""
    given = {"store_id": 3, "document": {"id": 3, "currency": ""}, **LINEAGE}
    (row,) = run_table("core.stores", {"raw.latest_stores": [given]})
    assert row["currency"] is None


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("USD", "USD"),
        ("usd", "USD"),
        ("Usd", "USD"),
        (" eur ", "EUR"),
        ("gbP", "GBP"),
        ("jpy", "JPY"),
        ("US$", "USD"),
        ("€", "EUR"),
        ("us$", "USD"),
        ("rmb", "CNY"),
        ("\u00a0Eur\n", "EUR"),
        ("EURO", "EURO"),
        ("£", "£"),
        ("840", "840"),
        ("RMB", "CNY"),
        ("Rs.", "Rs."),
        ("bitcoin", "bitcoin"),
        ("  ", None),
    ],
)
def test_a_currency_is_its_code(run_table: Run, sent: str, code: str | None) -> None:
    """Codes of ISO 4217 in any case are one; other texts are what a setting says, else as sent."""
    given = {"store_id": 3, "document": {"id": 3, "currency": sent}, **LINEAGE}
    names = {"key": ["US$", "€", "RMB"], "value": ["USD", "EUR", "CNY"]}
    rows = run_table("core.stores", {"raw.latest_stores": [given], "raw.settings": [{"finance_currency_codes": names}]})
    assert rows[0]["currency"] == code
