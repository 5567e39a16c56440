"""[reference]: the user's own CSV files in a release, as schema ref."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.settings import SettingsError, load_settings
from pipelines.warehouse.inputs.sources import read_reference
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from pathlib import Path

STORES = '\ufeffstore_id,region,opened_on\n1,North,2024-05-01\n9,"South,\nold",\n'
PRODUCTS = "product_id,category,is_combo\n100,Soups,true\n"
ENVIRON = {
    "ORDERMART_REFERENCE__STORES": "stores.csv",
    "ORDERMART_REFERENCE__PRODUCTS": "products.csv",
    "ORDERMART_WAREHOUSE__THREADS": "1",
}


@pytest.mark.slow
def test_files_become_tables_of_a_release(world_of: Any, makers: Any, tmp_path: Path) -> None:
    """Rows are as in the files, unknown ids warn and are listed, nothing is dropped; a changed file is published."""
    make_order, make_menu, make_store = makers
    world = world_of(tmp_path, **ENVIRON)
    (tmp_path / "stores.csv").write_text(STORES, encoding="utf-8")
    (tmp_path / "products.csv").write_text(PRODUCTS, encoding="utf-8")
    world.land("stores", [{"id": 1, "document": make_store(1)}])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    world.land("orders", [{"id": 2, "document": make_order(2)}])
    first = publish(world.settings, world.build())
    assert first.notes == (
        "[reference] stores: 1 ids are not in the data, 0 of the data are not in the file; see ref.unmatched.",
        "[reference] products: 0 ids are not in the data, 1 of the data are not in the file; see ref.unmatched.",
    )
    with duckdb.connect(str(first.path / "ordermart.duckdb"), read_only=True) as con:
        stores = con.execute("select store_id, region, opened_on, closed_on from ref.stores order by 1").fetchall()
        assert stores == [(1, "North", dt.date(2024, 5, 1), None), (9, "South,\nold", None, None)]
        assert con.execute("select product_id, category, is_combo from ref.products").fetchall() == [
            (100, "Soups", True)
        ]
        assert con.execute("select count(*) from ref.platforms").fetchall() == [(0,)]
        assert con.execute("from ref.unmatched order by all").fetchall() == [
            ("ref.products", "101", "not_in_file"),
            ("ref.stores", "9", "not_in_data"),
        ]
    assert list((first.path / "parquet" / "ref" / "stores").glob("*.parquet"))
    assert publish(world.settings, run="night").id == first.id
    categories = "select product_id, category from mart.products order by all"
    assert world.rows(categories) == [(100, "Soups"), (101, "All")]
    (tmp_path / "products.csv").write_text(PRODUCTS + "101,Breads,false\n", encoding="utf-8")
    built = world.build()
    assert (built.full, built.why) == (False, "nothing was landed; raw.product_categories changed")
    assert world.rows(categories) == [(100, "Soups"), (101, "Breads")]
    second = publish(world.settings, run="night")
    assert second.id != first.id
    assert len(second.notes) == 1


@pytest.mark.parametrize("store_id", [-(2**63), 2**63 - 1])
def test_an_id_is_any_that_documents_may_have(tmp_path: Path, store_id: int) -> None:
    """The least and the greatest of 64 bits."""
    (tmp_path / "stores.csv").write_text(f"store_id\n{store_id}\n", encoding="utf-8")
    (tmp_path / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(tmp_path / "ordermart.toml", {"ORDERMART_REFERENCE__STORES": "stores.csv"})
    assert str(store_id) in str(read_reference(settings))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("region\nNorth\n", "first line must name store_id"),
        ("store_id,colour\n1,red\n", "first line must name store_id, and of store_id, own_code"),
        ("store_id\none\n", "line 2, store_id: is not a whole number"),
        ("store_id\n9223372036854775808\n", "line 2, store_id: is not a whole number"),
        ("store_id\n-9223372036854775809\n", "line 2, store_id: is not a whole number"),
        ("store_id,opened_on\n1,31.10.2026\n", "line 2, opened_on: is not a date such as 2026-10-31"),
        ("store_id,region\n1\n", "line 2: has 1 values, the first line has 2"),
        ("store_id\n1\n1\n", "line 3: store_id is listed twice"),
        ("store_id,region\n,North\n", "line 2: store_id is empty"),
        ('store_id\n"1\n', "is not a CSV file in UTF-8"),
    ],
)
def test_wrong_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    """A file that cannot be read as it stands is named with line and column, and never with its values."""
    (tmp_path / "stores.csv").write_text(text, encoding="utf-8")
    (tmp_path / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(tmp_path / "ordermart.toml", {"ORDERMART_REFERENCE__STORES": "stores.csv"})
    with pytest.raises(SettingsError, match=r"stores\.csv") as raised:
        read_reference(settings)
    assert problem in str(raised.value)
    assert "North" not in str(raised.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is named, with the setting."""
    (tmp_path / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(tmp_path / "ordermart.toml", {"ORDERMART_REFERENCE__PLATFORMS": "none.csv"})
    with pytest.raises(SettingsError, match=r"\[reference\] platforms: .*none.csv cannot be read"):
        read_reference(settings)
