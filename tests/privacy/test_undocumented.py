"""The name of an undocumented field may be a person's: nobody but the operator sees it until many people have it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from pipelines.landing.load import Load
from pipelines.landing.raw_folder import raw_files
from pipelines.landing.shape import ORDER
from pipelines.landing.validate import documented
from pipelines.ledger import ledger_of
from pipelines.privacy import PersonRequest, erase, undocumented
from pipelines.vault import open_vault
from tests.privacy.conftest import World, person

if TYPE_CHECKING:
    from pathlib import Path

NAME = "MariaLopezGarcia"
PROFILE = "select path, types, present_count from audit.field_profile where kind = 'orders' and not is_documented"


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a published folder: a field that 20 customers have, one of one person, and a body that names her twice."""
    world = World(tmp_path_factory.mktemp("named"))
    world.configure("")
    world.land("stores", [{"id": 1, "name": "Store 1", "timezone": "Europe/Berlin", "currency": "EUR"}])
    orders = [person(n, f"+49 30 {7_000_000 + n}", created_at="2020-10-01T10:00:00Z", loyalty=n) for n in range(1, 21)]
    for each in orders:
        each["user_email"] = f"{each['id']}@canary.example"
    orders[0][NAME] = True
    orders[1]["other"] = {NAME: 1}
    world.land("orders", orders)
    body = json.dumps(person(30, "+49 30 8000000")).replace('"quantity"', f'"{NAME}": 1, "{NAME}": 2, "quantity"', 1)
    with open_vault(world.settings) as vault, Load(world.settings, vault, "orders") as load:
        load.validate(body.encode(), requested_id=30)
        summary = load.commit()
    assert [each.pointer for each in summary.quarantined] == ["/items/0/?"]
    world.publish()
    return world


def _in_files(world: World, folder: Path) -> list[str]:
    return [
        str(path.relative_to(world.place))
        for path in folder.rglob("*")
        if path.is_file() and NAME.encode() in path.read_bytes()
    ]


def _raw(world: World) -> str:
    return str([pq.read_table(file.path).to_pylist() for file in raw_files(world.data, "orders").documents])


@pytest.mark.slow
def test_name_of_a_field_is_published_once_twenty_customers_have_it(named: World) -> None:
    """Until then it is a question mark with its types and count, in every table and file of the release."""
    assert sorted(named.rows(PROFILE)) == [("/?", ["boolean", "object"], 2), ("/loyalty", ["number"], 20)]
    assert named.rows("select pointer from audit.quarantine") == [("/items/0/?",)]
    tables = named.rows("select schema_name || '.' || table_name from duckdb_tables() where not internal")
    for (table,) in tables:
        assert not named.rows(f"select 1 from {table} as t where contains(t::varchar, '{NAME}')"), table
    assert _in_files(named, named.data / "published") == []


@pytest.mark.slow
def test_operator_sees_names_and_an_erasure_removes_them(named: World) -> None:
    """The command shows true names, and leaves an entry; raw files keep them until the person is erased."""
    found = {
        each["path"]: (each["order_count"], each["customer_count"]) for each in undocumented(named.settings, "new")
    }
    assert found == {"/loyalty": (20, 20), f"/{NAME}": (1, 1), "/other": (1, 1)}
    assert [each.body["reason"] for each in ledger_of(named.data).entries("fields_revealed")] == ["new"]
    assert NAME in _raw(named)
    erase(named.settings, PersonRequest("order_id", "1"))
    assert NAME not in _raw(named)
    assert _in_files(named, named.data) == []
    assert sorted(named.rows(PROFILE)) == [("/?", ["boolean", "number", "object"], 21)]  # of 19 customers now
    named.configure('known_fields = ["/other"]\n')
    named.publish()
    assert max(named.rows(PROFILE)) == ("/other", ["object"], 1)


@pytest.mark.parametrize(
    ("pointer", "shown"),
    [
        ("/items/0/modifiers/12/name", "/items/0/modifiers/12/name"),
        (f"/{NAME}/tip/3", "/?/?/3"),
        (f"/items/0/{NAME}", "/items/0/?"),
        ("/items/0/code", "/items/0/code"),
        ("", ""),
        (None, None),
    ],
)
def test_pointer_of_a_rejection_names_what_is_documented(pointer: str | None, shown: str | None) -> None:
    """Other names are question marks, unless settings know the field."""
    assert documented(pointer, ORDER, {"/items/*/code"}) == shown
