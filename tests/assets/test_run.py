"""The whole job through the real command, against a real service, to a release that opens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from pipelines.definitions import wiring
from pipelines.ingest.lock import run_lock
from pipelines.inventory import read_inventory
from pipelines.landing.raw_folder import raw_files
from pipelines.settings import load_settings
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.catalogue.tables import tables

if TYPE_CHECKING:
    from conftest import Place

ROOT = Path(__file__).resolve().parents[2]


def _refused(place: Place) -> set[tuple[str, int]]:
    """The planted faults that a gate must refuse, by kind and id."""
    hard = {
        "wrong_type",
        "missing_id",
        "excess_decimals",
        "nan",
        "duplicate_key",
        "truncated",
        "invalid_utf8",
    }
    faults = [json.loads(line) for line in place.truth.read_text().splitlines()]
    return {(fault["kind"], fault["id"]) for fault in faults if fault["fault"] in hard}


@pytest.mark.slow
def test_every_order_asked_for_is_published_or_listed(published: Place) -> None:
    """Each id ends in core.orders or in audit.quarantine, and never in both or in neither."""
    asked = {int(line) for line in published.ids.read_text().split()}
    orders = {row[0] for row in published.all("select order_id from core.orders")}
    refused = {
        row[0]
        for row in published.all("select entity_id from audit.quarantine where kind = 'orders' and is_unresolved")
    }
    assert orders | refused == asked
    assert not orders & refused


@pytest.mark.slow
def test_inventory_is_written_for_loads_and_at_the_end(published: Place) -> None:
    """A first night notes each load and the behaviour of the service, and twelve times besides."""
    loads = sum(len(raw_files(published.data, kind).load_ids) for kind in KINDS)
    assert loads >= 3
    assert read_inventory(published.data).no <= 2 * loads + 12


@pytest.mark.slow
def test_every_request_is_accounted_for(published: Place) -> None:
    """audit.fetches has a row for each order asked for, with what it took: a broken body was asked for twice."""
    asked = {int(line) for line in published.ids.read_text().split()}
    rows = published.all(
        "select entity_id, attempt_count, response_bytes, http_status from audit.fetches "
        "where kind = 'orders' and is_final_attempt"
    )
    assert {row[0] for row in rows} == asked
    assert len(rows) == len(asked)
    assert {row[1] for row in rows} == {1, 2}
    assert {row[3] for row in rows} == {200}
    assert all(row[2] > 0 for row in rows)
    again = published.all(
        "select entity_id, attempt_no, reason from audit.fetches where kind = 'orders' and not is_final_attempt"
    )
    assert sorted(again) == sorted((row[0], 1, "not_json") for row in rows if row[1] == 2)


@pytest.mark.slow
def test_the_manifest_has_the_result_of_every_check(published: Place) -> None:
    """The manifest names every check with its violations: those of warnings are the rows of audit.findings."""
    manifest = json.loads((published.data / "published" / "current" / "manifest.json").read_text())
    assert manifest["checks"].keys() == {check.name for table in tables() for check in table.checks}
    found = dict(published.all("select check_name, count(*) from audit.findings group by check_name"))
    assert found
    assert {name: count for name, count in manifest["checks"].items() if count} == found


@pytest.mark.slow
def test_what_is_refused_is_what_was_planted(published: Place) -> None:
    """The gate refuses the planted bad bytes and nothing else."""
    listed = {
        (kind, id_) for kind, id_ in published.all("select kind, entity_id from audit.quarantine where is_unresolved")
    }
    assert listed == _refused(published)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_runs_after_the_first(place: Place) -> None:
    """The same answers publish nothing new, data of two services never mix, and an outage keeps the release."""
    first = place.command("run", "--order-ids", str(place.ids))
    assert first.returncode == 3, first.stdout + first.stderr
    before = (place.data / "published" / "current").resolve()
    rows = place.all("from core.orders order by order_id")
    second = place.command("run")
    assert second.returncode == 0, second.stdout + second.stderr
    assert place.all("from core.orders order by order_id") == rows
    assert place.command("run", "--strict").returncode == 3  # known refusals count only there
    elsewhere = {"ORDERMART_PARTNER__BASE_URL": "http://127.0.0.1:9"}
    refused = place.command("run", **elsewhere)
    assert refused.returncode == 2
    assert "holds data of" in refused.stdout + refused.stderr
    (place.data / "raw" / "source.json").write_text('{"base_url":"http://127.0.0.1:9"}')
    failed = place.command("run", **elsewhere, ORDERMART_PARTNER__OUTAGE_TIMEOUT_SECONDS="3")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "the previous release stays current" in failed.stdout
    assert "Traceback" not in failed.stdout + failed.stderr
    assert (place.data / "published" / "current").resolve() == before


@pytest.mark.slow
def test_wrong_settings_and_usage_end_with_2(place: Place) -> None:
    """A wrong setting is one sentence that names the key; a wrong range names itself."""
    wrong = place.command("run", ORDERMART_LANDING__MAX_BYTES="many")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "ORDERMART_LANDING__MAX_BYTES" in wrong.stderr
    assert place.command("run", "--order-id-range", "9-3").returncode == 2
    assert place.command("run", "--no-such-option").returncode == 2


@pytest.mark.slow
def test_a_second_run_at_the_same_time_ends_with_4(place: Place) -> None:
    """While one run holds the lock, one for webhooks ends at once and names it."""
    with run_lock(place.data, "the night"):
        second = place.command("run", "--due")
    assert second.returncode == 4
    assert "the night" in second.stderr


@pytest.mark.slow
def test_a_night_waits_for_the_run_that_holds_the_lock(place: Place) -> None:
    """It says whom it waits for, as its first line, and publishes once the other one has ended."""
    night = [sys.executable, "-m", "pipelines.cli", "run", "--json", "--order-ids", str(place.ids)]
    with ExitStack() as other:
        other.enter_context(run_lock(place.data, "ordermart run"))
        with subprocess.Popen(
            night, cwd=ROOT, env=os.environ | place.environ, stdout=subprocess.PIPE, text=True
        ) as waiting:
            assert waiting.stdout is not None
            note = json.loads(waiting.stdout.readline())
            other.close()
            said, _ = waiting.communicate()
    assert note["event"] == "note"
    assert "waits for it, at most 30 minutes" in note["text"]
    assert waiting.returncode == 3, said  # planted faults are refused
    assert place.all("select count(*) from core.orders") != [(0,)]


@pytest.mark.slow
def test_secrets_and_personal_data_stay_out_of_everything_readable(published: Place) -> None:
    """No phone, e-mail, name or address of any order, and no credential, is in a file outside the vault."""
    import httpx  # noqa: PLC0415 -- only here a test asks the service itself

    answer = httpx.post(
        published.base_url + "/v1/partner_developers/authenticate",
        json={"client_id": "sandbox", "client_secret": "sandbox"},
    ).json()
    token = answer["access_token"]
    canaries: set[bytes] = {token.encode()}
    ids = [row[0] for row in published.all("select order_id from core.orders order by order_id limit 40")]
    for order_id in ids:
        body = httpx.get(
            f"{published.base_url}/v1/partner_developers/orders/{order_id}",
            headers={"Authorization": f"Bearer {token}"},
        ).json()
        for field in ("user_phone", "user_email", "user_name", "user_address"):
            if body.get(field):
                canaries.add(body[field].encode())
    assert len(canaries) > 20
    for file in sorted(published.data.rglob("*")):
        if file.is_file() and "vault" not in file.relative_to(published.data).parts:
            content = _readable(file)
            found = [canary for canary in canaries if canary in content]
            assert not found, f"{len(found)} canaries in {file.relative_to(published.data)}"


def _readable(file) -> bytes:  # noqa: ANN001 -- a path
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415

        return repr(pq.read_table(file).to_pylist()).encode()
    return file.read_bytes()


@pytest.mark.slow
def test_dagster_shows_what_a_command_did(published: Place) -> None:
    """Dagster's sensor reports the tables and the release of a run that Dagster did not execute, once."""
    settings = load_settings(environ=published.environ)
    sensor = wiring(settings).resolve_sensor_def("recorded_runs")
    with dg.DagsterInstance.ephemeral() as instance:
        first = sensor(dg.build_sensor_context(instance=instance))
        assert isinstance(first, dg.SensorResult)
        for event in first.asset_events or []:
            instance.report_runless_asset_event(event)
        again = sensor(dg.build_sensor_context(instance=instance, cursor=first.cursor))
    assert isinstance(again, dg.SensorResult)
    assert (again.asset_events, again.cursor) == ([], first.cursor)
    shown = {
        each.asset_key.to_user_string(): each
        for each in first.asset_events or []
        if isinstance(each, dg.AssetMaterialization)
    }
    names = {table.name.replace(".", "/") for table in tables()}
    assert shown.keys() == names | {f"raw/{kind}" for kind in KINDS} | {"release"}
    rows = shown["core/orders"].metadata["dagster/row_count"].value
    assert rows == published.all("select count(*) from core.orders")[0][0]


@pytest.mark.slow
def test_queries_to_start_with_have_answers(published: Place) -> None:
    """Each query with which docs/TABLES.md begins runs on a release and has an answer."""
    tables = (ROOT / "docs" / "TABLES.md").read_text(encoding="utf-8")
    queries = [each for each in tables.partition("```sql\n")[2].partition("```")[0].split(";") if each.strip()]
    assert len(queries) == 3
    for query in queries:
        assert published.all(query), query


@pytest.mark.slow
def test_planted_warnings_are_found(published: Place) -> None:
    """What breaks the source's rules is published and listed: the planted soft faults by order id."""
    faults = [json.loads(line) for line in published.truth.read_text().splitlines()]
    planted = {f["id"] for f in faults if f["kind"] == "orders" and f["fault"] == "total_break"}
    listed = {
        row[0]
        for row in published.all(
            "select entity_id from audit.findings "
            "where check_name = 'mart.order_reconciliation__total_follows_the_rule'"
        )
    }
    assert planted <= listed
    kinds = Counter(fault["fault"] for fault in faults)
    assert kinds["total_break"] > 0
