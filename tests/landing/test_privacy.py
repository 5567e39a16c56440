"""Only the vault holds personal data: after any load no other file under data/, and no message, has a byte of it."""

from __future__ import annotations

import copy
import itertools
import json
import logging
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.load import Load
from pipelines.landing.reprocess import reprocess_quarantine
from pipelines.landing.validate import Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

CANARY = "K4n4ry"
PERSONAL = ("user_phone", "user_email", "user_address", "user_name", "apartment_details")


def _marked(order: dict[str, Any]) -> dict[str, Any]:
    """Return the order with a canary in every place that may hold personal data."""
    marked = copy.deepcopy(order)
    count = itertools.count()
    for name in (*PERSONAL, "dispatch_note"):
        marked[name] = f"{CANARY}-{next(count)}"
    marked["user_latitude"] = 12.987654321
    marked["items"][0]["instructions"] = f"{CANARY}-{next(count)}"
    marked["deliveries"][0] |= {"confirmation_code": f"{CANARY}-x", "tracking_url": f"https://t.example/{CANARY}"}
    marked["extra"] = {"note": f"{CANARY}-y", "deep": [f"{CANARY}-z", 12.987654321]}
    marked["items"][0]["extra"] = f"{CANARY}-w"
    marked["items"][0]["modifiers"][0][f"{CANARY}@example.com"] = f"{CANARY}-v"
    return marked


def _bytes_outside_the_vault(data_dir: Path) -> Iterator[tuple[Path, bytes]]:
    for path in data_dir.rglob("*"):
        if path.is_file() and "vault" not in path.relative_to(data_dir).parts:
            yield path, path.read_bytes()
            if path.suffix == ".parquet":
                yield path, json.dumps(pq.read_table(path).to_pylist(), default=str).encode()


def _leaks(settings: Settings) -> list[Path]:
    canaries = (CANARY.encode(), b"12.987654")
    return [path for path, held in _bytes_outside_the_vault(settings.data_dir) if any(c in held for c in canaries)]


@pytest.mark.promise(5)
def test_no_canary_leaves_the_vault(
    land: Callable[..., LoadSummary],
    order: dict[str, Any],
    settings: Settings,
    vault: Vault,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Accepted, changed, quarantined, broken and retried bodies alike: raw files, index, summaries, logs have none."""
    caplog.set_level(logging.DEBUG)
    marked = _marked(order)
    changed = copy.deepcopy(marked) | {"user_name": f"{CANARY}-changed"}
    wrong = marked | {"id": 8, "tip": f"{CANARY}-as-money"}
    wrong_time = marked | {"id": 9, "created_at": f"{CANARY}-as-time"}
    text = json.dumps(marked | {"id": 10})
    doubled = text.replace('"user_name"', '"user_phone"').encode()
    store = {"id": 3, "name": "Pizzeria", "owner": {"name": CANARY, CANARY: 1}, "menu_ids": [1]}
    broken = [text[:-1].encode(), text.encode() + b"\xff", b"[" + text.encode() + b"]"]
    summaries = [land("orders", marked, changed, wrong, wrong_time, doubled, *broken), land("stores", store)]
    summaries += reprocess_quarantine(settings, vault)
    assert summaries[0].counts == {"accepted": 1, "unchanged": 1, "quarantined": 6, "missing": 0}
    assert _leaks(settings) == []
    assert CANARY not in repr(summaries)
    assert CANARY not in caplog.text
    assert CANARY not in "".join(capfd.readouterr())
    assert vault.decrypt("orders", 7)["/user_name"] == f"{CANARY}-changed"
    assert vault.decrypt("stores", 3)["/owner"]["name"] == CANARY


def test_the_vault_file_holds_no_canary_in_the_clear(
    land: Callable[..., LoadSummary], order: dict[str, Any], settings: Settings
) -> None:
    """The bytes of the vault itself show nothing without its keys."""
    land("orders", _marked(order), json.dumps(_marked(order) | {"id": None}).encode())
    held = b"".join(path.read_bytes() for path in (settings.data_dir / "vault").iterdir())
    assert len(held) > 10_000
    assert CANARY.encode() not in held


def test_the_search_for_canaries_finds_one(
    configure: Callable[..., Settings], tmp_path: Path, order: dict[str, Any], vault: Vault
) -> None:
    """Opened fields are columns: there the same search finds the canaries, so that it can be trusted."""
    opened = configure(tmp_path, '[privacy]\nplaintext_fields = ["dispatch_note"]')
    with Load(opened, vault, "orders") as load:
        load.validate(json.dumps(_marked(order)).encode())
        load.commit()
    assert {path.suffix for path in _leaks(opened)} == {".parquet"}


@pytest.mark.parametrize("name", [*PERSONAL, "tip", "id", "created_at", "items"])
def test_a_refusal_says_no_value(settings: Settings, order: dict[str, Any], name: str) -> None:
    """The error of a wrong value has reason and pointer, and neither message nor context shows the value."""
    body = json.dumps(order | {name: [CANARY]}).encode()
    with pytest.raises(InvalidDocumentError) as raised:
        Validator(settings, "orders").validate(body)
    assert CANARY not in repr(raised.value) + str(raised.value) + repr(raised.value.__context__)


def test_opened_fields_become_columns_and_stay_flagged(
    configure: Callable[..., Settings], tmp_path: Path, order: dict[str, Any], vault: Vault
) -> None:
    """What settings open is text in the document and not in the vault; all else stays encrypted."""
    opened = configure(tmp_path, '[privacy]\nplaintext_fields = ["instructions", "dispatch_note"]')
    validated = Validator(opened, "orders").validate(json.dumps(order).encode())
    document = json.loads(validated.document)
    assert (document["has_dispatch_note"], document["dispatch_note"]) == (True, "ring twice")
    assert document["items"][0]["instructions"] == "no olives"
    assert "tracking_url" not in document["deliveries"][0]
    assert {"/dispatch_note", "/items/0/instructions"}.isdisjoint(json.loads(validated.content))
