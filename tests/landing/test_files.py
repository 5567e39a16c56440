"""Documents out of files: lines, arrays and whole files; a bad one costs only itself."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.inventory import read_inventory
from pipelines.landing.archives import LandingRequest, land_files
from pipelines.landing.raw_folder import LandingError, raw_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.settings import Settings
    from pipelines.vault import Vault

NOON = dt.datetime(2026, 10, 1, 12, tzinfo=dt.UTC)

FORMS = [
    ('{"id":1}\n{"id":2}\n', [1, 2]),
    ('{"id":1}\r\n\r\n  \n{"id":2}', [1, 2]),
    ('\ufeff{"id":1}\n{"id":2}\n', [1, 2]),
    ('[{"id":1},\n {"id":2}]\n', [1, 2]),
    (' \n[ {"id":1} ]', [1]),
    ("[]", []),
    ("", []),
    ('{\n "id": 1,\n "status": "a"\n}\n', [1]),
    ('{"id":1}\n{"id":2\n{"id":3}\n', [1, None, 3]),
    ('{"id":\n{"id":2}\n', [None, 2]),
    ('[{"id":1},\n{"id":2}\n', [1, 2, None]),
    ('[{"id":1},\n{"id":2}\n{"id":3}\n', [1, 2, None, 3]),
    ('[{"id":1},{"id":2', [1, None]),
    ('[{"id":1},{"id":2,},{"id":3}]', [1, None, 3]),
    ('[{"id":1},{"id":2,"x":"' + "y" * 6_000_000 + '"},{"id":3}]', [1, None, 3]),
    ('{"id":1}\n' + '{"id":2,"x":"' + "y" * 6_000_000 + '"}\n{"id":3}\n', [1, None, 3]),
]


@pytest.mark.parametrize(("text", "ids"), FORMS, ids=range(len(FORMS)))
def test_orders_come_a_line_or_as_an_array(
    settings: Settings,
    vault: Vault,
    raw: Callable[[str, str], list[dict[str, Any]]],
    tmp_path: Path,
    text: str,
    ids: list[int | None],
) -> None:
    """Lines, an array or one document over many lines are taken; each broken one is one refusal in its place."""
    file = tmp_path / "orders.ndjson"
    file.write_bytes(text.encode())
    summary = land_files(settings, vault, "orders", LandingRequest([file]))
    assert sum(summary.counts.values()) == len(ids)
    assert [row["id"] for row in raw("observations", "orders")] == ids
    assert {row["source"] for row in raw("observations", "orders")} <= {"archive"}


def test_an_invalid_byte_costs_its_own_line(
    settings: Settings, vault: Vault, raw: Callable[[str, str], list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Bytes that are no UTF-8 in one line, or in one element of an array, leave the others alone."""
    lines, array = tmp_path / "a.ndjson", tmp_path / "b.json"
    lines.write_bytes(b'{"id":1}\n{"id":2,"status":"\xff"}\n{"id":3}\n')
    array.write_bytes(b'[{"id":4},{"id":5,"status":"\xff"},{"id":6}]')
    summary = land_files(settings, vault, "orders", LandingRequest([lines, array]))
    assert [row["id"] for row in raw("observations", "orders") if row["verdict"] == "accepted"] == [1, 3, 4, 6]
    assert [refusal.reason for refusal in summary.quarantined] == ["invalid_utf8", "invalid_utf8"]
    assert [refusal.file for refusal in summary.quarantined] == ["a.ndjson, document 2", "b.json, document 2"]


def test_inventory_is_written_once_a_load(
    settings: Settings, vault: Vault, menu: dict[str, Any], tmp_path: Path
) -> None:
    """Of 36 menus and of three archives: not once a file."""
    written = [read_inventory(settings.data_dir).no]
    files = [tmp_path / f"{number}.json" for number in range(36)]
    for number, file in enumerate(files):
        file.write_text(json.dumps(menu | {"menu": {"id": number}}))
    archives = [tmp_path / f"{number}.ndjson" for number in range(3)]
    for number, file in enumerate(archives):
        file.write_text(f'{{"id":{number}}}\n')
    for kind, of_kind in (("menus", files[:1]), ("menus", files), ("orders", archives)):
        land_files(settings, vault, kind, LandingRequest(of_kind))
        written.append(read_inventory(settings.data_dir).no)
    assert [each - written[1] for each in written[1:]] == [0, 1, 2]  # the first load notes the folder's formats, too


def test_menus_come_one_a_file(settings: Settings, vault: Vault, menu: dict[str, Any], tmp_path: Path) -> None:
    """A menu file is one document however it is written; an array of menus is several."""
    one, many, broken = tmp_path / "1.json", tmp_path / "many.json", tmp_path / "broken.json"
    one.write_text(json.dumps(menu, indent=2))
    many.write_text(json.dumps([menu | {"menu": {"id": 41}}, menu | {"menu": {"id": 42}}]))
    broken.write_text("{}\n{}")
    summary = land_files(settings, vault, "menus", LandingRequest([one, many, broken]))
    assert summary.counts == {"accepted": 3, "unchanged": 0, "quarantined": 1, "missing": 0}


@pytest.mark.parametrize(
    ("how", "observed"),
    [
        ({}, None),
        ({"observed_at": NOON}, NOON),
        ({"observed_at": NOON.replace(tzinfo=None)}, NOON),
        ({"observed_at_pointer": "/meta/at"}, NOON),
    ],
)
def test_when_an_archive_was_observed(
    settings: Settings,
    vault: Vault,
    raw: Callable[[str, str], list[dict[str, Any]]],
    tmp_path: Path,
    how: dict[str, Any],
    observed: dt.datetime | None,
) -> None:
    """The time is given for all, found in each document, or unknown."""
    file = tmp_path / "orders.ndjson"
    file.write_text('{"id":1,"meta":{"at":"2026-10-01T14:00:00+02:00"}}\n')
    land_files(settings, vault, "orders", LandingRequest([file], **how))
    assert [row["observed_at"] for row in raw("observations", "orders")] == [observed]


@pytest.mark.parametrize("pointer", ["/nowhere", "/id", "no pointer", "/bad"])
def test_a_pointer_to_no_time_lands_nothing(settings: Settings, vault: Vault, tmp_path: Path, pointer: str) -> None:
    """A mistyped pointer would make an archive of unknown time without a word: it is refused instead."""
    file = tmp_path / "orders.ndjson"
    file.write_text('{"id":1,"bad":"2026-10-01"}\n')
    with pytest.raises(LandingError, match="observed-at-pointer"):
        land_files(settings, vault, "orders", LandingRequest([file], observed_at_pointer=pointer))
    assert raw_files(settings.data_dir, "orders").observations == []


def test_a_file_that_is_not_there_lands_nothing(settings: Settings, vault: Vault, tmp_path: Path) -> None:
    """The error names the file; what was read before it is not landed either."""
    file = tmp_path / "orders.ndjson"
    file.write_text('{"id":1}\n')
    with pytest.raises(LandingError, match=r"absent\.ndjson"):
        land_files(settings, vault, "orders", LandingRequest([file, tmp_path / "absent.ndjson"]))
    assert raw_files(settings.data_dir, "orders").observations == []


def test_progress_is_told(settings: Settings, vault: Vault, tmp_path: Path) -> None:
    """The progress says how many documents were read, and the last word is their number."""
    file = tmp_path / "orders.ndjson"
    file.write_text("".join(f'{{"id":{n}}}\n' for n in range(2500)))
    told: list[tuple[str, int, int]] = []
    land_files(settings, vault, "orders", LandingRequest([file]), progress=lambda *what: told.append(what))
    assert told == [("orders", 1000, 0), ("orders", 2000, 0), ("orders", 2500, 0)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chipotle", "gloriafood"])
def test_real_orders_are_landed_with_their_sums(
    shared: Path, settings: Settings, vault: Vault, raw: Callable[[str, str], list[dict[str, Any]]], name: str
) -> None:
    """Every order, menu and store of the shared sets is accepted, and the gate's counts are theirs."""
    expected = json.loads((shared / name / "expected.json").read_text())
    summary = land_files(settings, vault, "orders", LandingRequest([shared / name / "orders.ndjson"]))
    assert summary.counts["accepted"] == expected["orders"]
    menus = sorted((shared / name / "menus").iterdir())
    assert land_files(settings, vault, "menus", LandingRequest(menus)).counts["accepted"] == len(menus)
    assert (
        land_files(settings, vault, "stores", LandingRequest([shared / name / "stores.json"])).counts["quarantined"]
        == 0
    )
    rows = raw("documents", "orders")
    texts = (shared / name / "orders.ndjson").read_text().splitlines()
    orders = [json.loads(line, parse_float=Decimal, parse_int=Decimal) for line in texts]
    items = [item for order in orders for item in order["items"]]
    assert sum(row["lines"] for row in rows) == len(items)
    assert sum(row["line_money"] for row in rows) == sum(item["price"] for item in items)
    if name == "chipotle":
        assert sum(row["modifiers"] for row in rows) == expected["modifiers_on_lines"]
        assert sum(row["lines"] for row in rows) == expected["lines"]
        assert str(sum(row["order_money"] for row in rows)) == "69000.3200"  # subtotal and total: twice 34500.16
