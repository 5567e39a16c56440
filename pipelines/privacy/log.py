"""The erasure log: a copy of every erasure outside the data folder, so that a restored backup does not undo them.

One JSON line per erasure, as in the ledger. Knows nothing of how erasures are applied.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipelines.durable import make_folder, write_whole
from pipelines.ledger.privacy import origin
from pipelines.privacy.finding import PrivacyError
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipelines.ledger import Entry
    from pipelines.settings import Settings


def erasure_log(settings: Settings) -> Path | None:
    """Return the file of [privacy] erasure_log, None if not set; raise SettingsError if it is in the data folder."""
    if not settings.privacy.erasure_log:
        return None
    path = (settings.file.parent / settings.privacy.erasure_log).resolve()
    if path.is_relative_to(settings.data_dir):
        raise SettingsError(f"[privacy] erasure_log: {path} is lost with the data folder: name a file elsewhere")
    return path


def add_to_log(path: Path, entries: Iterable[Entry]) -> None:
    """Add the erasures that the log does not have yet, durably."""
    lines = read_log(path) if path.exists() else []
    known = {line["sha256"] for line in lines}
    new = [{"sha256": origin(each), "at": each.at, "body": each.body} for each in entries if origin(each) not in known]
    if new:
        make_folder(path.parent)
        write_whole(path, b"".join(json.dumps(line, sort_keys=True).encode() + b"\n" for line in [*lines, *new]))


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the erasures of a log: sha256, at, body. Raise PrivacyError if it cannot be read."""
    try:
        found = [json.loads(line) for line in path.read_bytes().splitlines()]
        return [{"sha256": each["sha256"], "at": each["at"], "body": each["body"]} for each in found]
    except FileNotFoundError:
        raise PrivacyError(
            f"[privacy] erasure_log: {path} is missing: without it, erased data would come back. Bring it back, or "
            "create it empty if nothing was ever erased"
        ) from None
    except OSError as error:
        raise PrivacyError(f"[privacy] erasure_log: {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise PrivacyError(f"[privacy] erasure_log: {path} is damaged: bring it back from a copy") from None
