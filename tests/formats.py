"""Write the small data folder that is kept for each format version: `python -m tests.formats`.

Each version's folder was written once, by the code of its time, and is opened by every later one. Raw files, a ledger
entry, a work list and a vault; nothing in it was ever about a person.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.landing.data_folder import FORMATS, note_formats
from pipelines.landing.load import Load
from pipelines.ledger import HEADER, import_totals, ledger_of
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault

KEPT = Path(__file__).with_name("kept_formats")


def write(folder: Path) -> None:
    """Write a data folder of the present formats, and its keys beside it."""
    keys = folder / "keys.json"
    new_key_file(keys)
    (folder / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(folder / "ordermart.toml", {"ORDERMART_VAULT__KEY_FILE": str(keys)})
    settings.data_dir.mkdir()
    note_formats(settings.data_dir)
    with open_vault(settings) as vault:
        for kind, documents in {
            "stores": [{"id": 1, "name": "Store 1", "timezone": "Europe/Berlin", "currency": "EUR"}],
            "orders": [_order(each) for each in (1, 2)],
        }.items():
            with Load(settings, vault, kind) as load:
                for document in documents:
                    load.validate(json.dumps(document).encode(), requested_id=int(str(document["id"])))
                load.commit()
    totals = folder / "totals.csv"
    totals.write_text(f"{','.join(HEADER)}\n2026-11-02,1,1,13.5001,total_price,unmapped\n", encoding="utf-8")
    import_totals(ledger_of(settings.data_dir), totals)
    with WorkList(inbox_path(settings.data_dir)) as work:
        work.add("orders", [7], why="kept")


def _order(order_id: int) -> dict[str, object]:
    """Return an order as the service sends it, of nobody."""
    prices = {"subtotal_price": 12.5, "delivery_price": 2, "tip": 0, "discount": 1, "loyalty_discount": 0}
    modifier = {"id": 201, "name": "Big", "price": 1, "action": "add", "quantity": 1}
    item = {"id": 10 * order_id, "product_id": 100, "quantity": 2, "name": "Soup", "instructions": "", "price": 5.25}
    return {
        "id": order_id,
        "user_phone": "+490000",
        "user_name": "Nobody",
        "dispatch_method": "store_delivery",
        "store_id": 1,
        "status": "done",
        "platform": "web",
        "created_at": "2026-11-02T10:00:00Z",
        "total_price": 13.5,
        **prices,
        "items": [{**item, "modifiers": [modifier]}],
        "deliveries": [],
    }


def main() -> int:
    """Write the folder of the present raw format as an archive, unless it is kept already."""
    target = KEPT / f"{FORMATS['raw']}.tar.gz"
    if target.exists():
        sys.stderr.write(f"{target} is kept: raise a version in pipelines/landing/data_folder.py first\n")
        return 1
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        with tarfile.open(target, "w:gz") as archive:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file() and path.suffix not in {".lock", ".tmp"}:
                    entry = tarfile.TarInfo(str(path.relative_to(folder)))
                    content = path.read_bytes()
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
