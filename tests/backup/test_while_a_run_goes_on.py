"""Backups that are taken while a night lands, builds and publishes: each restores, and compares with its release."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest

from pipelines.backup import back_up, restore
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.vault import open_vault
from tests.faults.conftest import running

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = 2_100  # two loads


@pytest.mark.slow
def test_backup_during_a_run_restores(tmp_path: Path) -> None:
    """Of backups taken all through a night, one with some loads of it restores: what is done on its work list is there.

    Every document has its personal data, and the tables of the last release are the same.
    """
    with running(tmp_path, orders=ORDERS, stores=4, days=10, trouble={"latency_seconds": 0.03}) as place:
        ids = tmp_path / "some"
        ids.write_text("\n".join(map(str, place.ids[:100])))
        assert place.command("run", "--order-ids", str(ids))[0] in (0, 3)
        taken = []
        with place.start("run", "--order-ids", str(place.folder / "ids")) as process:
            while process.poll() is None:
                taken.append(back_up(place.settings(), tmp_path / "backups").path)
                time.sleep(1.0)
            said = "".join(process.communicate())
        assert process.returncode in (0, 3), said
        shutil.rmtree(place.data)
        counts = {path: len(list((path / "raw" / "observations" / "orders").iterdir())) for path in taken}
        assert len(set(counts.values())) > 1, counts
        middle = next(path for path in taken if counts[path] > 1)
        place.data.mkdir()
        done = restore(place.settings(), middle)
        assert done.comparison.tables > 60, done.comparison
        assert done.comparison.different == []
        held = {row[0] for row in place.all("select order_id from core.orders")}
        with WorkList(inbox_path(place.data)) as work:
            due = set(work.due("orders"))
        assert len(held) > 100
        assert set(place.ids) <= held | due
        with open_vault(place.settings()) as vault:
            (phones,) = place.all("select list(order_id) from core.orders where has_user_phone")[0]
            assert all("/user_phone" in vault.decrypt("orders", order_id) for order_id in phones)
