"""A store record that no parser reads costs itself: what a run takes from it is nothing, and no exception."""

from __future__ import annotations

import pytest

from pipelines.ingest.outcome import listed_id, menu_ids_of
from pipelines.settings import load_settings

BAD = [
    b'{"id": 1, "name": "\xff", "menu_ids": [1]}',
    b'{"\xff": 1, "id": 1, "menu_ids": [1]}',
    b'{"id": 1, "menu_ids": [' + b"9" * 5000 + b"]}",
    b'{"id": 1, "menu_ids": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"id": 1, "menu_ids": [1',
    b"",
]


@pytest.mark.parametrize("record", BAD, ids=range(len(BAD)))
def test_a_record_that_cannot_be_read(record: bytes) -> None:
    """Bytes that are no UTF-8, endless numbers and depth, and a cut record name neither a store nor a menu."""
    settings = load_settings(environ={})
    assert listed_id(record, settings) is None
    assert list(menu_ids_of(record, settings)) == []


def test_a_record_that_can_be_read() -> None:
    """Beside them, a record names its store and its menus."""
    settings = load_settings(environ={})
    record = '{"id": 7, "name": "é", "menu_ids": [1, 2, true, "3"]}'.encode()
    assert listed_id(record, settings) == 7
    assert list(menu_ids_of(record, settings)) == [1, 2]
