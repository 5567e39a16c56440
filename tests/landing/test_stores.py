"""A store document is made by the pointers of the settings; the rest of a record is unknown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.validate import Validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.settings import Settings

RECORD = {
    "id": 3,
    "name": "Pizzeria",
    "timezone": "Europe/Rome",
    "currency": None,
    "menu_ids": [40, None, 41],
    "address": {"street": "Via Roma", "geo": [1.50, 2]},
    "owner": "Anna",
}
ELSEWHERE = """
[partner.store]
id_pointer = "/data/store/uid"
name_pointer = "/data/title"
timezone_pointer = ""
currency_pointer = "/data/money/code"
menu_id_pointers = ["/data/menus/*/id", "/data/main_menu"]
allowed_pointers = ["/data/open", "/data/menus/*/kind", "/data/money"]
"""


def _validated(settings: Settings, record: Any, requested_id: int | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        Validator(settings, "stores").validate(json.dumps(record).encode(), requested_id).document
    )
    return document


def test_a_store_by_the_default_pointers(settings: Settings) -> None:
    """Named parts become columns of the document, all others are listed with their types."""
    assert _validated(settings, RECORD, 3) == {
        "id": 3,
        "name": "Pizzeria",
        "timezone": "Europe/Rome",
        "currency": None,
        "menu_ids": [40, 41],
        "_unknown": {"/address": "object", "/owner": "string"},
    }
    validated = Validator(settings, "stores").validate(json.dumps(RECORD).encode())
    assert validated.missing_fields == ["currency=null", "menu_ids=null"]
    assert validated.counts == (2,)
    assert json.loads(validated.content) == {"/address": RECORD["address"], "/owner": "Anna"}


def test_a_store_by_other_pointers(configure: Callable[..., Settings], tmp_path: Path) -> None:
    """Any shape of record can be pointed into; menus may be named in several places."""
    record = {
        "data": {
            "store": {"uid": 9, "boss": "Bob"},
            "title": "T",
            "money": {"code": "EUR", "digits": 2},
            "menus": [{"id": 1, "kind": "a", "by": "x"}, {"id": 2, "kind": "b"}],
            "main_menu": 3,
            "open": True,
        }
    }
    assert _validated(configure(tmp_path, ELSEWHERE), record) == {
        "id": 9,
        "name": "T",
        "currency": "EUR",
        "menu_ids": [1, 2, 3],
        "attributes": {
            "/data/menus/*/kind": ["a", "b"],
            "/data/money": {"code": "EUR", "digits": 2},
            "/data/open": True,
        },
        "_unknown": {"/data/menus/*/by": "string", "/data/store/boss": "string"},
    }


def test_menus_that_are_keys(configure: Callable[..., Settings], tmp_path: Path) -> None:
    """The keys of an object are the menus; what it holds below them stays unknown."""
    settings = configure(tmp_path, '[partner.store]\nmenu_id_pointers = ["/menus/{key}"]')
    record = {"id": 3, "name": "P", "timezone": None, "currency": None, "menus": {"41": {"by": "x"}, "9": None}}
    found = _validated(settings, record)
    assert found["menu_ids"] == [41, 9]
    assert found["_unknown"] == {"/menus/41": "object", "/menus/9": "null"}
    for key in ("Anna", "007", "9" * 30):
        with pytest.raises(InvalidDocumentError) as error:
            _validated(settings, {**record, "menus": {key: {}}})
        assert (error.value.code, error.value.pointer) == ("wrong_type", "/menus/{key}")


@pytest.mark.parametrize(
    ("change", "reason", "pointer"),
    [
        ({"id": None}, "no_id", "/id"),
        ({"id": -5}, "id_out_of_range", "/id"),
        ({"id": "3"}, "wrong_type", "/id"),
        ({"id": 4}, "wrong_id", "/id"),
        ({"name": 5}, "wrong_type", "/name"),
        ({"timezone": []}, "wrong_type", "/timezone"),
        ({"menu_ids": ["40"]}, "wrong_type", "/menu_ids/0"),
    ],
)
def test_a_wrong_type_where_a_pointer_leads(
    settings: Settings, change: dict[str, Any], reason: str, pointer: str
) -> None:
    """What a pointer leads to is judged like any documented field."""
    with pytest.raises(InvalidDocumentError) as raised:
        _validated(settings, RECORD | change, 3)
    assert (raised.value.code, raised.value.pointer) == (reason, pointer)
