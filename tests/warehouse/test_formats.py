"""Data folders of every format version that was ever written open, are built and verified."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.assets.healing import heal
from pipelines.finance.restating import build_and_record
from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.landing.formats import FORMATS
from pipelines.ledger import ledger_of
from pipelines.ledger.chain import verify
from pipelines.settings import load_settings
from pipelines.vault import open_vault
from pipelines.warehouse import publish, warehouse_file

if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT = sorted((Path(__file__).parents[1] / "kept_formats").glob("*.tar.gz"))


def test_every_raw_format_has_a_kept_folder() -> None:
    """Whoever raises the version of a format keeps a folder of it, by `python -m tests.formats`."""
    assert [int(each.name.partition(".")[0]) for each in KEPT] == list(range(1, FORMATS["raw"] + 1))


@pytest.mark.slow
@pytest.mark.parametrize("archive", KEPT, ids=lambda path: path.name)
@pytest.mark.parametrize("has_versions", [True, False])
def test_kept_folder_opens(archive: Path, has_versions: bool, tmp_path: Path) -> None:
    """The ordinary run builds and publishes it; vault, work list and ledger open; one from before versions, too."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / "keys.json").chmod(0o600)
    settings = load_settings(
        tmp_path / "ordermart.toml",
        {"ORDERMART_VAULT__KEY_FILE": str(tmp_path / "keys.json"), "ORDERMART_WAREHOUSE__THREADS": "1"},
    )
    if not has_versions:
        (settings.data_dir / "format.json").unlink()
    assert len(heal(settings)) == 1  # the formats that were migrated
    build_and_record(settings)
    publish(settings)
    assert list(_rows(warehouse_file(settings.data_dir))) == [(1, "13.5000"), (2, "13.5000")]
    assert verify(ledger_of(settings.data_dir)).entries == 1
    with WorkList(inbox_path(settings.data_dir)) as work:
        assert work.due("orders") == [7]
    with open_vault(settings):
        pass


def _rows(file: Path) -> Iterator[tuple[int, str]]:
    with duckdb.connect(str(file), read_only=True) as con:
        yield from con.execute("select order_id, cast(total_price as varchar) from core.orders order by all").fetchall()
