"""A folder with three orders of two people, of which settings publish a free text: landed, built, or one's own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.settings import load_settings
from pipelines.warehouse.building.build import build, warehouse_file
from tests.backup.conftest import Folder, order

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

ANN, BOB = "+49 30 5550101", "+49 30 5550202"
EMAIL = "ann@canary.example"
NOTE = "canary-ring-at-anns-door"
CODE = "canary-door-code-of-ann"  # in a field of which settings say that it is harmless
# orders 1 and 3 are Ann's, 2 is Bob's; 1 has two versions


class World(Folder):
    """A folder whose settings publish dispatch notes, and where somebody was erased or not."""

    def configure(self, toml: str) -> None:
        """Write the settings; `toml` goes on in [privacy]."""
        own = '[landing]\nallowed_pointers = ["/door"]\n[privacy]\nplaintext_fields = ["dispatch_note"]\n'
        self.file.write_text(own + toml, encoding="utf-8")

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return load_settings(self.file, self.environ | {"ORDERMART_VERIFY__SECONDS": "0"})

    def built(self, *queries: str, full: bool = False) -> list[list[tuple[Any, ...]]]:
        """Build without publishing, and return the rows of each query on the warehouse."""
        build(self.settings, full=full)
        with duckdb.connect(str(warehouse_file(self.data)), read_only=True) as con:
            return [con.execute(query).fetchall() for query in queries]


def person(order_id: int, phone: str, **fields: Any) -> dict[str, Any]:
    """Return an order of a person."""
    email = EMAIL if phone == ANN else "bob@other.example"
    own = {
        "user_name": f"Nobody {phone[-3:]}",
        "created_at": f"2020-10-{order_id:02d}T10:00:00Z",
        "dispatch_note": f"note {order_id}",
        **fields,
    }
    return order(order_id, user_phone=phone, user_email=email, **own)


def copied(of: World, place: Path) -> World:
    """Return a copy of a folder, with an erasure log of its own."""
    shutil.copytree(of.place, place, symlinks=True)
    world = World(place)
    world.configure(f'erasure_log = "{place / "elsewhere" / "erasures.jsonl"}"\n')
    return world


def land(world: World) -> None:
    """Land three orders of two people in two loads, and quarantine bodies of both."""
    world.configure("")
    world.land("stores", [{"id": 1, "name": "Store 1", "timezone": "Europe/Berlin", "currency": "EUR"}])
    own = person(1, ANN, door={"code": CODE}) | {"dispatch_note": NOTE}
    world.land("orders", [own, person(2, BOB, door="b"), person(3, ANN)])
    broken = {"id": 9, "tip": "x"}
    world.land(
        "orders", [person(1, ANN, status="refused"), person(9, ANN) | broken, person(8, BOB) | broken | {"id": 8}]
    )


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a folder with what `land` lands."""
    world = World(tmp_path_factory.mktemp("privacy"))
    land(world)
    return world


@pytest.fixture(scope="module")
def filled(landed: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Publish it."""
    world = copied(landed, tmp_path_factory.mktemp("filled") / "place")
    world.publish()
    return world


@pytest.fixture
def world(landed: World, tmp_path: Path) -> World:
    """Give a landed folder of one's own, which was never built."""
    return copied(landed, tmp_path / "place")
