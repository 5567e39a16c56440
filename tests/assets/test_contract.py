"""`ordermart contract` and `ordermart questions` on a release of the real job: valid, whole, and without a secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

if TYPE_CHECKING:
    from pathlib import Path

    from tests.assets.conftest import Place

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document(published: Place, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the OpenAPI document that the command writes to a file."""
    file: Path = tmp_path_factory.mktemp("contract") / "openapi.json"
    done = published.command("contract", "--openapi", str(file))
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_document_is_valid(document: Any) -> None:
    """The OpenAPI validator finds nothing; a planted error it finds."""
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")
    broken = json.loads(json.dumps(document))
    broken["components"]["schemas"]["Order"]["type"] = "objekt"
    assert not OpenAPIV31SpecValidator(broken).is_valid()


@pytest.mark.slow
def test_what_was_observed_is_marked_and_counted(document: Any, published: Place) -> None:
    """Enumerations, nulls and undocumented fields are those of the release, with its counts."""
    order = document["components"]["schemas"]["Order"]["properties"]
    values = dict(published.all("select value, document_count from audit.vocabulary where path = '/status'"))
    assert order["status"]["x-observed"]["values"] == values
    assert set(order["status"]["enum"]) - {None} == set(values)
    pick_up = order["promised_pick_up_time"]
    nulls = published.all("select null_document_count from audit.field_profile where path = '/promised_pick_up_time'")
    assert (pick_up["type"], pick_up["x-observed"]["null_document_count"]) == (["string", "null"], nulls[0][0])
    assert order["total_price"]["type"] == "number"
    bounds = published.all(
        "select min_value, max_value from audit.field_profile where kind = 'orders' and path = '/store_id'"
    )
    shown = order["store_id"]["x-observed"]
    assert [(repr(shown["min_value"]), repr(shown["max_value"]))] == [(str(int(a)), str(int(b))) for a, b in bounds]
    store = document["components"]["schemas"]["Store"]["properties"]
    unknown = published.all("select path from audit.field_profile where kind = 'stores' and not is_documented")
    assert {path[1:] for (path,) in unknown if path.count("/") == 1} <= store.keys()
    reads = document["paths"]["/v1/partner_developers/orders/{id}"]["get"]["responses"]
    assert reads["200"]["x-observed"]["answers"] > 500
    assert set(document["webhooks"]) == {"stores.update", "orders.create", "orders.update", "menus.update"}


@pytest.mark.slow
def test_personal_fields_show_presence_alone(document: Any, published: Place) -> None:
    """Of an encrypted field the document has no length, number or example."""
    order = document["components"]["schemas"]["Order"]["properties"]
    personal = ("user_phone", "user_email", "user_address", "user_name", "user_latitude", "user_longitude")
    for name in personal:
        assert order[name]["x-observed"].keys() <= {
            "document_count",
            "parent_count",
            "present_count",
            "null_document_count",
            "absent_document_count",
            "first_seen_at",
            "last_seen_at",
        }
    lines = published.command("contract")
    assert "orders  /user_phone: string" in lines.stdout


@pytest.mark.slow
def test_the_questions_are_a_letter(published: Place) -> None:
    """Each question is numbered and asks; assumptions and examples stand below it, credentials do not."""
    done = published.command("questions", "--markdown")
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.startswith("## ")]
    asked = published.all("select partner_question from audit.questions order by rank")
    assert len(titles) == len(asked) > 30
    assert titles[0].startswith("## 1. ")
    assert all("?" in title for title in titles)
    assert "sandbox" not in done.stdout  # the client's id and secret in these tests
    assert "Examples by id:" in done.stdout
    plain = published.command("questions")
    assert "which statuses are sales (section 3): contradicted" in plain.stdout


def test_without_a_release_both_say_what_to_do(place: Place) -> None:
    """Before the first run: exit code 1 and a sentence on standard error; `questions` names open answers."""
    for command in ("questions", "contract"):
        done = place.command(command)
        assert (done.returncode, "ordermart init" in done.stdout) == (1, command == "questions")
        assert "run `ordermart run` first" in done.stderr
