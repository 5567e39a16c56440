"""What a kind of a run lacks is noted beside its results, and fails the run only if nothing came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.ingest.ingest_session import PartnerSession
from pipelines.ingest.outcome import Ingested
from pipelines.landing.load import Load
from pipelines.partner.exchange import AuthenticationFailed, ServiceDown
from pipelines.run.steps import NothingCameError, fail_if_nothing_came
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give settings with a data folder and a vault of their own."""
    new_key_file(tmp_path / "keys.json")
    data = {"ORDERMART_DATA__DIR": str(tmp_path / "data"), "ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json")}
    return load_settings(environ=data)


@pytest.fixture
def session(settings: Settings) -> Iterator[PartnerSession]:
    """Give a session that has requested nothing."""
    with PartnerSession(settings) as opened:
        yield opened


def _stopped(kind: str, error: ServiceDown | AuthenticationFailed) -> Ingested:
    return Ingested(kind, stopped=error, shortfalls=[str(error)])


def test_a_run_that_nothing_came_of_fails_with_the_reason(settings: Settings, session: PartnerSession) -> None:
    """Kinds that were stopped for the same reason are one sentence; what waits to be built is built all the same."""
    fail_if_nothing_came(settings, session)
    error = ServiceDown("the service has failed")
    session.ingested += [_stopped("stores", error), Ingested("menus"), _stopped("orders", error)]
    with pytest.raises(NothingCameError, match="stores, orders: the service has failed") as raised:
        fail_if_nothing_came(settings, session)
    assert raised.value.__cause__ is error
    with open_vault(settings) as vault, Load(settings, vault, "orders") as load:
        load.no_document(7)
        load.commit()
    fail_if_nothing_came(settings, session)


def test_a_run_that_something_came_of_does_not_fail(settings: Settings, session: PartnerSession) -> None:
    """What one kind landed is published, whatever stopped the others."""
    landed = Ingested("stores")
    landed.counts["unchanged"] = 3
    session.ingested += [landed, _stopped("orders", ServiceDown("the service has failed"))]
    fail_if_nothing_came(settings, session)
