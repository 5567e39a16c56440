"""Land documents from files that the partner supplied, validated as fetched ones are.

A line or a document that cannot be taken costs only itself.
"""

from __future__ import annotations

import datetime as dt
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipelines.landing import leaves
from pipelines.landing.documents_in_files import UNREADABLE, documents
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.formats import note_formats
from pipelines.landing.load import open_load
from pipelines.landing.lock import LandingError
from pipelines.partner.pointer import PointerError, parse, raw_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pipelines.landing.verdicts import LoadSummary
    from pipelines.settings import Settings
    from pipelines.vault import Vault

    Progress = Callable[[str, int, int], None]

_TELL_EVERY = 1_000


class Asked(NamedTuple):
    """Which files to land, and how to read them.

    Orders and stores stand one a line or in an array, menus one a file; `documents_pointer` leads to them inside a
    wrapper. `observed_at` (naive: UTC), or the time that `observed_at_pointer` leads to in a document, says when the
    service gave it; without either, it never wins over an answer of the service. Paths may be globs, files gzip.
    """

    paths: Sequence[Path]
    observed_at: dt.datetime | None = None
    observed_at_pointer: str = ""
    documents_pointer: str = ""


def checked(asked: Asked) -> Asked:
    """Return the same with globs expanded, sorted, and the time in UTC; raise LandingError for what cannot be."""
    for option, pointer in (
        ("--observed-at-pointer", asked.observed_at_pointer),
        ("--documents-pointer", asked.documents_pointer),
    ):
        try:
            parse(pointer)
        except PointerError as error:
            raise LandingError(f"{option}: {error}") from None
    at = asked.observed_at
    if at is not None:
        at = at.astimezone(dt.UTC) if at.tzinfo else at.replace(tzinfo=dt.UTC)
    return asked._replace(paths=[path for each in asked.paths for path in _expanded(each)], observed_at=at)


def land_files(
    settings: Settings,
    vault: Vault,
    kind: str,
    paths: Iterable[Path],
    *,
    observed_at: dt.datetime | None = None,
    observed_at_pointer: str = "",
    documents_pointer: str = "",
    progress: Progress | None = None,
) -> LoadSummary:
    """Land files as one load of an archive, read as Asked says; `progress` gets (kind, documents, 0).

    Raise LandingError when a file cannot be read or a pointer leads nowhere in any document.
    """
    asked = checked(Asked(list(paths), observed_at, observed_at_pointer, documents_pointer))
    pointer = asked.observed_at_pointer
    done = timed = 0
    note_formats(settings.data_dir)
    with open_load(settings, vault, kind, "archive") as load:
        for path in asked.paths:
            try:
                for body in documents(
                    path, whole=kind == "menus", limits=settings.landing, pointer=asked.documents_pointer
                ):
                    at = time_in(body, pointer) if pointer else asked.observed_at
                    load.validate(body, observed_at=at, http_status=None)
                    done += 1
                    timed += at is not None
                    if progress is not None and done % _TELL_EVERY == 0:
                        progress(kind, done, 0)
            except UNREADABLE as error:
                why = getattr(error, "strerror", None) or error
                raise LandingError(f"{path} cannot be read: {why}; nothing was landed") from None
        if pointer and done and not timed:
            raise LandingError(
                f"--observed-at-pointer {pointer} leads to a time in none of {done:,} documents: nothing was landed"
            )
        summary = load.commit()
    if progress is not None:
        progress(kind, done, 0)
    return summary


def _expanded(path: Path) -> list[Path]:
    """Return the files that a path names: itself, or, where there is no such file, what it matches as a glob."""
    if path.exists() or not has_magic(str(path)):
        return [path]
    found = sorted(Path(each) for each in glob(str(path), recursive=True))  # noqa: PTH207 -- may be absolute
    if not found:
        raise LandingError(f"{path} matches no file; nothing was landed")
    return found


def time_in(body: bytes, pointer: str) -> dt.datetime | None:
    """Return the time that a pointer leads to in a document; None where there is none."""
    try:
        found = raw_at(body, parse(pointer))
        text: Any = None if found is None else msgspec.json.decode(found)
        moment = dt.datetime.fromisoformat(leaves.time(text, pointer))
    except (PointerError, InvalidDocumentError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    return moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
