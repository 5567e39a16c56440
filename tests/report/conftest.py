"""Small worlds through the real gate, the real build and a real release, and the commands over them."""

from __future__ import annotations

import copy
import datetime as dt
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import duckdb
import pytest

from pipelines.finance.closing import build_and_record
from pipelines.landing.archives import LandingRequest, land_files
from pipelines.sandbox.world import MAPPING, SETTLED
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from pipelines.warehouse.release.release import publish
from tests.forked import ordermart

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

    from pipelines.settings import Settings

Document = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SEEN = dt.datetime(2026, 11, 2, 3, 0, tzinfo=dt.UTC)
RULE = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
# Of each personal or free text a value that stands nowhere else.
CANARIES = {
    "user_phone": "+1 212 555 0199",
    "user_email": "canary@example.com",
    "user_address": "99 Canary Row",
    "user_name": "Canary Person",
    "apartment_details": "canary flat",
    "dispatch_note": "canary note",
}
CANARY_TEXTS = (*CANARIES.values(), "canary line", "CANARY-CODE", "https://track.example/canary", "40.80255")


class World:
    """A data folder: lands documents as files of an archive, builds, publishes, and runs the command on it."""

    def __init__(self, folder: Path, toml: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / "ordermart.toml"
        self.file.write_text(toml, encoding="utf-8")
        self.keys = folder / "keys.json"
        new_key_file(self.keys)
        self._landed = 0

    @classmethod
    def at(cls, folder: Path) -> World:
        """Return the world that a copied folder holds."""
        made = cls.__new__(cls)
        made.folder, made.file, made.keys, made._landed = folder, folder / "ordermart.toml", folder / "keys.json", 100
        return made

    @property
    def environ(self) -> dict[str, str]:
        """Variables of the environment beside the settings file."""
        return {"ORDERMART_VAULT__KEY_FILE": str(self.keys), "ORDERMART_WAREHOUSE__THREADS": "1"}

    @property
    def settings(self) -> Settings:
        """The settings as a command would read them."""
        return load_settings(self.file, self.environ)

    def land(self, kind: str, documents: Sequence[Document | str], at: dt.datetime | None = SEEN) -> None:
        """Land documents, or bodies as text, as seen at a time."""
        self._landed += 1
        bodies = [each if isinstance(each, str) else json.dumps(each) for each in documents]
        if kind == "menus":
            files = [self.folder / f"menu-{self._landed}-{number}.json" for number in range(len(bodies))]
        else:
            files, bodies = [self.folder / f"{kind}-{self._landed}.ndjson"], ["\n".join(bodies)]
        for file, body in zip(files, bodies, strict=True):
            file.write_text(body, encoding="utf-8")
        with open_vault(self.settings) as vault:
            land_files(self.settings, vault, kind, LandingRequest(files, observed_at=at))

    def publish(self) -> None:
        """Build, record restatements and publish, as a run does."""
        publish(self.settings, build_and_record(self.settings))

    def open(self) -> duckdb.DuckDBPyConnection:
        """Open the current release as an analyst would, in no particular timezone."""
        release = self.settings.data_dir / "published" / "current" / "ordermart.duckdb"
        return duckdb.connect(str(release), read_only=True)

    def all(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the release."""
        with self.open() as db:
            return db.execute(query).fetchall()

    def command(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run `ordermart` with these arguments on this world, as a user would."""
        environ = {**os.environ, **self.environ, **environ}
        return ordermart((*arguments, "--config", str(self.file)), environ, timeout=120)


def order(order_id: int, **fields: Any) -> Document:
    """Return an order with every documented field, that adds up; `fields` take the place of its own.

    Two pizzas at 10.50 with a modifier of 1.25 each, and a cola at 2.00: 25.50, with 2 of delivery 27.50.
    """
    return {
        "id": order_id,
        **CANARIES,
        "user_latitude": 40.80255,
        "user_longitude": -73.94072,
        "dispatch_method": "store_delivery",
        "store_id": 3,
        "status": "delivered",
        "platform": "web",
        "requested_time": "2026-11-01T12:00:00Z",
        "promised_delivery_time": "2026-11-01T12:40:00Z",
        "promised_pick_up_time": None,
        "created_at": "2026-11-01T11:59:00Z",
        "subtotal_price": 25.5,
        "delivery_price": 2,
        "tip": 0,
        "discount": 0,
        "loyalty_discount": 0,
        "total_price": 27.5,
        "items": [
            {
                "id": 71,
                "product_id": 100,
                "quantity": 2,
                "name": "Pizza",
                "instructions": "canary line",
                "price": 10.5,
                "modifiers": [{"id": 900, "name": "Large", "price": 1.25, "action": "add", "quantity": 1}],
            },
            {
                "id": 72,
                "product_id": 101,
                "quantity": 1,
                "name": "Cola",
                "instructions": None,
                "price": 2,
                "modifiers": [],
            },
        ],
        "deliveries": [
            {
                "id": 5,
                "type": "own_delivery",
                "confirmation_code": "CANARY-CODE",
                "status": "confirmed",
                "tracking_url": "https://track.example/canary",
            },
        ],
        **copy.deepcopy(fields),
    }


MARKUP = "<script>alert(1)</script>&\"'"
STORES = [
    {"id": 3, "name": "Harbour", "timezone": "America/New_York", "currency": "USD", "menu_ids": []},
    {"id": 4, "name": "=2+2", "timezone": "Europe/Berlin", "currency": "EUR", "menu_ids": []},
    {"id": 5, "name": MARKUP, "timezone": "Asia/Tokyo", "currency": ">0", "menu_ids": []},
]
SETTINGS = f"""
[sales]
counted_statuses = ["delivered"]
excluded_statuses = ["cancelled"]

[formula]
subtotal_rule = "{RULE}"
"""


@pytest.fixture(scope="session")
def world_of() -> Callable[..., World]:
    """Give `world_of(folder, toml)`: an empty data folder there."""
    return World


@pytest.fixture(scope="session")
def make_order() -> Callable[..., Document]:
    """Give `make_order(order_id, **fields)`."""
    return order


@pytest.fixture(scope="session")
def canaries() -> tuple[str, ...]:
    """Return the personal values that may stand nowhere."""
    return CANARY_TEXTS


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Publish a world of two stores, three days and an order of every kind; its tests only read."""
    made = World(tmp_path_factory.mktemp("world"), SETTINGS)
    made.land("stores", STORES)
    made.land("orders", [order(11, status="preparing", tip=0, total_price=27.5)], SEEN - dt.timedelta(hours=9))
    made.land("orders", everything())
    made.publish()
    return made


# Of store 3: settled, a cent too little, settled twice; order 11 never; the second payout is not at the bank.
STATEMENT = """payout,shop,order,date,currency,total,commission,net
PO-000001,3,12,2026-11-01,USD,27.50,4.13,23.37
PO-000001,3,13,2026-11-01,USD,27.50,4.13,23.37
PO-000001,3,14,2026-11-01,USD,28.00,4.20,23.80
PO-000002,3,14,2026-11-09,USD,28.00,4.20,23.80
"""


@pytest.fixture(scope="session")
def settled_world(world: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Publish the world with statements of a platform, and the bank's file."""
    folder = tmp_path_factory.mktemp("settled") / "world"
    shutil.copytree(world.folder, folder, symlinks=True)
    made = World.at(folder)
    (folder / "web.toml").write_text("due_days = 5\n" + MAPPING.replace(SETTLED, "web"), encoding="utf-8")
    (folder / "statement.csv").write_text(STATEMENT, encoding="utf-8")
    bank = "Booking date,Amount,Remittance\n2026-11-08,70.54,PO-000001\n2026-11-20,1.00,x\n"
    (folder / "bank.csv").write_text(bank, encoding="utf-8")
    for words in (["statement.csv"], ["--bank", "bank.csv"]):
        *options, name = words
        done = made.command("settlements", "import", *options, str(folder / name), "--map", str(folder / "web.toml"))
        assert done.returncode == 0, done.stderr
    made.publish()
    return made


@pytest.fixture(scope="session")
def closed_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Publish two orders, close their day, and publish again with one of them changed and a third one."""
    made = World(tmp_path_factory.mktemp("closed"), SETTINGS)
    made.land("stores", STORES)
    made.land("orders", [order(1), order(2)])
    made.publish()
    closed = made.command("close", "2026-11-01", "--with-exceptions", "a test")
    assert closed.returncode == 0, closed.stderr
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)  # after the close
    made.land("orders", [order(1, tip=3, total_price=30.5), order(3)], later)
    made.publish()
    return made


def everything() -> list[Document | str]:
    """Return the orders of the world."""
    berlin = {"store_id": 4, "created_at": "2026-11-02T00:30:00+01:00"}
    drawn = [{**order(1)["items"][1], "name": "\x1b[31mred\u202e =1+1"}]
    huge = 98765432109876.5432
    return [
        order(11, tip=3, total_price=30.5),
        order(12),
        order(13, total_price=27.51),  # a cent more than its parts
        order(14, subtotal_price=26, total_price=28),  # half a unit more than its lines
        order(15, status="cancelled", tip=None),
        order(16, items=drawn, subtotal_price=2, total_price=4),
        order(21, **berlin),
        order(22, **berlin, total_price=24.5),  # three less
        order(23, created_at=None, requested_time=None),
        json.dumps(order(31, items=[], total_price="HUGE", delivery_price=0, subtotal_price="HUGE")).replace(
            '"HUGE"', f"{huge:.4f}"
        ),
        order(41, total_price="a text"),  # refused
        order(51, store_id=5, status="@SUM(1+1)*cmd|' /C calc'!A0", total_price=27.4999),
    ]


class Cell(NamedTuple):
    """A cell as the file holds it: its text or stored value, its formula, its style's number."""

    value: str
    formula: str | None
    style: int
    is_text: bool


class Workbook:
    """A workbook read from its own XML: sheets by name, cells by reference."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as parts:
            self.parts = {name: parts.read(name).decode() for name in parts.namelist()}
        book = ET.fromstring(self.parts["xl/workbook.xml"])  # noqa: S314 -- we wrote it
        names = [sheet.attrib["name"] for sheet in book.iterfind(f"{_MAIN}sheets/{_MAIN}sheet")]
        self.sheets = {
            name: self._cells(self.parts[f"xl/worksheets/sheet{number}.xml"]) for number, name in enumerate(names, 1)
        }

    @staticmethod
    def _cells(xml: str) -> dict[str, Cell]:
        found = {}
        for cell in ET.fromstring(xml).iter(f"{_MAIN}c"):  # noqa: S314 -- we wrote it
            is_text = cell.attrib.get("t") in {"inlineStr", "s", "str"}
            text = "".join(each.text or "" for each in cell.iter(f"{_MAIN}t")) if is_text else None
            value = cell.findtext(f"{_MAIN}v") or ""
            formula = cell.findtext(f"{_MAIN}f")
            style = int(cell.attrib.get("s", 0))
            found[cell.attrib["r"]] = Cell(value if text is None else text, formula, style, is_text)
        return found

    def rows(self, sheet: str, head: int = 4) -> list[dict[str, Cell]]:
        """Return the rows of a listing below its row of names, by column name."""
        cells: dict[int, dict[str, Cell]] = {}
        for place, cell in self.sheets[sheet].items():
            column, row = re.fullmatch(r"([A-Z]+)(\d+)", place).groups()
            cells.setdefault(int(row), {})[column] = cell
        names = {column: cell.value.replace(" ", "_") for column, cell in cells[head].items()}
        return [
            {names[column]: cell for column, cell in cells[row].items() if column in names}
            for row in sorted(cells)
            if row > head
        ]

    def summary(self) -> list[dict[str, Cell]]:
        """Return the lines of the summary, which stand side by side, by what each figure is."""
        cells = self.sheets["summary"]
        first = next(int(place[1:]) for place, cell in cells.items() if cell.value == "sale class")
        lines = []
        while f"{chr(ord('B') + len(lines))}{first}" in cells:
            column = chr(ord("B") + len(lines))
            labels = ((row, cells[f"A{row}"].value) for row in range(first, first + 60) if f"A{row}" in cells)
            lines.append({label: cells[f"{column}{row}"] for row, label in labels if f"{column}{row}" in cells})
        return lines


@pytest.fixture(scope="session")
def read_workbook() -> Callable[[Path], Workbook]:
    """Give `read_workbook(path)`."""
    return Workbook
