"""A day's small files become one pair; every load is read once, whatever is killed when."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.inventory import accept
from pipelines.landing.load import Load
from pipelines.landing.merge import merge_days
from pipelines.landing.raw_folder import LandingError, MergedLoads, raw_files, read_manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.landing.raw_rows import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

TOMORROW = dt.date.max


@pytest.fixture
def loads(land: Callable[..., LoadSummary]) -> list[str]:
    """Land five loads of orders and return their ids."""
    return [land("orders", *({"id": n, "tip": n} for n in range(at, at + 3))).load_id for at in range(5)]


def _files(settings: Settings) -> int:
    return len(list((settings.data_dir / "raw").rglob("*.parquet")))


def test_merging_changes_neither_content_nor_order(
    settings: Settings,
    loads: list[str],
    raw: Callable[[str, str], list[dict[str, Any]]],
    land: Callable[..., LoadSummary],
) -> None:
    """The same rows in the same order are read from one pair; loads go on as before and stay apart."""
    before = raw("documents", "orders"), raw("observations", "orders")
    assert merge_days(settings.data_dir, "orders", TOMORROW) == 5
    assert (raw("documents", "orders"), raw("observations", "orders")) == before
    files = raw_files(settings.data_dir, "orders")
    assert [file.load_ids for file in files.documents] == [tuple(loads)]
    assert files.load_ids == loads
    assert _files(settings) == 2
    assert land("orders", {"id": 4, "tip": 4}).counts["unchanged"] == 1
    assert merge_days(settings.data_dir, "orders", TOMORROW) == 2
    assert raw("observations", "orders")[: len(before[1])] == before[1]


def test_a_load_without_a_file_of_documents_is_merged(
    settings: Settings, loads: list[str], raw: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    """One whose loss was accepted is left out: those of other loads are merged all the same."""
    of_load = settings.data_dir / "raw" / "documents" / "orders" / f"{loads[1]}.parquet"
    lost = pq.read_table(of_load).to_pylist()
    kept = [row for row in raw("documents", "orders") if row not in lost]
    of_load.unlink()
    accept(settings.data_dir)
    observed = raw("observations", "orders")
    assert merge_days(settings.data_dir, "orders", TOMORROW) == 5
    assert raw("observations", "orders") == observed
    assert raw("documents", "orders") == kept


def test_today_is_left_alone(settings: Settings, loads: list[str]) -> None:
    """A day that is not over, and a kind that has nothing, are not merged."""
    assert merge_days(settings.data_dir, "orders", dt.datetime.now(dt.UTC).date()) == 0
    assert merge_days(settings.data_dir, "menus", TOMORROW) == 0
    assert _files(settings) == 10


def test_past_months_become_one_pair_up_to_a_size(
    settings: Settings, loads: list[str], raw: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    """Days of the current month stay apart; those of a past one become one pair unless that would be too large."""
    files = raw_files(settings.data_dir, "orders")
    days = "20260130", "20260131", "20260131", "20260201", "20260202"
    renamed = [f"{day}{load_id[8:]}" for day, load_id in zip(days, sorted(loads), strict=True)]
    for area in ("documents", "observations"):
        for old, new in zip(sorted(loads), renamed, strict=True):
            file = settings.data_dir / "raw" / area / "orders" / f"{old}.parquet"
            table = pq.read_table(file)
            place = table.schema.get_field_index("load_id")
            pq.write_table(
                table.set_column(place, table.schema.field(place), pa.array([new] * len(table), pa.string())),
                file.with_name(f"{new}.parquet"),
            )
            file.unlink()
    assert len(files.documents) == 5
    accept(settings.data_dir)

    def merged(before: str, most_bytes: int = 2**20) -> list[int]:
        merge_days(settings.data_dir, "orders", dt.date.fromisoformat(before), most_bytes)
        return [len(file.load_ids) for file in raw_files(settings.data_dir, "orders").documents]

    rows = raw("observations", "orders")
    assert merged("2026-01-31") == [1, 1, 1, 1, 1]
    assert merged("2026-02-02", 1) == [1, 2, 1, 1]
    assert merged("2026-02-02") == [3, 1, 1]
    assert merged("2026-02-03") == [3, 1, 1]
    assert merged("2026-03-01") == [3, 2]
    assert raw("observations", "orders") == rows


def test_a_merge_waits_for_no_load(settings: Settings, vault: Vault, loads: list[str]) -> None:
    """While a load is under way nothing is merged."""
    with Load(settings, vault, "orders"), pytest.raises(LandingError, match="under way"):
        merge_days(settings.data_dir, "orders", TOMORROW)


def test_a_lost_manifest_loses_no_data(settings: Settings, loads: list[str], land: Callable[..., LoadSummary]) -> None:
    """Without its manifest a merged pair is not swept away: the next load says what to put back."""
    merge_days(settings.data_dir, "orders", TOMORROW)
    manifest = read_manifest(settings.data_dir, "orders")
    write_manifest(settings.data_dir, "orders", MergedLoads())
    with pytest.raises(LandingError, match="put the manifest back"):
        land("orders", {"id": 1})
    write_manifest(settings.data_dir, "orders", manifest)
    assert land("orders", {"id": 1, "tip": 1}).counts["unchanged"] == 1


def test_documents_are_bytes_for_bytes_the_same(
    settings: Settings, land: Callable[..., LoadSummary], raw: Callable[[str, str], list[dict[str, Any]]]
) -> None:
    """Texts of every script and amounts of every size pass through a merge unharmed."""
    for number in range(3):
        land("orders", {"id": number, "status": "naïve 🍕 \u2028 \0", "tip": 99999999999999, "total_price": -0.0001})
    before = raw("documents", "orders")
    merge_days(settings.data_dir, "orders", TOMORROW)
    assert raw("documents", "orders") == before
    assert json.loads(before[0]["document"])["status"] == "naïve 🍕 \u2028 \0"
