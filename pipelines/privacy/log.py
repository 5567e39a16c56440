"""The erasure log: a copy of every erasure outside the data folder, so that a restored backup does not undo them.

One JSON line per erasure, as in the ledger, and one per backup: a log that names a backup has the erasures after it.
"""

from __future__ import annotations

import fcntl
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pipelines.durable import make_folder, write_whole
from pipelines.landing.data_folder import erasure_log_place
from pipelines.ledger.decisions import origin
from pipelines.privacy.finding import PrivacyError
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipelines.ledger import Entry
    from pipelines.settings import Settings

LOG = "erasures.jsonl"


class ErasureLog(NamedTuple):
    """What a log holds: body of each erasure by the hash of its first entry, and the names of backups."""

    erasures: dict[str, dict[str, Any]]
    backups: set[str]


def erasure_log(settings: Settings, folder: Path | None = None) -> Path | None:
    """Return the file of [privacy] erasure_log, else the one that a data folder or backup remembers, else None.

    Raise SettingsError if it is in the data folder.
    """
    place = settings.privacy.erasure_log or erasure_log_place(folder or settings.data_dir)
    if not place:
        return None
    path = (settings.file.parent / place).resolve()
    if path.is_relative_to(settings.data_dir):
        raise SettingsError(f"[privacy] erasure_log: {path} is lost with the data folder: name a file elsewhere")
    return path


def required_log(settings: Settings, *, has_backups: bool) -> Path | None:
    """Return the log that an erasure must be written to; None if there is neither a backup nor a setting.

    Raise PrivacyError if there are backups, which would bring the data back, and no log: nothing was erased yet.
    """
    log, is_remembered = erasure_log(settings), bool(erasure_log_place(settings.data_dir))
    if log is None and has_backups:
        raise PrivacyError(
            "there are backups, which would bring the data back when restored: set [privacy] erasure_log to a file "
            "outside the data folder, then erase again; nothing was erased"
        )
    if log and (is_remembered or log.exists()):
        read_log(log)
    return log


def add_to_log(path: Path, entries: Iterable[Entry], backups: Iterable[str] = ()) -> None:
    """Add the erasures and names of backups that the log does not have yet, durably; create it if it is missing."""
    make_folder(path.parent)
    with path.with_name(path.name + ".lock").open("w") as lock:  # a backup may go on while somebody is erased
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read_log(path) if path.exists() else ErasureLog({}, set())
        new = [{"sha256": origin(e), "at": e.at, "body": e.body} for e in entries if origin(e) not in known.erasures]
        new += [{"backup": name} for name in backups if name not in known.backups]
        if new or not path.exists():
            content = path.read_bytes() if path.exists() else b""
            write_whole(path, content + b"".join(json.dumps(line, sort_keys=True).encode() + b"\n" for line in new))


def read_log(path: Path) -> ErasureLog:
    """Return what a log holds; raise PrivacyError if it cannot be read."""
    try:
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        erased = {line["sha256"]: dict(line["body"]) for line in lines if "backup" not in line}
        return ErasureLog(erased, {str(line["backup"]) for line in lines if "backup" in line})
    except FileNotFoundError:
        raise PrivacyError(
            f"[privacy] erasure_log: {path} is missing: without it, erased data would come back. Bring it back, or "
            "take a backup, which writes it again from the ledger"
        ) from None
    except OSError as error:
        raise PrivacyError(f"[privacy] erasure_log: {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise PrivacyError(f"[privacy] erasure_log: {path} is damaged: bring it back from a copy") from None
