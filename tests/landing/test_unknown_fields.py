"""Unknown fields are encrypted and listed; named as harmless they are kept, past ones by a retry."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.reprocess import reprocess_quarantine
from pipelines.landing.validate import Validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

NOON = dt.datetime(2026, 10, 1, 12, tzinfo=dt.UTC)
KEEP = (
    '[landing]\nallowed_pointers = ["/channel", "/items/*/kcal", "/promo/codes/*/id", "/products/*/vat", "/menu/tags"]'
)


def _strange(order: dict[str, Any]) -> bytes:
    item = order["items"][0] | {"kcal": "@@", "note": "x"}
    promo = {"codes": [{"id": 1, "who": "Ann"}, {"id": None}], "by": "Bob"}
    strange = order | {"items": [item, item], "promo": promo, "channel": "app", "loyal": True}
    return json.dumps(strange).replace('"@@"', "250.10").encode()


@pytest.mark.promise(6)
def test_unknown_fields_are_encrypted_and_listed(
    land: Callable[..., LoadSummary],
    raw: Callable[[str, str], list[dict[str, Any]]],
    order: dict[str, Any],
    vault: Vault,
) -> None:
    """Paths and types stand in the document, values in the vault, by pointer; a number keeps its digits."""
    land("orders", _strange(order), json.dumps(order | {"id": 8}).encode())
    row, plain = raw("documents", "orders")
    document = json.loads(row["document"])
    assert (row["has_unknown"], plain["has_unknown"]) == (True, False)
    assert document["_unknown"] == {
        "/channel": "string",
        "/items/*/kcal": "number",
        "/items/*/note": "string",
        "/loyal": "boolean",
        "/promo": "object",
    }
    assert b'"/items/1/kcal":250.10,' in vault.decrypt_content("orders", 7)
    assert vault.decrypt("orders", 7)["/promo"]["by"] == "Bob"


def test_kept_fields_stand_in_the_document(
    configure: Callable[..., Settings], tmp_path: Path, order: dict[str, Any]
) -> None:
    """What settings name is in _kept, with its own digits; what stands beside it stays encrypted."""
    validated = Validator(configure(tmp_path, KEEP), "orders").validate(_strange(order))
    document = json.loads(validated.document)
    assert document["_kept"] == {
        "/channel": "app",
        "/items/0/kcal": 250.10,
        "/items/1/kcal": 250.10,
        "/promo/codes/0/id": 1,
        "/promo/codes/1/id": None,
    }
    assert b'"/items/0/kcal":250.10' in validated.document
    assert document["_unknown"] == {
        "/items/*/note": "string",
        "/loyal": "boolean",
        "/promo/by": "string",
        "/promo/codes/*/who": "string",
    }
    assert {"/promo/by", "/promo/codes/0/who"} <= set(json.loads(validated.content))


def test_a_retry_takes_what_was_refused(
    land: Callable[..., LoadSummary],
    raw: Callable[[str, str], list[dict[str, Any]]],
    configure: Callable[..., Settings],
    tmp_path: Path,
    settings: Settings,
    vault: Vault,
    order: dict[str, Any],
) -> None:
    """A body refused for its decimals is taken once settings round, with its first time; its verdict stays."""
    body = json.dumps(order | {"tip": 0.30000000000000004}).encode()
    land("orders", body, b"{", json.dumps(order | {"id": 8}).encode(), requested_id=7, observed_at=NOON)
    assert reprocess_quarantine(settings, vault) == []
    now = configure(tmp_path, '[landing]\nexcess_decimals = "round"')
    (summary,) = reprocess_quarantine(now, vault)
    assert summary.counts == {"accepted": 1, "unchanged": 0, "quarantined": 0, "missing": 0}
    rows = raw("observations", "orders")
    assert [row["verdict"] for row in rows] == ["quarantined"] * 3 + ["accepted"]
    assert rows[-1]["observed_at"] == NOON
    assert raw("documents", "orders")[0]["rounded"] == 1
    assert reprocess_quarantine(now, vault) == []
