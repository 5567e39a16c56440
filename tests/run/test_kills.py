"""A killed run is told once, with the step where it ended: a seeded sample of `python -m tests.run`."""

from __future__ import annotations

import random

import pytest

from tests.run.kills import BY, examined, place, points


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_run_is_told_once_with_its_step() -> None:
    """Two nights of the command and two of Dagster, each killed somewhere else."""
    chosen = [random.Random(8).sample([each for each in points(40, 7) if each[0] == by], 2) for by in BY]
    with place() as made:
        made.whole_run()
        for by, step, share in (point for of_one in chosen for point in of_one):
            where, wrong = examined(made, by, step, share)
            assert wrong == [], (by, step, share, where)
