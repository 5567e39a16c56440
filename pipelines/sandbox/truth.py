"""Write what a world knows about itself: its planted faults and its order ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.sandbox.world import World


def write_truth(world: World, path: Path) -> None:
    """Write each planted fault as a line {"kind", "id", "fault", "pointer"}."""
    lines = (msgspec.json.encode(fault) + b"\n" for fault in world.truth())
    path.write_bytes(b"".join(lines))


def write_ids(world: World, path: Path) -> None:
    """Write the ids of all orders, one a line."""
    path.write_text("".join(f"{order_id}\n" for order_id in world.order_ids), encoding="ascii")
