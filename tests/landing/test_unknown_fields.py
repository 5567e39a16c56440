"""Unknown fields are encrypted and listed; named as harmless they are kept, past ones by a retry."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.landing.load import Load
from pipelines.landing.reprocess import Rekeeper, reprocess_quarantine
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["orders", "menus"])
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reprocessing_gives_what_validation_would(
    configure: Callable[..., Settings],
    tmp_path: Path,
    order: dict[str, Any],
    menu: dict[str, Any],
    kind: str,
    data: st.DataObject,
) -> None:
    """A document re-made from document and vault equals the gate's judgement of the body under today's settings."""
    value = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
        lambda below: (
            st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(["id", "a", "0", "b c"]), below, max_size=2)
        ),
        max_leaves=6,
    )
    body = json.loads(json.dumps(order if kind == "orders" else menu))
    places = (
        [body, body["items"][0], body["deliveries"][0]] if kind == "orders" else [body["menu"], body["products"]["100"]]
    )
    for name, value_ in data.draw(
        st.dictionaries(st.sampled_from(["channel", "kcal", "promo", "vat", "tags", "a b"]), value)
    ).items():
        data.draw(st.sampled_from(places))[name] = value_
    pointers = [
        "/channel",
        "/items/*/kcal",
        "/promo/*/id",
        "/promo/a",
        "/promo/id",
        "/products/*/vat/a",
        "/menu/tags",
        "/menu/promo/*",
    ]
    keep = data.draw(st.lists(st.sampled_from(pointers), unique=True))
    before = Validator(configure(tmp_path), "orders" if kind == "orders" else "menus").validate(
        json.dumps(body).encode()
    )
    now = configure(tmp_path, f"[landing]\nallowed_pointers = {json.dumps(keep)}")
    after = Validator(now, kind).validate(json.dumps(body).encode())
    rekeeper = Rekeeper(now, kind)
    found = rekeeper.rekept(before.document, before.content)
    if found is None:
        assert after.document == before.document or b"_kept" not in after.document
        return
    assert rekeeper.wants(before.document)
    assert found == (after.document, after.content)


def test_a_retry_brings_kept_fields_back(
    land: Callable[..., LoadSummary],
    raw: Callable[[str, str], list[dict[str, Any]]],
    configure: Callable[..., Settings],
    tmp_path: Path,
    settings: Settings,
    vault: Vault,
    order: dict[str, Any],
) -> None:
    """Past documents come again with the fields, at the time they were observed; a second retry has nothing to do."""
    land("orders", _strange(order), observed_at=NOON)
    land("orders", _strange(order), observed_at=NOON + dt.timedelta(hours=1))
    land("orders", _strange(order | {"status": "done"}), observed_at=NOON + dt.timedelta(hours=2), source="archive")
    assert reprocess_quarantine(settings, vault) == []
    now = configure(tmp_path, KEEP)
    (summary,) = reprocess_quarantine(now, vault)
    assert summary.counts == {"accepted": 2, "unchanged": 0, "quarantined": 0, "missing": 0}
    rows = [row for row in raw("observations", "orders") if row["load_id"] == summary.load_id]
    assert [row["observed_at"] for row in rows] == [NOON + dt.timedelta(hours=1), NOON + dt.timedelta(hours=2)]
    assert [row["source"] for row in rows] == ["live", "archive"]
    documents = [json.loads(row["document"]) for row in raw("documents", "orders")]
    assert [document.get("_kept", {}).get("/channel") for document in documents] == [None, None, "app", "app"]
    assert {row["lines"] for row in raw("documents", "orders")} == {2}
    assert reprocess_quarantine(now, vault) == []
    with Load(now, vault, "orders") as load:
        load.validate(_strange(order | {"status": "done"}), observed_at=NOON + dt.timedelta(hours=3))
        assert load.commit().counts["unchanged"] == 1
    assert raw("observations", "orders")[-1]["changed_personal"] == []


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
    land("orders", body, b"{", json.dumps(order | {"id": 8}).encode(), asked=7, observed_at=NOON)
    assert reprocess_quarantine(settings, vault) == []
    now = configure(tmp_path, '[landing]\nexcess_decimals = "round"')
    (summary,) = reprocess_quarantine(now, vault)
    assert summary.counts == {"accepted": 1, "unchanged": 0, "quarantined": 0, "missing": 0}
    rows = raw("observations", "orders")
    assert [row["verdict"] for row in rows] == ["quarantined"] * 3 + ["accepted"]
    assert rows[-1]["observed_at"] == NOON
    assert raw("documents", "orders")[0]["rounded"] == 1
    assert reprocess_quarantine(now, vault) == []


def test_an_erased_customer_stays_erased(
    land: Callable[..., LoadSummary],
    configure: Callable[..., Settings],
    tmp_path: Path,
    vault: Vault,
    order: dict[str, Any],
) -> None:
    """A retry brings nothing back of a customer whose key is gone."""
    land("orders", _strange(order))
    vault._db.execute("update customers set wrapped = null")
    vault._ciphers.clear()
    assert reprocess_quarantine(configure(tmp_path, KEEP), vault) == []
