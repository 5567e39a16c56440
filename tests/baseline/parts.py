"""Make the parts that are compared: settings, commands, a small world, worlds of orders, real orders, the demo.

Each part has its file in `saved`. The small world, the settings and the commands take seconds.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from pipelines import clock
from pipelines.landing.archives import LandingRequest as Files
from pipelines.landing.archives import land_files
from pipelines.listening import claimed
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from pipelines.warehouse.building.build import build
from pipelines.warehouse.evidence.verdicts import EvidenceThresholds
from pipelines.warehouse.release.release import publish
from tests import worlds
from tests.baseline import shown
from tests.baseline.facts import facts_of
from tests.unchanged import story

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.baseline.facts import Facts

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
NOON = dt.datetime(2026, 11, 3, 12, tzinfo=dt.UTC)
WORLDS = ((1, 1), (1, 5))  # seed and number


def settings(_folder: Path) -> Facts:
    """Return types and defaults of settings."""
    return shown.settings()


def small(folder: Path) -> Facts:
    """Return the release of the small world of `tests/unchanged`, after its first night."""
    world = story.begin(folder / "world")
    publish(world.settings)
    return release(world.data, "small")


def made_up(_folder: Path) -> Facts:
    """Return the tables of two worlds whose rules are known, and the verdicts on them."""
    found: Facts = {}
    for seed, number in WORLDS:
        world = worlds.draw_world(np.random.default_rng([seed, number]))
        with worlds.load(world) as con:
            found |= {f"world {seed}-{number} {item}": aspects for item, aspects in facts_of(con, "worlds").items()}
            for target in ("subtotal", "total"):
                for place, (verdict, is_wrong, about) in enumerate(
                    worlds.judged(world, con, target, EvidenceThresholds(20, 0.05))
                ):
                    found[f"world {seed}-{number} {target} {place}"] = {
                        "verdict": verdict,
                        "wrong": str(is_wrong),
                        "about": about,
                    }
    return found


def chipotle(folder: Path) -> Facts | None:
    """Return the release of 1,834 real orders, at a fixed time; None where they are not beside this checkout."""
    if not (SHARED / "chipotle").exists():
        return None
    clock.shift_clock(NOON)
    new_key_file(folder / "keys.json")
    file = folder / "ordermart.toml"
    file.write_text('[partner.store]\nmenu_id_pointers = ["/menu_id"]\n', encoding="utf-8")
    environ = {"ORDERMART_VAULT__KEY_FILE": str(folder / "keys.json"), "ORDERMART_WAREHOUSE__THREADS": "1"}
    chosen = load_settings(file, environ)
    with open_vault(chosen) as vault:
        land_files(chosen, vault, "stores", Files([SHARED / "chipotle" / "stores.json"]))
        land_files(chosen, vault, "menus", Files(sorted((SHARED / "chipotle" / "menus").iterdir())))
        land_files(chosen, vault, "orders", Files([SHARED / "chipotle" / "orders.ndjson"]))
    build(chosen)
    publish(chosen)
    return release(chosen.data_dir, "chipotle")


def demo(folder: Path) -> Facts:
    """Return the release of a demo's four nights, and the exit codes of commands on its data."""
    port = claimed("127.0.0.1")
    file = folder / "mine.toml"
    file.write_text(
        f'[data]\ndir = "data"\n[partner]\nbase_url = "http://127.0.0.1:{port}"\n[notify]\nmin_free_gb = 0\n', "utf-8"
    )
    words = ["demo", "--orders", "700", "--stores", "3"]
    code = shown.run(folder, words, file.name)
    return {f"ordermart {' '.join(words)}": {"exit": str(code)}, **played(folder)}


def played(folder: Path) -> Facts:
    """Return the same of a demo that was played below a folder."""
    found = release(folder / "data", "demo")
    with duckdb.connect(str(folder / "data" / "published" / "current" / "ordermart.duckdb"), read_only=True) as con:
        (order_id,) = con.execute("select min(order_id) from audit.breaks").fetchone() or (0,)
    return found | shown.on_demo(folder, order_id)


def release(data: Path, part: str) -> Facts:
    """Return the facts of the current release of a data folder."""
    with duckdb.connect(str(data / "published" / "current" / "ordermart.duckdb"), read_only=True) as con:
        return facts_of(con, part)


PARTS: dict[str, Callable[[Path], Facts | None]] = {
    "settings": settings,
    "commands": shown.commands,
    "exits": shown.exits,
    "small": small,
    "worlds": made_up,
    "chipotle": chipotle,
    "demo": demo,
}
