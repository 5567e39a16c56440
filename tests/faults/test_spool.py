"""Answers that wait for their load: taken up whole after a kill, wherever it came, and never readable."""

from __future__ import annotations

import datetime as dt
import stat
from typing import TYPE_CHECKING

import pytest

from pipelines.landing import raw_files
from pipelines.vault import Answer, VaultError, new_key_file, open_spool

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

AT = dt.datetime(2026, 11, 20, 3, 15, tzinfo=dt.UTC)
ANSWERS = [
    Answer(1, AT, 200, b'{"id":1,"user_phone":"+44 20 7946 0001"}'),
    Answer(2, AT, 404),
    Answer(3, AT, None, code="reset", reason="the connection was reset"),
]


@pytest.fixture
def place(serve: Callable[..., Place]) -> Place:
    """A place with three orders, none of them asked for."""
    place = serve(orders=3, stores=1, days=2)
    place.ask(place.ids)
    return place


def killed_with(place: Place, load_id: str, answers: list[Answer]) -> None:
    """Leave what a killed run leaves: a spool that never ended."""
    with open_spool(place.settings(), "orders") as spool:
        spool.begin(load_id)
        for answer in answers:
            spool.add(answer)


def test_what_was_left_is_read_back(place: Place) -> None:
    """Every answer comes back as it was, with the load it was for; after the end nothing does."""
    killed_with(place, "a-load", ANSWERS)
    with open_spool(place.settings(), "orders") as spool:
        assert spool.left() == ("a-load", ANSWERS)
        spool.end()
        assert spool.left() is None


def test_a_torn_last_word_costs_that_word_only(place: Place) -> None:
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


def test_nobody_reads_it(place: Place) -> None:
    """No body stands in it in the clear, others may not open the file, and another key does not."""
    killed_with(place, "a-load", ANSWERS)
    file = place.data / "vault" / "spool-orders"
    assert b"7946" not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = place.folder / "other.json"
    new_key_file(other)
    place.environ["ORDERMART_VAULT__KEY_FILE"] = str(other)
    with open_spool(place.settings(), "orders") as spool, pytest.raises(VaultError):
        spool.left()


def test_each_kind_of_answer_is_taken_up(place: Place) -> None:
    """A body, a 404 and a failure of a killed run are landed as they would have been, and not asked for again."""
    one, two, three = place.ids
    with open_spool(place.settings(), "orders") as spool:
        spool.begin("a-load")
        spool.add(Answer(one, AT, 200, b'{"id":%d}' % one))
        spool.add(Answer(two, AT, 404))
        spool.add(Answer(three, AT, None, code="reset", reason="the connection was reset"))
    pulled = place.pull()
    assert (pulled.counts["accepted"], pulled.counts["missing"], pulled.counts["failed"]) == (1, 1, 1)
    assert place.verdicts() == {one: ["accepted"], two: ["missing"], three: ["failed"]}
    assert [letter.id for letter in place.dead_letters()] == [three]
    assert place.tries() == {}


def test_a_load_that_was_committed_is_not_landed_twice(place: Place) -> None:
    """Killed between the commit and the work list's word of it, a run's answers are told the list and not judged."""
    place.pull()
    (load_id,) = raw_files(place.data, "orders").load_ids
    place.sandbox.clear_record()
    place.ask(place.ids)
    killed_with(place, load_id, [Answer(id_, AT, 200, b'{"id":%d}' % id_) for id_ in place.ids])
    assert place.pull().counts["accepted"] == 0
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}
    assert place.tries() == {}
