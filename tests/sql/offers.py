"""Rows of workings.menu_offers for tests of tables that read them."""

from __future__ import annotations

from typing import Any


def at(day: int | None) -> str | None:
    """Return noon of a day in October."""
    return day and f"2026-10-{day:02d}T12:00:00Z"


def offer(menu_id: int, price: str, since: int | None, until: int | None = None, **others: Any) -> dict[str, Any]:
    """Return what a menu asked for product 5, seen when it began."""
    seen = {"offered_from": at(since), "offered_until": at(until), "seen_at": at(since)}
    found = {"menu_id": menu_id, "product_id": 5, "menu_entry_count": 1, "prices": [price], "delivery_prices": []}
    return found | seen | others
