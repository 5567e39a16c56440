"""Mornings after nights that went wrong say what was true; `python -m tests.nights` plays forty."""

from __future__ import annotations

import shutil

import pytest

from tests.nights import FAULTS, play

SAMPLE = ["list has a cursor", "stores lack menus", "orders send ids as text", "everything answers 503"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_mornings_say_what_was_true() -> None:
    """Four faults, each before a good night: exit code, status, page, alarms and heartbeat agree with the truth."""
    if shutil.which("cc") is None:
        pytest.skip("a C compiler is needed, to shift the clock of commands")
    wrong, messages = play(9, SAMPLE, seed=1)
    assert wrong == []
    assert max(messages.values()) <= 3


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_forty_mornings_say_what_was_true() -> None:
    """Each of 26 ways to go wrong, and good nights between them."""
    assert len(FAULTS) >= 26
    wrong, messages = play(40, [], seed=1)
    assert wrong == []
    assert max(messages.values()) <= 3
