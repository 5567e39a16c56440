"""Examples of the documents work: the models of docs/MODELS.md, and the pandas of docs/BI.md, with the sums of SQL."""

from __future__ import annotations

import contextlib
import io
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from pipelines.record import current_release
from pipelines.warehouse.own import check_models, new_model, remade, run_tests
from pipelines.warehouse.release.manifest import read_manifest
from tests.histories import history, run
from tests.own.conftest import MODELS, SHIPPED, write
from tests.privacy.conftest import BOB, person

if TYPE_CHECKING:
    from tests.privacy.conftest import World

UNPRICED = person(9, BOB, total_price=None)  # an average does not count it
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_documented_models_are_made(own: World) -> None:
    """Each is in the next release without a problem, with its check; the rows of its test are as expected."""
    text = (ROOT / "docs" / "MODELS.md").read_text("utf-8")
    first, by_region, check = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    (given,) = re.findall(r"```\n(given.*?)```", text, re.DOTALL)
    for name, sql in (("by_day", first), ("weekly_by_region", by_region)):
        write(own, name, sql)
    write(own, "checks/weekly_by_region__has_all_sales", check)
    (own.place / "models" / "by_day.test.txt").write_text(given, encoding="utf-8")
    new_model(own.settings, "fresh")
    shipped = {path.stem for path in SHIPPED.glob("*.sql")}
    assert shipped == set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    for name in shipped:
        assert new_model(own.settings, name).read_text("utf-8") == (SHIPPED / f"{name}.sql").read_text("utf-8")
    copied = {path.name for path in (own.place / "models" / "checks").iterdir()}
    assert copied == {path.name for path in SHIPPED.glob("checks/*.sql")} | {"weekly_by_region__has_all_sales.sql"}
    own.file.write_text(own.file.read_text("utf-8") + '[sales]\ncounted_statuses = ["done"]\n', encoding="utf-8")
    own.land("orders", [UNPRICED])
    own.publish()
    assert own.rows("from meta.models where problem is not null or len(warnings) > 0") == []
    averages = "select sum(order_count), sum(total_price) / sum(average_price) from own.weekly_by_region"
    assert own.rows(averages) == [(3, 2)]

    assert [(each.name, each.wrong) for each in run_tests(own.settings)] == [("own.by_day", "")]
    assert {each.name for each in check_models(own.settings) if not each.wrong} >= {
        *("own.by_day", "own.fresh"),
        *(f"own.{name}" for name in shipped),
    }
    (own.place / "models" / "by_day.test.txt").write_text(f"{given.rstrip()[:-1]}1\n", encoding="utf-8")
    (wrong,) = run_tests(own.settings)
    assert "2026-10-01 | EUR | 1 | 5.0100 is missing" in wrong.wrong
    assert "2026-10-01 | EUR | 1 | 5.0000 is not expected" in wrong.wrong


@pytest.mark.slow
def test_pandas_gives_the_figures_of_sql(own: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of counted sales to the last digit; shares, averages and changes to as many as the quotient has."""
    own.file.write_text(own.file.read_text("utf-8") + '[sales]\ncounted_statuses = ["done"]\n', encoding="utf-8")
    own.land("orders", [UNPRICED])
    own.publish()
    for name, value in own.environ.items():
        monkeypatch.setenv(name, value)
    recipe = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "BI.md").read_text("utf-8"), re.DOTALL)[-1]
    found: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(recipe, found)  # noqa: S102 -- a document's code
    stores = found["stores"]
    counted = "from mart.daily_store_sales where sale_class = 'counted'"
    sums = f"select currency, store_name, sum(total_price) {counted} group by all"
    assert [(*key, value) for key, value in stores.items()] == own.rows(sums)  # type: ignore[attr-defined]
    assert own.rows(sums)[0][2] == Decimal("27.0000")
    assert list(found["shares"]) == [1]  # type: ignore[call-overload]
    assert found["days"].isna().sum() == 1  # type: ignore[attr-defined]
    assert own.rows(f"select sum(order_count) {counted}") == [(3,)]
    assert list(found["averages"]) == [Decimal("13.5")]  # type: ignore[call-overload]
    assert [each for each in found["changes"] if each is not pd.NA] == [0]  # type: ignore[attr-defined]


@pytest.mark.long
def test_increments_equal_rebuilds(own: World) -> None:
    """After orders that are new, change their day or month, and change again: own rows are those of all at once."""
    lines = "-- One row per order line.\n--\n-- scope: order\nselect l.order_id, l.line_no, o.business_date from"
    write(own, "lines", f"{lines} core.order_lines as l inner join mart.orders as o using (order_id)")
    of_day = (
        "-- One row per day and status.\n--\n-- key: business_date, status\n-- scope: day\nselect business_date, status"
    )
    write(own, "by_status", f"{of_day}, count(*) as n from mart.orders group by business_date, status")
    own.publish()
    tables = ("own.daily", "own.by_order", "own.lines", "own.by_status", "own.weekly")
    history = (
        [person(5, BOB, created_at="2020-11-30T23:30:00Z"), person(2, BOB, created_at="2020-12-02T10:00:00Z")],
        [
            person(5, BOB, created_at="2020-12-01T10:00:00Z", status="later"),
            person(6, BOB, created_at=None),
            person(1, BOB, items=[]),
        ],
    )
    path = own.place / "models" / "nothing.sql"
    for orders in history:
        own.land("orders", orders)
        own.publish()
        rows = {name: sorted(map(repr, own.rows(f"from {name}"))) for name in tables}
        assert own.rows("select * from meta.models where problem is not null") == []
        (own.data / "warehouse" / "own_tables.duckdb").unlink()
        path.unlink() if path.exists() else write(own, "nothing", "-- One row.\nselect 1 as a")
        own.publish()
        assert rows == {name: sorted(map(repr, own.rows(f"from {name}"))) for name in tables}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, pytest.param(0, marks=pytest.mark.long)])
def test_own_tables_of_histories_equal_rebuilds(seed: int, tmp_path: Path) -> None:
    """After a history that is published after each build, rows are those that verifying makes at once."""
    (tmp_path / "models").mkdir()
    for name in ("weekly", "daily", "by_order"):
        (tmp_path / "models" / f"{name}.sql").write_text(MODELS[name], encoding="utf-8")
    steps = [each for step in history(seed) for each in (step, {"do": "publish"})[: 1 + (step["do"] == "build")]]
    world, increments = run([*steps, {"do": "publish"}], tmp_path)
    assert increments > 0
    release = current_release(world.data / "published")
    manifest = read_manifest(release) if release else None
    assert release
    assert manifest
    assert {each.name: each.problem for each in manifest.own} == {"own.by_order": "", "own.daily": "", "own.weekly": ""}
    assert [each.rows > 0 for each in manifest.own] == [True, True, True]
    assert dict(remade(world.settings, release, manifest.own)) == {each.name: True for each in manifest.own}
