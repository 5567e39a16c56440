"""A run of Dagster makes the tables of users' own between what they read and the release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import pytest

from pipelines.definitions import wiring
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from conftest import Place

MODELS = {
    "listed": "-- One row per store.\n--\n-- key: store_id\nselect store_id from core.stores",
    "checks/listed__is_empty": "-- No store.\n-- severity: warning\nfrom own.listed",
    "broken": "-- One row.\n--\n-- key: store_id\nselect 1 as store_id from own.listed",
}


@pytest.mark.slow
def test_a_run_materialises_own_tables_and_evaluates_their_checks(place: Place) -> None:
    """One that is right is an asset with its rows and warnings; one that is not is left out, and its check fails."""
    (place.folder / "models" / "checks").mkdir(parents=True)
    for name, text in MODELS.items():
        (place.folder / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
    with dg.DagsterInstance.ephemeral() as instance:
        wired = wiring(load_settings(environ=place.environ))
        done = wired.resolve_job_def("night").execute_in_process(raise_on_error=False, instance=instance)
    made = [event.materialization for event in done.get_asset_materialization_events() if event.is_step_materialization]
    names = [each.asset_key.to_user_string() for each in made]
    assert names.index("core/stores") < names.index("own/listed")
    assert "own/broken" not in names
    assert names.index("own/listed") < names.index("release")
    (stores,) = (each.metadata["dagster/row_count"].value for each in made if each.asset_key.path == ["own", "listed"])
    assert place.all("select count(*) from own.listed") == [(stores,)]
    checks = {
        (each.asset_key.to_user_string(), each.check_name): each.passed for each in done.get_asset_check_evaluations()
    }
    assert {key: passed for key, passed in checks.items() if key[0].startswith("own/")} == {
        ("own/listed", "is_made"): True,
        ("own/listed", "warnings"): False,
        ("own/broken", "is_made"): False,
    }
