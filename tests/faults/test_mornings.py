"""Mornings after nights that went wrong, and after good ones, say what was true; see `python -m tests.nights`."""

from __future__ import annotations

import shutil

import pytest

from tests.nights import FAULTS, HABITS, most_in_a_week, play, play_good, play_lasting

SAMPLE = ["list has a cursor"]  # the long lane has all
LASTING = ["list has a cursor", "stores lack menus", "orders send ids as text", "everything answers 503"]

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler shifts the clock of commands")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_mornings_say_what_was_true() -> None:
    """A fault between good nights: exit code, status, page, alarms and heartbeat agree with the truth."""
    assert play(3, SAMPLE, seed=1) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_forty_mornings_say_what_was_true() -> None:
    """Each of 26 ways to go wrong, and good nights between them; at most three messages about one thing in a week."""
    assert len(FAULTS) >= 26
    assert play(40, [], seed=1) == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_fault_that_lasts_is_told_once_and_its_end_once() -> None:
    """Refused credentials for two nights, with two runs for webhooks a day."""
    assert play_lasting("everything answers 401", nights=2) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", LASTING)
def test_other_faults_that_last_send_one_message_and_one_at_their_end(name: str) -> None:
    """The same of other faults."""
    assert play_lasting(name) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_sixty_good_nights_raise_no_alarm() -> None:
    """The service has the habits of one that is well; nobody is told anything."""
    assert len(HABITS) >= 9
    assert play_good(60) == []


def test_messages_in_a_week_are_counted() -> None:
    """Four messages in seven days count, and four in eight days do not."""
    assert most_in_a_week([(day, "stores", False) for day in (1, 3, 5, 7)]) == (4, "stores")
    assert most_in_a_week([(day, "stores", False) for day in (1, 3, 5, 8)])[0] == 3
