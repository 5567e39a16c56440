"""Copy what cannot be derived to another disk, and restore it; the vault's keys are in no backup."""

from pipelines.backup.backup import BackedUp, back_up
from pipelines.backup.comparing import BackupError, Rows, accept_losses, backups_holding, compare, mend, read_manifest
from pipelines.backup.restore import Restored, check_backup, restore

__all__ = [
    "BackedUp", "BackupError", "Restored", "Rows", "accept_losses", "back_up", "backups_holding",
    "check_backup", "compare", "mend", "read_manifest", "restore",
]  # fmt: skip
