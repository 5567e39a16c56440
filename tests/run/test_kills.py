"""A killed run is told once, with the step where it ended: a seeded sample of `python -m tests.run`."""

from __future__ import annotations

import random

import pytest

from tests.run.kills import BY, examined, place, points


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_run_is_told_once_with_its_step() -> None:
    """A night of the command and one of Dagster, each killed somewhere."""
    chosen = [random.Random(8).sample([each for each in points(40, 7) if each[0] == by], 1) for by in BY]
    with place() as made:
        made.whole_run()
        for by, step, share in (point for of_one in chosen for point in of_one):
            where, wrong = examined(made, by, step, share)
            assert wrong == [], (by, step, share, where)
