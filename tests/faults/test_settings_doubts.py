"""Settings that are valid and look wrong by what a night did are said: lost keys, statuses that never occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.notify import active_alarms
from pipelines.record import NIGHT, new_run
from pipelines.report.status import lost_keys
from pipelines.settings import given_keys, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Place

WHOLE = """
[schedule]
is_on = false
[sales]
counted_statuses = ["delivered", "picked_up"]
excluded_statuses = ["cancelled"]
"""
CUT = WHOLE.partition("counted")[0]


@pytest.mark.long
def test_a_night_with_settings_that_were_cut_off_is_not_good(serve: Callable[..., Place]) -> None:
    """Cut off after a line they are valid: every night is said to lack keys until they are there again."""
    place = serve(orders=30, stores=2, days=3)
    config = place.folder / "shop.toml"
    place.environ["ORDERMART_CONFIG"] = str(config)
    place.ask(place.ids)
    config.write_text(WHOLE)
    code, said = place.command("run")
    assert code == 0, said
    config.write_text(CUT)
    lacks = "shop.toml lacks 2 keys of the last good run: [sales] counted_statuses, [sales] excluded_statuses"
    for _ in range(2):
        code, said = place.command("run")
        assert (code, lacks in said) == (3, True), said
        (alarm,) = active_alarms(place.data)
        assert alarm.cause == "settings"
        assert lacks in (place.data / "published" / "morning.html").read_text(encoding="utf-8")
    assert "Last run: incomplete" in place.command("status")[1]
    assert f"warning  settings: {lacks}" in place.command("doctor")[1]
    config.write_text(WHOLE.replace('["cancelled"]', "[]"))  # another value is no lost key
    code, said = place.command("run")
    assert (code, active_alarms(place.data)) == (0, []), said


@pytest.mark.slow
def test_statuses_of_sales_that_never_occur_are_said_with_those_that_do(serve: Callable[..., Place]) -> None:
    """The settings name a status that no order has: the run, the page and `doctor` say which ones orders have."""
    place = serve(orders=30, stores=2, days=3)
    place.environ["ORDERMART_SALES__COUNTED_STATUSES"] = '["DELIVERED"]'
    place.ask(place.ids)
    code, said = place.command("run")
    seen = "no order has a status of [sales] counted_statuses; orders have delivered "
    assert (code, seen in said, "No status counts as a sale" in said) == (3, True, False), said
    assert seen in (place.data / "published" / "morning.html").read_text(encoding="utf-8")
    assert seen in place.command("doctor")[1]
    place.environ["ORDERMART_SALES__COUNTED_STATUSES"] = '["delivered"]'
    code, said = place.command("run")
    assert (code, active_alarms(place.data)) == (0, []), said


def test_a_key_that_the_environment_names_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of tables in tables are compared, too; keys that no release knows any more are not."""
    file, good = tmp_path / "shop.toml", new_run(NIGHT)
    file.write_text("[partner.store]\nid_pointer = '/id'\n[sales]\ncounted_statuses = ['a']\n")
    good.keys, good.ended_at = [*given_keys(file, {}), "partner.no_longer_known"], good.started_at
    file.write_text("")
    monkeypatch.setenv("ORDERMART_SALES__COUNTED_STATUSES", "['a']")
    (sentence,) = lost_keys(load_settings(file), [good])
    assert "lacks 1 key of the last good run: [partner.store] id_pointer. Was" in sentence
