"""Damaged files: of the spool that holds what a killed run received, and of raw, which nights name."""

from __future__ import annotations

import datetime as dt
import stat
from typing import TYPE_CHECKING

import pytest

from pipelines.landing.raw_folder import raw_files
from pipelines.vault import FetchedBody, VaultError, new_key_file, open_spool, open_vault

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

AT = dt.datetime(2026, 11, 20, 3, 15, tzinfo=dt.UTC)
ANSWERS = [
    FetchedBody(1, AT, 200, b'{"id":1,"user_phone":"+44 20 7946 0001"}'),
    FetchedBody(2, AT, 404),
    FetchedBody(3, AT, None, code="reset", message="the connection was reset"),
]


@pytest.fixture
def place(serve: Callable[..., Place]) -> Place:
    """A place with three orders, none of them asked for."""
    place = serve(orders=3, stores=1, days=2)
    place.ask(place.ids)
    return place


def killed_with(place: Place, load_id: str, answers: list[FetchedBody]) -> None:
    """Leave what a killed run leaves: an unfinished spool."""
    with open_spool(place.settings(), "orders") as spool:
        spool.begin(load_id)
        for answer in answers:
            spool.add(answer)


def test_spool_round_trip(place: Place) -> None:
    """Every answer comes back as it was, with the load it was for; after the end nothing does."""
    killed_with(place, "a-load", ANSWERS)
    with open_spool(place.settings(), "orders") as spool:
        assert spool.left() == ("a-load", ANSWERS)
        spool.end()
        assert spool.left() is None


@pytest.mark.slow
def test_spool_torn_record_loses_only_itself(place: Place) -> None:
    """Cut anywhere, the file gives the answers before the cut and no error."""
    killed_with(place, "a-load", ANSWERS)
    file = place.data / "vault" / "spool-orders"
    whole = file.read_bytes()
    counts = []
    for length in range(len(whole) + 1):
        file.write_bytes(whole[:length])
        with open_spool(place.settings(), "orders") as spool:
            left = spool.left()
        counts.append(-1 if left is None else len(left.answers))
        assert left is None or left.answers == ANSWERS[: counts[-1]]
    assert sorted(set(counts)) == [-1, 0, 1, 2, 3]
    assert counts == sorted(counts)


def test_spool_is_encrypted(place: Place) -> None:
    """It has no body in plain text, other users may not open the file, and another key cannot decrypt it."""
    killed_with(place, "a-load", ANSWERS)
    file = place.data / "vault" / "spool-orders"
    assert b"7946" not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = place.folder / "other.json"
    new_key_file(other)
    place.environ["ORDERMART_VAULT__KEY_FILE"] = str(other)
    with open_spool(place.settings(), "orders") as spool, pytest.raises(VaultError):
        spool.left()


def test_recover_lands_each_kind_of_response(place: Place) -> None:
    """A body, a 404 and a failure of a killed run are landed as usual, and not requested again."""
    one, two, three = place.ids
    with open_spool(place.settings(), "orders") as spool:
        spool.begin("a-load")
        spool.add(FetchedBody(one, AT, 200, b'{"id":%d}' % one))
        spool.add(FetchedBody(two, AT, 404))
        spool.add(FetchedBody(three, AT, None, code="reset", message="the connection was reset"))
    pulled = place.pull()
    assert (pulled.counts["accepted"], pulled.counts["missing"], pulled.counts["failed"]) == (1, 1, 1)
    assert place.verdicts() == {one: ["accepted"], two: ["missing"], three: ["failed"]}
    assert place.failing() == [three]
    assert place.tries() == {}


def test_recover_does_not_land_a_committed_load_twice(place: Place) -> None:
    """After a kill between the commit and the update of the work list, that is updated, and the load noted as ended."""
    place.pull()
    (load_id,) = raw_files(place.data, "orders").load_ids
    with open_vault(place.settings()) as vault:
        vault.begin(load_id, "orders")
    place.sandbox.clear_record()
    place.ask(place.ids)
    killed_with(place, load_id, [FetchedBody(id_, AT, 200, b'{"id":%d}' % id_) for id_ in place.ids])
    assert place.pull().counts["accepted"] == 0
    with open_vault(place.settings()) as vault:
        assert vault.open_loads("orders") == []
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}
    assert place.tries() == {}


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
