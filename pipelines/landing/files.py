"""Land documents from files that the partner handed over, through the same gate as fetched ones.

Knows nothing of the service. A line or a document that cannot be taken costs only itself.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.landing import leaves
from pipelines.landing.documents_in_files import documents
from pipelines.landing.durable import LandingError
from pipelines.landing.exact import UnfitError
from pipelines.landing.load import open_load
from pipelines.partner.pointer import PointerError, get, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pipelines.landing.verdicts import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

    Progress = Callable[[str, int, int], None]

_TELL_EVERY = 1_000


def land_files(
    settings: Settings,
    vault: Vault,
    kind: str,
    paths: Iterable[Path],
    *,
    observed_at: dt.datetime | None = None,
    observed_at_pointer: str = "",
    progress: Progress | None = None,
) -> LoadSummary:
    """Land files as one load of an archive: orders and stores one a line or as an array, menus one a file.

    `observed_at` (naive: UTC) or the time that `observed_at_pointer` leads to in a document says when the service
    gave it; without either, it never wins over what the service answered. `progress` gets (kind, documents, 0).
    Raise LandingError when a file cannot be read or the pointer leads to a time in no document.
    """
    if observed_at is not None:
        observed_at = observed_at.astimezone(dt.UTC) if observed_at.tzinfo else observed_at.replace(tzinfo=dt.UTC)
    _check_pointer(observed_at_pointer)
    done = timed = 0
    with open_load(settings, vault, kind, "archive") as load:
        for path in paths:
            try:
                for body in documents(path, whole=kind == "menus", max_bytes=settings.landing.max_bytes):
                    at = time_in(body, observed_at_pointer) if observed_at_pointer else observed_at
                    load.judge(body, observed_at=at, http_status=None)
                    done += 1
                    timed += at is not None
                    if progress is not None and done % _TELL_EVERY == 0:
                        progress(kind, done, 0)
            except OSError as error:
                raise LandingError(f"{path} cannot be read: {error.strerror}; nothing was landed") from None
        if observed_at_pointer and done and not timed:
            raise LandingError(
                f"--observed-at-pointer {observed_at_pointer} leads to a time in none of {done:,} documents: "
                "nothing was landed"
            )
        summary = load.commit()
    if progress is not None:
        progress(kind, done, 0)
    return summary


def time_in(body: bytes, pointer: str) -> dt.datetime | None:
    """Return the time that a pointer leads to in a document; None where there is none."""
    try:
        text: Any = get(msgspec.json.decode(body), pointer)
        moment = dt.datetime.fromisoformat(leaves.time(text, pointer))
    except (PointerError, UnfitError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    return moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def _check_pointer(pointer: str) -> None:
    try:
        parse(pointer)
    except PointerError as error:
        raise LandingError(f"--observed-at-pointer: {error}") from None
