"""A sample of the sweeps: a night killed, out of disk or without power at some points is repeated without a loss.

The whole of it: `python -m tests.sweep --all` and `python -m tests.sweep --power --all`.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.sweep.bench import Bench, NoCompiler, bench
from tests.sweep.points import all_points, sample, sweep
from tests.sweep.power import lose_power, record, replay

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
ORDERS = 6


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Give a world with few orders, one night old."""
    try:
        with bench(tmp_path_factory.mktemp("sweep") / "bench", ORDERS) as made:
            made.expect()
            yield made
    except NoCompiler as error:
        pytest.skip(str(error))


def test_faults_at_some_points_lose_nothing(small: Bench) -> None:
    """One point of each of three stages, killed, full or broken: the next night gives the same tables."""
    points = {point.stage: point for point in sample(all_points(small.seen), 1)}
    tally = sweep(small, [points["ingest"], points["release"], points["backup"]])
    assert tally.lost == []
    assert tally.done.total() == 3


def test_losses_of_power_at_some_states_lose_nothing(small: Bench) -> None:
    """Three states of a night after a loss of power: the next night gives the same tables."""
    found = lose_power(small, most=3)
    assert found.lost == []
    assert found.done.total() == 3


def test_missing_sync_is_found(small: Bench) -> None:
    """With files put in place without a sync, some loss of power is a loss: the sweep would say so."""
    night = record(small, plant="no sync")
    for state, disk in replay(small, {stage: night[stage] for stage in ("webhooks", "ingest")}):
        if state.loss == "named" and state.operation.startswith("r\tdata/raw/observations/orders"):
            shutil.rmtree(small.place)
            small.place.mkdir()
            disk.write(small.place, state.loss)
            assert small.differences(state.stage)
            return
    pytest.fail("no state after the rename of a raw file")
