"""Damaged files of raw, which nights name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.landing.raw_folder import raw_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place


@pytest.mark.slow
def test_nights_name_what_is_damaged_and_go_on(serve: Callable[..., Place]) -> None:
    """One file altered before any build has seen it, one lost later: nights name both, land, and publish nothing."""
    place = serve(orders=60, stores=2, days=3)
    place.ask(place.ids[:30])
    code, said = place.command("run")
    assert code in (0, 3), said
    orders = "select order_id from core.orders order by all"
    published = place.all(orders)

    place.ask(place.ids[30:40])
    place.pull()
    landed = raw_files(place.data, "orders").observations[-1].path
    lost = raw_files(place.data, "menus").documents[0].path
    whole = {path: path.read_bytes() for path in (landed, lost)}
    altered = bytearray(whole[landed])
    altered[len(altered) // 2] ^= 1
    landed.write_bytes(altered)
    lost.unlink()

    place.ask(place.ids[40:])
    code, said = place.command("run")
    assert code == 1, said
    assert "Traceback" not in said
    assert f"raw/documents/menus/{lost.name} (missing)" in said
    assert "Restore them from a backup" in said
    landed.write_bytes(whole[landed])  # readable, for once: the night landed what was due
    assert set(place.ids) == set(place.verdicts())
    landed.write_bytes(altered)
    assert place.all(orders) == published

    # one was restored; the other, of the same size as ever, is named before its rows are used
    lost.write_bytes(whole[lost])
    code, said = place.command("run")
    assert (code, "Traceback" in said) == (1, False), said
    assert f"raw/observations/orders/{landed.name} (other content than was written)" in said
    assert place.all(orders) == published

    landed.write_bytes(whole[landed])
    code, said = place.command("run")
    assert code in (0, 3), said
    assert len(place.all(orders)) == len(place.ids)
