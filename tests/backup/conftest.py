"""A small data folder with everything that a backup holds: documents, vault, work list, ledger, a release."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec
import pytest

from pipelines.backup.comparing import signature_of
from pipelines.finance import closing
from pipelines.finance.closing import build_and_record
from pipelines.finance.released import one_day
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.landing.data_folder import guard_source
from pipelines.landing.load import Load
from pipelines.ledger import HEADER, import_totals, ledger_of
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault
from pipelines.vault.bodies import ledger_key
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.backup.comparing import BackupManifest
    from pipelines.settings import Settings

ORDERS = range(1, 7)


class Folder:
    """A data folder, its settings, and the folder that backups go into."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.place = place
        self.keys = place / "keys.json"
        self.file = place / "ordermart.toml"
        self.backups = place / "backups"
        if not self.keys.exists():
            new_key_file(self.keys)
            self.file.write_text('[sales]\ncounted_statuses = ["done"]\n', encoding="utf-8")

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a command on this folder."""
        return {
            "ORDERMART_CONFIG": str(self.file),
            "ORDERMART_VAULT__KEY_FILE": str(self.keys),
            "ORDERMART_WAREHOUSE__THREADS": "1",
        }

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return load_settings(self.file, self.environ)

    @property
    def data(self) -> Path:
        """Where everything is written."""
        return self.settings.data_dir

    def land(self, kind: str, documents: list[dict[str, Any]]) -> None:
        """Land documents as one load."""
        guard_source(self.settings)
        with open_vault(self.settings) as vault, Load(self.settings, vault, kind) as load:
            for document in documents:
                load.validate(json.dumps(document).encode(), requested_id=document["id"])
            load.commit()

    def publish(self) -> None:
        """Build and publish."""
        build_and_record(self.settings)
        publish(self.settings)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the current release."""
        with duckdb.connect(str(self.data / "published" / "current" / "ordermart.duckdb"), read_only=True) as con:
            return con.execute(query).fetchall()

    def destroy(self) -> None:
        """Remove the data folder, as a broken disk would."""
        shutil.rmtree(self.data)


def order(order_id: int, **fields: Any) -> dict[str, Any]:
    """Return an order as the service sends it; `fields` take the place of its own."""
    modifier = {"id": 201, "name": "Big", "price": 1, "action": "add", "quantity": 1}
    item = {"id": 10 * order_id, "product_id": 100, "quantity": 2, "name": "Soup", "instructions": "", "price": 5.25}
    return {
        "id": order_id,
        "user_phone": f"+4900{order_id:04d}",
        "user_name": f"Nobody {order_id}",
        "dispatch_method": "store_delivery",
        "store_id": 1,
        "status": "done",
        "platform": "web",
        "created_at": f"2026-10-{order_id:02d}T10:00:00Z",
        "subtotal_price": 12.5,
        "delivery_price": 2,
        "tip": 0,
        "discount": 1,
        "loyalty_discount": 0,
        "total_price": 13.5,
        "items": [{**item, "modifiers": [modifier]}],
        "deliveries": [],
        **fields,
    }


def sign(folder: Folder, backup: Path, manifest: BackupManifest) -> None:
    """Write a manifest, signed by the key of the backup's vault."""
    copy = folder.place / "signing"
    shutil.copytree(backup / "vault", copy / "vault", dirs_exist_ok=True)
    data = msgspec.structs.replace(folder.settings.data, dir=str(copy))
    seed, _ = ledger_key(msgspec.structs.replace(folder.settings, data=data))
    signed = msgspec.structs.replace(manifest, signature=signature_of(manifest, seed))
    (backup / "manifest.json").write_bytes(msgspec.json.encode(signed))


def fill(folder: Folder) -> None:
    """Land a store and orders, import totals, publish, close a day, note ids that are due."""
    folder.land("stores", [{"id": 1, "name": "Store 1", "timezone": "Europe/Berlin", "currency": "EUR"}])
    folder.land("orders", [order(each) for each in ORDERS])
    totals = folder.place / "totals.csv"
    totals.write_text(f"{','.join(HEADER)}\n2026-10-02,1,1,13.50,total_price,counted\n", encoding="utf-8")
    import_totals(ledger_of(folder.data), totals)
    folder.publish()
    closed = closing.close(folder.settings, one_day("2026-10-01"), exceptions="a test")
    assert closed.order_count == 1
    with WorkList(inbox_path(folder.data)) as work:
        work.add("orders", [70, 71], why="a test")
    folder.publish()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Give a filled folder that tests copy and do not change."""
    folder = Folder(tmp_path_factory.mktemp("filled"))
    fill(folder)
    return folder


@pytest.fixture
def folder(filled: Folder, tmp_path: Path) -> Folder:
    """Give a filled folder of one's own."""
    shutil.copytree(filled.place, tmp_path / "place", symlinks=True)
    return Folder(tmp_path / "place")
