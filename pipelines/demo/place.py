"""What a demo leaves in its data folder: settings, keys, reference files, and the state of its world."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pipelines.durable import keep_private, make_folder, write_whole
from pipelines.sandbox.story import FEE
from pipelines.sandbox.world import Config, World
from pipelines.settings import load_settings
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipelines.settings import Settings

DAYS = 56  # of orders: twice the 28 that the morning page compares
SETTINGS = "demo.toml"
_TEXT = """\
# Settings of the demo, written by `ordermart demo`: they fit the sandbox, whose credentials are no secret.
#   ordermart --config {path} reconcile
# Every command with these settings is at the time of the demo's world: its clock goes on from the last night.
# `run` starts the sandbox for its time; `ordermart demo --next-night` moves the world on by a day before.

[data]
dir = "."

[partner]
base_url = {base_url}

[partner.authenticate]
body = {{ client_id = "sandbox", client_secret = "sandbox" }}

[vault]
key_file = "sandbox/demo-keys.json"

[sales]
counted_statuses = ["delivered", "picked_up"]
excluded_statuses = ["cancelled", "rejected"]

[reference]
stores = "sandbox/stores.csv"
products = "sandbox/products.csv"
platforms = "sandbox/platforms.csv"

# The world's service adds this to orders by phone, and no field states it.
[[formula.component]]
name = "phone fee"
constant = "{fee}"
platform = "phone"
"""


@dataclass(frozen=True)
class State:
    """The world of a demo, the time of its last night, ISO 8601, and how far its clock is ahead of the machine's."""

    orders: int
    stores: int
    faults: float
    now: str = ""  # "": before the first night
    night: int = 0
    ahead_seconds: float = 0.0

    def world(self) -> World:
        """Return the world, as the sandbox makes it."""
        return World(Config(orders=self.orders, stores=self.stores, faults=self.faults, days=DAYS, story=True))


def demo_settings(config: Path | None) -> Settings:
    """Write the settings of the demo into the data folder of `config`, keys where none are, and return them."""
    base = load_settings(config)
    data = base.data_dir
    keep_private(data)
    file, keys = (data / SETTINGS).resolve(), folder(base) / "demo-keys.json"
    make_folder(keys.parent)
    if not keys.exists():
        new_key_file(keys)
    if base.file != file:
        text = _TEXT.format(path=data / SETTINGS, base_url=json.dumps(base.partner.base_url), fee=FEE)
        write_whole(file, text.encode())
    return load_settings(file)


def write_reference(settings: Settings, world: World) -> None:
    """Write the files that [reference] names: codes of the stores and products of the world, all but one."""
    stores = [
        (store.store_id, f"S{number:03d}", "Demo Foods GmbH", store.town.timezone.partition("/")[0])
        for number, store in enumerate(world.stores, 1)
    ]
    _write(settings, "stores", ("store_id", "own_code", "legal_entity", "region"), stores[: max(1, len(stores) - 1)])
    products = {
        price.product_id: (price.product_id, f"PLU{price.product_id}", group.name, "false")
        for menu in world.menus.values()
        for group in menu.groups
        for price in group.prices
        if group.name != "Popular"
    }
    _write(
        settings,
        "products",
        ("product_id", "plu", "category", "is_combo"),
        [products[each] for each in sorted(products)],
    )
    platforms = [
        ("web", "Website", "own"),
        ("ios", "iOS app", "own"),
        ("android", "Android app", "own"),
        ("phone", "Telephone", "other"),
    ]
    _write(settings, "platforms", ("platform", "platform_name", "platform_group"), platforms)


def folder(settings: Settings) -> Path:
    """Return where the world's own files are."""
    return settings.data_dir / "sandbox"


def read_state(settings: Settings) -> State | None:
    """Return the state that the last night left; None before the first."""
    try:
        return State(**json.loads((folder(settings) / "world.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def write_state(settings: Settings, state: State) -> None:
    """Keep the state for the next night, and for the clock of commands until then."""
    write_whole(folder(settings) / "world.json", json.dumps(asdict(state)).encode())


def _write(settings: Settings, name: str, header: Iterable[str], rows: Iterable[tuple[object, ...]]) -> None:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(header)
    lines.writerows(rows)
    write_whole(folder(settings) / f"{name}.csv", text.getvalue().encode())
