"""Known orders are asked for again when they are due, and a wrong address makes none of them gone."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from pipelines.clock import shift_clock, utc_now
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.loop import SuspectBaseUrlError, plan_orders, report_sample
from pipelines.landing.load import Load
from pipelines.settings import load_settings
from pipelines.vault import open_vault
from pipelines.warehouse.building.build import build
from tests.ingested import ingest

if TYPE_CHECKING:
    from conftest import Place

    from pipelines.settings import Settings


# Within the world's last days, so that its orders are young whenever this runs; conftest.py puts the clock back.
NOON = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


def _settings(place: Place, **environ: str) -> Settings:
    return load_settings(environ={**place.environ, **environ})


def _landed(place: Place, number: int) -> list[int]:
    """Land and build some orders; return their ids."""
    settings = _settings(place)
    ids = sorted(int(line) for line in place.ids.read_text().split())[:number]
    ingest(settings, "stores")
    ingest(settings, "menus")
    ingest(settings, "orders", request=lambda work: work.add("orders", ids, why="test") and None)
    build(settings)
    return ids


@pytest.mark.slow
def test_the_young_are_asked_for_again_when_their_pace_says_so(place: Place) -> None:
    """A week after the last look orders of the last days are due; right after it none is."""
    shift_clock(NOON)
    _landed(place, 30)
    settings = _settings(place)
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        now = utc_now()
        assert plan_orders(settings, work, now).sentence().startswith("0 known orders")
        assert work.due("orders") == []
        later = now + dt.timedelta(days=7, hours=1)
        plan_orders(settings, work, later)
        assert len(work.due("orders", now=later)) > 20


@pytest.mark.slow
def test_a_wrong_address_makes_no_order_gone(place: Place) -> None:
    """When known orders are suddenly not found the run stops with a question, and nothing of it is landed."""
    ids = _landed(place, 60)
    wrong = _settings(place, ORDERMART_PARTNER__ORDER__PATH="/v1/partner_developers/orders/77{id}")
    observations = sorted((place.data / "raw" / "observations" / "orders").iterdir())
    with pytest.raises(SuspectBaseUrlError, match=r"check \[partner\] base_url"):
        ingest(wrong, "orders", request=lambda work: work.add("orders", ids, why="test") and None)
    assert sorted((place.data / "raw" / "observations" / "orders").iterdir()) == observations
    # the ids are still due, and with the right address they are found
    assert ingest(_settings(place), "orders").counts["missing"] == 0


@pytest.mark.slow
def test_ids_between_known_ones_are_asked_for_within_a_budget(place: Place) -> None:
    """The gap probe asks for no more ids than its budget, all of them between known ones."""
    shift_clock(NOON)
    ids = _landed(place, 40)
    settings = _settings(place, ORDERMART_PLANNER__GAP_PROBE="true", ORDERMART_PLANNER__GAP_BUDGET="7")
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        plan_orders(settings, work)
        asked = work.due("orders")
    assert 0 < len(asked) <= 7
    assert all(ids[0] < each < ids[-1] for each in asked)
    assert not set(asked) & {row for row in ids if row not in asked}


@pytest.mark.slow
def test_the_sample_says_how_many_changes_are_missed(place: Place) -> None:
    """Old orders that changed are counted, but for one that a webhook named."""
    ids = _landed(place, 30)
    ages = {"HOT_MAX_AGE_DAYS": "1", "WARM_MAX_AGE_DAYS": "2", "COLD_MAX_AGE_DAYS": "3", "SAMPLE_SIZE": "30"}
    settings = _settings(place, **{f"ORDERMART_PLANNER__{name}": value for name, value in ages.items()})
    with open_vault(settings) as vault, Load(settings, vault, "orders") as load:
        for id_ in ids[:3]:  # as they were once: the service has them otherwise
            load.validate(b'{"id":%d,"created_at":"2026-10-01T10:00:00Z"}' % id_, id_)
        load.commit()
    build(settings)
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        work.add("orders", [ids[0]], why="webhook")
        planned = plan_orders(settings, work)
        pulled = ingest(settings, "orders")
        (said,) = report_sample(settings, work, planned.sample, pulled.loads)
    assert said == f"Sample: 2 of {planned.population} old orders had changed without a notification."
    assert planned.population >= 27  # a few have planted faults
