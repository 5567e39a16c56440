"""A backup that somebody changed, and a folder that holds what nobody restored: nothing foreign in, nothing lost."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
import pytest

from pipelines.backup.comparing import BackupError, BackupFile, BackupManifest
from pipelines.backup.restore import restore
from pipelines.privacy import NoErasures
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

NOBODY = NoErasures("a test")
FOREIGN = [
    "dagster/dagster.yaml",
    "raw/../dagster/dagster.yaml",
    "../outside.json",
    "/tmp/outside.json",
    "warehouse/warehouse.duckdb",
    "vault/erasing",
    "raw/documents/orders/x/y.parquet",
    "ordermart.toml",
    "ledger/.x.parquet",
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings of a new data folder."""
    (tmp_path / "ordermart.toml").write_text('[data]\ndir = "data"\n', encoding="utf-8")
    found = load_settings(tmp_path / "ordermart.toml", environ={})
    found.data_dir.mkdir()
    return found


def backup_of(folder: Path, path: str, content: bytes = b"{}") -> Path:
    """Return a backup with one file, and a manifest that names it."""
    backup = folder / "backups" / "20261101T000000000000"
    if not path.startswith(("/", "..")):
        (backup / path).parent.mkdir(parents=True, exist_ok=True)
        (backup / path).write_bytes(content)
    backup.mkdir(parents=True, exist_ok=True)
    file = BackupFile(path, len(content), hashlib.sha256(content).hexdigest(), 0)
    manifest = BackupManifest(backup.name, "2026-11-01T00:00:00+00:00", "", [file], None)
    (backup / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return backup


@pytest.mark.parametrize("path", FOREIGN)
def test_only_what_a_backup_writes_is_restored(settings: Settings, path: str) -> None:
    """Other files are refused by their name, whatever the manifest says."""
    backup = backup_of(settings.file.parent, path)
    with pytest.raises(BackupError, match="no file that a backup writes; nothing was restored"):
        restore(settings, backup, word=NOBODY)
    assert list(settings.data_dir.iterdir()) == []


@pytest.mark.parametrize("linked", ["raw/source.json", "raw"])
def test_links_are_refused(settings: Settings, linked: str) -> None:
    """A link could give files that the user may read, such as keys."""
    backup = backup_of(settings.file.parent, "raw/source.json")
    (backup / linked).rename(settings.file.parent / "elsewhere")
    (backup / linked).symlink_to(settings.file.parent / "elsewhere")
    with pytest.raises(BackupError, match="is a link"):
        restore(settings, backup, word=NOBODY)
    assert list(settings.data_dir.iterdir()) == []


@pytest.mark.parametrize(
    "theirs", ["letter.txt", "raw/letter.txt", ".restoring/letter.txt", ".restoring/raw/a.parquet"]
)
def test_what_was_there_is_moved_aside(settings: Settings, theirs: str) -> None:
    """With a folder that looks like a killed restore, too, and when nothing is restored."""
    (settings.data_dir / ".restoring").mkdir()
    (settings.data_dir / theirs).parent.mkdir(exist_ok=True, parents=True)
    (settings.data_dir / theirs).write_text("theirs", encoding="utf-8")
    with pytest.raises(BackupError):
        restore(settings, backup_of(settings.file.parent, "dagster/dagster.yaml"), word=NOBODY)
    (aside,) = settings.file.parent.glob("data.before-*")
    assert (aside / theirs).read_text(encoding="utf-8") == "theirs"


def test_copies_of_a_killed_restore_are_removed(settings: Settings) -> None:
    """They hold what may have been erased since."""
    (settings.data_dir / ".restoring" / "vault").mkdir(parents=True)
    for name in ("vault/vault.sqlite", "vault/vault.sqlite-wal", "inventory-copy.json", "inventory.lock"):
        (settings.data_dir / ".restoring" / name).write_bytes(b"")
    with pytest.raises(BackupError):
        restore(settings, backup_of(settings.file.parent, "dagster/dagster.yaml"), word=NOBODY)
    assert list(settings.data_dir.iterdir()) == []
    assert not list(settings.file.parent.glob("data.before-*"))
